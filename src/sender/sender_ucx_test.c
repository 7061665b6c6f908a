/* sender_ucx_test.c: a sender with its own thread, over UCX, and one prefill
 * rank that the test plays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "control/control.h"
#include "dataplane/dataplane.h"
#include "sender/sender_internal.h"
#include "wire/control.h"
#include "wire/offer.h"

#define ROWS   300
#define HIDDEN 1024
#define ROOMS  20

typedef struct rank {
    epi_control_t *control;
    epi_dataplane_t *dp;
    epi_dp_region_t *region;
    uint32_t encode;
    uint16_t rows[ROWS * HIDDEN];
    epi_dp_offer_t *offers[ROOMS];
    size_t offered, taken;
    uint64_t pulled;
    bool told;
    epi_status_t status;
} rank_t;

static rank_t rank;
static epdx_sender_t *sender;

static void rank_open(void)
{
    epi_control_params_t params = {.host = "127.0.0.1", .peer_max = 1};

    memset(&rank, 0, sizeof(rank));
    assert_int_equal(epi_control_open(&params, &rank.control), EPDX_OK);
    assert_int_equal(epi_dataplane_ucx("127.0.0.1", &rank.dp), EPDX_OK);
    rank.dp->ops->admit(rank.dp, "127.0.0.1");
    assert_int_equal(rank.dp->ops->map(rank.dp, epi_memory_host(), rank.rows,
                                       sizeof(rank.rows), &rank.region),
                     EPDX_OK);
    assert_int_equal(epi_control_connect(rank.control, epi_sender_host(sender),
                                         epi_sender_port(sender), &rank.encode),
                     EPDX_OK);
}

static void rank_close(void)
{
    rank.dp->ops->unmap(rank.dp, rank.region);
    rank.dp->ops->close(rank.dp);
    epi_control_close(rank.control);
}

static int setup_with(epdx_progress_t progress)
{
    epdx_sender_params_t params = {
        .struct_size = sizeof(params),
        .dtype = EPDX_BFLOAT16,
        .hidden = HIDDEN,
        .progress = progress,
        .host = "localhost",
        .ring_bytes = (uint64_t)(ROOMS + 1) * sizeof(rank.rows),
    };

    assert_int_equal(epdx_sender_open(&params, &sender), EPDX_OK);
    rank_open();
    return 0;
}

static int setup(void **state)
{
    (void)state;
    return setup_with(EPDX_PROGRESS_THREAD);
}

static int setup_caller(void **state)
{
    (void)state;
    return setup_with(EPDX_PROGRESS_CALLER);
}

static int teardown(void **state)
{
    (void)state;
    epdx_sender_close(sender);
    rank_close();
    return 0;
}

static void ask_for(uint64_t room, const char *session)
{
    epi_message_t message;
    epi_ask_t ask = {
        .room = room,
        .endpoint = "127.0.0.1",
        .status_port = epi_control_port(rank.control),
        .rows = ROWS,
        .hidden = HIDDEN,
        .dtype = EPDX_BFLOAT16,
        .required = 1,
        .span = ROWS,
        .extended = true,
        .instance = "one",
        .generation = room,
    };

    assert_true(epi_text_copy(ask.session, sizeof(ask.session), session));
    assert_int_equal(epi_ask_format(&ask, &message), EPDX_OK);
    assert_int_equal(epi_control_send(rank.control, rank.encode, &message),
                     EPDX_OK);
}

static void pull_offered(void)
{
    while (rank.taken < rank.offered) {
        assert_int_equal(
            rank.dp->ops->pull(rank.dp, rank.offers[rank.taken++],
                               &(epi_dp_target_t){.region = rank.region,
                                                  .at = rank.rows,
                                                  .bytes = sizeof(rank.rows),
                                                  .cookie = 1}),
            EPDX_OK);
    }
}

static void rank_step(void)
{
    epi_control_event_t heard;
    epi_dp_event_t event;

    if (!rank.dp->ops->progress(rank.dp)) {
        (void)poll(NULL, 0, 1);
    }
    while (rank.dp->ops->next(rank.dp, &event)) {
        if (event.kind == EPI_DP_OFFER) {
            assert_int_equal(event.payload_bytes, sizeof(rank.rows));
            assert_true(rank.offered < ROOMS);
            rank.offers[rank.offered++] = event.offer;
        } else if (event.kind == EPI_DP_PULLED) {
            assert_int_equal(event.status, EPDX_OK);
            rank.pulled++;
        }
    }
    while (epi_control_next(rank.control, &heard)) {
        if (heard.kind == EPI_CONTROL_MESSAGE) {
            assert_int_equal(epi_status_parse(&heard.message, &rank.status),
                             EPDX_OK);
            rank.told = true;
        }
    }
}

static epdx_outcome_t next_outcome(void)
{
    uint64_t limit = epi_now_ns() + 30 * EPI_S;
    epdx_outcome_t outcome = {0};

    while (epdx_sender_poll(sender, &outcome, 1) == 0) {
        rank_step();
        pull_offered();
        assert_true(epi_now_ns() < limit);
    }
    return outcome;
}

static uint16_t value_of(uint64_t room, size_t index)
{
    return (uint16_t)(room * 7919 + index * 31);
}

static void test_rooms_over_ucx(void **state)
{
    epdx_sender_stats_t stats;

    (void)state;
    for (uint64_t room = 1; room <= ROOMS; room++) {
        epdx_chunk_t chunk;
        epdx_outcome_t outcome;
        uint16_t *rows;

        assert_int_equal(epdx_sender_lease(sender, ROWS, &chunk), EPDX_OK);
        rows = chunk.main;
        for (size_t i = 0; i < (size_t)ROWS * HIDDEN; i++) {
            rows[i] = value_of(room, i);
        }
        ask_for(room, rank.dp->ops->address(rank.dp));
        assert_int_equal(epdx_sender_send(sender, room, &chunk), EPDX_OK);
        outcome = next_outcome();
        assert_string_equal(outcome.reason, "");
        assert_int_equal(outcome.room, room);
        assert_int_equal(outcome.status, EPDX_OK);
        while (rank.pulled < room) {
            rank_step();
        }
        for (size_t i = 0; i < (size_t)ROWS * HIDDEN; i++) {
            if (rank.rows[i] != value_of(room, i)) {
                fail_msg("room %u differs at element %zu", (unsigned)room, i);
            }
        }
    }
    epdx_sender_stats(sender, &stats);
    assert_int_equal(stats.rooms_done, ROOMS);
    assert_int_equal(stats.bytes_offered, ROOMS * sizeof(rank.rows));
    assert_int_equal(stats.ring_leased_bytes, 0);
    assert_string_not_equal(stats.transport, "");
}

static void test_a_name_is_no_session(void **state)
{
    uint64_t limit = epi_now_ns() + 30 * EPI_S;

    (void)state;
    ask_for(5, "localhost:7777");
    while (!rank.told) {
        rank_step();
        assert_true(epi_now_ns() < limit);
    }
    assert_int_equal(rank.status.status, EPI_ROOM_FAILED);
    assert_int_equal(rank.status.room, 5);
    assert_non_null(strstr(rank.status.reason, "localhost:7777"));
    print_message("%s\n", rank.status.reason);
}

static void test_close_while_rooms_are_open(void **state)
{
    epdx_chunk_t chunk;

    (void)state;
    ask_for(6, rank.dp->ops->address(rank.dp));
    assert_int_equal(epdx_sender_lease(sender, ROWS, &chunk), EPDX_OK);
    assert_int_equal(epdx_sender_send(sender, 6, &chunk), EPDX_OK);
    assert_int_equal(epdx_sender_fail(sender, 7, "none"), EPDX_OK);
}

/* A rank that took all its rows, and whose control connection ended before the
 * sender looked: what is to be read of the rows is read first. */
