/* group_fake_test.c: the group of threads that other tests stand on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "testing/group_fake.h"

#define SIZE 4

/** What each rank sees, by rank. */
typedef struct seen {
    epi_group_fake_t *fake;
    epdx_status_t first[SIZE];
    epdx_status_t second[SIZE];
    uint8_t codes[SIZE][3];
    uint64_t words[SIZE][2];
    char text[SIZE][8];
    uint8_t rows[SIZE][16];
    char reason[SIZE][EPDX_REASON_MAX];
} seen_t;

static seen_t seen;

static int setup(void **state)
{
    (void)state;
    memset(&seen, 0, sizeof(seen));
    return epi_group_fake_open(SIZE, &seen.fake) == EPDX_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    epi_group_fake_close(seen.fake);
    return 0;
}

static void keep_reason(uint32_t rank)
{
    (void)epi_text_copy(seen.reason[rank], EPDX_REASON_MAX, epdx_last_error());
}

/** Two reductions, of which the tests make the first fail. */
static void reduce_twice(void *context, epdx_group_t *group)
{
    seen_t *all = context;
    uint32_t rank = group->rank;

    all->codes[rank][0] = (uint8_t)(10 + rank);
    all->codes[rank][1] = (uint8_t)(20 - rank);
    all->codes[rank][2] = 200;
    all->first[rank] = group->ops->min_u8(group, all->codes[rank], 3);
    keep_reason(rank);
    all->words[rank][0] = UINT64_MAX - rank;
    all->words[rank][1] = rank == 2 ? 1 : UINT64_C(1) << 40;
    all->second[rank] = group->ops->min_u64(group, all->words[rank], 2);
}

static void all_ranks_get_the_minimum(void **state)
{
    uint32_t r;

    (void)state;
    epi_group_fake_run(seen.fake, reduce_twice, &seen);
    for (r = 0; r < SIZE; r++) {
        assert_int_equal(seen.first[r], EPDX_OK);
        assert_memory_equal(seen.codes[r], ((uint8_t[]){10, 17, 200}), 3);
        assert_int_equal(seen.second[r], EPDX_OK);
        assert_true(seen.words[r][0] == UINT64_MAX - 3);
        assert_true(seen.words[r][1] == 1);
        assert_int_equal(epi_group_fake_count(seen.fake, r, EPI_FAKE_MIN_U8),
                         1);
        assert_int_equal(epi_group_fake_count(seen.fake, r, EPI_FAKE_ANY), 2);
    }
}

static void broadcast_from_each(void *context, epdx_group_t *group)
{
    seen_t *all = context;
    uint32_t rank = group->rank;
    uint32_t root;
    epdx_status_t status = EPDX_OK;

    for (root = 0; status == EPDX_OK && root < group->size; root++) {
        char *text = &all->text[rank][root];

        *text = (char)('a' + rank);
        status = group->ops->broadcast(group, text, 1, root);
    }
    all->first[rank] = status;
    all->second[rank] = group->ops->broadcast(group, all->text, 1, SIZE);
}

static void all_ranks_get_the_roots_bytes(void **state)
{
    uint32_t r;

    (void)state;
    epi_group_fake_run(seen.fake, broadcast_from_each, &seen);
    for (r = 0; r < SIZE; r++) {
        assert_int_equal(seen.first[r], EPDX_OK);
        assert_string_equal(seen.text[r], "abcd");
        assert_int_equal(seen.second[r], EPDX_ERR_INVALID);
        assert_int_equal(epi_group_fake_count(seen.fake, r, EPI_FAKE_BROADCAST),
                         SIZE);
    }
}

