/*
 * fanout_test.c: every way in which the asks of a room can be wrong for its
 * chunk, in the words that the receivers will read, and every way in which
 * they are right.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "epdx/shard.h"
#include "sender/fanout.h"
#include "testing/seeded.h"

#define SEED     UINT64_C(20260905)
#define ASKS_MAX 8

static const epi_chunk_shape_t plain = {
    .rows = 10, .hidden = 64, .dtype = EPDX_BFLOAT16};
static const epi_chunk_shape_t deep = {
    .rows = 10, .hidden = 64, .dtype = EPDX_BFLOAT16, .has_deepstack = true};

/* A room's asks under test. */
static epi_ask_t asks[ASKS_MAX];
static const epi_ask_t *pointers[ASKS_MAX];
static epi_fanout_t fanout;
static char reason[EPDX_REASON_MAX];

static void begin_block(uint32_t block, uint32_t blocks)
{
    memset(asks, 0, sizeof(asks));
    fanout = (epi_fanout_t){
        .asks = pointers, .count = 0, .block = block, .blocks = blocks};
}

/* An ask that is right for the plain chunk but for its rows, of a receiver
 * whose port is 41999, 42000, ... All asks require as many as there are. */
static epi_ask_t *add(uint64_t row_start, uint64_t rows)
{
    size_t i = fanout.count++;

    asks[i] = (epi_ask_t){
        .room = 7,
        .rows = rows,
        .hidden = 64,
        .dtype = EPDX_BFLOAT16,
        .row_start = row_start,
        .span = 10,
    };
    (void)snprintf(asks[i].session, sizeof(asks[i].session), "1.2.3.4:%zu",
                   41999 + i);
    pointers[i] = &asks[i];
    for (size_t k = 0; k < fanout.count; k++) {
        asks[k].required = (uint32_t)fanout.count;
    }
    return &asks[i];
}

static void begin(void)
{
    begin_block(0, 1);
}

static void assert_right(const epi_chunk_shape_t *chunk)
{
    (void)snprintf(reason, sizeof(reason), "untouched");
    assert_int_equal(
        epi_fanout_validate(&fanout, chunk, reason, sizeof(reason)), EPDX_OK);
    assert_string_equal(reason, "untouched");
}

static void assert_wrong(const epi_chunk_shape_t *chunk, const char *words)
{
    reason[0] = '\0';
    assert_int_equal(
        epi_fanout_validate(&fanout, chunk, reason, sizeof(reason)),
        EPDX_ERR_MISMATCH);
    assert_string_equal(reason, words);
}

static void test_rejects_gap(void **state)
{
    (void)state;
    begin();
    add(0, 3);
    add(5, 3);
    assert_wrong(&plain, "asks leave a gap or overlap: ask of 1.2.3.4:41999 "
                         "is for rows [0, 3), rank 0 of 2 has [0, 5)");
}

static void test_rejects_gap_at_the_end(void **state)
{
    (void)state;
    begin();
    add(0, 5);
    add(5, 4);
    assert_wrong(&plain, "asks leave a gap or overlap: ask of 1.2.3.4:42000 "
                         "is for rows [5, 9), rank 1 of 2 has [5, 10)");
}

static void test_rejects_overlap(void **state)
{
    (void)state;
    begin();
    add(0, 5);
    add(3, 5);
    assert_wrong(&plain, "asks leave a gap or overlap: ask of 1.2.3.4:42000 "
                         "is for rows [3, 8), rank 1 of 2 has [5, 10)");
}

static void test_rejects_the_same_share_twice(void **state)
{
    (void)state;
    begin();
    add(5, 5);
    add(5, 5);
    assert_wrong(&plain, "asks leave a gap or overlap: ask of 1.2.3.4:41999 "
                         "is for rows [5, 10), rank 0 of 2 has [0, 5)");
}

/* Rows that tile, but not where the ranks' reassembly expects them. */
static void test_rejects_a_tiling_that_is_not_the_ranks(void **state)
{
    (void)state;
    begin();
    add(0, 3);
    add(3, 7);
    assert_wrong(&plain, "asks leave a gap or overlap: ask of 1.2.3.4:41999 "
                         "is for rows [0, 3), rank 0 of 2 has [0, 5)");
}

