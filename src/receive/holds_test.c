/* holds_test.c: holds are bounded, come back from any thread, and keep the
 * pool. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "receive/holds.h"
#include "testing/out_of_memory.h"

#define HOLDS   8
#define THREADS 4
#define ROUNDS  2000
#define POOL    4096

static atomic_int pool_frees;
static int freed_device;
static size_t freed_bytes;

static void release_pool(int device, void *base, size_t bytes)
{
    freed_device = device;
    freed_bytes = bytes;
    memset(base, 0xdd, bytes);
    free(base);
    atomic_fetch_add(&pool_frees, 1);
}

static const epi_memory_ops_t counting = {
    .kind = EPI_MEMORY_HOST, .name = "counting", .release = release_pool};

static epi_holds_t *open_holds(size_t hold_max)
{
    epi_holds_t *holds = NULL;

    assert_int_equal(epi_holds_open(hold_max, &holds), EPDX_OK);
    return holds;
}

static epi_holds_pool_t open_pool(void)
{
    epi_holds_pool_t pool = {
        .memory = {&counting, 5}, .base = malloc(POOL), .bytes = POOL};

    assert_non_null(pool.base);
    atomic_store(&pool_frees, 0);
    return pool;
}

static epi_hold_t *must_take(epi_holds_t *holds, uint32_t job)
{
    epi_hold_t *hold = NULL;

    assert_int_equal(epi_hold_take(holds, job, &hold), EPDX_OK);
    return hold;
}

static void test_no_holds_are_invalid(void **state)
{
    epi_holds_t *holds = NULL;

    (void)state;
    assert_int_equal(epi_holds_open(0, &holds), EPDX_ERR_INVALID);
    assert_int_equal(epi_holds_open(UINT32_MAX, &holds), EPDX_ERR_INVALID);
    assert_null(holds);
}

static void test_no_memory_is_told(void **state)
{
    epi_holds_t *holds = NULL;
    epi_hold_t *hold = NULL;
    epi_holds_pool_t none = {0};

    (void)state;
    test_calloc_left = 0;
    assert_int_equal(epi_holds_open(1, &holds), EPDX_ERR_NO_MEMORY);
    assert_null(holds);
    holds = open_holds(1);
    test_calloc_left = 0;
    assert_int_equal(epi_hold_take(holds, 0, &hold), EPDX_ERR_NO_MEMORY);
    assert_null(hold);
    epi_hold_give_back(must_take(holds, 0)); /* the next try has it */
    epi_holds_close(holds, &none);
}

static void test_holds_are_bounded_and_used_again(void **state)
{
    epi_holds_t *holds = open_holds(HOLDS);
    epi_holds_pool_t none = {0};
    epi_hold_t *out[HOLDS];
    epi_hold_t *more = NULL;
    uint32_t job = 99;

    (void)state;
    assert_false(epi_holds_take_in(holds, &job));
    for (uint32_t i = 0; i < HOLDS; i++) {
        out[i] = must_take(holds, i);
        memset(out[i] + 1, 0xff, EPI_HOLD_BYTES - sizeof(*out[i]));
    }
    test_calloc_left = 0; /* from here on nothing may be allocated */
    assert_int_equal(epi_hold_take(holds, 0, &more), EPDX_ERR_FULL);
    assert_null(more);
    epi_hold_give_back(out[3]);
    epi_hold_give_back(out[6]);
    /* Given back is not yet free: the receiver has to take it in. */
    assert_int_equal(epi_hold_take(holds, 0, &more), EPDX_ERR_FULL);
    assert_true(epi_holds_take_in(holds, &job));
    assert_int_equal(job, 6);
    out[6] = must_take(holds, 60);
    assert_true(epi_holds_take_in(holds, &job));
    assert_int_equal(job, 3);
    assert_false(epi_holds_take_in(holds, &job));
    out[3] = must_take(holds, 30);
    for (uint32_t i = 0; i < HOLDS; i++) {
        epi_hold_give_back(out[i]);
    }
    for (uint32_t i = HOLDS; i > 0; i--) {
        assert_true(epi_holds_take_in(holds, &job));
        assert_int_equal(job, i - 1 == 3 || i - 1 == 6 ? (i - 1) * 10 : i - 1);
    }
    assert_int_equal(test_calloc_left, 0); /* none was asked for */
    test_calloc_left = -1;
    epi_holds_close(holds, &none);
}