static void gather_rows(void *context, epdx_group_t *group)
{
    static const uint64_t starts[SIZE] = {0, 2, 3, 3};
    static const uint64_t counts[SIZE] = {2, 1, 0, 2};
    seen_t *all = context;
    uint32_t rank = group->rank;
    epi_gather_t gathers[2] = {
        {all->rows[rank], 1, starts, counts},
        {all->rows[rank] + 5, 2, starts, counts},
    };

    memset(all->rows[rank] + starts[rank], (int)rank + 1, counts[rank]);
    memset(all->rows[rank] + 5 + 2 * starts[rank], (int)rank + 11,
           2 * counts[rank]);
    all->first[rank] = group->ops->gather(group, gathers, 2);
}

static void all_ranks_get_all_rows(void **state)
{
    static const uint8_t expected[16] = {1,  1,  2,  4,  4,  11, 11, 11,
                                         11, 12, 12, 14, 14, 14, 14, 0};
    uint32_t r;

    (void)state;
    epi_group_fake_run(seen.fake, gather_rows, &seen);
    for (r = 0; r < SIZE; r++) {
        assert_int_equal(seen.first[r], EPDX_OK);
        assert_memory_equal(seen.rows[r], expected, 16);
    }
}

static void differ(void *context, epdx_group_t *group)
{
    seen_t *all = context;
    uint32_t rank = group->rank;
    uint8_t codes[4] = {0};

    all->first[rank] = group->ops->min_u8(group, codes, rank == 3 ? 4 : 3);
    keep_reason(rank);
    all->second[rank] = group->ops->min_u8(group, codes, 3);
}

static void different_collectives_are_group_everywhere(void **state)
{
    uint32_t r;

    (void)state;
    epi_group_fake_run(seen.fake, differ, &seen);
    for (r = 0; r < SIZE; r++) {
        assert_int_equal(seen.first[r], EPDX_ERR_GROUP);
        assert_non_null(strstr(seen.reason[r], "rank 3 min_u8 of 4"));
        assert_int_equal(seen.second[r], EPDX_ERR_GROUP);
    }
}

static void fail_of_a_rank_before_it_enters(void **state)
{
    const epi_fake_fault_t fault = {EPI_FAKE_FAIL_ENTER, 1, EPI_FAKE_MIN_U8, 0};
    uint32_t r;

    (void)state;
    epi_group_fake_fault(seen.fake, &fault);
    epi_group_fake_run(seen.fake, reduce_twice, &seen);
    for (r = 0; r < SIZE; r++) {
        assert_int_equal(seen.first[r],
                         r == 1 ? EPDX_ERR_GROUP : EPDX_ERR_TIMEOUT);
        assert_non_null(strstr(seen.reason[r], r == 1
                                                   ? "failed on rank 1 before"
                                                   : "3 entered it"));
        assert_int_equal(seen.second[r], EPDX_ERR_GROUP);
    }
}

static void fail_of_a_rank_after_it_is_done(void **state)
{
    const epi_fake_fault_t fault = {EPI_FAKE_FAIL_LEAVE, 2, EPI_FAKE_ANY, 0};
    uint32_t r;

    (void)state;
    epi_group_fake_fault(seen.fake, &fault);
    epi_group_fake_run(seen.fake, reduce_twice, &seen);
    for (r = 0; r < SIZE; r++) {
        assert_int_equal(seen.first[r], r == 2 ? EPDX_ERR_GROUP : EPDX_OK);
        assert_int_equal(seen.second[r],
                         r == 2 ? EPDX_ERR_GROUP : EPDX_ERR_TIMEOUT);
    }
}

static void fault_strikes_the_nth_only(void **state)
{
    const epi_fake_fault_t fault = {EPI_FAKE_FAIL_LEAVE, 0, EPI_FAKE_ANY, 1};

    (void)state;
    epi_group_fake_fault(seen.fake, &fault);
    epi_group_fake_run(seen.fake, reduce_twice, &seen);
    assert_int_equal(seen.first[0], EPDX_OK);
    assert_int_equal(seen.second[0], EPDX_ERR_GROUP);
    assert_int_equal(seen.second[1], EPDX_OK);
}

