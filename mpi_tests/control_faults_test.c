/*
 * control_faults_test.c: one control frame lost, late, repeated, out of order
 * or garbled; frames forged. The engine's encode rank stands behind a proxy;
 * rows go directly. CTest sets EPDX_ASK_INTERVAL_S to 0.1.
 */
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "engine.h"
#include "harness.h"
#include "proxy.h"

static uint64_t ranks(void)
{
    return (uint64_t)harness_size();
}

static engine_t engine;
static proxy_t *proxy; /* rank 0's */

#define ON_0(condition) (harness_rank() != 0 || (condition))

static void open_all(uint64_t timeout_ns)
{
    engine_params_t params = {
        .nodes = 1,
        .encode_tp = 1,
        .dtype = EPDX_BFLOAT16,
        .hidden = 32,
        .shard = true,
        .pool_bytes = 1 << 20,
        .ring_bytes = 1 << 20,
        .timeout_ns = timeout_ns,
        .fronted = true,
    };

    engine_open(&engine, &params);
    if (harness_rank() == 0) {
        proxy_params_t front = {.bootstrap = engine.addresses[0],
                                .hidden = engine.hidden[0],
                                .engine_rank = 0,
                                .world_size = 1};

        proxy = proxy_open(&front);
    }
}

static void close_all(void)
{
    CHECK_ALL(engine_encode_quiet(&engine));
    if (harness_rank() == 0) {
        proxy_close(proxy);
    }
    engine_close(&engine);
}

static void set_fault(proxy_kind_t kind, proxy_act_t act, uint64_t count)
{
    if (harness_rank() == 0) {
        proxy_fault(proxy, &(proxy_fault_t){kind, act, 0, count});
    }
}

/* On rank 0: until the proxy has met so many frames; the others go on. */
static void until_seen(proxy_kind_t kind, uint64_t count)
{
    uint64_t limit = epi_now_ns() + 20 * EPI_S;

    while (harness_rank() == 0 && proxy_seen(proxy, kind) < count &&
           epi_now_ns() < limit) {
        sched_yield();
    }
    CHECK_ALL(ON_0(proxy_seen(proxy, kind) >= count));
}

/* On rank 0: until every rank has asked for request 0; asks that are repeated
 * say nothing of the others. */
static void until_asked(void)
{
    uint64_t limit = epi_now_ns() + 20 * EPI_S;
    uint64_t asked = harness_rank() == 0 ? 0 : ranks();
    epi_ask_t ask;

    while (asked < ranks() && epi_now_ns() < limit) {
        asked += proxy_ask_of(proxy, (size_t)asked, engine_room(0, 0), &ask);
        sched_yield();
    }
    CHECK_ALL(asked == ranks());
}

static void check_struck(proxy_kind_t kind, proxy_act_t act, uint64_t count)
{
    CHECK_ALL(ON_0(proxy_struck(proxy, kind, act) == count));
}

static void stage(size_t number)
{
    engine_request_t request = {.spans = {41}, .item_count = 1};

    CHECK_ALL_STATUS(engine_stage(&engine, number, &request), EPDX_OK);
}

static void admit(size_t number)
{
    engine_drain(&engine, number + 1);
    CHECK_ALL(engine.landed_right[number]);
}

/* A request that nothing happens to. */
static void admit_another(size_t number)
{
    stage(number);
    engine_send_item(&engine, number, 0, 41);
    admit(number);
}

static void check_failed(size_t number, const char *words)
{
    CHECK_ALL(strstr(engine.failed_reason[number], words) != NULL);
}

/* The request is admitted though the first frames of a kind suffer. */
static void admitted_in_spite_of(proxy_kind_t kind, proxy_act_t act,
                                 uint64_t count)
{
    open_all(30 * EPI_S);
    set_fault(kind, act, count);
    stage(0);
    engine_send_item(&engine, 0, 0, 41);
    admit(0);
    check_struck(kind, act, count);
    if (harness_rank() == 0) {
        proxy_let_go(proxy);
    }
    admit_another(1);
    close_all();
}

static void a_register_is_lost(void)
{
    admitted_in_spite_of(PROXY_REGISTER, PROXY_DROP, 1);
}