static void test_rejects_a_share_for_the_whole(void **state)
{
    (void)state;
    begin();
    add(0, 5);
    assert_wrong(&plain, "asks leave a gap or overlap: ask of 1.2.3.4:41999 "
                         "is for rows [0, 5), rank 0 of 1 has [0, 10)");
}

static void test_rejects_range(void **state)
{
    (void)state;
    begin();
    add(5, 6);
    assert_wrong(&plain, "ask of 1.2.3.4:41999 is for 6 rows from row 5, the "
                         "chunk has 10 rows");
}

static void test_rejects_range_that_overflows(void **state)
{
    (void)state;
    begin();
    add(5, UINT64_MAX);
    assert_wrong(&plain, "ask of 1.2.3.4:41999 is for 18446744073709551615 "
                         "rows from row 5, the chunk has 10 rows");
    begin();
    add(UINT64_MAX, 5);
    assert_wrong(&plain, "ask of 1.2.3.4:41999 is for 5 rows from row "
                         "18446744073709551615, the chunk has 10 rows");
}

static void test_rejects_dtype(void **state)
{
    (void)state;
    begin();
    add(0, 10)->dtype = EPDX_FLOAT32;
    assert_wrong(&plain, "ask of 1.2.3.4:41999 has dtype torch.float32, the "
                         "chunk has torch.bfloat16");
}

static void test_rejects_hidden(void **state)
{
    (void)state;
    begin();
    add(0, 10)->hidden = 32;
    assert_wrong(&plain,
                 "ask of 1.2.3.4:41999 has hidden 32, the chunk has 64");
}

/* The second ask is looked at as well as the first. */
static void test_rejects_hidden_of_one_of_two(void **state)
{
    (void)state;
    begin();
    add(0, 5);
    add(5, 5);
    asks[1].hidden = 65;
    assert_wrong(&plain,
                 "ask of 1.2.3.4:42000 has hidden 65, the chunk has 64");
}

static void test_rejects_mixed_identity_and_shard(void **state)
{
    static const char words[] =
        "ask of 1.2.3.4:41999 is for all 10 rows, ask of 1.2.3.4:42000 for 5 "
        "rows from row 5: EPDX_EMBEDDING_SHARD must be the same on all ranks";

    (void)state;
    begin();
    add(0, 10);
    add(5, 5);
    assert_wrong(&plain, words);
    pointers[0] = &asks[1];
    pointers[1] = &asks[0];
    assert_wrong(&plain, words);
}

static void test_rejects_span_mismatch_even_with_one_ask(void **state)
{
    (void)state;
    begin();
    add(0, 6)->span = 6;
    assert_wrong(&plain,
                 "ask of 1.2.3.4:41999 has span 6, the chunk has 10 rows");
    begin();
    add(0, 11)->span = 11;
    assert_wrong(&plain,
                 "ask of 1.2.3.4:41999 has span 11, the chunk has 10 rows");
    begin();
    add(0, 10);
    assert_right(&plain);
}

static void test_rejects_deepstack_that_the_chunk_lost(void **state)
{
    (void)state;
    begin();
    add(0, 10)->has_deepstack = true;
    assert_wrong(&plain, "ask of 1.2.3.4:41999 wants deepstack, the chunk has "
                         "none");
}

static void test_rejects_deepstack_that_nobody_wants(void **state)
{
    (void)state;
    begin();
    add(0, 10);
    assert_wrong(&deep, "ask of 1.2.3.4:41999 does not want deepstack, the "
                        "chunk has it");
}

static void test_accepts_deepstack_on_both_sides(void **state)
{
    (void)state;
    begin();
    add(0, 10)->has_deepstack = true;
    assert_right(&deep);
}

static void test_rejects_required_that_differs(void **state)
{
    (void)state;
    begin();
    add(0, 5);
    add(5, 5)->required = 4;
    assert_wrong(&plain,
                 "ask of 1.2.3.4:42000 requires 4 asks, the room has 2");
}

static void test_rejects_required_that_is_not_the_count(void **state)
{
    (void)state;
    begin();
    add(0, 10)->required = 2;
    assert_wrong(&plain,
                 "ask of 1.2.3.4:41999 requires 2 asks, the room has 1");
}

