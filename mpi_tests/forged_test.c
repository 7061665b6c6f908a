/*
 * forged_test.c: a stranger with sockets of its own, on rank 0: a real UCX
 * plane that offers what nobody asked for, and asks by the hundred thousand for
 * rooms that nobody serves. CTest sets EPDX_MAX_ROOMS to 256.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "control/control.h"
#include "dataplane/dataplane.h"
#include "engine.h"
#include "harness.h"
#include "proxy.h"
#include "wire/offer.h"

#define ROWS   41
#define HIDDEN 32
/* Sanitizers are slow, and keep what was freed: fewer, and no bound. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED   true
#define FLOOD_ROUND 2000
#else
#define SANITIZED   false
#define FLOOD_ROUND 50000
#endif
#define FLOOD_ROUNDS 20
/* An ask is kept in over 500 bytes: a leak of all is 500 MB. */
#define FLOOD_GROWTH_MAX_KB (40 * 1024)

static engine_t engine;
static proxy_t *proxy; /* rank 0's, as all that follows */
static epi_dataplane_t *plane;
static uint8_t payload[1 << 16];

#define ON_0(condition) (harness_rank() != 0 || (condition))

static void must(bool held, const char *what)
{
    if (!held) {
        (void)fprintf(stderr, "forger: %s: %s\n", what, epdx_last_error());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void open_all(void)
{
    engine_params_t params = {
        .nodes = 1,
        .encode_tp = 1,
        .dtype = EPDX_BFLOAT16,
        .hidden = HIDDEN,
        .shard = true,
        .pool_bytes = 1 << 20,
        .ring_bytes = 1 << 20,
        .timeout_ns = 60 * EPI_S,
        .fronted = true,
    };

    engine_open(&engine, &params);
    if (harness_rank() == 0) {
        proxy = proxy_open(&(proxy_params_t){.bootstrap = engine.addresses[0],
                                             .hidden = engine.hidden[0],
                                             .engine_rank = 0,
                                             .world_size = 1});
        must(epi_dataplane_ucx("127.0.0.1", &plane) == EPDX_OK, "plane");
    }
}

static void close_all(void)
{
    if (harness_rank() == 0) {
        plane->ops->close(plane);
    }
    CHECK_ALL(engine_encode_quiet(&engine));
    if (harness_rank() == 0) {
        proxy_close(proxy);
    }
    engine_close(&engine);
}

static void stage(size_t number)
{
    engine_request_t request = {.spans = {ROWS}, .item_count = 1};

    CHECK_ALL_STATUS(engine_stage(&engine, number, &request), EPDX_OK);
}

static void admit(size_t number)
{
    engine_send_item(&engine, number, 0, ROWS);
    engine_drain(&engine, number + 1);
    CHECK_ALL(engine.landed_right[number]);
}

/* The asks of all ranks for a request are at the encode rank. */
static void until_asked(size_t number)
{
    uint64_t limit = epi_now_ns() + 20 * EPI_S;
    bool asked = harness_rank() != 0;

    while (!asked && epi_now_ns() < limit) {
        epi_ask_t ask;

        asked = true;
        for (size_t i = 0; i < (size_t)harness_size(); i++) {
            asked =
                asked && proxy_ask_of(proxy, i, engine_room(number, 0), &ask);
        }
        sched_yield();
    }
    CHECK_ALL(asked);
}

/* What is wrong with an offer. */
typedef struct twist {
    int generation; /* added to it */
    int span;
    int row_start;
    int bytes; /* of the payload */
} twist_t;

/* Offer every prefill rank its share of a request, twisted, and wait until all
 * offers have come to their end. */
static void forge_offers(size_t number, const twist_t *twist)
{
    uint64_t limit = epi_now_ns() + 20 * EPI_S;
    epi_dp_peer_t *peers[64] = {0};
    size_t sent = 0;
    epi_dp_event_t event;

    for (size_t i = 0; i < (size_t)harness_size(); i++) {
        uint8_t header[EPI_OFFER_BYTES];
        epi_ask_t ask;

        must(proxy_ask_of(proxy, i, engine_room(number, 0), &ask), "ask");
        epi_offer_pack(
            &(epi_offer_t){
                .part = EPI_PART_MAIN,
                .dtype = ask.dtype,
                .room = ask.room,
                .generation = ask.generation + (uint64_t)twist->generation,
                .row_start = ask.row_start + (uint64_t)twist->row_start,
                .rows = ask.rows,
                .span = ask.span + (uint64_t)twist->span,
                .width = ask.hidden,
            },
            header);
        must(plane->ops->connect(plane, ask.session, i, &peers[i]) == EPDX_OK,
             "connect");
        must(plane->ops->offer(
                 plane, peers[i],
                 &(epi_dp_send_t){.header = header,
                                  .header_bytes = sizeof(header),
                                  .payload = payload,
                                  .payload_bytes =
                                      (size_t)ask.rows * HIDDEN * 2 +
                                      (size_t)twist->bytes,
                                  .cookie = i}) == EPDX_OK,
             "offer");
    }
    while (sent < (size_t)harness_size() && epi_now_ns() < limit) {
        (void)plane->ops->progress(plane);
        while (plane->ops->next(plane, &event)) {
            sent += event.kind == EPI_DP_SENT;
        }
    }
    must(sent == (size_t)harness_size(), "an offer does not end");
    for (size_t i = 0; i < (size_t)harness_size(); i++) {
        plane->ops->disconnect(plane, peers[i]);
    }
}

/* Every rank has refused one more. */
static void forged_is_refused(size_t number, const twist_t *twist)
{
    uint64_t before = engine_receiver(&engine).offers_refused;
    uint64_t limit = epi_now_ns() + 20 * EPI_S;

    CHECK_ALL(true); /* all have read the counter */
    if (harness_rank() == 0) {
        forge_offers(number, twist);
    }
    while (engine_receiver(&engine).offers_refused == before &&
           epi_now_ns() < limit) {
        sched_yield();
    }
    CHECK_ALL(engine_receiver(&engine).offers_refused == before + 1);
}

static void offers_of_another_generation_are_refused(void)
{
    open_all();
    stage(0);
    until_asked(0);
    for (int i = 1; i <= 20; i++) {
        forged_is_refused(0, &(twist_t){.generation = i});
        forged_is_refused(0, &(twist_t){.generation = -i, .bytes = 5000});
    }
    engine_drain_times(&engine, 5);
    CHECK_ALL(engine.admitted + engine.failed == 0);
    admit(0);
    close_all();
}

static void offers_of_what_has_ended_are_refused(void)
{
    epdx_status_t status;

    open_all();
    stage(0);
    until_asked(0);
    admit(0);
    forged_is_refused(0, &(twist_t){0});
    stage(1);
    until_asked(1);
    status = epdx_admission_cancel(engine.admission, "1");
    CHECK_ALL_STATUS(status, EPDX_OK);
    engine_drain(&engine, 2);
    forged_is_refused(1, &(twist_t){0});
    stage(2);
    admit(2);
    close_all();
}

/* Who knows the generation is taken for the encode rank: its request fails
 * alike, naming the difference, and no other. */
static void an_offer_of_other_geometry_fails_its_request_alone(void)
{
    static const twist_t twists[] = {
        {.span = 1}, {.span = 100, .row_start = 3}, {.bytes = 64}};
    static const char *const words[] = {"span", "span", "payload bytes"};

    open_all();
    for (size_t i = 0; i < 3; i++) {
        size_t number = 2 * i;

        stage(number);
        stage(number + 1);
        until_asked(number);
        forged_is_refused(number, &twists[i]);
        engine_send_item(&engine, number + 1, 0, ROWS);
        engine_drain(&engine, number + 2);
        /* By its own eyes, or told by the encode rank, which another rank's
         * cancel told. */
        CHECK_ALL(engine.failed_status[number] == EPDX_ERR_MISMATCH ||
                  engine.failed_status[number] == EPDX_ERR_PEER);
        CHECK_ALL(strstr(engine.failed_reason[number], words[i]) != NULL);
        CHECK_ALL(engine.landed_right[number + 1]);
        CHECK_ALL(engine_encode_quiet(&engine));    /* the cancel has come */
        engine_send_item(&engine, number, 0, ROWS); /* it ends at once */
        engine_await_outcomes(&engine, number + 2);
        CHECK_ALL(ON_0(engine.outcomes_failed == i + 1));
    }
    close_all();
}

static size_t resident_kb(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    unsigned long size = 0;
    unsigned long resident = 0;

    must(file != NULL && fscanf(file, "%lu %lu", &size, &resident) == 2,
         "/proc/self/statm");
    (void)fclose(file);
    return resident * (size_t)sysconf(_SC_PAGESIZE) / 1024;
}

/* The stranger's control socket, connected to the real encode rank. */
static epi_control_t *flood_open(uint32_t *encode_p)
{
    epi_control_params_t params = {.host = "127.0.0.1", .peer_max = 1};
    epi_control_t *control;

    must(epi_control_open(&params, &control) == EPDX_OK, "control");
    must(epi_control_connect(control, "127.0.0.1", proxy_encode_port(proxy),
                             encode_p) == EPDX_OK,
         "connect");
    return control;
}

static void flood(epi_control_t *control, uint32_t encode, uint64_t first)
{
    epi_ask_t ask = {.status_port = epi_control_port(control),
                     .rows = 1,
                     .hidden = HIDDEN,
                     .dtype = EPDX_BFLOAT16,
                     .required = 1,
                     .span = 1,
                     .extended = true,
                     .instance = "stranger",
                     .generation = 1};
    epi_control_event_t event;
    epi_dp_event_t row_event;
    epi_message_t message;

    (void)epi_text_copy(ask.endpoint, sizeof(ask.endpoint), "127.0.0.1");
    (void)epi_text_copy(ask.session, sizeof(ask.session),
                        plane->ops->address(plane));
    for (uint64_t i = 0; i < FLOOD_ROUND; i++) {
        ask.room = (UINT64_C(1) << 40) + first + i;
        must(epi_ask_format(&ask, &message) == EPDX_OK, "ask");
        while (epi_control_send(control, encode, &message) != EPDX_OK) {
            (void)plane->ops->progress(plane);
            sched_yield();
        }
        while (i % 64 == 0 && epi_control_next(control, &event)) {
        }
        while (i % 64 == 0 && plane->ops->next(plane, &row_event)) {
        }
    }
}

static void until_flooded(uint64_t asks)
{
    uint64_t limit = epi_now_ns() + 60 * EPI_S;
    epdx_sender_stats_t stats = {0};

    while (stats.asks < asks && epi_now_ns() < limit) {
        epdx_sender_stats(engine.senders[0][0], &stats);
        (void)plane->ops->progress(plane);
        sched_yield();
    }
    must(stats.asks >= asks, "asks do not arrive");
    must(stats.rooms_open <= 256, "rooms are not bounded: EPDX_MAX_ROOMS=256?");
}

static void a_million_asks_for_nothing(void)
{
    epi_control_t *control = NULL;
    uint32_t encode = 0;
    size_t before = 0;
    size_t after = 0;

    open_all();
    if (harness_rank() == 0) {
        control = flood_open(&encode);
    }
    for (size_t round = 0; round < FLOOD_ROUNDS; round++) {
        stage(round);
        until_asked(round); /* this room waits for rows, as the forged do */
        if (harness_rank() == 0) {
            flood(control, encode, round * FLOOD_ROUND);
            until_flooded((round + 1) * FLOOD_ROUND);
            after = resident_kb();
            before = round == 0 ? after : before;
        }
        admit(round);
    }
    CHECK_ALL(ON_0(SANITIZED || after < before + FLOOD_GROWTH_MAX_KB));
    CHECK_ALL(engine.failed == 0);
    if (harness_rank() == 0) {
        printf("# a million asks: resident %zu kB after %d, %zu kB after %d\n",
               before, FLOOD_ROUND, after, FLOOD_ROUND * FLOOD_ROUNDS);
        epi_control_close(control);
        plane->ops->close(plane);
        must(epi_dataplane_ucx("127.0.0.1", &plane) == EPDX_OK, "plane");
    }
    close_all();
}

int main(int argc, char **argv)
{
    static const harness_case_t cases[] = {
        HARNESS_CASE(offers_of_another_generation_are_refused),
        HARNESS_CASE(offers_of_what_has_ended_are_refused),
        HARNESS_CASE(an_offer_of_other_geometry_fails_its_request_alone),
        HARNESS_CASE(a_million_asks_for_nothing),
    };

    return harness_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
