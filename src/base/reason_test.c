/* reason_test.c: the failure text that existing deployments know. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/reason.h"

static void test_the_form_is_that_of_existing_deployments(void **state)
{
    char text[128];

    (void)state;
    epi_reason_format(text, sizeof(text), 3, "h:9", "boom on rank 1");
    assert_string_equal(text, "EmbeddingTransferError(bootstrap_room=3, "
                              "remote_endpoint=h:9): boom on rank 1");
}

static void test_a_reason_that_has_the_form_is_not_wrapped_again(void **state)
{
    char first[128];
    char second[128];

    (void)state;
    epi_reason_format(first, sizeof(first), UINT64_MAX, "a:1", "why");
    epi_reason_format(second, sizeof(second), 5, "b:2", first);
    assert_string_equal(second, first);
}

static void test_a_long_reason_is_cut_and_closed(void **state)
{
    char text[16];

    (void)state;
    epi_reason_format(text, sizeof(text), 1, "a:1", "why");
    assert_string_equal(text, "EmbeddingTransf");
}

static void test_the_why_of_a_reason(void **state)
{
    char text[128];

    (void)state;
    epi_reason_format(text, sizeof(text), 3, "h:9", "no (x): y");
    assert_string_equal(epi_reason_why(text), "no (x): y");
    assert_string_equal(epi_reason_why("no (x): y"), "no (x): y");
    assert_string_equal(epi_reason_why("EmbeddingTransferError(cut"),
                        "EmbeddingTransferError(cut");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_form_is_that_of_existing_deployments),
        cmocka_unit_test(test_a_reason_that_has_the_form_is_not_wrapped_again),
        cmocka_unit_test(test_a_long_reason_is_cut_and_closed),
        cmocka_unit_test(test_the_why_of_a_reason),
    };

    return cmocka_run_group_tests_name("base/reason", tests, NULL, NULL);
}
