/*
 * steady_test.c: what an item costs in steady state, in counts that do not
 * vary: heap calls, control frames, offers, copies of its bytes. An encode rank
 * and a prefill rank in one thread, which is then the caller's and the I/O
 * thread of both.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "bench/watch.h"
#include "epdx/epdx.h"
#include "group/group.h"

#define HIDDEN     64
#define ROWS       32
#define ITEMS      200
#define WARM       400
#define LIMIT_NS   (60 * EPI_S)

#define ITEM_BYTES ((size_t)ROWS * HIDDEN * 2)

typedef struct pair {
    epdx_bootstrap_t *bootstrap;
    epdx_sender_t *sender;
    epdx_group_t *group;
    epdx_admission_t *admission;
    uint64_t room;
} pair_t;

static int open_pair(void **state)
{
    static pair_t pair;
    epdx_bootstrap_params_t server = {.struct_size = sizeof(server),
                                      .listen = "127.0.0.1:0"};
    epdx_sender_params_t sender = {
        .struct_size = sizeof(sender),
        .dtype = EPDX_BFLOAT16,
        .hidden = HIDDEN,
        .host = "127.0.0.1",
        .progress = EPDX_PROGRESS_CALLER,
        .ring_bytes = (size_t)1 << 20,
    };
    epdx_admission_params_t admission = {
        .struct_size = sizeof(admission),
        .receiver = {.struct_size = sizeof(admission.receiver),
                     .dtype = EPDX_BFLOAT16,
                     .hidden = HIDDEN,
                     .host = "127.0.0.1",
                     .progress = EPDX_PROGRESS_CALLER,
                     .pool_bytes = (size_t)1 << 20},
    };

    pair = (pair_t){0};
    *state = &pair;
    if (epdx_bootstrap_open(&server, &pair.bootstrap) != EPDX_OK) {
        return -1;
    }
    sender.bootstrap = epdx_bootstrap_address(pair.bootstrap);
    return epdx_sender_open(&sender, &pair.sender) == EPDX_OK &&
                   epdx_group_single(&pair.group) == EPDX_OK &&
                   epdx_admission_open(pair.group, &admission,
                                       &pair.admission) == EPDX_OK
               ? 0
               : -1;
}

/* So that no look-up is answered with "not yet". */
static void await_registration(pair_t *pair)
{
    uint64_t limit = epi_now_ns() + LIMIT_NS;

    while (!epdx_sender_registered(pair->sender)) {
        (void)epdx_sender_poll(pair->sender, NULL, 0);
        assert_true(epi_now_ns() < limit);
    }
}

static int close_pair(void **state)
{
    pair_t *pair = *state;

    epdx_admission_close(pair->admission);
    epdx_group_close(pair->group);
    epdx_sender_close(pair->sender);
    epdx_bootstrap_close(pair->bootstrap);
    return 0;
}

static void stage(pair_t *pair)
{
    char id[24];
    epdx_item_t item = {.room = ++pair->room,
                        .span = ROWS,
                        .encode = epdx_bootstrap_address(pair->bootstrap)};
    epdx_request_t request = {.id = id, .items = &item, .item_count = 1};
    epdx_chunk_t chunk;

    (void)snprintf(id, sizeof(id), "%" PRIu64, pair->room);
    assert_int_equal(epdx_admission_stage(pair->admission, &request), EPDX_OK);
    assert_int_equal(epdx_sender_lease(pair->sender, ROWS, &chunk), EPDX_OK);
    memset(chunk.main, (int)pair->room, ROWS * HIDDEN * 2);
    assert_int_equal(epdx_sender_send(pair->sender, pair->room, &chunk),
                     EPDX_OK);
}

/* One item from its staging until both ends are done with it. */
static void carry(pair_t *pair)
{
    uint64_t limit = epi_now_ns() + LIMIT_NS;
    epdx_decisions_t decisions;
    epdx_outcome_t outcome;
    size_t outcomes = 0, admitted = 0;

    stage(pair);
    while (outcomes == 0 || admitted == 0) {
        assert_int_equal(epdx_admission_drain(pair->admission, &decisions),
                         EPDX_OK);
        assert_int_equal(decisions.failed_count, 0);
        if (decisions.admitted_count > 0) {
            assert_int_equal(epdx_admission_release(pair->admission,
                                                    decisions.admitted[0].id),
                             EPDX_OK);
        }
        admitted += decisions.admitted_count;
        outcomes += epdx_sender_poll(pair->sender, &outcome, 1);
        assert_true(epi_now_ns() < limit);
    }
}