static void test_the_pool_goes_at_close_when_nothing_is_out(void **state)
{
    epi_holds_t *holds = open_holds(HOLDS);
    epi_holds_pool_t pool = open_pool();

    (void)state;
    epi_hold_give_back(must_take(holds, 0));
    assert_int_equal(atomic_load(&pool_frees), 0);
    epi_holds_close(holds, &pool);
    assert_int_equal(atomic_load(&pool_frees), 1);
    assert_int_equal(freed_device, 5);
    assert_int_equal(freed_bytes, POOL);
    pool = open_pool();
    epi_holds_close(NULL, &pool);
    assert_int_equal(atomic_load(&pool_frees), 1);
}

static void test_the_last_hold_frees_the_pool_after_close(void **state)
{
    epi_holds_t *holds = open_holds(HOLDS);
    epi_holds_pool_t pool = open_pool();
    epi_hold_t *first = must_take(holds, 0);
    epi_hold_t *last = must_take(holds, 0);

    (void)state;
    memset(pool.base, 0x11, POOL);
    epi_holds_close(holds, &pool);
    assert_int_equal(atomic_load(&pool_frees), 0);
    epi_hold_give_back(first);
    assert_int_equal(atomic_load(&pool_frees), 0);
    assert_int_equal(((unsigned char *)pool.base)[POOL - 1], 0x11);
    epi_hold_give_back(last);
    assert_int_equal(atomic_load(&pool_frees), 1);
}

typedef struct giver {
    _Atomic(epi_hold_t *) hand; /* NULL: give me one */
    atomic_bool end;
} giver_t;

static void *give_back(void *context)
{
    giver_t *giver = context;

    while (!atomic_load(&giver->end)) {
        epi_hold_t *hold = atomic_exchange(&giver->hand, NULL);

        if (hold == NULL) {
            sched_yield();
        } else {
            /* What a deleter's thread last does with the block. */
            ((unsigned char *)hold)[EPI_HOLD_BYTES - 1]++;
            epi_hold_give_back(hold);
        }
    }
    return NULL;
}

/* Takes and takes in while other threads give back. */
static void test_threads_give_back_while_the_receiver_goes_on(void **state)
{
    epi_holds_t *holds = open_holds(HOLDS);
    epi_holds_pool_t pool = open_pool();
    static giver_t givers[THREADS];
    pthread_t threads[THREADS];
    uint32_t out[THREADS] = {0};
    uint32_t handed = 0;
    uint32_t back = 0;
    uint32_t job;

    (void)state;
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(
            pthread_create(&threads[i], NULL, give_back, &givers[i]), 0);
    }
    while (back < ROUNDS) {
        for (uint32_t i = 0; i < THREADS && handed < ROUNDS; i++) {
            epi_hold_t *hold = NULL;

            if (atomic_load(&givers[i].hand) == NULL &&
                epi_hold_take(holds, i, &hold) == EPDX_OK) {
                ((unsigned char *)hold)[EPI_HOLD_BYTES - 1]++;
                out[i]++;
                handed++;
                atomic_store(&givers[i].hand, hold);
            }
        }
        while (epi_holds_take_in(holds, &job)) {
            assert_true(out[job] > 0);
            out[job]--;
            back++;
        }
        sched_yield();
    }
    /* The last ones come back while the receiver closes. */
    for (uint32_t i = 0; i < THREADS; i++) {
        atomic_store(&givers[i].hand, must_take(holds, i));
    }
    epi_holds_close(holds, &pool);
    for (int i = 0; i < THREADS; i++) {
        while (atomic_load(&givers[i].hand) != NULL) {
            sched_yield();
        }
        atomic_store(&givers[i].end, true);
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_int_equal(atomic_load(&pool_frees), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_holds_are_invalid),
        cmocka_unit_test(test_no_memory_is_told),
        cmocka_unit_test(test_holds_are_bounded_and_used_again),
        cmocka_unit_test(test_the_pool_goes_at_close_when_nothing_is_out),
        cmocka_unit_test(test_the_last_hold_frees_the_pool_after_close),
        cmocka_unit_test(test_threads_give_back_while_the_receiver_goes_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