static void an_ask_is_lost(void)
{
    admitted_in_spite_of(PROXY_ASK, PROXY_DROP, 1);
}

static void the_first_ask_of_every_rank_is_lost(void)
{
    admitted_in_spite_of(PROXY_ASK, PROXY_DROP, ranks());
}

static void a_register_comes_twice(void)
{
    admitted_in_spite_of(PROXY_REGISTER, PROXY_TWICE, ranks());
}

static void an_ask_comes_twice(void)
{
    admitted_in_spite_of(PROXY_ASK, PROXY_TWICE, ranks());
}

static void a_register_comes_late(void)
{
    admitted_in_spite_of(PROXY_REGISTER, PROXY_HOLD, 1);
}

/* Let go only when its room has ended. */
static void an_ask_comes_late(void)
{
    admitted_in_spite_of(PROXY_ASK, PROXY_HOLD, 1);
}

static void a_register_comes_after_an_ask(void)
{
    admitted_in_spite_of(PROXY_REGISTER, PROXY_SWAP, 1);
}

/* The room fails before it is asked for; the statuses suffer. */
static void fails_in_spite_of(proxy_act_t act, uint64_t count)
{
    open_all(30 * EPI_S);
    set_fault(PROXY_STATUS, act, count);
    engine_fail_item(&engine, 0, 0, "the picture does not decode");
    engine_await_outcomes(&engine, 1);
    stage(0);
    engine_drain(&engine, 1);
    CHECK_ALL(engine.failed_status[0] == EPDX_ERR_PEER);
    check_failed(0, "the picture does not decode");
    check_struck(PROXY_STATUS, act, count);
    if (harness_rank() == 0) {
        proxy_let_go(proxy);
    }
    admit_another(1);
    close_all();
}

static void a_status_is_lost(void)
{
    /* All of the first ones: the asks after them are answered. */
    fails_in_spite_of(PROXY_DROP, ranks());
}

static void a_status_comes_twice(void)
{
    fails_in_spite_of(PROXY_TWICE, 1);
}

static void a_status_comes_late(void)
{
    fails_in_spite_of(PROXY_HOLD, ranks());
}

/* Request 0 is cancelled by the last rank; its cancels suffer. */
static void cancelled_in_spite_of(proxy_act_t act, uint64_t count,
                                  epdx_status_t outcome)
{
    epdx_status_t status = EPDX_OK;

    open_all(outcome == EPDX_ERR_TIMEOUT ? 2 * EPI_S : 30 * EPI_S);
    set_fault(PROXY_CANCEL, act, count);
    /* No ask comes through: the cancels alone tell of the room. */
    set_fault(PROXY_ASK, PROXY_DROP, UINT32_MAX);
    stage(0);
    until_asked();
    if (harness_rank() == harness_size() - 1) {
        status = epdx_admission_cancel(engine.admission, "0");
    }
    CHECK_ALL_STATUS(status, EPDX_OK);
    engine_drain_times(&engine, 1);
    CHECK_ALL(engine.failed_status[0] == EPDX_ERR_CANCELLED);
    until_seen(PROXY_CANCEL, ranks());
    check_struck(PROXY_CANCEL, act, count);
    engine_send_item(&engine, 0, 0, 41);
    engine_await_outcomes(&engine, 1);
    CHECK_ALL(ON_0(engine.outcomes_failed == 1));
    CHECK_ALL(ON_0(strstr(engine.last_reason, outcome == EPDX_ERR_TIMEOUT
                                                  ? "came within"
                                                  : "gave the request up")));
    close_all();
}

static void a_cancel_is_lost_and_the_others_do(void)
{
    if (harness_size() > 1) {
        cancelled_in_spite_of(PROXY_DROP, 1, EPDX_ERR_CANCELLED);
    }
}

static void all_cancels_are_lost_and_the_deadline_does(void)
{
    cancelled_in_spite_of(PROXY_DROP, ranks(), EPDX_ERR_TIMEOUT);
}

static void a_cancel_comes_twice(void)
{
    cancelled_in_spite_of(PROXY_TWICE, ranks(), EPDX_ERR_CANCELLED);
}