static void carry_many(pair_t *pair, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        carry(pair);
    }
}

/* Else nothing found below would say nothing. */
static void test_the_count_counts(void **state)
{
    char *volatile text;
    void *volatile own;
    static char bytes[2][1000];
    void *(*volatile copy)(void *, const void *, size_t);

    (void)state;
    epi_watch_begin();
    own = malloc(100);
    text = strdup("of the C library");
    epi_watch_end();
    free(text);
    free(own);
    assert_int_equal(epi_watch_heap_own(), 1);
    assert_int_equal(epi_watch_heap_of("libc"), 1);
    epi_watch_begin();
    copy = memcpy;
    (void)copy(bytes[0], bytes[1], sizeof(bytes[0]));
    epi_watch_end();
    assert_int_equal(epi_watch_heap_of(NULL), 0);
    assert_int_equal(epi_watch_copied_own(), sizeof(bytes[0]));
}

static void test_no_heap_call_an_item(void **state)
{
    pair_t *pair = *state;

    await_registration(pair);
    carry_many(pair, WARM);
    epi_watch_begin();
    carry_many(pair, ITEMS);
    epi_watch_end();
    epi_watch_print();
    printf("an item: %.2f heap calls of epdx, %.2f of ZeroMQ, %.2f of UCX\n",
           (double)epi_watch_heap_own() / ITEMS,
           (double)epi_watch_heap_of("libzmq") / ITEMS,
           (double)epi_watch_heap_of("libuc") / ITEMS);
    assert_int_equal(epi_watch_heap_own(), 0);
}

static void test_one_message_and_one_offer_an_item(void **state)
{
    pair_t *pair = *state;
    epdx_receiver_stats_t before, after;
    epdx_sender_stats_t sender;

    await_registration(pair);
    carry_many(pair, WARM);
    epdx_admission_stats(pair->admission, NULL, &before);
    epi_watch_begin();
    carry_many(pair, ITEMS);
    epi_watch_end();
    epdx_admission_stats(pair->admission, NULL, &after);
    epdx_sender_stats(pair->sender, &sender);
    assert_int_equal(after.asks_sent - before.asks_sent, ITEMS);
    assert_int_equal(epi_watch_messages(), ITEMS); /* the asks */
    assert_int_equal(sender.bytes_offered, (WARM + ITEMS) * ITEM_BYTES);
    assert_int_equal(after.bytes_landed, (WARM + ITEMS) * ITEM_BYTES);
}

/* Out of memory that both ends map, or by the transport: once. */
static void test_a_byte_is_copied_once(void **state)
{
    pair_t *pair = *state;

    await_registration(pair);
    carry_many(pair, WARM);
    epi_watch_begin();
    carry_many(pair, ITEMS);
    epi_watch_end();
    printf("a byte: %.2f copies by epdx, %.2f by libraries\n",
           (double)epi_watch_copied_own() / (ITEMS * ITEM_BYTES),
           (double)epi_watch_copied_libraries() / (ITEMS * ITEM_BYTES));
    assert_int_equal(epi_watch_copied_own() + epi_watch_copied_libraries(),
                     ITEMS * ITEM_BYTES);
}

static void test_one_collective_a_drain(void **state)
{
    pair_t *pair = *state;
    epdx_admission_stats_t stats;

    await_registration(pair);
    carry_many(pair, ITEMS);
    epdx_admission_stats(pair->admission, &stats, NULL);
    assert_int_equal(stats.collectives.ballot, stats.drains_pending);
    assert_int_equal(stats.collectives.reason, 0);
    assert_int_equal(stats.collectives.reassembly, 0);
    assert_int_equal(stats.admitted, ITEMS);
}

#define PAIR_TEST(test)                                                        \
    cmocka_unit_test_setup_teardown(test, open_pair, close_pair)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_count_counts),
        PAIR_TEST(test_no_heap_call_an_item),
        PAIR_TEST(test_one_message_and_one_offer_an_item),
        PAIR_TEST(test_a_byte_is_copied_once),
        PAIR_TEST(test_one_collective_a_drain),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
