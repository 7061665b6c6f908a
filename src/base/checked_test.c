/* checked_test.c: sizes at and past the edge of 64 bits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/checked.h"

static void products_at_and_past_the_edge(void **state)
{
    uint64_t out = 7;

    (void)state;
    assert_true(epi_mul_u64(UINT64_MAX, 1, &out));
    assert_int_equal(out, UINT64_MAX);
    assert_true(epi_mul_u64(UINT64_C(1) << 32, (UINT64_C(1) << 32) - 1, &out));
    assert_int_equal(out, UINT64_C(0xffffffff00000000));
    assert_false(epi_mul_u64(UINT64_C(1) << 32, UINT64_C(1) << 32, &out));
    assert_int_equal(out, UINT64_C(0xffffffff00000000));
}

static void sums_at_and_past_the_edge(void **state)
{
    uint64_t out = 7;

    (void)state;
    assert_true(epi_add_u64(UINT64_MAX - 1, 1, &out));
    assert_int_equal(out, UINT64_MAX);
    out = 7;
    assert_false(epi_add_u64(UINT64_MAX, 1, &out));
    assert_int_equal(out, 7);
}

static void alignment_rounds_up_or_refuses(void **state)
{
    uint64_t out = 7;

    (void)state;
    assert_true(epi_align_u64(0, 256, &out));
    assert_int_equal(out, 0);
    assert_true(epi_align_u64(1, 256, &out));
    assert_int_equal(out, 256);
    assert_true(epi_align_u64(256, 256, &out));
    assert_int_equal(out, 256);
    assert_true(epi_align_u64(UINT64_MAX - 255, 256, &out));
    assert_int_equal(out, UINT64_MAX - 255);
    out = 7;
    assert_false(epi_align_u64(UINT64_MAX - 254, 256, &out));
    assert_int_equal(out, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_at_and_past_the_edge),
        cmocka_unit_test(sums_at_and_past_the_edge),
        cmocka_unit_test(alignment_rounds_up_or_refuses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
