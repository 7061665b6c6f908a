/* shard_test.c: the shares tile every span, balanced, up to the 64-bit end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "epdx/shard.h"

/** Shares in rank order cover [0, span) without gap or overlap, and differ by
 *  at most one row, the longer ones first. */
static void assert_tiles(uint64_t span, uint32_t size)
{
    uint64_t cursor = 0;
    uint64_t longest = epdx_shard_rows(span, 0, size).count;
    uint64_t before = longest;
    uint32_t rank;

    for (rank = 0; rank < size; rank++) {
        epdx_rows_t rows = epdx_shard_rows(span, rank, size);

        assert_int_equal(rows.start, cursor);
        assert_true(rows.count <= before);
        assert_true(longest - rows.count <= 1);
        assert_true(rows.count <= span - cursor);
        before = rows.count;
        cursor += rows.count;
    }
    assert_int_equal(cursor, span);
}

static void test_tiles_every_span_on_every_size(void **state)
{
    uint64_t span;
    uint32_t size;

    (void)state;
    for (span = 1; span <= 129; span++) {
        for (size = 1; size <= 8; size++) {
            assert_tiles(span, size);
        }
    }
}

static void test_known_shares(void **state)
{
    epdx_rows_t rows;

    (void)state;
    rows = epdx_shard_rows(10, 1, 2);
    assert_int_equal(rows.start, 5);
    assert_int_equal(rows.count, 5);
    /* 10 over 4: 3, 3, 2, 2 */
    rows = epdx_shard_rows(10, 1, 4);
    assert_int_equal(rows.start, 3);
    assert_int_equal(rows.count, 3);
    rows = epdx_shard_rows(10, 2, 4);
    assert_int_equal(rows.start, 6);
    assert_int_equal(rows.count, 2);
}

static void test_ranks_past_a_small_span_have_no_rows(void **state)
{
    epdx_rows_t rows;

    (void)state;
    rows = epdx_shard_rows(3, 2, 8);
    assert_int_equal(rows.start, 2);
    assert_int_equal(rows.count, 1);
    rows = epdx_shard_rows(3, 3, 8);
    assert_int_equal(rows.start, 3);
    assert_int_equal(rows.count, 0);
    rows = epdx_shard_rows(3, 7, 8);
    assert_int_equal(rows.start, 3);
    assert_int_equal(rows.count, 0);
}

static void test_span_0_has_no_rows(void **state)
{
    uint32_t size;

    (void)state;
    for (size = 1; size <= 8; size++) {
        assert_tiles(0, size);
        assert_int_equal(epdx_shard_rows(0, size - 1, size).start, 0);
    }
}

static void test_longest_span_does_not_overflow(void **state)
{
    epdx_rows_t rows;
    uint32_t size;
    uint64_t span;

    (void)state;
    for (size = 1; size <= 8; size++) {
        for (span = UINT64_MAX - 8; span < UINT64_MAX; span++) {
            assert_tiles(span, size);
        }
        assert_tiles(UINT64_MAX, size);
    }
    assert_tiles(UINT64_MAX, 65537);

    /* 2^64 - 1 = (2^32 + 1) * (2^32 - 1): the last of the most ranks. */
    rows = epdx_shard_rows(UINT64_MAX, UINT32_MAX - 1, UINT32_MAX);
    assert_int_equal(rows.count, UINT64_C(0x100000001));
    assert_int_equal(rows.start, UINT64_MAX - UINT64_C(0x100000001));
    rows = epdx_shard_rows(UINT64_MAX, 1, 2);
    assert_int_equal(rows.start, UINT64_C(0x8000000000000000));
    assert_int_equal(rows.count, UINT64_C(0x7fffffffffffffff));
}

static void assert_nothing(epdx_rows_t rows)
{
    assert_int_equal(rows.start, 0);
    assert_int_equal(rows.count, 0);
}

static void test_rank_out_of_range_gives_nothing(void **state)
{
    (void)state;
    assert_nothing(epdx_shard_rows(10, 4, 4));
    assert_nothing(epdx_shard_rows(10, 5, 4));
    assert_nothing(epdx_shard_rows(10, UINT32_MAX, UINT32_MAX));
    assert_nothing(epdx_shard_rows(UINT64_MAX, 8, 8));
}

static void test_size_0_gives_nothing(void **state)
{
    (void)state;
    assert_nothing(epdx_shard_rows(10, 0, 0));
    assert_nothing(epdx_shard_rows(10, 1, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tiles_every_span_on_every_size),
        cmocka_unit_test(test_known_shares),
        cmocka_unit_test(test_ranks_past_a_small_span_have_no_rows),
        cmocka_unit_test(test_span_0_has_no_rows),
        cmocka_unit_test(test_longest_span_does_not_overflow),
        cmocka_unit_test(test_rank_out_of_range_gives_nothing),
        cmocka_unit_test(test_size_0_gives_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
