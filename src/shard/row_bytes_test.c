/* row_bytes_test.c: which rows there can be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "shard/row_bytes.h"

static void rows_have_a_main_and_a_deepstack_width(void **state)
{
    epi_row_bytes_t bytes;

    (void)state;
    assert_int_equal(epi_row_bytes("x", EPDX_BFLOAT16, 3584, 3, &bytes),
                     EPDX_OK);
    assert_int_equal(bytes.main, 7168);
    assert_int_equal(bytes.deepstack, 21504);
    assert_int_equal(epi_row_bytes("x", EPDX_FLOAT32, 1, 0, &bytes), EPDX_OK);
    assert_int_equal(bytes.main, 4);
    assert_int_equal(bytes.deepstack, 0);
}

static void refuses(epdx_dtype_t dtype, uint64_t hidden, uint32_t levels,
                    const char *words)
{
    epi_row_bytes_t bytes = {7, 7};

    assert_int_equal(epi_row_bytes("x", dtype, hidden, levels, &bytes),
                     EPDX_ERR_INVALID);
    assert_non_null(strstr(epdx_last_error(), words));
    assert_int_equal(bytes.main, 7);
}

static void impossible_rows_are_invalid(void **state)
{
    (void)state;
    refuses(EPDX_DTYPE_NONE, 8, 0, "x: dtype 0");
    refuses((epdx_dtype_t)9, 8, 0, "x: dtype 9");
    refuses(EPDX_FLOAT16, 0, 0, "hidden 0");
    refuses(EPDX_FLOAT16, UINT64_MAX / 2, 0, "hidden");
    refuses(EPDX_FLOAT16, UINT64_C(1) << 30, 0, "2147483647");
    refuses(EPDX_FLOAT16, UINT64_C(1) << 29, 2, "2 levels");
    refuses(EPDX_FLOAT16, UINT64_C(1) << 29, UINT32_MAX, "levels");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_have_a_main_and_a_deepstack_width),
        cmocka_unit_test(impossible_rows_are_invalid),
    };

    return cmocka_run_group_tests_name("shard/row_bytes", tests, NULL, NULL);
}
