/*
 * ballot_test.c: votes of one to eight simulated ranks. The reduction is done
 * here, byte by byte, as MPI_MIN over MPI_UINT8_T does it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "admission/ballot.h"
#include "base/table.h"
#include "testing/out_of_memory.h"
#include "testing/seeded.h"

#define SEED        UINT64_C(20260904)
#define RANKS_MAX   8
#define PENDING_MAX 4096

static epi_ballot_t ballots[RANKS_MAX];
static size_t ranks;

static void group_open(size_t size)
{
    ranks = size;
    for (size_t r = 0; r < ranks; r++) {
        assert_int_equal(epi_ballot_init(&ballots[r], PENDING_MAX), EPDX_OK);
    }
}

static void group_close(void)
{
    for (size_t r = 0; r < ranks; r++) {
        epi_ballot_fini(&ballots[r]);
    }
}

static void group_begin(void)
{
    for (size_t r = 0; r < ranks; r++) {
        epi_ballot_begin(&ballots[r]);
    }
}

static uint64_t id_hash(uint64_t id)
{
    return epi_hash(&id, sizeof(id));
}

/* The same request on every rank, landed. */
static void group_add(uint64_t id)
{
    for (size_t r = 0; r < ranks; r++) {
        epi_ballot_add(&ballots[r], id_hash(id), EPDX_LANDED);
    }
}

/* Seals all, asserts that all give the same number of bytes, returns it. */
static size_t group_seal(void)
{
    size_t bytes = epi_ballot_seal(&ballots[0]);

    for (size_t r = 1; r < ranks; r++) {
        assert_int_equal(epi_ballot_seal(&ballots[r]), bytes);
    }
    return bytes;
}

static void group_reduce(size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        uint8_t least = UINT8_MAX;

        for (size_t r = 0; r < ranks; r++) {
            uint8_t byte = ballots[r].bytes[i];

            least = byte < least ? byte : least;
        }
        for (size_t r = 0; r < ranks; r++) {
            ballots[r].bytes[i] = least;
        }
    }
}

static void assert_result(epdx_status_t expected)
{
    for (size_t r = 0; r < ranks; r++) {
        assert_int_equal(epi_ballot_open_result(&ballots[r]), expected);
        assert_int_equal(ballots[r].codes, ballots[0].codes);
    }
}

static void group_vote(void)
{
    group_reduce(group_seal());
    assert_result(EPDX_OK);
}

static void assert_decision(size_t index, epdx_state_t expected)
{
    for (size_t r = 0; r < ranks; r++) {
        assert_int_equal(epi_ballot_result(&ballots[r], index), expected);
    }
}

/* A vote over count requests that all ranks have landed. */
static void vote_on(size_t count)
{
    group_begin();
    for (size_t i = 0; i < count; i++) {
        group_add(i);
    }
    group_vote();
}

static void test_layout_of_the_vote(void **state)
{
    static const uint8_t landed_first[3] = {2, 0, 1};
    epi_ballot_t *ballot = &ballots[0];

    (void)state;
    group_open(1);
    epi_ballot_begin(ballot);
    for (size_t i = 0; i < 3; i++) {
        epi_ballot_add(ballot, id_hash(i), (epdx_state_t)landed_first[i]);
    }
    assert_int_equal(epi_ballot_seal(ballot), 40 + 64);
    assert_memory_equal(ballot->bytes, "\x03\0\0\0\0\0\0\0", 8);
    assert_memory_equal(ballot->bytes + 8, "\xfc\xff\xff\xff\xff\xff\xff\xff",
                        8);
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(ballot->bytes[16 + i],
                         (uint8_t)(ballot->hash >> (8 * i)));
        assert_int_equal(ballot->bytes[24 + i],
                         (uint8_t)~ballot->bytes[16 + i]);
    }
    assert_memory_equal(ballot->bytes + 32, "\xf9\0\0\0\0\0\0\0", 8);
    assert_memory_equal(ballot->bytes + 40, landed_first, 3);
    for (size_t i = 3; i < 64; i++) {
        assert_int_equal(ballot->bytes[40 + i], EPDX_LANDED);
    }
    group_close();
}

