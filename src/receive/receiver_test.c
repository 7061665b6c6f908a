/*
 * receiver_test.c: a receiver against an encode rank that the test plays, over
 * a real control socket and bootstrap server and the loopback data plane. The
 * receiver's loop is run by the test (EPDX_PROGRESS_CALLER), so nothing here
 * depends on timing; `until` gives every wait a deadline.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "receive/receiver_internal.h"
#include "testing/fake_encode.h"
#include "testing/until.h"

#define HIDDEN     8
#define ROW_BYTES  (HIDDEN * 2)
#define POOL_BYTES (16 * 1024)

typedef struct fixture {
    epi_loopback_hub_t *hub;
    epi_dataplane_t *dp; /* the receiver's */
    fake_encode_t encode;
    epdx_receiver_t *receiver;
    uint8_t rows[POOL_BYTES * 2];
} fixture_t;

static epdx_receiver_params_t params_plain(void)
{
    return (epdx_receiver_params_t){
        .struct_size = sizeof(epdx_receiver_params_t),
        .dtype = EPDX_BFLOAT16,
        .hidden = HIDDEN,
        .progress = EPDX_PROGRESS_CALLER,
        .host = "127.0.0.1",
        .pool_bytes = POOL_BYTES,
        .waiting_timeout_ns = 60 * EPI_S,
    };
}

