/* choose_test.c: the memory that parameters and setting ask for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "memory/memory.h"

static void test_the_setting_is_the_default(void **state)
{
    epi_memory_wish_t wish = {.who = "test", .preset = EPDX_MEMORY_HOST};
    epi_memory_t memory = {NULL, 7};

    (void)state;
    assert_int_equal(epi_memory_choose(&wish, &memory), EPDX_OK);
    assert_ptr_equal(memory.ops, epi_memory_host());
}

static void test_the_parameter_wins(void **state)
{
    epi_memory_wish_t wish = {
        .who = "test", .memory = EPDX_MEMORY_HOST, .preset = EPDX_MEMORY_CUDA};
    epi_memory_t memory = {NULL, 7};

    (void)state;
    assert_int_equal(epi_memory_choose(&wish, &memory), EPDX_OK);
    assert_ptr_equal(memory.ops, epi_memory_host());
}

static void test_err_invalid_a_kind_that_there_is_not(void **state)
{
    epi_memory_wish_t wish = {.who = "test", .memory = (epdx_memory_t)3};
    epi_memory_t memory = {NULL, 7};

    (void)state;
    assert_int_equal(epi_memory_choose(&wish, &memory), EPDX_ERR_INVALID);
    assert_string_equal(epdx_last_error(),
                        "test: memory 3 is none that this library knows");
    assert_null(memory.ops);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_setting_is_the_default),
        cmocka_unit_test(test_the_parameter_wins),
        cmocka_unit_test(test_err_invalid_a_kind_that_there_is_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