static void test_accepts_identity_of_all(void **state)
{
    (void)state;
    for (size_t count = 1; count <= ASKS_MAX; count++) {
        for (uint32_t blocks = 1; blocks <= 4; blocks++) {
            begin_block(blocks - 1, blocks);
            for (size_t i = 0; i < count; i++) {
                add(0, 10);
            }
            assert_right(&plain);
        }
    }
}

/* Of four ranks with 3, 3, 2, 2 rows, the second encode rank has the last. */
static void test_block_of_encode_rank_1_of_2(void **state)
{
    (void)state;
    begin_block(1, 2);
    add(6, 2);
    add(8, 2);
    assert_right(&plain);
}

static void test_rejects_the_block_of_another_encode_rank(void **state)
{
    (void)state;
    begin_block(1, 2);
    add(0, 3);
    add(3, 3);
    assert_wrong(&plain, "asks leave a gap or overlap: ask of 1.2.3.4:41999 "
                         "is for rows [0, 3), rank 2 of 4 has [6, 8)");
}

/* Two ranks who tile the whole item, at one of two encode ranks. */
static void test_rejects_a_whole_tiling_at_one_of_two_blocks(void **state)
{
    (void)state;
    begin_block(1, 2);
    add(0, 5);
    add(5, 5);
    assert_wrong(&plain, "asks leave a gap or overlap: ask of 1.2.3.4:41999 "
                         "is for rows [0, 5), rank 2 of 4 has [6, 8)");
}

static void test_shares_of_0_rows(void **state)
{
    epi_chunk_shape_t chunk = plain;

    (void)state;
    chunk.rows = 2;
    begin();
    add(2, 0)->span = 2;
    add(1, 1)->span = 2;
    add(2, 0)->span = 2;
    add(0, 1)->span = 2;
    assert_right(&chunk);
    /* A block whose ranks have no rows at all. */
    begin_block(1, 2);
    add(2, 0)->span = 2;
    add(2, 0)->span = 2;
    assert_right(&chunk);
}

/* One row on two ranks: the first rank's share is the item. */
static void test_one_row_is_not_mixed(void **state)
{
    epi_chunk_shape_t chunk = plain;

    (void)state;
    chunk.rows = 1;
    begin();
    add(0, 1)->span = 1;
    add(1, 0)->span = 1;
    assert_right(&chunk);
    begin();
    add(0, 1)->span = 1;
    add(0, 0)->span = 1;
    assert_wrong(&chunk, "asks leave a gap or overlap: ask of 1.2.3.4:42000 "
                         "is for rows [0, 0), rank 0 of 2 has [0, 1)");
}

static void test_rejects_0_rows_where_the_rank_has_some(void **state)
{
    (void)state;
    begin();
    add(0, 5);
    add(5, 0);
    assert_wrong(&plain, "asks leave a gap or overlap: ask of 1.2.3.4:42000 "
                         "is for rows [5, 5), rank 1 of 2 has [5, 10)");
}

static void test_rejects_more_ranks_than_there_can_be(void **state)
{
    (void)state;
    begin_block(0, UINT32_MAX);
    add(0, 5);
    add(5, 5);
    assert_wrong(&plain, "2 asks in each of 4294967295 blocks are more ranks "
                         "than there can be");
}

static void test_reason_is_cut_to_its_size(void **state)
{
    char small[16];

    (void)state;
    begin();
    add(0, 10)->hidden = 1;
    assert_int_equal(epi_fanout_validate(&fanout, &plain, small, sizeof(small)),
                     EPDX_ERR_MISMATCH);
    assert_string_equal(small, "ask of 1.2.3.4:");
}

/* The asks of a block in an order of chance. */
static void shuffle(test_seeded_t *seeded)
{
    for (size_t i = fanout.count; i > 1; i--) {
        size_t k = test_seeded_below(seeded, i);
        const epi_ask_t *swap = pointers[k];

        pointers[k] = pointers[i - 1];
        pointers[i - 1] = swap;
    }
}

/* Right as they are; wrong when any one ask is a row longer or shorter, begins
 * a row later, or is replaced by its neighbour's. */
