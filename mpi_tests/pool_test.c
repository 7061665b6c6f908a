/*
 * pool_test.c: requests that together are far over the receive pool, many small
 * and some huge, given back late and in another order on each rank.
 */
#include <sched.h>

#include "base/clock.h"
#include "engine.h"
#include "harness.h"
#include "testing/seeded.h"

#define HIDDEN    64
#define ROW_BYTES ((size_t)HIDDEN * 2)
#define POOL_ROWS 2048
#define REQUESTS  60

static engine_t engine;

static bool is_huge(size_t number)
{
    return number % 20 == 13;
}

static engine_request_t make(size_t number)
{
    engine_request_t request = {.item_count = 1 + number % 3};

    for (size_t j = 0; j < request.item_count; j++) {
        request.spans[j] = 1 + (number * 37 + j * 11) % 150;
    }
    if (is_huge(number)) { /* the whole pool */
        request.item_count = 1;
        request.spans[0] = POOL_ROWS;
    }
    return request;
}

/* Give some back, at times all, at random and on each rank otherwise. */
static void release_some(test_seeded_t *seeded)
{
    while (engine.unreleased_count > 0 && test_seeded_below(seeded, 3) == 0) {
        engine_release_one(&engine, (size_t)test_seeded_below(
                                        seeded, engine.unreleased_count));
    }
}

/* A request that fills the pool is leased when all before it were given back,
 * and nothing after it is leased before it is. */
static bool in_stage_order(void)
{
    for (size_t i = 0; i < REQUESTS; i++) {
        for (size_t j = 0; j < i; j++) {
            if ((is_huge(engine.order[i]) || is_huge(engine.order[j])) &&
                engine.order[j] > engine.order[i]) {
                return false;
            }
        }
    }
    return true;
}

static void many_small_and_some_huge(uint64_t seed)
{
    engine_params_t params = {
        .nodes = 2,
        .encode_tp = 1,
        .dtype = EPDX_BFLOAT16,
        .hidden = HIDDEN,
        .shard = true,
        .pool_bytes = POOL_ROWS * ROW_BYTES,
        .ring_bytes = POOL_ROWS * ROW_BYTES / 2,
        .timeout_ns = 120 * EPI_S,
        .release_late = true,
    };
    test_seeded_t seeded = {1 + seed * 100 + (uint64_t)harness_rank()};

    engine_open(&engine, &params);
    for (size_t i = 0; i < REQUESTS; i++) {
        engine_request_t request = make(i);

        CHECK_ALL_STATUS(engine_stage(&engine, i, &request), EPDX_OK);
    }
    for (size_t i = 0; i < REQUESTS; i++) { /* the last first */
        engine_request_t request = make(REQUESTS - 1 - i);

        engine_send(&engine, REQUESTS - 1 - i, &request);
    }
    while (engine.admitted + engine.failed < REQUESTS) {
        engine_drain_times(&engine, 1);
        release_some(&seeded);
    }
    CHECK_ALL(engine.failed == 0);
    CHECK_ALL(in_stage_order());
    while (engine.unreleased_count > 0) {
        engine_release_one(&engine, 0);
    }
    for (size_t i = 0; i < REQUESTS; i++) {
        CHECK_ALL(engine.landed_right[i]);
    }
    CHECK_ALL(engine_encode_quiet(&engine));
    engine_close(&engine);
}

static void no_deadlock_and_stage_order(void)
{
    for (uint64_t seed = 0; seed < 3; seed++) {
        many_small_and_some_huge(seed);
    }
}

int main(int argc, char **argv)
{
    static const harness_case_t cases[] = {
        HARNESS_CASE(no_deadlock_and_stage_order),
    };

    return harness_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
