/* doctor_encode_test.c: encode nodes that are found, and such that are not. */
#include "tools/doctor_checks.h"
#include "tools/doctor_says_test.h"

static epi_findings_t findings;

static epi_encode_facts_t fine(void)
{
    return (epi_encode_facts_t){.bootstrap = "10.0.0.9:8998",
                                .remote = true,
                                .code = 200,
                                .ready = true,
                                .ranks = 2,
                                .groups = 1,
                                .rank = "10.0.0.9:4123"};
}

static void look(const epi_encode_facts_t *facts)
{
    findings.count = 0;
    epi_doctor_encode(facts, &findings);
}

static void test_a_node_with_its_ranks(void **state)
{
    epi_encode_facts_t facts = fine();

    (void)state;
    look(&facts);
    epi_says(&findings, "encode.bootstrap", EPI_VERDICT_OK,
             "10.0.0.9:8998 has 2 encode ranks in 1 DP groups");
    epi_says(&findings, "encode.rank", EPI_VERDICT_OK,
             "takes connections at 10.0.0.9:4123");
}

static void test_no_answer(void **state)
{
    epi_encode_facts_t facts = fine();

    (void)state;
    facts.code = 0;
    facts.ready = false;
    memcpy(facts.error, "refused", sizeof("refused"));
    look(&facts);
    epi_says(&findings, "encode.bootstrap", EPI_VERDICT_FAIL,
             "does not answer: refused");
    epi_says(&findings, "encode.rank", EPI_VERDICT_NONE, NULL);
}

static void test_ranks_that_are_not_in_yet(void **state)
{
    epi_encode_facts_t facts = fine();

    (void)state;
    facts.ready = false;
    look(&facts);
    epi_says(&findings, "encode.bootstrap", EPI_VERDICT_WARN, "not all");
    facts.code = 503;
    look(&facts);
    epi_says(&findings, "encode.bootstrap", EPI_VERDICT_WARN, "not all");
}

static void test_a_server_of_another_kind(void **state)
{
    epi_encode_facts_t facts = fine();

    (void)state;
    facts.ready = false;
    facts.code = 404;
    look(&facts);
    epi_says(&findings, "encode.bootstrap", EPI_VERDICT_FAIL, "answers 404");
    facts.code = 200;
    facts.malformed = true;
    look(&facts);
    epi_says(&findings, "encode.bootstrap", EPI_VERDICT_FAIL, "answers 200");
}

static void test_a_rank_that_says_loopback(void **state)
{
    epi_encode_facts_t facts = fine();

    (void)state;
    facts.rank_loopback = true;
    look(&facts);
    epi_says(&findings, "encode.rank", EPI_VERDICT_FAIL,
             "which is this node itself");
    facts.remote = false;
    look(&facts);
    epi_says(&findings, "encode.rank", EPI_VERDICT_OK, "takes connections");
}

static void test_a_rank_behind_a_firewall(void **state)
{
    epi_encode_facts_t facts = fine();

    (void)state;
    memcpy(facts.rank_error, "timed out", sizeof("timed out"));
    look(&facts);
    epi_says(&findings, "encode.rank", EPI_VERDICT_FAIL,
             "takes no connection: timed out");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_node_with_its_ranks),
        cmocka_unit_test(test_no_answer),
        cmocka_unit_test(test_ranks_that_are_not_in_yet),
        cmocka_unit_test(test_a_server_of_another_kind),
        cmocka_unit_test(test_a_rank_that_says_loopback),
        cmocka_unit_test(test_a_rank_behind_a_firewall),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