static void check_block(test_seeded_t *seeded, const epi_chunk_shape_t *chunk)
{
    size_t victim = test_seeded_below(seeded, fanout.count);
    epi_ask_t *ask = &asks[victim];
    const epi_ask_t kept = *ask;
    size_t wrong = 0;

    assert_right(chunk);
    for (int change = 0; change < 4; change++) {
        ask->rows += change == 0 ? 1 : 0;
        ask->rows -= change == 1 && ask->rows > 0 ? 1 : 0;
        ask->row_start += change == 2 ? 1 : 0;
        if (change == 3) {
            ask->row_start = asks[(victim + 1) % fanout.count].row_start;
            ask->rows = asks[(victim + 1) % fanout.count].rows;
        }
        /* An ask that became the whole may be right: without sharding. */
        if ((ask->rows != kept.rows || ask->row_start != kept.row_start) &&
            (ask->rows != chunk->rows || ask->row_start != 0)) {
            assert_int_equal(
                epi_fanout_validate(&fanout, chunk, reason, sizeof(reason)),
                EPDX_ERR_MISMATCH);
            wrong++;
        }
        *ask = kept;
    }
    assert_true(wrong >= 1);
}

static void test_spans_on_ranks_in_blocks_in_any_order(void **state)
{
    test_seeded_t seeded = {.state = SEED};

    (void)state;
    print_message("seed %llu\n", (unsigned long long)SEED);
    for (uint64_t span = 1; span <= 129; span++) {
        epi_chunk_shape_t chunk = plain;

        chunk.rows = span;
        for (uint32_t size = 1; size <= ASKS_MAX; size++) {
            for (uint32_t blocks = 1; blocks <= 4; blocks *= 2) {
                uint32_t count = size / blocks;

                for (uint32_t block = 0; size % blocks == 0 && block < blocks;
                     block++) {
                    begin_block(block, blocks);
                    for (uint32_t i = 0; i < count; i++) {
                        epdx_rows_t share =
                            epdx_shard_rows(span, block * count + i, size);

                        add(share.start, share.count)->span = span;
                    }
                    shuffle(&seeded);
                    check_block(&seeded, &chunk);
                }
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rejects_gap),
        cmocka_unit_test(test_rejects_gap_at_the_end),
        cmocka_unit_test(test_rejects_overlap),
        cmocka_unit_test(test_rejects_the_same_share_twice),
        cmocka_unit_test(test_rejects_a_tiling_that_is_not_the_ranks),
        cmocka_unit_test(test_rejects_a_share_for_the_whole),
        cmocka_unit_test(test_rejects_range),
        cmocka_unit_test(test_rejects_range_that_overflows),
        cmocka_unit_test(test_rejects_dtype),
        cmocka_unit_test(test_rejects_hidden),
        cmocka_unit_test(test_rejects_hidden_of_one_of_two),
        cmocka_unit_test(test_rejects_mixed_identity_and_shard),
        cmocka_unit_test(test_rejects_span_mismatch_even_with_one_ask),
        cmocka_unit_test(test_rejects_deepstack_that_the_chunk_lost),
        cmocka_unit_test(test_rejects_deepstack_that_nobody_wants),
        cmocka_unit_test(test_accepts_deepstack_on_both_sides),
        cmocka_unit_test(test_rejects_required_that_differs),
        cmocka_unit_test(test_rejects_required_that_is_not_the_count),
        cmocka_unit_test(test_accepts_identity_of_all),
        cmocka_unit_test(test_block_of_encode_rank_1_of_2),
        cmocka_unit_test(test_rejects_the_block_of_another_encode_rank),
        cmocka_unit_test(test_rejects_a_whole_tiling_at_one_of_two_blocks),
        cmocka_unit_test(test_shares_of_0_rows),
        cmocka_unit_test(test_one_row_is_not_mixed),
        cmocka_unit_test(test_rejects_0_rows_where_the_rank_has_some),
        cmocka_unit_test(test_rejects_more_ranks_than_there_can_be),
        cmocka_unit_test(test_reason_is_cut_to_its_size),
        cmocka_unit_test(test_spans_on_ranks_in_blocks_in_any_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
