/* votes_test.c: states kept by place, against a plain list of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "admission/votes.h"
#include "testing/seeded.h"

#define MAX 40

static void test_hash_is_of_ids_and_order(void **state)
{
    epi_votes_t a, b, c;

    (void)state;
    assert_int_equal(epi_votes_init(&a, MAX), EPDX_OK);
    assert_int_equal(epi_votes_init(&b, MAX), EPDX_OK);
    assert_int_equal(epi_votes_init(&c, MAX), EPDX_OK);
    epi_votes_add(&a, 1, EPDX_PENDING);
    epi_votes_add(&a, 2, EPDX_LANDED);
    epi_votes_add(&b, 2, EPDX_PENDING);
    epi_votes_add(&b, 1, EPDX_PENDING);
    epi_votes_add(&c, 1, EPDX_FAILED);
    epi_votes_add(&c, 2, EPDX_PENDING);
    assert_true(a.hash == c.hash); /* states are not in it */
    assert_true(a.hash != b.hash);
    epi_votes_fini(&a);
    epi_votes_fini(&b);
    epi_votes_fini(&c);
}

/* Two lists that lost the same places are alike, also in what comes later. */
static void test_what_was_dropped_leaves_no_trace(void **state)
{
    epi_votes_t a, b;

    (void)state;
    assert_int_equal(epi_votes_init(&a, MAX), EPDX_OK);
    assert_int_equal(epi_votes_init(&b, MAX), EPDX_OK);
    for (uint64_t i = 0; i < 3; i++) {
        epi_votes_add(&a, i, EPDX_PENDING);
        epi_votes_add(&b, i, EPDX_PENDING);
    }
    /* Both at once, and one after the other. */
    epi_votes_drop(&a, 0);
    epi_votes_keep(&a, 1, 0);
    epi_votes_drop(&a, 2);
    epi_votes_end(&a, 1);
    epi_votes_drop(&b, 0);
    epi_votes_keep(&b, 1, 0);
    epi_votes_keep(&b, 2, 1);
    epi_votes_end(&b, 2);
    epi_votes_keep(&b, 0, 0);
    epi_votes_drop(&b, 1);
    epi_votes_end(&b, 1);
    assert_int_equal(a.count, 1);
    assert_true(a.hash == b.hash);
    assert_true(a.hash == a.terms[0]);
    epi_votes_add(&a, 9, EPDX_PENDING);
    epi_votes_add(&b, 9, EPDX_PENDING);
    assert_true(a.hash == b.hash);
    epi_votes_fini(&a);
    epi_votes_fini(&b);
}

/* The ends as a walk over all places finds them. */
static void assert_ends(const epi_votes_t *votes)
{
    size_t failed = 0, landed = 0;

    for (size_t i = 0; i < votes->count; i++) {
        failed = votes->codes[i] == EPDX_FAILED ? i + 1 : failed;
        landed = votes->codes[i] == EPDX_LANDED ? i + 1 : landed;
    }
    assert_int_equal(votes->failed_end, failed);
    assert_int_equal(votes->landed_end, landed);
}

static void drop_some(epi_votes_t *votes, test_seeded_t *seeded)
{
    size_t kept = 0;

    for (size_t i = 0; i < votes->count; i++) {
        if (votes->codes[i] != EPDX_PENDING &&
            test_seeded_below(seeded, 2) == 0) {
            epi_votes_drop(votes, i);
        } else {
            epi_votes_keep(votes, i, kept++);
        }
    }
    epi_votes_end(votes, kept);
}

static void test_ends_follow_every_change(void **state)
{
    test_seeded_t seeded = {.state = 20261129};
    epi_votes_t votes;

    (void)state;
    assert_int_equal(epi_votes_init(&votes, MAX), EPDX_OK);
    for (int round = 0; round < 5000; round++) {
        size_t place;

        switch (test_seeded_below(&seeded, 3)) {
        case 0:
            if (votes.count < MAX) {
                epi_votes_add(&votes, (uint64_t)round, EPDX_PENDING);
            }
            break;
        case 1:
            place = test_seeded_below(&seeded, MAX);
            if (place < votes.count && votes.codes[place] == EPDX_PENDING) {
                epi_votes_set(&votes, place,
                              test_seeded_below(&seeded, 2) == 0 ? EPDX_FAILED
                                                                 : EPDX_LANDED);
            }
            break;
        default:
            drop_some(&votes, &seeded);
        }
        assert_ends(&votes);
    }
    epi_votes_fini(&votes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hash_is_of_ids_and_order),
        cmocka_unit_test(test_what_was_dropped_leaves_no_trace),
        cmocka_unit_test(test_ends_follow_every_change),
    };

    return cmocka_run_group_tests_name("admission/votes", tests, NULL, NULL);
}
