/* doctor_ucx_test.c: what UCX may be like. */
#include "tools/doctor_checks.h"
#include "tools/doctor_says_test.h"

static epi_findings_t findings;

static epi_plane_facts_t fine(void)
{
    return (epi_plane_facts_t){
        .ucx = {.version = "1.13.1",
                .resources = "tcp/eth0,sysv/memory,rc_mlx5/mlx5_0:1",
                .transport = "tcp/lo",
                .shared_transport = "mapped/memory"},
        .built = "1.13.1",
    };
}

static void look(const epi_plane_facts_t *facts)
{
    findings.count = 0;
    epi_doctor_ucx(facts, &findings);
}

static void test_a_node_with_all_of_it(void **state)
{
    epi_plane_facts_t facts = fine();

    (void)state;
    look(&facts);
    assert_int_equal(findings.count, 5);
    assert_int_equal(epi_findings_count(&findings, EPI_VERDICT_OK), 5);
    epi_says(&findings, "ucx.version", EPI_VERDICT_OK, "UCX 1.13.1");
}

static void test_another_ucx_than_that_of_the_build(void **state)
{
    epi_plane_facts_t facts = fine();

    (void)state;
    facts.built = "1.13.0";
    look(&facts);
    epi_says(&findings, "ucx.version", EPI_VERDICT_OK, "UCX 1.13.1");
    facts.built = "1.17.0";
    look(&facts);
    epi_says(&findings, "ucx.version", EPI_VERDICT_WARN,
             "UCX 1.13.1 is loaded, and epdx was built with 1.17.0");
    facts.built = "1.1.1";
    look(&facts);
    epi_says(&findings, "ucx.version", EPI_VERDICT_WARN, "1.1.1");
}

static void test_nothing_moves(void **state)
{
    epi_plane_facts_t facts = fine();

    (void)state;
    memset(&facts.ucx, 0, sizeof(facts.ucx));
    memcpy(facts.ucx.error, "no device", sizeof("no device"));
    look(&facts);
    assert_int_equal(findings.count, 1);
    epi_says(&findings, "ucx.moves", EPI_VERDICT_FAIL,
             "UCX moves nothing: no device");
    assert_null(strstr(findings.list[0].cure, "UCX_TLS"));
    facts.user_settings = true;
    look(&facts);
    assert_non_null(strstr(findings.list[0].cure, "UCX_TLS"));
}

static void test_a_node_without_rdma(void **state)
{
    static const char list[] = "tcp/eth0,tcp/lo,sysv/memory";
    epi_plane_facts_t facts = fine();

    (void)state;
    memcpy(facts.ucx.resources, list, sizeof(list));
    look(&facts);
    epi_says(&findings, "ucx.transports", EPI_VERDICT_NOTE, "over TCP");
    facts.loopback = true;
    look(&facts);
    epi_says(&findings, "ucx.transports", EPI_VERDICT_OK, list);
}

static void test_what_own_memory_goes_by(void **state)
{
    epi_plane_facts_t facts = fine();

    (void)state;
    look(&facts);
    epi_says(&findings, "ucx.own_memory", EPI_VERDICT_OK, "go over tcp/lo");
}

static void test_rings_are_not_mapped(void **state)
{
    epi_plane_facts_t facts = fine();

    (void)state;
    memcpy(facts.ucx.shared_transport, "tcp/lo", sizeof("tcp/lo"));
    look(&facts);
    epi_says(&findings, "ucx.mapped", EPI_VERDICT_WARN, "tcp/lo");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_node_with_all_of_it),
        cmocka_unit_test(test_another_ucx_than_that_of_the_build),
        cmocka_unit_test(test_nothing_moves),
        cmocka_unit_test(test_a_node_without_rdma),
        cmocka_unit_test(test_what_own_memory_goes_by),
        cmocka_unit_test(test_rings_are_not_mapped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