static void test_all_landed(void **state)
{
    (void)state;
    for (size_t size = 1; size <= RANKS_MAX; size++) {
        group_open(size);
        vote_on(3);
        for (size_t i = 0; i < 3; i++) {
            assert_decision(i, EPDX_LANDED);
        }
        group_close();
    }
}

/* One rank's state of the middle request decides for all, whichever rank. */
static void check_one_rank_says(epdx_state_t said)
{
    for (size_t size = 1; size <= RANKS_MAX; size++) {
        for (size_t one = 0; one < size; one++) {
            group_open(size);
            group_begin();
            group_add(100);
            for (size_t r = 0; r < ranks; r++) {
                epi_ballot_add(&ballots[r], id_hash(101),
                               r == one ? said : EPDX_LANDED);
            }
            group_add(102);
            group_vote();
            assert_decision(0, EPDX_LANDED);
            assert_decision(1, said);
            assert_decision(2, EPDX_LANDED);
            group_close();
        }
    }
}

static void test_one_failed(void **state)
{
    (void)state;
    check_one_rank_says(EPDX_FAILED);
}

static void test_one_pending(void **state)
{
    (void)state;
    check_one_rank_says(EPDX_PENDING);
}

static void test_random_states_give_the_least(void **state)
{
    test_seeded_t seeded = {.state = SEED};

    (void)state;
    print_message("seed %llu\n", (unsigned long long)SEED);
    for (size_t size = 1; size <= RANKS_MAX; size++) {
        epdx_state_t least[64];

        group_open(size);
        for (int round = 0; round < 50; round++) {
            size_t count = 1 + test_seeded_below(&seeded, 64);

            group_begin();
            for (size_t i = 0; i < count; i++) {
                least[i] = EPDX_LANDED;
                for (size_t r = 0; r < ranks; r++) {
                    uint64_t draw = test_seeded_below(&seeded, 12);
                    epdx_state_t said =
                        draw < 2 ? (epdx_state_t)draw : EPDX_LANDED;

                    epi_ballot_add(&ballots[r], id_hash(i), said);
                    least[i] = said < least[i] ? said : least[i];
                }
            }
            group_vote();
            for (size_t i = 0; i < count; i++) {
                assert_decision(i, least[i]);
            }
            assert_decision(count, EPDX_PENDING);
        }
        group_close();
    }
}

/* Every rank learns it, each with its own number; and the group goes on. */
static void test_disagree_in_count(void **state)
{
    char words[96];

    (void)state;
    for (size_t size = 2; size <= RANKS_MAX; size++) {
        group_open(size);
        group_begin();
        group_add(1);
        for (size_t r = 0; r < ranks; r++) {
            for (size_t i = 0; i < r; i++) {
                epi_ballot_add(&ballots[r], id_hash(2 + i), EPDX_LANDED);
            }
        }
        group_reduce(group_seal());
        for (size_t r = 0; r < ranks; r++) {
            assert_int_equal(epi_ballot_open_result(&ballots[r]),
                             EPDX_ERR_DISAGREE);
            (void)snprintf(words, sizeof(words),
                           "pending requests differ across ranks: this rank "
                           "has %zu",
                           r + 1);
            assert_string_equal(epdx_last_error(), words);
        }
        vote_on(2);
        assert_decision(1, EPDX_LANDED);
        group_close();
    }
}