/* Cancels that come when the room is over, and when another is under way. */
static void a_cancel_comes_late(void)
{
    epdx_status_t status;

    open_all(30 * EPI_S);
    set_fault(PROXY_CANCEL, PROXY_HOLD, ranks());
    stage(0);
    until_asked();
    status = epdx_admission_cancel(engine.admission, "0");
    CHECK_ALL_STATUS(status, EPDX_OK);
    engine_drain_times(&engine, 1);
    until_seen(PROXY_CANCEL, ranks());
    stage(1);
    if (harness_rank() == 0) {
        proxy_let_go(proxy);
    }
    engine_send_item(&engine, 1, 0, 41);
    engine_drain(&engine, 2);
    CHECK_ALL(engine.landed_right[1]);
    engine_send_item(&engine, 0, 0, 41);
    engine_await_outcomes(&engine, 2);
    CHECK_ALL(ON_0(engine.outcomes_failed == 1));
    close_all();
}

/* One byte of some frame is another: the request ends within its deadline,
 * admitted with the right rows or failed alike, and so does a later one. */
static void frames_are_garbled(proxy_kind_t kind)
{
    size_t number = 0;

    open_all(EPI_S);
    if (harness_rank() == 0) {
        proxy_random(proxy, 20 + (uint64_t)kind, 0);
    }
    while (number < 24) {
        set_fault(kind, PROXY_GARBLE, 1);
        if (kind == PROXY_STATUS) {
            engine_fail_item(&engine, number, 0, "no picture");
        }
        stage(number);
        if (kind != PROXY_STATUS) {
            engine_send_item(&engine, number, 0, 41);
        }
        engine_drain(&engine, ++number);
        CHECK_ALL(engine.landed_right[number - 1] ||
                  engine.failed_reason[number - 1][0] != '\0');
    }
    check_struck(kind, PROXY_GARBLE, number);
    CHECK_ALL(engine_encode_quiet(&engine));
    admit_another(number);
    close_all();
}

static void asks_are_garbled(void)
{
    frames_are_garbled(PROXY_ASK);
}

static void statuses_are_garbled(void)
{
    frames_are_garbled(PROXY_STATUS);
}

