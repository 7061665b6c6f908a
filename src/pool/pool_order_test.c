/*
 * pool_order_test.c: arena and tickets together, as the receiver uses them:
 * requests queue in stage order, the front is leased as soon as it fits, and
 * nobody behind it before. Two ranks that release in different orders still
 * lease in the same one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pool/arena.h"
#include "pool/tickets.h"
#include "testing/seeded.h"

#define SEED     UINT64_C(20260903)
#define REQUESTS 600
#define CAPACITY UINT64_C(65536)

typedef enum life { WAITS, LEASED, ENDED } life_t;

/* One rank's pool, with every request it was ever given. */
typedef struct pool {
    epi_arena_t *arena;
    epi_tickets_t tickets;
    uint64_t bytes[REQUESTS];
    uint64_t offset[REQUESTS];
    life_t life[REQUESTS];
    uint32_t granted[REQUESTS]; /* ids, in the order they were leased */
    size_t granted_count;
    uint32_t staged;
} pool_t;

static void pool_open(pool_t *pool)
{
    *pool = (pool_t){.staged = 0};
    assert_int_equal(epi_arena_open(CAPACITY, REQUESTS, &pool->arena), EPDX_OK);
    assert_int_equal(epi_tickets_init(&pool->tickets, REQUESTS), EPDX_OK);
}

static void pool_close(pool_t *pool)
{
    epi_tickets_fini(&pool->tickets);
    epi_arena_close(pool->arena);
}

/* Lease from the front until the front does not fit. */
static void pool_grant(pool_t *pool)
{
    uint32_t id;

    while (epi_tickets_front(&pool->tickets, &id)) {
        epdx_status_t status =
            epi_arena_lease(pool->arena, pool->bytes[id], &pool->offset[id]);

        if (status == EPDX_ERR_FULL) {
            /* No starvation: with all that came earlier gone, it fits. */
            assert_true(epi_arena_lease_count(pool->arena) > 0);
            return;
        }
        assert_int_equal(status, EPDX_OK);
        assert_true(epi_tickets_remove(&pool->tickets, id));
        pool->life[id] = LEASED;
        pool->granted[pool->granted_count++] = id;
    }
}

static void pool_stage(pool_t *pool, uint64_t bytes)
{
    uint32_t id = pool->staged++;

    pool->bytes[id] = bytes;
    pool->life[id] = WAITS;
    assert_int_equal(epi_tickets_push(&pool->tickets, id), EPDX_OK);
    pool_grant(pool);
}

/* End the request at or after id that has not ended; false when none is left.
 * One that waits leaves the queue, as when it is cancelled. */
static bool pool_end(pool_t *pool, uint32_t id, bool leased_only)
{
    for (uint32_t i = 0; i < pool->staged; i++) {
        uint32_t at = (id + i) % pool->staged;

        if (pool->life[at] == LEASED) {
            assert_int_equal(epi_arena_release(pool->arena, pool->offset[at]),
                             EPDX_OK);
        } else if (pool->life[at] == WAITS && !leased_only) {
            assert_true(epi_tickets_remove(&pool->tickets, at));
        } else {
            continue;
        }
        pool->life[at] = ENDED;
        pool_grant(pool);
        return true;
    }
    return false;
}

static void assert_stage_order(const pool_t *pool)
{
    uint32_t front;

    for (size_t i = 1; i < pool->granted_count; i++) {
        assert_true(pool->granted[i - 1] < pool->granted[i]);
    }
    if (epi_tickets_front(&pool->tickets, &front) && pool->granted_count > 0) {
        assert_true(pool->granted[pool->granted_count - 1] < front);
    }
}

static uint64_t any_request(test_seeded_t *seeded)
{
    /* One in eight needs half of the pool and more: the hard one to place. */
    if (test_seeded_below(seeded, 8) == 0) {
        return CAPACITY / 2 + test_seeded_below(seeded, CAPACITY / 2 + 1);
    }
    return 1 + test_seeded_below(seeded, CAPACITY / 8);
}