static fixture_t *open_fixture(const epdx_receiver_params_t *params,
                               uint32_t encode_ranks)
{
    fixture_t *f = calloc(1, sizeof(*f));
    epi_dataplane_t *encode_dp;

    assert_non_null(f);
    assert_int_equal(epi_loopback_hub_open(&f->hub), EPDX_OK);
    assert_int_equal(epi_dataplane_loopback(f->hub, &f->dp), EPDX_OK);
    assert_int_equal(epi_dataplane_loopback(f->hub, &encode_dp), EPDX_OK);
    fake_encode_open(&f->encode, encode_dp, encode_ranks);
    assert_int_equal(epi_receiver_open_with(params, f->dp, &f->receiver),
                     EPDX_OK);
    for (size_t i = 0; i < sizeof(f->rows); i++) {
        f->rows[i] = (uint8_t)(i * 31 + i / 251);
    }
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

static epdx_receiver_stats_t stats(const fixture_t *f)
{
    epdx_receiver_stats_t s;

    epdx_receiver_stats(f->receiver, &s);
    return s;
}

static epdx_status_t stage(fixture_t *f, const char *id, uint64_t room,
                           uint64_t span, epdx_job_t **job_p)
{
    epdx_item_t item = {
        .room = room, .span = span, .encode = fake_encode_address(&f->encode)};
    epdx_request_t request = {.id = id, .items = &item, .item_count = 1};

    return epdx_receiver_stage(f->receiver, &request, job_p);
}

static epdx_job_t *must_stage(fixture_t *f, const char *id, uint64_t room,
                              uint64_t span)
{
    epdx_job_t *job = NULL;

    assert_int_equal(stage(f, id, room, span, &job), EPDX_OK);
    return job;
}

static void assert_failed(const epdx_job_t *job, epdx_status_t status,
                          const char *words)
{
    const char *reason;

    assert_int_equal(epdx_job_state(job), EPDX_FAILED);
    assert_int_equal(epdx_job_failure(job, &reason), status);
    if (strstr(reason, words) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", reason, words);
    }
}

static void test_an_item_lands_in_place(void **state)
{
    epdx_receiver_params_t params = params_plain();
    fixture_t *f = open_fixture(&params, 1);
    epdx_job_t *job = must_stage(f, "r1", 42, 10);
    const epdx_landed_t *items;
    size_t count;

    (void)state;
    assert_int_equal(epdx_job_state(job), EPDX_PENDING);
    assert_null(epdx_job_items(job, &count));
    assert_int_equal(count, 0);
    until(f, f->encode.ask_count == 1);
    assert_int_equal(f->encode.register_count, 1);
    assert_string_equal(f->encode.registers[0].compat,
                        "dtype=torch.bfloat16 hidden=8 levels=0 tp=1");
    assert_int_equal(f->encode.asks[0].room, 42);
    assert_int_equal(f->encode.asks[0].rows, 10);
    assert_int_equal(f->encode.asks[0].span, 10);
    assert_int_equal(f->encode.asks[0].required, 1);
    assert_false(f->encode.asks[0].has_deepstack);
    assert_int_equal(f->encode.asks[0].main_pointer, 0);
    fake_encode_offer(&f->encode, 0, EPI_PART_MAIN, NULL, f->rows,
                      10 * ROW_BYTES);
    until(f, epdx_job_state(job) == EPDX_LANDED);
    items = epdx_job_items(job, &count);
    assert_int_equal(count, 1);
    assert_int_equal(items[0].room, 42);
    assert_int_equal(items[0].main_bytes, 10 * ROW_BYTES);
    assert_null(items[0].deepstack);
    assert_memory_equal(items[0].main, f->rows, 10 * ROW_BYTES);
    assert_int_equal(stats(f).bytes_landed, 10 * ROW_BYTES);
    assert_int_equal(stats(f).rows_landed, 10);
    epdx_job_release(job);
    assert_int_equal(stats(f).pool_leased_bytes, 0);
    close_fixture(f);
}

static void test_a_shard_and_its_deepstack_land_at_their_rows(void **state)
{
    epdx_receiver_params_t params = params_plain();
    fixture_t *f;
    epdx_job_t *job;
    const epdx_landed_t *items;
    size_t count;

    (void)state;
    params.levels = 3;
    params.tp_size = 4;
    params.tp_rank = 2;
    params.shard = EPDX_ON;
    f = open_fixture(&params, 2); /* fanout 2: this rank pulls from rank 1 */
    fake_encode_register(&f->encode, 1);
    job = must_stage(f, "r1", 7, 10); /* shares of 3, 3, 2, 2 rows */
    until(f, f->encode.ask_count == 1);
    assert_int_equal(f->encode.asks[0].required, 2);
    assert_int_equal(f->encode.asks[0].row_start, 6);
    assert_int_equal(f->encode.asks[0].rows, 2);
    assert_true(f->encode.asks[0].has_deepstack);
    epi_offer_t deep = fake_encode_header(&f->encode, 0, EPI_PART_DEEPSTACK, 3);
    fake_encode_offer(&f->encode, 0, EPI_PART_DEEPSTACK, &deep, f->rows + 1000,
                      2 * ROW_BYTES * 3);
    until(f, f->encode.sent_count == 1);
    assert_int_equal(epdx_job_state(job), EPDX_PENDING);
    fake_encode_offer(&f->encode, 0, EPI_PART_MAIN, NULL, f->rows,
                      2 * ROW_BYTES);
    until(f, epdx_job_state(job) == EPDX_LANDED);
    items = epdx_job_items(job, &count);
    assert_int_equal(items[0].share.start, 6);
    assert_int_equal(items[0].share.count, 2);
    assert_memory_equal((uint8_t *)items[0].main + 6 * ROW_BYTES, f->rows,
                        2 * ROW_BYTES);
    assert_memory_equal((uint8_t *)items[0].deepstack + 6 * ROW_BYTES * 3,
                        f->rows + 1000, 2 * ROW_BYTES * 3);
    close_fixture(f);
}

static void test_a_share_without_rows_asks_and_lands_on_a_header(void **state)
{
    epdx_receiver_params_t params = params_plain();
    fixture_t *f;
    epdx_job_t *job;

    (void)state;
    params.levels = 1;
    params.tp_size = 4;
    params.tp_rank = 3;
    params.shard = EPDX_ON;
    f = open_fixture(&params, 1);
    job = must_stage(f, "r1", 7, 2);
    until(f, f->encode.ask_count == 1);
    assert_int_equal(f->encode.asks[0].rows, 0);
    assert_int_equal(f->encode.asks[0].row_start, 2);
    fake_encode_offer(&f->encode, 0, EPI_PART_MAIN, NULL, NULL, 0);
    until(f, epdx_job_state(job) == EPDX_LANDED);
    assert_int_equal(stats(f).bytes_landed, 0);
    close_fixture(f);
}

static void test_received_and_unserved_items_are_skipped(void **state)
{
    epdx_receiver_params_t params = params_plain();
    fixture_t *f = open_fixture(&params, 1);
    const char *address = fake_encode_address(&f->encode);
    epdx_item_t items[] = {
        {.room = 1, .span = 4, .encode = address, .received = true},
        {.room = 2, .span = 4, .encode = address},
        {.room = 3, .span = 4, .encode = NULL},
    };
    epdx_request_t request = {.id = "mixed", .items = items, .item_count = 3};
    epdx_request_t rest = {.id = "rest", .items = items, .item_count = 1};
    epdx_job_t *job;
    epdx_job_t *done;
    const epdx_landed_t *landed;
    size_t count;

    (void)state;
    assert_int_equal(epdx_receiver_stage(f->receiver, &request, &job), EPDX_OK);
    until(f, f->encode.ask_count == 1);
    assert_int_equal(f->encode.asks[0].room, 2);
    fake_encode_offer(&f->encode, 0, EPI_PART_MAIN, NULL, f->rows,
                      4 * ROW_BYTES);
    until(f, epdx_job_state(job) == EPDX_LANDED);
    assert_int_equal(f->encode.ask_count, 1);
    landed = epdx_job_items(job, &count);
    assert_int_equal(count, 3);
    assert_null(landed[0].main);
    assert_memory_equal(landed[1].main, f->rows, 4 * ROW_BYTES);
    assert_null(landed[2].main);
    /* A request with nothing left to receive has landed when it is staged. */
    assert_int_equal(epdx_receiver_stage(f->receiver, &rest, &done), EPDX_OK);
    assert_int_equal(epdx_job_state(done), EPDX_LANDED);
    epdx_job_release(done);
    epdx_job_release(job);
    close_fixture(f);
}

static void test_stage_refuses_what_is_invalid(void **state)
{
    epdx_receiver_params_t params = params_plain();
    fixture_t *f = open_fixture(&params, 1);
    char long_id[EPDX_ID_MAX + 2];
    epdx_item_t item = {.room = 1, .span = 1, .encode = "127.0.0.1:1"};
    epdx_request_t none = {.id = "none", .items = &item};
    epdx_request_t bad = {.id = "bad", .items = &item, .item_count = 1};
    epdx_job_t *job = NULL;

    (void)state;
    memset(long_id, 'x', sizeof(long_id) - 1);
    long_id[sizeof(long_id) - 1] = '\0';
    assert_int_equal(stage(f, "", 1, 1, &job), EPDX_ERR_INVALID);
    assert_int_equal(stage(f, long_id, 1, 1, &job), EPDX_ERR_INVALID);
    assert_int_equal(stage(f, "two\nlines", 1, 1, &job), EPDX_ERR_INVALID);
    assert_int_equal(stage(f, "rows", 1, 0, &job), EPDX_ERR_INVALID);
    assert_non_null(strstr(epdx_last_error(), "item 0 has no rows"));
    assert_int_equal(epdx_receiver_stage(f->receiver, &none, &job),
                     EPDX_ERR_INVALID);
    item.encode = "no-port";
    assert_int_equal(epdx_receiver_stage(f->receiver, &bad, &job),
                     EPDX_ERR_INVALID);
    assert_non_null(strstr(epdx_last_error(), "no-port"));
    assert_null(job);
    assert_int_equal(stats(f).requests_staged, 0);
    close_fixture(f);
}

static void test_stage_refuses_what_can_never_fit(void **state)
{
    epdx_receiver_params_t params = params_plain();
    fixture_t *f = open_fixture(&params, 1);
    epdx_job_t *job = NULL;

    (void)state;
    assert_int_equal(stage(f, "big", 1, POOL_BYTES / ROW_BYTES + 1, &job),
                     EPDX_ERR_TOO_LARGE);
    assert_non_null(strstr(epdx_last_error(), "EPDX_RECV_POOL_MB"));
    assert_int_equal(stage(f, "absurd", 1, UINT64_MAX / 2, &job),
                     EPDX_ERR_TOO_LARGE);
    assert_non_null(strstr(epdx_last_error(), "2147483647"));
    assert_null(job);
    close_fixture(f);
}

static void test_a_room_in_use_leaves_the_first_use_alone(void **state)
{
    epdx_receiver_params_t params = params_plain();
    fixture_t *f = open_fixture(&params, 1);
    epdx_job_t *first = must_stage(f, "first", 5, 4);
    epdx_job_t *second = NULL;

    (void)state;
    assert_int_equal(stage(f, "second", 5, 4, &second), EPDX_ERR_DUPLICATE);
    assert_non_null(strstr(epdx_last_error(), "room 5"));
    assert_null(second);
    until(f, f->encode.ask_count == 1);
    fake_encode_offer(&f->encode, 0, EPI_PART_MAIN, NULL, f->rows,
                      4 * ROW_BYTES);
    until(f, epdx_job_state(first) == EPDX_LANDED);
    epdx_job_release(first);
    second = must_stage(f, "second", 5, 4);
    epdx_job_release(second);
    close_fixture(f);
}

static void test_requests_are_leased_in_stage_order(void **state)
{
    const uint64_t half = POOL_BYTES / ROW_BYTES / 2;
    epdx_receiver_params_t params = params_plain();
    fixture_t *f = open_fixture(&params, 1);
    epdx_job_t *first = must_stage(f, "first", 1, half + 16);
    epdx_job_t *large = must_stage(f, "large", 2, half * 2);
    epdx_job_t *small = must_stage(f, "small", 3, 1);

    (void)state;
    assert_int_equal(stats(f).requests_waiting, 2);
    until(f, f->encode.ask_count == 1);
    fake_encode_offer(&f->encode, 0, EPI_PART_MAIN, NULL, f->rows,
                      (half + 16) * ROW_BYTES);
    until(f, epdx_job_state(first) == EPDX_LANDED);
    /* There is room for the small one, but it does not overtake. */
    assert_int_equal(stats(f).requests_waiting, 2);
    assert_int_equal(f->encode.ask_count, 1);
    epdx_job_release(first);
    assert_int_equal(stats(f).requests_waiting, 1);
    until(f, f->encode.ask_count == 2);
    assert_int_equal(f->encode.asks[1].room, 2);
    epdx_job_release(large); /* given up while it was pending */
    until(f, f->encode.ask_count == 3);
    assert_int_equal(f->encode.asks[2].room, 3);
    assert_int_equal(f->encode.cancel_count, 1);
    assert_int_equal(f->encode.cancels[0].room, 2);
    assert_int_equal(f->encode.cancels[0].generation,
                     f->encode.asks[1].generation);
    epdx_job_release(small);
    close_fixture(f);
}

static void test_a_failed_status_fails_the_request_with_its_reason(void **state)
{
    epdx_receiver_params_t params = params_plain();
    fixture_t *f = open_fixture(&params, 1);
    epdx_job_t *job = must_stage(f, "r1", 9, 4);

    (void)state;
    until(f, f->encode.ask_count == 1);
    fake_encode_status(&f->encode, 0, EPI_ROOM_SUCCESS, "");
    fake_encode_status(&f->encode, 0, EPI_ROOM_FAILED, "the tower is down");
    until(f, epdx_job_state(job) != EPDX_PENDING);
    assert_failed(job, EPDX_ERR_PEER, ": the tower is down");
    assert_failed(job, EPDX_ERR_PEER, "): encode rank 127.0.0.1:");
    assert_failed(job, EPDX_ERR_PEER,
                  "EmbeddingTransferError(bootstrap_room=9");
    until(f, stats(f).pool_leased_bytes == 0);
    epdx_job_release(job);
    close_fixture(f);
}

static void test_statuses_that_do_not_belong_are_harmless(void **state)
{
    epdx_receiver_params_t params = params_plain();
    fixture_t *f = open_fixture(&params, 1);
    epdx_job_t *job = must_stage(f, "r1", 9, 4);
    epi_message_t message;

    (void)state;
    until(f, f->encode.ask_count == 1);
    f->encode.asks[1] = f->encode.asks[0];
    f->encode.asks[1].generation++;
    fake_encode_status(&f->encode, 1, EPI_ROOM_FAILED, "of another ask");
    f->encode.asks[1] = f->encode.asks[0];
    f->encode.asks[1].room++;
    fake_encode_status(&f->encode, 1, EPI_ROOM_FAILED, "of another room");
    epi_message_clear(&message);
    assert_true(epi_message_add_text(&message, "garbage"));
    fake_encode_send(&f->encode, 0, &message);
    until(f, stats(f).frames_dropped == 1);
    fake_encode_offer(&f->encode, 0, EPI_PART_MAIN, NULL, f->rows,
                      4 * ROW_BYTES);
    until(f, epdx_job_state(job) == EPDX_LANDED);
    close_fixture(f);
}

static void test_offers_that_nobody_asked_for_are_refused(void **state)
{
    epdx_receiver_params_t params = params_plain();
    fixture_t *f = open_fixture(&params, 1);
    epdx_job_t *job = must_stage(f, "r1", 9, 4);
    epi_offer_t forged;

    (void)state;
    until(f, f->encode.ask_count == 1);
    forged = fake_encode_header(&f->encode, 0, EPI_PART_MAIN, 0);
    forged.generation++;
    fake_encode_offer(&f->encode, 0, EPI_PART_MAIN, &forged, f->rows,
                      4 * ROW_BYTES);
    until(f, stats(f).offers_refused == 1);
    assert_int_equal(epdx_job_state(job), EPDX_PENDING);
    fake_encode_offer(&f->encode, 0, EPI_PART_MAIN, NULL, f->rows,
                      4 * ROW_BYTES);
    until(f, epdx_job_state(job) == EPDX_LANDED);
    /* Late: the item has landed, its memory is the caller's. */
    fake_encode_offer(&f->encode, 0, EPI_PART_MAIN, NULL, f->rows + 500,
                      4 * ROW_BYTES);
    until(f, stats(f).offers_refused == 2);
    epdx_job_release(job);
    close_fixture(f);
}

static void test_a_wrong_offer_fails_the_room_at_both_ends(void **state)
{
    epdx_receiver_params_t params = params_plain();
    fixture_t *f = open_fixture(&params, 1);
    epdx_job_t *job = must_stage(f, "r1", 9, 4);
    epi_offer_t wrong;

    (void)state;
    until(f, f->encode.ask_count == 1);
    wrong = fake_encode_header(&f->encode, 0, EPI_PART_MAIN, 0);
    wrong.width = HIDDEN / 2;
    fake_encode_offer(&f->encode, 0, EPI_PART_MAIN, &wrong, f->rows,
                      2 * ROW_BYTES);
    until(f, epdx_job_state(job) != EPDX_PENDING);
    assert_failed(job, EPDX_ERR_MISMATCH, "row width 4");
    until(f, f->encode.cancel_count == 1);
    assert_non_null(strstr(f->encode.cancels[0].reason, "row width 4"));
    until(f, f->encode.sent_count == 1);
    close_fixture(f);
}

static void test_a_lease_rests_until_its_pull_has_ended(void **state)
{
    epdx_receiver_params_t params = params_plain();
    fixture_t *f = open_fixture(&params, 1);
    epdx_job_t *job = must_stage(f, "r1", 9, 4);

    (void)state;
    until(f, f->encode.ask_count == 1);
    epi_loopback_hold_pulls(f->dp, true);
    fake_encode_offer(&f->encode, 0, EPI_PART_MAIN, NULL, f->rows,
                      4 * ROW_BYTES);
    until(f, f->receiver->io.intake.pulls == 1);
    epdx_job_release(job);
    until(f, f->encode.cancel_count == 1);
    /* Released, withdrawn, and still not free: a write may yet come. */
    assert_int_equal(stats(f).pool_leased_bytes, 256);
    assert_int_equal(stats(f).bytes_stranded, 256);
    epi_loopback_hold_pulls(f->dp, false);
    until(f, stats(f).pool_leased_bytes == 0);
    assert_int_equal(stats(f).bytes_stranded, 0);
    close_fixture(f);
}

static void test_a_resting_item_outlives_its_encode_rank(void **state)
{
    epdx_receiver_params_t params = params_plain();
    fixture_t *f = open_fixture(&params, 1);
    epdx_job_t *job = must_stage(f, "r1", 9, 4);
    const epi_item_slot_t *slot = &f->receiver->shared.slots[0];
    const epi_peer_t *peer = &f->receiver->io.nodes.peers[0];

    (void)state;
    until(f, f->encode.ask_count == 1);
    epi_loopback_hold_pulls(f->dp, true);
    fake_encode_offer(&f->encode, 0, EPI_PART_MAIN, NULL, f->rows,
                      4 * ROW_BYTES);
    until(f, f->receiver->io.intake.pulls == 1);
    epdx_job_release(job);
    until(f, slot->phase == EPI_ITEM_ENDING);
    epi_control_close(f->encode.control);
    f->encode.control = NULL;
    until(f, peer->find.state != EPI_FIND_DONE);
    /* The pull may still write: the item must not be looked up anew. */
    assert_int_equal(slot->phase, EPI_ITEM_ENDING);
    assert_int_equal(stats(f).pool_leased_bytes, 256);
    epi_loopback_hold_pulls(f->dp, false);
    until(f, stats(f).pool_leased_bytes == 0);
    assert_int_equal(slot->phase, EPI_ITEM_FREE);
    close_fixture(f);
}

static void test_asks_are_repeated_until_answered(void **state)
{
    epdx_receiver_params_t params = params_plain();
    fixture_t *f;
    epdx_job_t *job;

    (void)state;
    f = open_fixture(&params, 1);
    f->receiver->shared.config.ask_interval_ns = EPI_MS;
    job = must_stage(f, "r1", 9, 4);
    until(f, f->encode.ask_count >= 3);
    assert_int_equal(f->encode.asks[2].generation,
                     f->encode.asks[0].generation);
    fake_encode_offer(&f->encode, 0, EPI_PART_MAIN, NULL, f->rows,
                      4 * ROW_BYTES);
    until(f, epdx_job_state(job) == EPDX_LANDED);
    close_fixture(f);
}

static void test_an_ask_that_was_not_sent_is_soon_repeated(void **state)
{
    epdx_receiver_params_t params = params_plain();
    fixture_t *f;
    epi_item_slot_t *slots;
    uint32_t *control;
    uint32_t right;

    (void)state;
    f = open_fixture(&params, 1);
    f->receiver->shared.config.ask_interval_ns = 600 * EPI_S;
    slots = f->receiver->shared.slots;
    (void)must_stage(f, "sent", 1, 4);
    until(f, f->encode.ask_count == 1);
    control = &f->receiver->io.nodes.peers[slots[0].peer].control;
    right = *control;
    *control = UINT32_MAX; /* as if its queue were full */
    (void)must_stage(f, "held", 2, 4);
    until(f, slots[1].phase == EPI_ITEM_ASKED);
    assert_int_equal(slots[1].asks, 0);
    assert_int_equal(stats(f).asks_sent, 1);
    *control = right;
    until(f, f->encode.ask_count == 2);
    assert_int_equal(f->encode.asks[1].room, 2);
    close_fixture(f);
}

static void test_a_deadline_says_what_it_waited_for(void **state)
{
    epdx_receiver_params_t params = params_plain();
    epdx_item_t item = {.room = 2, .span = 1};
    epdx_request_t hasty = {.id = "waiting",
                            .items = &item,
                            .item_count = 1,
                            .timeout_ns = 200 * EPI_MS};
    fixture_t *f;
    epdx_job_t *asked;
    epdx_job_t *waiting;

    (void)state;
    params.waiting_timeout_ns = 600 * EPI_MS;
    f = open_fixture(&params, 1);
    asked = must_stage(f, "asked", 1, POOL_BYTES / ROW_BYTES);
    item.encode = fake_encode_address(&f->encode);
    assert_int_equal(epdx_receiver_stage(f->receiver, &hasty, &waiting),
                     EPDX_OK);
    until(f, epdx_job_state(asked) == EPDX_FAILED &&
                 epdx_job_state(waiting) == EPDX_FAILED);
    assert_failed(asked, EPDX_ERR_TIMEOUT, "no rows were offered");
    assert_failed(waiting, EPDX_ERR_TIMEOUT, "EPDX_RECV_POOL_MB");
    until(f, f->encode.cancel_count == 2);
    close_fixture(f);
}

static void test_a_missing_encode_node_fails_by_its_deadline(void **state)
{
    epdx_receiver_params_t params = params_plain();
    fixture_t *f;
    epdx_item_t item = {.room = 1, .span = 1, .encode = "127.0.0.1:1"};
    epdx_request_t request = {.id = "lost", .items = &item, .item_count = 1};
    epdx_job_t *job;

    (void)state;
    params.bootstrap_timeout_ns = 300 * EPI_MS;
    f = open_fixture(&params, 1);
    assert_int_equal(epdx_receiver_stage(f->receiver, &request, &job), EPDX_OK);
    until(f, epdx_job_state(job) != EPDX_PENDING);
    assert_failed(job, EPDX_ERR_UNREACHABLE, "127.0.0.1:1");
    close_fixture(f);
}

static void test_a_node_that_is_long_dead_gets_a_moment_only(void **state)
{
    epdx_receiver_params_t params = params_plain();
    fixture_t *f = open_fixture(&params, 1);
    epdx_item_t item = {.room = 1, .span = 1, .encode = "127.0.0.1:1"};
    epdx_request_t request = {.id = "first", .items = &item, .item_count = 1};
    epi_receive_shared_t *shared = &f->receiver->shared;
    epi_node_t *node = &f->receiver->io.nodes.nodes[0];
    epdx_job_t *first;
    epdx_job_t *second;

    (void)state;
    shared->config.bootstrap_timeout_ns = 50 * EPI_S;
    assert_int_equal(epdx_receiver_stage(f->receiver, &request, &first),
                     EPDX_OK);
    until(f, node->find.tries > 0);
    assert_int_equal(f->receiver->io.intake.timers.due[0],
                     shared->slots[0].opened_ns + 50 * EPI_S);
    node->find.failing_ns -= 60 * EPI_S;
    item.room = 2;
    request.id = "second";
    assert_int_equal(epdx_receiver_stage(f->receiver, &request, &second),
                     EPDX_OK);
    until(f, shared->slots[1].phase == EPI_ITEM_FINDING);
    assert_int_equal(f->receiver->io.intake.timers.due[1],
                     shared->slots[1].opened_ns + EPI_S);
    epdx_job_release(first);
    epdx_job_release(second);
    close_fixture(f);
}

static void test_tp_sizes_that_do_not_divide_are_refused(void **state)
{
    epdx_receiver_params_t params = params_plain();
    fixture_t *f;
    epdx_job_t *job;

    (void)state;
    params.tp_size = 3;
    f = open_fixture(&params, 2);
    fake_encode_register(&f->encode, 1);
    job = must_stage(f, "r1", 1, 4);
    until(f, epdx_job_state(job) != EPDX_PENDING);
    assert_failed(job, EPDX_ERR_MISMATCH, "(encode_tp=2, prefill_tp=3)");
    close_fixture(f);
}

static void test_an_encode_rank_that_dies_fails_what_was_asked(void **state)
{
    epdx_receiver_params_t params = params_plain();
    fixture_t *f = open_fixture(&params, 1);
    epdx_job_t *job = must_stage(f, "r1", 9, POOL_BYTES / ROW_BYTES);
    epdx_job_t *waiting = must_stage(f, "r2", 10, 4);

    (void)state;
    until(f, f->encode.ask_count == 1);
    fake_encode_die(&f->encode);
    until(f, epdx_job_state(job) != EPDX_PENDING);
    assert_failed(job, EPDX_ERR_UNREACHABLE, "went away");
    /* The rows of the one that waited for the pool are lost as well. */
    assert_failed(waiting, EPDX_ERR_UNREACHABLE, "went away");
    epdx_job_release(waiting);
    epdx_job_release(job);
    until(f, stats(f).pool_leased_bytes == 0);
    close_fixture(f);
}

static void test_a_pull_under_way_keeps_a_lost_item_ending(void **state)
{
    epdx_receiver_params_t params = params_plain();
    fixture_t *f = open_fixture(&params, 1);
    epdx_job_t *job = must_stage(f, "r1", 9, 4);

    (void)state;
    until(f, f->encode.ask_count == 1);
    epi_loopback_hold_pulls(f->dp, true);
    fake_encode_offer(&f->encode, 0, EPI_PART_MAIN, NULL, f->rows,
                      4 * ROW_BYTES);
    until(f, f->receiver->io.intake.pulls == 1);
    epi_control_close(f->encode.control);
    f->encode.control = NULL;
    until(f, epdx_job_state(job) != EPDX_PENDING);
    assert_failed(job, EPDX_ERR_UNREACHABLE, "went away");
    /* It is not looked up anew, as one that was not asked yet would be. */
    assert_int_equal(f->receiver->shared.slots[0].phase, EPI_ITEM_ENDING);
    until(f, stats(f).pool_leased_bytes == 0);
    epdx_job_release(job);
    close_fixture(f);
}

static void test_receive_waits_and_reports(void **state)
{
    epdx_receiver_params_t params = params_plain();
    epdx_item_t item = {.room = 1, .span = 1, .encode = "127.0.0.1:1"};
    epdx_request_t request = {.id = "lost",
                              .items = &item,
                              .item_count = 1,
                              .timeout_ns = 100 * EPI_MS};
    epdx_job_t *job = NULL;
    fixture_t *f;

    (void)state;
    params.progress = EPDX_PROGRESS_THREAD;
    f = open_fixture(&params, 1);
    assert_int_equal(epdx_receiver_receive(f->receiver, &request, &job),
                     EPDX_ERR_UNREACHABLE);
    assert_non_null(strstr(epdx_last_error(), "127.0.0.1:1"));
    assert_null(job);
    item.encode = NULL;
    assert_int_equal(epdx_receiver_receive(f->receiver, &request, &job),
                     EPDX_OK);
    epdx_job_release(job);
    close_fixture(f);
}

static void test_close_ends_what_is_under_way(void **state)
{
    epdx_receiver_params_t params = params_plain();
    fixture_t *f = open_fixture(&params, 1);

    (void)state;
    (void)must_stage(f, "r1", 9, 4);
    (void)must_stage(f, "r2", 10, 4);
    until(f, f->encode.ask_count == 2);
    fake_encode_offer(&f->encode, 0, EPI_PART_MAIN, NULL, f->rows,
                      4 * ROW_BYTES);
    close_fixture(f);
    epdx_receiver_close(NULL);
    epdx_job_release(NULL);
}

static void test_a_pool_of_the_callers_is_used(void **state)
{
    epdx_receiver_params_t params = params_plain();
    uint8_t *pool = aligned_alloc(256, POOL_BYTES);
    const epdx_landed_t *items;
    epdx_job_t *job;
    fixture_t *f;
    size_t count;

    (void)state;
    params.pool = pool;
    f = open_fixture(&params, 1);
    job = must_stage(f, "r1", 9, 4);
    until(f, f->encode.ask_count == 1);
    fake_encode_offer(&f->encode, 0, EPI_PART_MAIN, NULL, f->rows,
                      4 * ROW_BYTES);
    until(f, epdx_job_state(job) == EPDX_LANDED);
    items = epdx_job_items(job, &count);
    assert_ptr_equal(items[0].main, pool);
    close_fixture(f);
    assert_memory_equal(pool, ((uint8_t[1]){0}), 1);
    free(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_item_lands_in_place),
        cmocka_unit_test(test_a_shard_and_its_deepstack_land_at_their_rows),
        cmocka_unit_test(test_a_share_without_rows_asks_and_lands_on_a_header),
        cmocka_unit_test(test_received_and_unserved_items_are_skipped),
        cmocka_unit_test(test_stage_refuses_what_is_invalid),
        cmocka_unit_test(test_stage_refuses_what_can_never_fit),
        cmocka_unit_test(test_a_room_in_use_leaves_the_first_use_alone),
        cmocka_unit_test(test_requests_are_leased_in_stage_order),
        cmocka_unit_test(
            test_a_failed_status_fails_the_request_with_its_reason),
        cmocka_unit_test(test_statuses_that_do_not_belong_are_harmless),
        cmocka_unit_test(test_offers_that_nobody_asked_for_are_refused),
        cmocka_unit_test(test_a_wrong_offer_fails_the_room_at_both_ends),
        cmocka_unit_test(test_a_lease_rests_until_its_pull_has_ended),
        cmocka_unit_test(test_a_resting_item_outlives_its_encode_rank),
        cmocka_unit_test(test_asks_are_repeated_until_answered),
        cmocka_unit_test(test_an_ask_that_was_not_sent_is_soon_repeated),
        cmocka_unit_test(test_a_deadline_says_what_it_waited_for),
        cmocka_unit_test(test_a_missing_encode_node_fails_by_its_deadline),
        cmocka_unit_test(test_a_node_that_is_long_dead_gets_a_moment_only),
        cmocka_unit_test(test_tp_sizes_that_do_not_divide_are_refused),
        cmocka_unit_test(test_an_encode_rank_that_dies_fails_what_was_asked),
        cmocka_unit_test(test_a_pull_under_way_keeps_a_lost_item_ending),
        cmocka_unit_test(test_receive_waits_and_reports),
        cmocka_unit_test(test_close_ends_what_is_under_way),
        cmocka_unit_test(test_a_pool_of_the_callers_is_used),
    };

    return cmocka_run_group_tests_name("receive/receiver", tests, NULL, NULL);
}