/* Counts whose bytes cross: the least bytes of both are a count of neither. */
static void test_disagree_in_count_of_crossing_bytes(void **state)
{
    (void)state;
    group_open(2);
    group_begin();
    for (size_t i = 0; i < 0x0102; i++) {
        epi_ballot_add(&ballots[0], id_hash(i), EPDX_LANDED);
    }
    for (size_t i = 0; i < 0x0201; i++) {
        epi_ballot_add(&ballots[1], id_hash(i), EPDX_LANDED);
    }
    group_reduce(group_seal());
    assert_result(EPDX_ERR_DISAGREE);
    group_close();
}

static void check_other_list(const uint64_t *one, const uint64_t *others)
{
    for (size_t size = 2; size <= RANKS_MAX; size++) {
        group_open(size);
        group_begin();
        for (size_t r = 0; r < ranks; r++) {
            const uint64_t *ids = r == size / 2 ? one : others;

            for (size_t i = 0; i < 3; i++) {
                epi_ballot_add(&ballots[r], id_hash(ids[i]), EPDX_LANDED);
            }
        }
        group_reduce(group_seal());
        assert_result(EPDX_ERR_DISAGREE);
        assert_string_equal(
            epdx_last_error(),
            "pending requests differ across ranks: all have the same number, "
            "3, but other ids, other items (room, span, skipped), or another "
            "order");
        group_close();
    }
}

static void test_disagree_in_order(void **state)
{
    static const uint64_t one[3] = {2, 1, 3}, others[3] = {1, 2, 3};

    (void)state;
    check_other_list(one, others);
}

static void test_disagree_in_ids(void **state)
{
    static const uint64_t one[3] = {1, 2, 4}, others[3] = {1, 2, 3};

    (void)state;
    check_other_list(one, others);
}

static void test_size_grows_to_hold_the_pending(void **state)
{
    (void)state;
    group_open(3);
    assert_int_equal(ballots[0].codes, 64);
    vote_on(0);
    assert_decision(0, EPDX_PENDING);
    vote_on(64);
    assert_int_equal(ballots[0].codes, 64);
    vote_on(65);
    assert_int_equal(ballots[0].codes, 128);
    vote_on(300);
    assert_int_equal(ballots[0].codes, 512);
    vote_on(PENDING_MAX);
    assert_int_equal(ballots[0].codes, PENDING_MAX);
    vote_on(PENDING_MAX);
    for (size_t i = 0; i < PENDING_MAX; i++) {
        assert_decision(i, EPDX_LANDED);
    }
    group_close();
}

static void test_requests_past_the_size_wait_for_the_next_vote(void **state)
{
    (void)state;
    group_open(2);
    vote_on(70);
    assert_decision(63, EPDX_LANDED);
    for (size_t i = 64; i < 71; i++) {
        assert_decision(i, EPDX_PENDING);
    }
    vote_on(70);
    for (size_t i = 0; i < 70; i++) {
        assert_decision(i, EPDX_LANDED);
    }
    assert_decision(70, EPDX_PENDING);
    group_close();
}

/* Requests past the codes count as pending ones all the same. */
static void test_disagree_past_the_size(void **state)
{
    (void)state;
    group_open(2);
    group_begin();
    for (size_t i = 0; i < 69; i++) {
        group_add(i);
    }
    epi_ballot_add(&ballots[0], id_hash(1000), EPDX_LANDED);
    epi_ballot_add(&ballots[1], id_hash(1001), EPDX_LANDED);
    group_reduce(group_seal());
    assert_result(EPDX_ERR_DISAGREE);
    /* Nothing was agreed on, the size neither. */
    assert_int_equal(ballots[0].codes, 64);
    group_close();
}

/* The wish of one rank, as another version of it might have it. */
static void test_the_largest_wish_wins(void **state)
{
    size_t bytes;

    (void)state;
    group_open(4);
    group_begin();
    group_add(1);
    bytes = group_seal();
    ballots[2].bytes[32] = (uint8_t)~8;
    group_reduce(bytes);
    assert_result(EPDX_OK);
    assert_int_equal(ballots[0].codes, 256);
    group_close();
}