static void test_the_front_waits_and_nobody_overtakes(void **state)
{
    pool_t pool;

    (void)state;
    pool_open(&pool);
    pool_stage(&pool, CAPACITY / 2);
    pool_stage(&pool, CAPACITY); /* waits for the whole pool */
    pool_stage(&pool, 1);        /* would fit, and must not go first */
    assert_int_equal(pool.granted_count, 1);
    assert_int_equal(epi_tickets_count(&pool.tickets), 2);
    assert_true(pool_end(&pool, 0, true));
    assert_int_equal(pool.granted_count, 2);
    assert_int_equal(pool.granted[1], 1);
    assert_true(pool_end(&pool, 1, true));
    assert_int_equal(pool.granted_count, 3);
    assert_int_equal(pool.granted[2], 2);
    pool_close(&pool);
}

static void test_a_cancelled_front_lets_the_next_in(void **state)
{
    pool_t pool;

    (void)state;
    pool_open(&pool);
    pool_stage(&pool, CAPACITY / 2);
    pool_stage(&pool, CAPACITY);
    pool_stage(&pool, CAPACITY / 2);
    assert_int_equal(pool.granted_count, 1);
    assert_true(pool_end(&pool, 1, false));
    assert_int_equal(pool.granted_count, 2);
    assert_int_equal(pool.granted[1], 2);
    pool_close(&pool);
}

static void test_random_requests_are_leased_in_stage_order(void **state)
{
    test_seeded_t seeded = {.state = SEED};
    size_t cancelled = 0;
    pool_t pool;

    (void)state;
    print_message("seed %llu\n", (unsigned long long)SEED);
    pool_open(&pool);
    while (pool.staged < REQUESTS) {
        if (pool.staged == 0 || test_seeded_below(&seeded, 5) < 3) {
            pool_stage(&pool, any_request(&seeded));
        } else {
            size_t waiting = epi_tickets_count(&pool.tickets);
            size_t granted = pool.granted_count;

            (void)pool_end(&pool,
                           (uint32_t)test_seeded_below(&seeded, pool.staged),
                           test_seeded_below(&seeded, 16) != 0);
            cancelled += waiting - epi_tickets_count(&pool.tickets) -
                         (pool.granted_count - granted);
        }
        assert_stage_order(&pool);
    }
    /* Whatever is left is served by releases alone. */
    while (
        pool_end(&pool, (uint32_t)test_seeded_below(&seeded, REQUESTS), true)) {
        assert_stage_order(&pool);
    }
    assert_int_equal(epi_tickets_count(&pool.tickets), 0);
    assert_int_equal(pool.granted_count + cancelled, REQUESTS);
    assert_int_equal(epi_arena_leased(pool.arena), 0);
    assert_true(cancelled > 0);
    pool_close(&pool);
}

/* The ranks release in different orders and at different times; the one that
 * is ahead waits for no request that the other has not been given yet. */
static void test_two_ranks_lease_in_the_same_order(void **state)
{
    test_seeded_t seeded = {.state = SEED + 1};
    pool_t ranks[2];

    (void)state;
    print_message("seed %llu\n", (unsigned long long)(SEED + 1));
    pool_open(&ranks[0]);
    pool_open(&ranks[1]);
    while (ranks[0].staged < REQUESTS) {
        uint64_t bytes = any_request(&seeded);

        pool_stage(&ranks[0], bytes);
        pool_stage(&ranks[1], bytes);
        for (size_t r = 0; r < 2; r++) {
            uint32_t from =
                (uint32_t)test_seeded_below(&seeded, ranks[r].staged);

            (void)pool_end(&ranks[r], from, true);
        }
    }
    for (size_t r = 0; r < 2; r++) {
        while (pool_end(&ranks[r],
                        (uint32_t)test_seeded_below(&seeded, REQUESTS), true)) {
        }
        assert_int_equal(ranks[r].granted_count, REQUESTS);
    }
    for (size_t i = 0; i < REQUESTS; i++) {
        assert_int_equal(ranks[0].granted[i], ranks[1].granted[i]);
    }
    pool_close(&ranks[0]);
    pool_close(&ranks[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_front_waits_and_nobody_overtakes),
        cmocka_unit_test(test_a_cancelled_front_lets_the_next_in),
        cmocka_unit_test(test_random_requests_are_leased_in_stage_order),
        cmocka_unit_test(test_two_ranks_lease_in_the_same_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
