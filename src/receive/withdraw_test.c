/*
 * withdraw_test.c: items that are given up before they were asked for, against
 * an encode rank that the test plays. The test runs the receiver's loop.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "receive/landing_fixture.h"
#include "testing/until.h"

#define HIDDEN     8
#define ROW_BYTES  (HIDDEN * 2)
#define POOL_BYTES (16 * 1024)

typedef struct fixture {
    epi_loopback_hub_t *hub;
    fake_encode_t encode;
    epdx_receiver_t *receiver;
} fixture_t;

/* A receiver that is rank 0 of tp_size, and rank 0 of as many encode ranks. */
static fixture_t *open_fixture(uint32_t tp_size)
{
    epdx_receiver_params_t params = {
        .struct_size = sizeof(epdx_receiver_params_t),
        .dtype = EPDX_BFLOAT16,
        .hidden = HIDDEN,
        .tp_size = tp_size,
        .progress = EPDX_PROGRESS_CALLER,
        .host = "127.0.0.1",
        .pool_bytes = POOL_BYTES,
        .waiting_timeout_ns = 60 * EPI_S,
    };
    fixture_t *f = calloc(1, sizeof(*f));
    epi_dataplane_t *encode_dp;
    epi_dataplane_t *dp;

    assert_non_null(f);
    assert_int_equal(epi_loopback_hub_open(&f->hub), EPDX_OK);
    assert_int_equal(epi_dataplane_loopback(f->hub, &dp), EPDX_OK);
    assert_int_equal(epi_dataplane_loopback(f->hub, &encode_dp), EPDX_OK);
    fake_encode_open(&f->encode, encode_dp, tp_size);
    assert_int_equal(epi_receiver_open_with(&params, dp, &f->receiver),
                     EPDX_OK);
    return f;
}

static void close_fixture(fixture_t *f)
{
    epdx_receiver_close(f->receiver);
    fake_encode_close(&f->encode);
    epi_loopback_hub_close(f->hub);
    free(f);
}

static void step(fixture_t *f)
{
    epdx_receiver_poll(f->receiver);
    fake_encode_step(&f->encode);
    sched_yield();
}

/* Run both ends until condition holds, 20 s at most. */
#define until(f, condition) EPI_UNTIL(condition, 20 * EPI_S, step(f))

static epdx_job_t *must_stage(fixture_t *f, const char *id, uint64_t room,
                              uint64_t span)
{
    epdx_item_t item = {
        .room = room, .span = span, .encode = fake_encode_address(&f->encode)};
    epdx_request_t request = {.id = id, .items = &item, .item_count = 1};
    epdx_job_t *job = NULL;

    assert_int_equal(epdx_receiver_stage(f->receiver, &request, &job), EPDX_OK);
    return job;
}

static void test_an_item_without_a_lease_is_withdrawn_at_once(void **state)
{
    fixture_t *f = open_fixture(1);
    epdx_job_t *first = must_stage(f, "first", 1, POOL_BYTES / ROW_BYTES);
    epdx_job_t *second = must_stage(f, "second", 2, 1);

    (void)state;
    until(f, f->encode.ask_count == 1);
    until(f, f->receiver->shared.slots[1].phase == EPI_ITEM_LEASING);
    epdx_job_release(second);
    until(f, f->encode.cancel_count == 1);
    assert_int_equal(f->encode.cancels[0].room, 2);
    assert_string_equal(f->encode.cancels[0].session,
                        f->encode.asks[0].session);
    /* Registered again, in case the first register was lost. */
    assert_int_equal(f->encode.register_count, 2);
    epdx_job_release(first);
    close_fixture(f);
}

static void test_a_withdrawal_waits_for_its_encode_rank(void **state)
{
    fixture_t *f;
    epdx_job_t *job;

    (void)state;
    f = open_fixture(2); /* its rank 1 is not in: 503 */
    job = must_stage(f, "r1", 5, 4);
    until(f, f->receiver->io.nodes.nodes[0].find.tries > 0);
    epdx_job_release(job);
    until(f, f->receiver->io.intake.open == 0);
    fake_encode_register(&f->encode, 1);
    until(f, f->encode.cancel_count == 1);
    assert_int_equal(f->encode.cancels[0].room, 5);
    assert_non_null(strstr(f->encode.cancels[0].reason, "gave the request up"));
    assert_int_equal(f->encode.ask_count, 0);
    job = must_stage(f, "r2", 6, 4); /* its place is free again */
    until(f, f->encode.ask_count == 1);
    close_fixture(f);
}

static void test_withdrawals_are_bounded_and_end_by_their_deadline(void **state)
{
    fixture_t *f;

    (void)state;
    f = open_fixture(2);
    for (uint64_t room = 0; room < EPI_WITHDRAWN_MAX + 10; room++) {
        epdx_job_t *job = must_stage(f, "r", room, 1);

        step(f);
        epdx_job_release(job);
    }
    until(f, f->receiver->io.intake.open == 0);
    assert_int_equal(landing_free_withdrawals(f->receiver), 0);
    for (uint32_t i = 0; i < EPI_WITHDRAWN_MAX; i++) {
        uint32_t slot = (uint32_t)f->receiver->shared.config.max_items + i;

        f->receiver->shared.slots[slot].deadline_ns = 1;
        epi_timers_set(&f->receiver->io.intake.timers, slot, 1);
    }
    until(f, landing_free_withdrawals(f->receiver) == EPI_WITHDRAWN_MAX);
    fake_encode_register(&f->encode, 1);
    (void)must_stage(f, "last", 1, 1);
    until(f, f->encode.ask_count == 1);
    assert_int_equal(f->encode.cancel_count, 0);
    close_fixture(f);
}

static void test_what_was_asked_of_a_lost_encode_rank_is_withdrawn(void **state)
{
    epi_control_params_t params = {.host = "127.0.0.1", .peer_max = 16};
    fixture_t *f = open_fixture(1);
    epdx_job_t *job = must_stage(f, "r1", 9, 4);
    uint64_t generation;

    (void)state;
    until(f, f->encode.ask_count == 1);
    generation = f->encode.asks[0].generation;
    epi_control_close(f->encode.control);
    f->encode.control = NULL;
    until(f, epdx_job_state(job) == EPDX_FAILED);
    /* It comes back: its rows must not wait for asks that will not come. */
    assert_int_equal(epi_control_open(&params, &f->encode.control), EPDX_OK);
    fake_encode_register(&f->encode, 0);
    until(f, f->encode.cancel_count == 1);
    assert_int_equal(f->encode.cancels[0].room, 9);
    assert_int_equal(f->encode.cancels[0].generation, generation);
    epdx_job_release(job);
    close_fixture(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            test_what_was_asked_of_a_lost_encode_rank_is_withdrawn),
        cmocka_unit_test(test_an_item_without_a_lease_is_withdrawn_at_once),
        cmocka_unit_test(test_a_withdrawal_waits_for_its_encode_rank),
        cmocka_unit_test(
            test_withdrawals_are_bounded_and_end_by_their_deadline),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
