/* params_test.c: structs of callers of another version. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/params.h"

typedef struct params {
    size_t struct_size;
    uint64_t first;
    uint64_t later; /* an older header did not have it */
} params_t;

static const size_t LEAST = offsetof(params_t, later);

static void a_shorter_struct_is_filled_up_with_zero(void **state)
{
    params_t given = {LEAST, 7, 8};
    params_t copy = {1, 2, 3};

    (void)state;
    assert_int_equal(
        epi_params_copy(&copy, sizeof(copy), &given, LEAST, "thing"), EPDX_OK);
    assert_int_equal(copy.first, 7);
    assert_int_equal(copy.later, 0);
}

static void other_sizes_are_invalid(void **state)
{
    params_t given = {LEAST - 1, 7, 8};
    params_t copy = {1, 2, 3};

    (void)state;
    assert_int_equal(
        epi_params_copy(&copy, sizeof(copy), &given, LEAST, "thing"),
        EPDX_ERR_INVALID);
    assert_non_null(strstr(epdx_last_error(), "thing: struct_size is 15"));
    given.struct_size = sizeof(given) + 1;
    assert_int_equal(
        epi_params_copy(&copy, sizeof(copy), &given, LEAST, "thing"),
        EPDX_ERR_INVALID);
    assert_int_equal(epi_params_copy(&copy, sizeof(copy), NULL, LEAST, "thing"),
                     EPDX_ERR_INVALID);
    assert_int_equal(copy.first, 2);
}

static epdx_status_t call(const void *first, const void *second_p)
{
    return epi_given(first, second_p);
}

static void a_null_argument_is_named(void **state)
{
    (void)state;
    assert_int_equal(call("", ""), EPDX_OK);
    assert_int_equal(call(NULL, ""), EPDX_ERR_INVALID);
    assert_string_equal(epdx_last_error(), "call: first is NULL");
    assert_int_equal(call("", NULL), EPDX_ERR_INVALID);
    assert_string_equal(epdx_last_error(), "call: second_p is NULL");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shorter_struct_is_filled_up_with_zero),
        cmocka_unit_test(other_sizes_are_invalid),
        cmocka_unit_test(a_null_argument_is_named),
    };

    return cmocka_run_group_tests_name("base/params", tests, NULL, NULL);
}
