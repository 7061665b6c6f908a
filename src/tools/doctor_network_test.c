/* doctor_network_test.c: addresses that peers reach, and such that they do
 * not. */
#include "tools/doctor_checks.h"
#include "tools/doctor_says_test.h"

static epi_findings_t findings;

static epi_network_facts_t fine(void)
{
    return (epi_network_facts_t){.host = "node7",
                                 .address = "10.0.0.7",
                                 .interface = "ib0",
                                 .up = true,
                                 .first = "10.0.0.7",
                                 .port_low = 32768,
                                 .port_high = 60999,
                                 .name = "node7",
                                 .name_address = "10.0.0.7"};
}

static void look(const epi_network_facts_t *facts)
{
    findings.count = 0;
    epi_doctor_network(facts, &findings);
}

static void test_a_node_that_peers_reach(void **state)
{
    epi_network_facts_t facts = fine();

    (void)state;
    look(&facts);
    assert_int_equal(findings.count, 4);
    assert_int_equal(epi_findings_count(&findings, EPI_VERDICT_OK), 4);
    epi_says(&findings, "network.host", EPI_VERDICT_OK,
             "EPDX_HOST 10.0.0.7 is on ib0");
    epi_says(&findings, "network.ports", EPI_VERDICT_OK, "32768 to 60999");
    facts.port_low = 0;
    look(&facts);
    epi_says(&findings, "network.ports", EPI_VERDICT_OK,
             "a port of 10.0.0.7 can be listened on");
}

static void test_a_host_that_does_not_resolve(void **state)
{
    epi_network_facts_t facts = fine();

    (void)state;
    facts.address[0] = '\0';
    facts.interface[0] = '\0';
    memcpy(facts.error, "no such name", sizeof("no such name"));
    look(&facts);
    epi_says(&findings, "network.host", EPI_VERDICT_FAIL, "no such name");
    epi_says(&findings, "network.first", EPI_VERDICT_NONE, NULL);
    epi_says(&findings, "network.ports", EPI_VERDICT_NONE, NULL);
}

static void test_a_host_of_another_node(void **state)
{
    epi_network_facts_t facts = fine();

    (void)state;
    facts.interface[0] = '\0';
    look(&facts);
    epi_says(&findings, "network.host", EPI_VERDICT_FAIL,
             "EPDX_HOST is node7 (10.0.0.7), which is no address of this node");
    epi_says(&findings, "network.ports", EPI_VERDICT_NONE, NULL);
}

static void test_an_interface_that_is_down(void **state)
{
    epi_network_facts_t facts = fine();

    (void)state;
    facts.up = false;
    look(&facts);
    epi_says(&findings, "network.host", EPI_VERDICT_FAIL, "ib0, which has");
}

static void test_a_link_local_host(void **state)
{
    epi_network_facts_t facts = fine();

    (void)state;
    facts.link_local = true;
    look(&facts);
    epi_says(&findings, "network.host", EPI_VERDICT_FAIL, "is link-local");
    epi_says(&findings, "network.first", EPI_VERDICT_NONE, NULL);
}

static void test_a_loopback_host(void **state)
{
    epi_network_facts_t facts = fine();

    (void)state;
    facts.loopback = true;
    look(&facts);
    epi_says(&findings, "network.host", EPI_VERDICT_WARN,
             "nobody but this node reaches it");
}

static void test_a_second_address_of_its_interface(void **state)
{
    epi_network_facts_t facts = fine();

    (void)state;
    memcpy(facts.first, "10.0.0.1", sizeof("10.0.0.1"));
    look(&facts);
    epi_says(&findings, "network.first", EPI_VERDICT_FAIL,
             "ib0 has 10.0.0.1 before 10.0.0.7");
}

static void test_no_port_to_listen_on(void **state)
{
    epi_network_facts_t facts = fine();

    (void)state;
    memcpy(facts.bind_error, "not permitted", sizeof("not permitted"));
    look(&facts);
    epi_says(&findings, "network.ports", EPI_VERDICT_FAIL, "not permitted");
}

static void test_the_own_name(void **state)
{
    epi_network_facts_t facts = fine();

    (void)state;
    facts.name_loopback = true;
    look(&facts);
    epi_says(&findings, "network.name", EPI_VERDICT_NOTE, "must not be");
    facts.name_address[0] = '\0';
    look(&facts);
    epi_says(&findings, "network.name", EPI_VERDICT_WARN, "does not resolve");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_node_that_peers_reach),
        cmocka_unit_test(test_a_host_that_does_not_resolve),
        cmocka_unit_test(test_a_host_of_another_node),
        cmocka_unit_test(test_an_interface_that_is_down),
        cmocka_unit_test(test_a_link_local_host),
        cmocka_unit_test(test_a_loopback_host),
        cmocka_unit_test(test_a_second_address_of_its_interface),
        cmocka_unit_test(test_no_port_to_listen_on),
        cmocka_unit_test(test_the_own_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
