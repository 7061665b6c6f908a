/* doctor_test.c: tables of checks to findings, and these to text and JSON. */
#include <stdio.h>
#include <stdlib.h>

#include "tools/doctor_says_test.h"

static epi_verdict_t one(const void *facts, epi_finding_t *finding)
{
    switch (*(const int *)facts) {
    case 1:
        return epi_say_ok(finding, "%d is well", 1);
    case 2:
        return epi_say_note(finding, "%d is so", 2);
    case 3:
        return epi_say_warn(finding, "do this", "%d is slow", 3);
    case 4:
        return epi_say_fail(finding, "do \"that\"", "%d is broken", 4);
    default:
        return EPI_VERDICT_NONE;
    }
}

static const epi_check_t checks[] = {{"a.one", one}, {"a.two", one}};

static void add(epi_findings_t *findings, int fact, size_t count)
{
    epi_findings_add(findings, checks, count, &fact);
}

static void test_each_check_gives_one_finding_or_none(void **state)
{
    static epi_findings_t findings;

    (void)state;
    findings.count = 0;
    add(&findings, 0, 2);
    assert_int_equal(findings.count, 0);
    add(&findings, 1, 2);
    add(&findings, 4, 1);
    assert_int_equal(findings.count, 3);
    assert_int_equal(epi_findings_count(&findings, EPI_VERDICT_OK), 2);
    assert_int_equal(epi_findings_count(&findings, EPI_VERDICT_FAIL), 1);
    epi_says(&findings, "a.one", EPI_VERDICT_OK, "1 is well");
    assert_string_equal(epi_findings_find(&findings, "a.one", 1)->what,
                        "4 is broken");
    assert_null(epi_findings_find(&findings, "a.one", 2));
}

static void test_more_than_there_is_room_for_are_left_out(void **state)
{
    static epi_findings_t findings;

    (void)state;
    findings.count = EPI_FINDINGS_MAX - 1;
    add(&findings, 1, 2);
    assert_int_equal(findings.count, EPI_FINDINGS_MAX);
}

/* What is written to a stream, to be freed. */
static char *printed(const epi_findings_t *findings, bool as_json)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    epi_json_t json;

    assert_non_null(out);
    if (as_json) {
        epi_json_begin(&json, out);
        epi_findings_json(findings, &json);
        epi_json_end(&json);
    } else {
        epi_findings_print(findings, out);
    }
    assert_int_equal(fclose(out), 0);
    return text;
}

static void test_text(void **state)
{
    static epi_findings_t findings;
    char *text;

    (void)state;
    findings.count = 0;
    for (int fact = 1; fact <= 4; fact++) {
        add(&findings, fact, 1);
    }
    text = printed(&findings, false);
    assert_string_equal(text, "ok    a.one              1 is well\n"
                              "note  a.one              2 is so\n"
                              "warn  a.one              3 is slow\n"
                              "      cure: do this\n"
                              "fail  a.one              4 is broken\n"
                              "      cure: do \"that\"\n"
                              "warnings: 1, failures: 1\n");
    free(text);
}

static void test_json(void **state)
{
    static epi_findings_t findings;
    char *text;

    (void)state;
    findings.count = 0;
    add(&findings, 1, 1);
    add(&findings, 4, 1);
    text = printed(&findings, true);
    assert_string_equal(
        text,
        "{\"findings\":[{\"about\":\"a.one\",\"verdict\":\"ok\",\"what\":"
        "\"1 is well\",\"cure\":\"\"},{\"about\":\"a.one\",\"verdict\":"
        "\"fail\",\"what\":\"4 is broken\",\"cure\":\"do \\\"that\\\"\"}],"
        "\"warnings\":0,\"failures\":1}\n");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_check_gives_one_finding_or_none),
        cmocka_unit_test(test_more_than_there_is_room_for_are_left_out),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_json),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
