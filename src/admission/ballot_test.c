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
static epi_votes_t lists[RANKS_MAX];
static size_t ranks;
/* What each rank has to say of reassembly, in every vote of a drain. */
static bool wells[RANKS_MAX];
static uint64_t completes[RANKS_MAX];

static void group_open(size_t size)
{
    ranks = size;
    for (size_t r = 0; r < ranks; r++) {
        assert_int_equal(epi_ballot_init(&ballots[r], PENDING_MAX), EPDX_OK);
        assert_int_equal(epi_votes_init(&lists[r], PENDING_MAX), EPDX_OK);
        wells[r] = true;
        completes[r] = 0;
    }
}

static void group_close(void)
{
    for (size_t r = 0; r < ranks; r++) {
        epi_ballot_fini(&ballots[r]);
        epi_votes_fini(&lists[r]);
    }
}

/* Empty lists, and the first vote of a drain. */
static void group_begin(void)
{
    for (size_t r = 0; r < ranks; r++) {
        epi_votes_fini(&lists[r]);
        assert_int_equal(epi_votes_init(&lists[r], PENDING_MAX), EPDX_OK);
        epi_ballot_begin(&ballots[r]);
    }
}

static uint64_t id_hash(uint64_t id)
{
    return epi_hash(&id, sizeof(id));
}

static void add(size_t rank, uint64_t id, epdx_state_t state)
{
    epi_votes_add(&lists[rank], id_hash(id), state);
}

/* The same request on every rank, landed. */
static void group_add(uint64_t id)
{
    for (size_t r = 0; r < ranks; r++) {
        add(r, id, EPDX_LANDED);
    }
}

/* Seals all, asserts that all give the same number of bytes, returns it. */
static size_t group_seal(void)
{
    size_t bytes = 0;

    for (size_t r = 0; r < ranks; r++) {
        size_t own;

        epi_ballot_report(&ballots[r], wells[r], completes[r]);
        own = epi_ballot_seal(&ballots[r], &lists[r]);
        assert_true(r == 0 || own == bytes);
        bytes = own;
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

/* Whether every rank goes on to a wider vote. */
static bool group_again(void)
{
    bool again = epi_ballot_again(&ballots[0]);

    for (size_t r = 1; r < ranks; r++) {
        assert_int_equal(epi_ballot_again(&ballots[r]), again);
        assert_int_equal(ballots[r].codes, ballots[0].codes);
    }
    return again;
}

/* A whole drain's; how many votes it took. */
static int group_vote(void)
{
    int votes = 0;

    do {
        group_reduce(group_seal());
        assert_result(EPDX_OK);
        votes++;
    } while (group_again());
    return votes;
}

static void assert_decision(size_t index, epdx_state_t expected)
{
    for (size_t r = 0; r < ranks; r++) {
        assert_int_equal(epi_ballot_result(&ballots[r], index), expected);
    }
}

/* A drain over count requests that all ranks have landed. */
static int vote_on(size_t count)
{
    group_begin();
    for (size_t i = 0; i < count; i++) {
        group_add(i);
    }
    return group_vote();
}

static void test_layout_of_the_vote(void **state)
{
    static const uint8_t landed_first[3] = {2, 0, 1};
    epi_ballot_t *ballot = &ballots[0];

    (void)state;
    group_open(1);
    epi_ballot_begin(ballot);
    for (size_t i = 0; i < 3; i++) {
        add(0, i, (epdx_state_t)landed_first[i]);
    }
    assert_int_equal(epi_ballot_seal(ballot, &lists[0]), 40 + 64);
    assert_memory_equal(ballot->bytes, "\x03\0\0\0\0\0\0\0", 8);
    assert_memory_equal(ballot->bytes + 8, "\xfc\xff\xff\xff\xff\xff\xff\xff",
                        8);
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(ballot->bytes[16 + i],
                         (uint8_t)(lists[0].hash >> (8 * i)));
        assert_int_equal(ballot->bytes[24 + i],
                         (uint8_t)~ballot->bytes[16 + i]);
    }
    assert_memory_equal(ballot->bytes + 32, "\xf9\x06\0\0\0\0\0\0", 8);
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
                add(r, 101, r == one ? said : EPDX_LANDED);
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

                    add(r, i, said);
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
                add(r, 2 + i, EPDX_LANDED);
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
        add(0, i, EPDX_LANDED);
    }
    for (size_t i = 0; i < 0x0201; i++) {
        add(1, i, EPDX_LANDED);
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
                add(r, ids[i], EPDX_LANDED);
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

/* What is past the first codes is decided in the same drain. */
static void test_a_wider_vote_decides_the_later_ones(void **state)
{
    static const size_t counts[] = {0, 1, 64, 65, 300, PENDING_MAX};
    static const size_t codes[] = {64, 64, 64, 128, 512, PENDING_MAX};

    (void)state;
    group_open(3);
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        assert_int_equal(vote_on(counts[i]), codes[i] > 64 ? 2 : 1);
        assert_int_equal(ballots[0].codes, codes[i]);
        assert_int_equal(epi_ballot_decides(&ballots[0]), counts[i] > 0);
        for (size_t k = 0; k < counts[i]; k++) {
            assert_decision(k, EPDX_LANDED);
        }
        assert_decision(counts[i], EPDX_PENDING);
    }
    group_close();
}

static void add_pending(size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t r = 0; r < ranks; r++) {
            add(r, i, EPDX_PENDING);
        }
    }
}

