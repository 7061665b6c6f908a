/*
 * cancel_test.c: a request cancelled at each point of its life, from each rank,
 * or refused: one drain ends it on all ranks, the encode rank is told, and its
 * ring is empty long before any deadline, which are 60 s here, of rooms 600 s.
 */
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "engine.h"
#include "harness.h"
#include "proxy.h"

#define HIDDEN    64
#define ROW_BYTES ((size_t)HIDDEN * 2)
#define POOL_ROWS 65536

static engine_t engine;
static proxy_t *proxy; /* rank 0's */

#define ON_0(condition) (harness_rank() != 0 || (condition))

static void open_engine(void)
{
    engine_params_t params = {
        .nodes = 1,
        .encode_tp = 1,
        .dtype = EPDX_BFLOAT16,
        .hidden = HIDDEN,
        .shard = true,
        .pool_bytes = POOL_ROWS * ROW_BYTES,
        .ring_bytes = 2 * POOL_ROWS * ROW_BYTES,
        .timeout_ns = 60 * EPI_S,
        .sender_timeout_ns = 600 * EPI_S,
        .fronted = true,
    };

    engine_open(&engine, &params);
}

/* From here on the encode rank can be found. */
static void open_front(void)
{
    if (harness_rank() == 0) {
        proxy = proxy_open(&(proxy_params_t){.bootstrap = engine.addresses[0],
                                             .hidden = engine.hidden[0],
                                             .engine_rank = 0,
                                             .world_size = 1});
    }
}

static void stage(size_t number, const engine_request_t *request)
{
    CHECK_ALL_STATUS(engine_stage(&engine, number, request), EPDX_OK);
}

/* On rank 0: until every rank asked for the first items of request 0. */
static void until_asked(size_t items)
{
    uint64_t limit = epi_now_ns() + 20 * EPI_S;
    size_t wanted = harness_rank() == 0 ? items * (size_t)harness_size() : 0;
    size_t asked = 0;
    epi_ask_t ask;

    while (asked < wanted && epi_now_ns() < limit) {
        asked += proxy_ask_of(proxy, asked / items,
                              engine_room(0, asked % items), &ask);
        sched_yield();
    }
    CHECK_ALL(asked == wanted);
}

/* Cancelled by one rank, ended on all by one drain. */
static void cancel(size_t number, int rank)
{
    epdx_status_t status = EPDX_OK;
    size_t failed = engine.failed;
    char id[32];

    (void)snprintf(id, sizeof(id), "%zu", number);
    if (harness_rank() == rank) {
        status = epdx_admission_cancel(engine.admission, id);
    }
    CHECK_ALL_STATUS(status, EPDX_OK);
    engine_drain_times(&engine, 1);
    CHECK_ALL(engine.failed == failed + 1);
    CHECK_ALL(engine.failed_status[number] == EPDX_ERR_CANCELLED);
    CHECK_ALL(engine.failed_rank[number] == (uint32_t)rank);
}

/* So many outcomes in all, the last of them for the cancel. */
static void told(size_t outcomes)
{
    engine_await_outcomes(&engine, outcomes);
    CHECK_ALL(ON_0(strstr(engine.last_reason, "gave the request up") != NULL));
}

static void finish(size_t number)
{
    static const engine_request_t another = {.spans = {7}, .item_count = 1};

    CHECK_ALL(engine_encode_quiet(&engine));
    stage(number, &another);
    engine_send(&engine, number, &another);
    engine_drain(&engine, number + 1);
    CHECK_ALL(engine.landed_right[number]);
    CHECK_ALL(engine_encode_quiet(&engine));
    if (harness_rank() == 0) {
        proxy_close(proxy);
    }
    engine_close(&engine);
}

static void from_each_rank(void (*body)(int rank))
{
    for (int rank = 0; rank < harness_size(); rank++) {
        body(rank);
    }
}

/* Its encode rank is not up: nothing was asked, but the chunk is there. The
 * withdrawal waits, and goes out when the encode rank is found. */
static void before_its_encode_rank_is_up(int rank)
{
    static const engine_request_t request = {.spans = {50, 60},
                                             .item_count = 2};

    open_engine();
    stage(0, &request);
    engine_send(&engine, 0, &request);
    cancel(0, rank);
    open_front();
    told(2);
    CHECK_ALL(ON_0(engine.outcomes_failed == 2));
    CHECK_ALL(ON_0(proxy_seen(proxy, PROXY_ASK) == 0));
    finish(1);
}

/* The pool is full: nothing was asked. The one before it goes on. */
static void without_a_lease(int rank)
{
    static const engine_request_t full = {.spans = {POOL_ROWS},
                                          .item_count = 1};
    static const engine_request_t request = {.spans = {50}, .item_count = 1};

    open_engine();
    open_front();
    stage(0, &full);
    stage(1, &request);
    engine_send(&engine, 1, &request);
    until_asked(1);
    CHECK_ALL(engine_receiver(&engine).requests_waiting == 1);
    cancel(1, rank);
    told(1);
    engine_send(&engine, 0, &full);
    engine_drain(&engine, 2);
    CHECK_ALL(engine.landed_right[0]);
    finish(2);
}