static void test_rows_taken_before_the_end_are_delivered(void **state)
{
    uint64_t limit = epi_now_ns() + 30 * EPI_S;
    epdx_outcome_t outcomes[ROOMS];
    size_t ended = 0;

    (void)state;
    for (uint64_t room = 1; room <= ROOMS; room++) {
        epdx_chunk_t chunk;

        assert_int_equal(epdx_sender_lease(sender, ROWS, &chunk), EPDX_OK);
        ask_for(room, rank.dp->ops->address(rank.dp));
        assert_int_equal(epdx_sender_send(sender, room, &chunk), EPDX_OK);
    }
    while (rank.offered < ROOMS && epi_now_ns() < limit) {
        assert_int_equal(epdx_sender_poll(sender, outcomes, ROOMS), 0);
        rank_step();
    }
    pull_offered();
    while (rank.pulled < ROOMS && epi_now_ns() < limit) {
        rank_step();
    }
    assert_int_equal(rank.pulled, ROOMS);
    epi_control_close(rank.control);
    rank.control = NULL;
    while (ended < ROOMS && epi_now_ns() < limit) {
        size_t count = epdx_sender_poll(sender, outcomes, ROOMS);

        for (size_t i = 0; i < count; i++) {
            assert_string_equal(outcomes[i].reason, "");
            assert_int_equal(outcomes[i].status, EPDX_OK);
        }
        ended += count;
    }
    assert_int_equal(ended, ROOMS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_rooms_over_ucx, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_name_is_no_session, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_close_while_rooms_are_open, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(
            test_rows_taken_before_the_end_are_delivered, setup_caller,
            teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