static void test_size_shrinks_only_when_all_want_less(void **state)
{
    size_t bytes;

    (void)state;
    group_open(4);
    vote_on(300);
    assert_int_equal(ballots[0].codes, 512);

    group_begin();
    group_add(1);
    bytes = group_seal();
    assert_int_equal(bytes, EPI_BALLOT_HEADER + 512);
    ballots[3].bytes[32] = (uint8_t)~9;
    group_reduce(bytes);
    assert_result(EPDX_OK);
    assert_int_equal(ballots[0].codes, 512);

    vote_on(100);
    assert_int_equal(ballots[0].codes, 128);
    vote_on(1);
    assert_int_equal(ballots[0].codes, EPI_BALLOT_FIRST);
    group_close();
}

/* No rank may read or write past what it allocated, whatever others wish. */
static void test_disagree_in_the_largest_size(void **state)
{
    static const uint8_t wishes[] = {13, 63, 64, 255, 5};
    size_t bytes;

    (void)state;
    for (size_t i = 0; i < sizeof(wishes); i++) {
        group_open(2);
        group_begin();
        group_add(1);
        bytes = group_seal();
        ballots[0].bytes[32] = (uint8_t)~wishes[i];
        ballots[1].bytes[32] = (uint8_t)~wishes[i];
        group_reduce(bytes);
        assert_result(EPDX_ERR_DISAGREE);
        assert_non_null(strstr(epdx_last_error(), "EPDX_MAX_REQUESTS"));
        assert_int_equal(ballots[0].codes, 64);
        group_close();
    }
}

static void test_few_requests_still_have_the_first_size(void **state)
{
    epi_ballot_t ballot;

    (void)state;
    assert_int_equal(epi_ballot_init(&ballot, 1), EPDX_OK);
    assert_int_equal(ballot.codes, EPI_BALLOT_FIRST);
    assert_int_equal(ballot.codes_max, EPI_BALLOT_FIRST);
    epi_ballot_fini(&ballot);
    assert_int_equal(epi_ballot_init(&ballot, 65), EPDX_OK);
    assert_int_equal(ballot.codes_max, 128);
    epi_ballot_fini(&ballot);
}

static void test_init_invalid(void **state)
{
    epi_ballot_t ballot = {.codes = 7};

    (void)state;
    assert_int_equal(epi_ballot_init(&ballot, 0), EPDX_ERR_INVALID);
    assert_int_equal(epi_ballot_init(&ballot, SIZE_MAX), EPDX_ERR_INVALID);
    assert_int_equal(ballot.codes, 7);
}

static void test_init_no_memory(void **state)
{
    epi_ballot_t ballot = {.codes = 7};

    (void)state;
    test_calloc_left = 0;
    assert_int_equal(epi_ballot_init(&ballot, 8), EPDX_ERR_NO_MEMORY);
    assert_int_equal(ballot.codes, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layout_of_the_vote),
        cmocka_unit_test(test_all_landed),
        cmocka_unit_test(test_one_failed),
        cmocka_unit_test(test_one_pending),
        cmocka_unit_test(test_random_states_give_the_least),
        cmocka_unit_test(test_disagree_in_count),
        cmocka_unit_test(test_disagree_in_count_of_crossing_bytes),
        cmocka_unit_test(test_disagree_in_order),
        cmocka_unit_test(test_disagree_in_ids),
        cmocka_unit_test(test_size_grows_to_hold_the_pending),
        cmocka_unit_test(test_requests_past_the_size_wait_for_the_next_vote),
        cmocka_unit_test(test_disagree_past_the_size),
        cmocka_unit_test(test_the_largest_wish_wins),
        cmocka_unit_test(test_size_shrinks_only_when_all_want_less),
        cmocka_unit_test(test_disagree_in_the_largest_size),
        cmocka_unit_test(test_few_requests_still_have_the_first_size),
        cmocka_unit_test(test_init_invalid),
        cmocka_unit_test(test_init_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