/* However many are pending, and whatever one rank alone has landed. */
static void test_nothing_to_decide_costs_one_small_vote(void **state)
{
    (void)state;
    group_open(3);
    group_begin();
    add_pending(PENDING_MAX);
    assert_int_equal(group_seal(), EPI_BALLOT_HEADER + 64);
    assert_int_equal(group_vote(), 1);
    assert_false(epi_ballot_decides(&ballots[0]));
    for (size_t r = 0; r < ranks; r++) {
        epi_ballot_begin(&ballots[r]);
    }
    epi_votes_set(&lists[1], 2000, EPDX_LANDED);
    epi_votes_set(&lists[2], 3000, EPDX_LANDED);
    assert_int_equal(group_vote(), 1);
    assert_false(epi_ballot_decides(&ballots[0]));
    group_close();
}

/* A failure anywhere decides; one of a place far back does so at once. */
static void test_one_failure_widens_the_vote(void **state)
{
    (void)state;
    group_open(3);
    group_begin();
    add_pending(1000);
    epi_votes_set(&lists[1], 700, EPDX_FAILED);
    assert_int_equal(group_vote(), 2);
    assert_int_equal(ballots[0].codes, 1024);
    assert_decision(699, EPDX_PENDING);
    assert_decision(700, EPDX_FAILED);
    assert_decision(701, EPDX_PENDING);
    group_close();
}

/* The vote is as wide as the rank needs that has landed the least far. */
static void test_landed_everywhere_widens_the_vote(void **state)
{
    (void)state;
    group_open(3);
    group_begin();
    add_pending(1000);
    for (size_t r = 0; r < ranks; r++) {
        epi_votes_set(&lists[r], 100, EPDX_LANDED);
    }
    epi_votes_set(&lists[2], 900, EPDX_LANDED);
    assert_int_equal(group_vote(), 2);
    assert_int_equal(ballots[0].codes, 128);
    assert_decision(100, EPDX_LANDED);
    assert_decision(900, EPDX_PENDING);
    group_close();
}

/* Requests past the codes count as pending ones all the same. */
static void test_disagree_past_the_size(void **state)
{
    (void)state;
    group_open(2);
    group_begin();
    add_pending(69);
    add(0, 1000, EPDX_PENDING);
    add(1, 1001, EPDX_PENDING);
    group_reduce(group_seal());
    assert_result(EPDX_ERR_DISAGREE);
    group_close();
}

/* No rank may read or write past what it allocated, whatever others wish. */
static void test_disagree_in_the_largest_size(void **state)
{
    static const uint8_t wishes[] = {13, 63, 64, 255};
    size_t bytes;

    (void)state;
    for (size_t i = 0; i < 2 * sizeof(wishes); i++) {
        uint8_t wish = wishes[i / 2];

        group_open(2);
        group_begin();
        group_add(1);
        bytes = group_seal();
        for (size_t r = 0; r < 2; r++) {
            ballots[r].bytes[32 + i % 2] = i % 2 == 0 ? (uint8_t)~wish : wish;
        }
        group_reduce(bytes);
        assert_result(EPDX_ERR_DISAGREE);
        assert_non_null(strstr(epdx_last_error(), "EPDX_MAX_REQUESTS"));
        assert_int_equal(ballots[0].codes, 64);
        assert_false(group_again());
        group_close();
    }
}