/* On rank 0: a status of the caller's to every prefill rank. */
static void forge_statuses(epi_room_status_t kind, uint64_t room, int64_t shift,
                           const char *reason)
{
    for (size_t i = 0; harness_rank() == 0 && i < ranks(); i++) {
        epi_status_t out = {.room = room, .status = kind, .extended = true};
        epi_message_t message;
        epi_ask_t ask = {0};
        bool told = proxy_ask_of(proxy, i, engine_room(0, 0), &ask);

        out.generation = ask.generation + (uint64_t)shift;
        (void)epi_text_copy(out.reason, sizeof(out.reason), reason);
        if (!told || epi_status_format(&out, &message) != EPDX_OK ||
            !proxy_to_prefill(proxy, i, &message)) {
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
}

static void forged_statuses_harm_nobody(void)
{
    open_all(30 * EPI_S);
    stage(0);
    until_asked();
    forge_statuses(EPI_ROOM_SUCCESS, engine_room(0, 0), 0, "");
    forge_statuses(EPI_ROOM_FAILED, engine_room(0, 0), 1, "of another ask");
    forge_statuses(EPI_ROOM_FAILED, engine_room(9, 9), 0, "of another room");
    forge_statuses(EPI_ROOM_FAILED, engine_room(9, 9), 7, "of nothing");
    engine_drain_times(&engine, 20);
    CHECK_ALL(engine.admitted + engine.failed == 0);
    engine_send_item(&engine, 0, 0, 41);
    admit(0);
    forge_statuses(EPI_ROOM_FAILED, engine_room(0, 0), 0, "it has ended");
    admit_another(1);
    close_all();
}

/* A Failed that knows the generation is the encode rank's word: its request
 * fails alike, and no other. */
static void a_status_of_the_right_generation_is_believed(void)
{
    open_all(30 * EPI_S);
    stage(0);
    until_asked();
    forge_statuses(EPI_ROOM_FAILED, engine_room(0, 0), 0, "it knew");
    engine_drain(&engine, 1);
    check_failed(0, "it knew");
    engine_send_item(&engine, 0, 0, 41);
    engine_await_outcomes(&engine, 1);
    admit_another(1);
    close_all();
}

static void send_to_encode(bool formatted, const epi_message_t *message)
{
    if (!formatted || !proxy_to_encode(proxy, message)) {
        (void)fprintf(stderr, "forge: %s\n", epdx_last_error());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void forged_cancels_harm_nobody(void)
{
    open_all(30 * EPI_S);
    stage(0);
    until_asked();
    for (size_t i = 0; harness_rank() == 0 && i < ranks(); i++) {
        epi_cancel_t cancel = {.room = engine_room(0, 0),
                               .reason = "not wanted"};
        epi_message_t message;
        epi_ask_t ask = {0};

        if (!proxy_ask_of(proxy, i, cancel.room, &ask)) {
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
        (void)epi_text_copy(cancel.session, sizeof(cancel.session),
                            ask.session);
        cancel.generation = ask.generation + 1;
        send_to_encode(epi_cancel_format(&cancel, &message) == EPDX_OK,
                       &message);
        cancel.generation = ask.generation;
        (void)epi_text_copy(cancel.session, sizeof(cancel.session),
                            "127.0.0.1:1");
        send_to_encode(epi_cancel_format(&cancel, &message) == EPDX_OK,
                       &message);
    }
    engine_send_item(&engine, 0, 0, 41);
    admit(0);
    close_all();
}

/* Asks under a real rank's name for rooms that nobody serves, and for one that
 * has ended, which is answered at once. */
static void asks_for_other_rooms_harm_nobody(void)
{
    epdx_sender_stats_t stats = {0};
    uint64_t limit;

    open_all(2 * EPI_S);
    admit_another(0);
    if (harness_rank() == 0) {
        epi_message_t message;
        epi_ask_t ask = {0};

        if (!proxy_ask_of(proxy, 0, engine_room(0, 0), &ask)) {
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
        ask.status_port = proxy_status_port(proxy, 0);
        for (uint64_t room = 1000; room < 1500; room++) {
            ask.room = room == 1000 ? engine_room(0, 0) : room;
            send_to_encode(epi_ask_format(&ask, &message) == EPDX_OK, &message);
        }
        limit = epi_now_ns() + 20 * EPI_S;
        while (stats.asks_late == 0 && epi_now_ns() < limit) {
            epdx_sender_stats(engine.senders[0][0], &stats);
        }
    }
    CHECK_ALL(ON_0(stats.asks_late == 1));
    admit_another(1);
    close_all();
}

int main(int argc, char **argv)
{
    static const harness_case_t cases[] = {
        HARNESS_CASE(a_register_is_lost),
        HARNESS_CASE(an_ask_is_lost),
        HARNESS_CASE(the_first_ask_of_every_rank_is_lost),
        HARNESS_CASE(a_register_comes_twice),
        HARNESS_CASE(an_ask_comes_twice),
        HARNESS_CASE(a_register_comes_late),
        HARNESS_CASE(an_ask_comes_late),
        HARNESS_CASE(a_register_comes_after_an_ask),
        HARNESS_CASE(a_status_is_lost),
        HARNESS_CASE(a_status_comes_twice),
        HARNESS_CASE(a_status_comes_late),
        HARNESS_CASE(a_cancel_is_lost_and_the_others_do),
        HARNESS_CASE(all_cancels_are_lost_and_the_deadline_does),
        HARNESS_CASE(a_cancel_comes_twice),
        HARNESS_CASE(a_cancel_comes_late),
        HARNESS_CASE(asks_are_garbled),
        HARNESS_CASE(statuses_are_garbled),
        HARNESS_CASE(forged_statuses_harm_nobody),
        HARNESS_CASE(a_status_of_the_right_generation_is_believed),
        HARNESS_CASE(forged_cancels_harm_nobody),
        HARNESS_CASE(asks_for_other_rooms_harm_nobody),
    };

    return harness_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