/* Asked, and the chunk is not there: it comes later, and ends at once. */
static void asked(int rank)
{
    static const engine_request_t request = {.spans = {50}, .item_count = 1};

    open_engine();
    open_front();
    stage(0, &request);
    until_asked(1);
    cancel(0, rank);
    CHECK_ALL(engine_encode_quiet(&engine));
    engine_send(&engine, 0, &request);
    told(1);
    finish(1);
}

/* One item has landed, the other is waited for. */
static void landing(int rank)
{
    static const engine_request_t request = {.spans = {50, 60},
                                             .item_count = 2};

    open_engine();
    open_front();
    stage(0, &request);
    until_asked(2);
    engine_send_item(&engine, 0, 0, 50);
    engine_await_outcomes(&engine, 1);
    cancel(0, rank);
    CHECK_ALL(engine_encode_quiet(&engine)); /* the cancels are there */
    engine_send_item(&engine, 0, 1, 60);
    told(2);
    CHECK_ALL(ON_0(engine.outcomes_failed == 1));
    finish(1);
}

/* Megabytes are on their way, or just there: both ends come to rest. */
static void being_pulled(int rank)
{
    static const engine_request_t request = {.spans = {POOL_ROWS},
                                             .item_count = 1};

    open_engine();
    open_front();
    stage(0, &request);
    until_asked(1);
    engine_send(&engine, 0, &request);
    cancel(0, rank);
    engine_await_outcomes(&engine, 1);
    finish(1);
}

/* Landed on every rank, and not admitted yet. */
static void landed(int rank)
{
    static const engine_request_t request = {.spans = {50, 60},
                                             .item_count = 2};

    open_engine();
    open_front();
    stage(0, &request);
    engine_send(&engine, 0, &request);
    engine_await_outcomes(&engine, 2);
    CHECK_ALL(ON_0(engine.outcomes_failed == 0));
    cancel(0, rank);
    finish(1);
}

/* The pool can never hold it. Its rows fill the ring, on which the request
 * behind it waits. */
static void refused(bool reached)
{
    static const engine_request_t request = {.spans = {POOL_ROWS, POOL_ROWS},
                                             .item_count = 2};

    open_engine();
    if (reached) {
        open_front();
    }
    engine_send(&engine, 0, &request);
    CHECK_ALL(engine.own_count == 0); /* all of it is in the ring */
    stage(0, &request);
    engine_drain(&engine, 1);
    CHECK_ALL(engine.failed_status[0] == EPDX_ERR_TOO_LARGE);
    if (!reached) {
        open_front();
    }
    engine_await_outcomes(&engine, 2);
    CHECK_ALL(ON_0(engine.outcomes_failed == 2));
    CHECK_ALL(ON_0(engine.last_status == EPDX_ERR_CANCELLED));
    CHECK_ALL(ON_0(strstr(engine.last_reason, "EPDX_RECV_POOL_MB") != NULL));
    CHECK_ALL(ON_0(proxy_seen(proxy, PROXY_ASK) == 0));
    finish(1);
}

/* Only one rank refuses it: that has an address that is none for one item. The
 * other item's encode rank is told by all of them. */
static void refused_by(int rank)
{
    epdx_item_t items[] = {
        {.room = engine_room(0, 0), .span = 50},
        {.room = engine_room(0, 1), .span = 60},
    };
    epdx_request_t request = {.id = "0", .items = items, .item_count = 2};

    open_engine();
    open_front();
    items[0].encode = harness_rank() == rank ? "none" : engine.addresses[0];
    items[1].encode = engine.addresses[0];
    CHECK_ALL_STATUS(epdx_admission_stage(engine.admission, &request), EPDX_OK);
    engine_drain(&engine, 1);
    CHECK_ALL(engine.failed_status[0] != EPDX_OK);
    CHECK_ALL(strstr(engine.failed_reason[0], "\"none\" is not the address") !=
              NULL);
    engine_send_item(&engine, 0, 1, 60);
    engine_await_outcomes(&engine, 1);
    CHECK_ALL(ON_0(engine.last_status == EPDX_ERR_CANCELLED));
    finish(1);
}

static void refused_by_all(void)
{
    refused(true);
}

static void refused_before_its_encode_rank_is_up(void)
{
    refused(false);
}

static void refused_by_one(void)
{
    from_each_rank(refused_by);
}

static void cancel_before_its_encode_rank_is_up(void)
{
    from_each_rank(before_its_encode_rank_is_up);
}

static void cancel_without_a_lease(void)
{
    from_each_rank(without_a_lease);
}

static void cancel_asked(void)
{
    from_each_rank(asked);
}

static void cancel_landing(void)
{
    from_each_rank(landing);
}

static void cancel_being_pulled(void)
{
    from_each_rank(being_pulled);
}

static void cancel_landed(void)
{
    from_each_rank(landed);
}

int main(int argc, char **argv)
{
    static const harness_case_t cases[] = {
        HARNESS_CASE(cancel_before_its_encode_rank_is_up),
        HARNESS_CASE(cancel_without_a_lease),
        HARNESS_CASE(cancel_asked),
        HARNESS_CASE(cancel_landing),
        HARNESS_CASE(cancel_being_pulled),
        HARNESS_CASE(cancel_landed),
        HARNESS_CASE(refused_by_all),
        HARNESS_CASE(refused_before_its_encode_rank_is_up),
        HARNESS_CASE(refused_by_one),
    };

    return harness_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