static void test_few_requests_still_have_the_first_size(void **state)
{
    epi_ballot_t ballot;

    (void)state;
    assert_int_equal(epi_ballot_init(&ballot, 1), EPDX_OK);
    assert_int_equal(ballot.codes_max, EPI_BALLOT_FIRST);
    epi_ballot_fini(&ballot);
    assert_int_equal(epi_ballot_init(&ballot, 65), EPDX_OK);
    assert_int_equal(ballot.codes_max, 128);
    epi_ballot_fini(&ballot);
}

static void report(size_t rank, bool well, uint64_t complete)
{
    wells[rank] = well;
    completes[rank] = complete;
}

static void watch_begin(size_t size)
{
    group_open(size);
    for (size_t r = 0; r < ranks; r++) {
        epi_ballot_watch(&ballots[r]);
    }
    group_begin();
}

static void assert_watched(bool well, uint64_t complete)
{
    for (size_t r = 0; r < ranks; r++) {
        assert_int_equal(epi_ballot_well(&ballots[r]), well);
        assert_int_equal(epi_ballot_complete(&ballots[r]), complete);
    }
}

static void test_reassembly_is_two_bytes_behind_the_codes(void **state)
{
    (void)state;
    watch_begin(1);
    group_add(1);
    report(0, true, 7);
    assert_int_equal(group_seal(), EPI_BALLOT_HEADER + 64 + 2);
    assert_int_equal(ballots[0].bytes[40 + 63], EPDX_LANDED);
    assert_int_equal(ballots[0].bytes[40 + 64], 1);
    assert_int_equal(ballots[0].bytes[40 + 65], 7);
    group_close();
    /* Without it the bytes are as ever. */
    group_open(1);
    group_begin();
    assert_int_equal(group_seal(), EPI_BALLOT_HEADER + 64);
    assert_result(EPDX_OK);
    assert_watched(true, 0);
    group_close();
}

static void test_reassembly_is_as_the_least_of_the_ranks(void **state)
{
    (void)state;
    watch_begin(3);
    group_vote();
    assert_watched(true, 0);
    group_begin();
    report(0, true, 3);
    report(1, true, 2);
    report(2, true, UINT64_C(1) << 40);
    group_vote();
    assert_watched(true, 2);
    group_begin();
    report(0, true, 1);
    report(1, false, 1);
    report(2, true, 1);
    group_vote();
    assert_watched(false, 1);
    group_close();
}

static void test_reassembly_counts_to_255_in_one_vote(void **state)
{
    (void)state;
    watch_begin(2);
    report(0, true, 256);
    report(1, true, 512);
    group_vote();
    assert_watched(true, 255);
    group_close();
}

/* Its place moves with the size of the vote; both votes of a drain have it. */
static void test_reassembly_moves_with_the_size(void **state)
{
    (void)state;
    watch_begin(2);
    for (size_t i = 0; i < 65; i++) {
        group_add(i);
    }
    report(0, true, 5);
    report(1, true, 6);
    assert_int_equal(group_vote(), 2);
    assert_int_equal(ballots[0].codes, 128);
    assert_watched(true, 5);
    report(0, false, 9);
    report(1, true, 8);
    for (size_t r = 0; r < ranks; r++) {
        epi_ballot_begin(&ballots[r]);
    }
    assert_int_equal(group_vote(), 2);
    assert_watched(false, 8);
    group_close();
    watch_begin(1);
    vote_on(PENDING_MAX); /* the last byte there is */
    assert_watched(true, 0);
    group_close();
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
        cmocka_unit_test(test_a_wider_vote_decides_the_later_ones),
        cmocka_unit_test(test_nothing_to_decide_costs_one_small_vote),
        cmocka_unit_test(test_disagree_past_the_size),
        cmocka_unit_test(test_one_failure_widens_the_vote),
        cmocka_unit_test(test_landed_everywhere_widens_the_vote),
        cmocka_unit_test(test_disagree_in_the_largest_size),
        cmocka_unit_test(test_few_requests_still_have_the_first_size),
        cmocka_unit_test(test_reassembly_is_two_bytes_behind_the_codes),
        cmocka_unit_test(test_reassembly_is_as_the_least_of_the_ranks),
        cmocka_unit_test(test_reassembly_counts_to_255_in_one_vote),
        cmocka_unit_test(test_reassembly_moves_with_the_size),
        cmocka_unit_test(test_init_invalid),
        cmocka_unit_test(test_init_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