static void held_rank_enters_when_let_go(void **state)
{
    const epi_fake_fault_t fault = {EPI_FAKE_HOLD_ENTER, 3, EPI_FAKE_ANY, 1};
    uint32_t r;

    (void)state;
    epi_group_fake_fault(seen.fake, &fault);
    epi_group_fake_let_go(seen.fake);
    epi_group_fake_run(seen.fake, reduce_twice, &seen);
    for (r = 0; r < SIZE; r++) {
        assert_int_equal(seen.second[r], EPDX_OK);
    }
}

/** Rank 0 sees rank 3 held, then lets it go; the others wait in the round. */
static void let_go_by_rank_0(void *context, epdx_group_t *group)
{
    seen_t *all = context;

    if (group->rank == 0) {
        all->second[0] = epi_group_fake_await_held(all->fake, 3);
        epi_group_fake_let_go(all->fake);
    }
    all->first[group->rank] =
        group->ops->min_u8(group, all->codes[group->rank], 3);
}

static void held_rank_is_seen_held(void **state)
{
    const epi_fake_fault_t fault = {EPI_FAKE_HOLD_ENTER, 3, EPI_FAKE_MIN_U8, 0};
    uint32_t r;

    (void)state;
    epi_group_fake_fault(seen.fake, &fault);
    epi_group_fake_run(seen.fake, let_go_by_rank_0, &seen);
    assert_int_equal(seen.second[0], 1);
    for (r = 0; r < SIZE; r++) {
        assert_int_equal(seen.first[r], EPDX_OK);
    }
}

static void late_rank_enters_once_others_gave_up(void **state)
{
    const epi_fake_fault_t fault = {EPI_FAKE_LATE_ENTER, 0, EPI_FAKE_MIN_U8, 0};
    uint32_t r;

    (void)state;
    epi_group_fake_fault(seen.fake, &fault);
    epi_group_fake_run(seen.fake, reduce_twice, &seen);
    assert_int_equal(seen.first[0], EPDX_ERR_GROUP);
    for (r = 1; r < SIZE; r++) {
        assert_int_equal(seen.first[r], EPDX_ERR_TIMEOUT);
    }
}

static void many_rounds(void *context, epdx_group_t *group)
{
    seen_t *all = context;
    uint32_t rank = group->rank;
    uint64_t round;

    for (round = 0; round < 500; round++) {
        uint64_t word = round * SIZE + (rank + round) % SIZE;

        if (group->ops->min_u64(group, &word, 1) != EPDX_OK ||
            word != round * SIZE) {
            all->first[rank] = EPDX_ERR_GROUP;
        }
    }
}

static void rounds_do_not_meet(void **state)
{
    uint32_t r;

    (void)state;
    epi_group_fake_run(seen.fake, many_rounds, &seen);
    for (r = 0; r < SIZE; r++) {
        assert_int_equal(seen.first[r], EPDX_OK);
        assert_int_equal(epi_group_fake_count(seen.fake, r, EPI_FAKE_MIN_U64),
                         500);
    }
}

static void group_of_no_ranks_is_invalid(void **state)
{
    epi_group_fake_t *fake = NULL;

    (void)state;
    assert_int_equal(epi_group_fake_open(0, &fake), EPDX_ERR_INVALID);
    assert_null(fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(all_ranks_get_the_minimum, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(all_ranks_get_the_roots_bytes, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(all_ranks_get_all_rows, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(
            different_collectives_are_group_everywhere, setup, teardown),
        cmocka_unit_test_setup_teardown(fail_of_a_rank_before_it_enters, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(fail_of_a_rank_after_it_is_done, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(fault_strikes_the_nth_only, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(held_rank_enters_when_let_go, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(held_rank_is_seen_held, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(late_rank_enters_once_others_gave_up,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(rounds_do_not_meet, setup, teardown),
        cmocka_unit_test(group_of_no_ranks_is_invalid),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
