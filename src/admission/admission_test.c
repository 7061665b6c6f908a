/*
 * admission_test.c: ranks in lockstep, each a thread over a fake group. What a
 * rank sees it keeps in its record; the test asserts on the records after all
 * threads ended. Requests land at once when all their items were received
 * before, stay pending when their encode node does not exist, and fail when
 * they can never fit: no encode rank is needed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "admission/admission_internal.h"
#include "base/clock.h"
#include "dataplane/loopback.h"
#include "testing/group_fake.h"

#define RANKS     3
#define POOL_ROWS 64
#define STEPS     8

/* What one rank saw in one drain. */
typedef struct seen {
    epdx_status_t status;
    char words[EPDX_REASON_MAX];
    size_t admitted, failed, pending;
    char admitted_id[EPDX_ID_MAX + 1];
    char failed_id[EPDX_ID_MAX + 1];
    epdx_status_t failed_status;
    char failed_reason[EPDX_REASON_MAX];
    uint32_t failed_rank;
} seen_t;

typedef struct record {
    epdx_status_t open;
    char open_words[EPDX_REASON_MAX];
    epdx_status_t calls[STEPS];
    seen_t drains[STEPS];
    epdx_admission_stats_t stats;
    epdx_receiver_stats_t receiver;
    bool sharded;
} record_t;

typedef struct scene {
    epi_group_fake_t *fake;
    void (*adjust)(epdx_admission_params_t *params, uint32_t rank);
    void (*act)(epdx_admission_t *admission, uint32_t rank, record_t *record);
    record_t records[RANKS];
} scene_t;

static epdx_admission_params_t params_plain(void)
{
    return (epdx_admission_params_t){
        .struct_size = sizeof(epdx_admission_params_t),
        .receiver = {.struct_size = sizeof(epdx_receiver_params_t),
                     .dtype = EPDX_FLOAT32,
                     .hidden = 64,
                     .progress = EPDX_PROGRESS_CALLER,
                     .host = "127.0.0.1",
                     .pool_bytes = POOL_ROWS * 256,
                     .waiting_timeout_ns = 600 * EPI_S,
                     .bootstrap_timeout_ns = 600 * EPI_S},
    };
}

static void run_rank(void *context, epdx_group_t *group)
{
    scene_t *scene = context;
    record_t *record = &scene->records[group->rank];
    epdx_admission_params_t params = params_plain();
    epdx_admission_t *admission = NULL;
    epi_loopback_hub_t *hub = NULL;
    epi_dataplane_t *dp = NULL;

    record->open = epi_loopback_hub_open(&hub);
    if (record->open == EPDX_OK) {
        record->open = epi_dataplane_loopback(hub, &dp);
    }
    if (scene->adjust != NULL) {
        scene->adjust(&params, group->rank);
    }
    if (record->open == EPDX_OK) {
        record->open = epi_admission_open_with(group, &params, dp, &admission);
        (void)snprintf(record->open_words, sizeof(record->open_words), "%s",
                       epdx_last_error());
    }
    if (record->open == EPDX_OK && scene->act != NULL) {
        record->sharded = epdx_admission_sharded(admission);
        scene->act(admission, group->rank, record);
        epdx_admission_stats(admission, &record->stats, &record->receiver);
    }
    epdx_admission_close(admission);
    epi_loopback_hub_close(hub);
}

static scene_t *run_scene(scene_t *scene)
{
    epi_group_fake_run(scene->fake, run_rank, scene);
    return scene;
}

static scene_t *open_scene(void)
{
    scene_t *scene = calloc(1, sizeof(*scene));

    assert_non_null(scene);
    assert_int_equal(epi_group_fake_open(RANKS, &scene->fake), EPDX_OK);
    return scene;
}

static void close_scene(scene_t *scene)
{
    epi_group_fake_close(scene->fake);
    free(scene);
}

typedef enum kind {
    LANDS,
    WAITS,
    TOO_LARGE,
    LATE, /* as WAITS, but its deadline has passed */
} kind_t;

static epdx_status_t stage(epdx_admission_t *admission, const char *id,
                           uint64_t room, kind_t kind)
{
    epdx_item_t item = {
        .room = room,
        .span = kind == TOO_LARGE ? POOL_ROWS + 1 : 4,
        .encode = "127.0.0.1:1",
        .received = kind == LANDS,
    };
    epdx_request_t request = {.id = id,
                              .items = &item,
                              .item_count = 1,
                              .timeout_ns = kind == LATE ? 1 : 0};

    return epdx_admission_stage(admission, &request);
}

static void drain(epdx_admission_t *admission, seen_t *seen)
{
    epdx_decisions_t decisions;

    seen->status = epdx_admission_drain(admission, &decisions);
    if (seen->status != EPDX_OK) {
        (void)snprintf(seen->words, sizeof(seen->words), "%s",
                       epdx_last_error());
    }
    seen->admitted = decisions.admitted_count;
    seen->failed = decisions.failed_count;
    seen->pending = epdx_admission_pending(admission);
    if (seen->admitted > 0) {
        (void)snprintf(seen->admitted_id, sizeof(seen->admitted_id), "%s",
                       decisions.admitted[0].id);
    }
    if (seen->failed > 0) {
        const epdx_rejected_t *failed = &decisions.failed[0];

        (void)snprintf(seen->failed_id, sizeof(seen->failed_id), "%s",
                       failed->id);
        (void)snprintf(seen->failed_reason, sizeof(seen->failed_reason), "%s",
                       failed->reason);
        seen->failed_status = failed->status;
        seen->failed_rank = failed->rank;
    }
}

static void assert_says(const char *text, const char *words)
{
    if (strstr(text, words) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", text, words);
    }
}

static void other_hidden_on_rank_1(epdx_admission_params_t *params,
                                   uint32_t rank)
{
    params->receiver.hidden = rank == 1 ? 128 : 64;
}

static void other_shard_on_rank_2(epdx_admission_params_t *params,
                                  uint32_t rank)
{
    params->receiver.shard = rank == 2 ? EPDX_OFF : EPDX_ON;
}

static void wildcard_on_rank_1(epdx_admission_params_t *params, uint32_t rank)
{
    if (rank == 1) {
        params->receiver.host = "0.0.0.0";
    }
}

static void strict_on_all(epdx_admission_params_t *params, uint32_t rank)
{
    (void)rank;
    params->strict = true;
}

static void test_settings_that_differ_are_named_on_every_rank(void **state)
{
    scene_t *scene = open_scene();

    (void)state;
    scene->adjust = other_hidden_on_rank_1;
    run_scene(scene);
    for (int r = 0; r < RANKS; r++) {
        assert_int_equal(scene->records[r].open, EPDX_ERR_DISAGREE);
        assert_says(scene->records[r].open_words,
                    "hidden differs across ranks, from 64 to 128");
    }
    scene->adjust = other_shard_on_rank_2;
    run_scene(scene);
    for (int r = 0; r < RANKS; r++) {
        assert_int_equal(scene->records[r].open, EPDX_ERR_DISAGREE);
        assert_says(scene->records[r].open_words,
                    "EPDX_EMBEDDING_SHARD differs across ranks, from 0 to 1");
    }
    close_scene(scene);
}

static void test_a_rank_that_cannot_open_is_named_on_every_rank(void **state)
{
    scene_t *scene = open_scene();

    (void)state;
    scene->adjust = wildcard_on_rank_1;
    run_scene(scene);
    for (int r = 0; r < RANKS; r++) {
        assert_int_equal(scene->records[r].open,
                         r == 1 ? EPDX_ERR_INVALID : EPDX_ERR_DISAGREE);
        assert_says(scene->records[r].open_words, "rank 1 could not open");
        assert_says(scene->records[r].open_words, "0.0.0.0");
    }
    close_scene(scene);
}

static void lands_on_all(epdx_admission_t *admission, uint32_t rank,
                         record_t *record)
{
    (void)rank;
    record->calls[0] = stage(admission, "a", 1, LANDS);
    record->calls[1] = stage(admission, "a", 2, LANDS);
    drain(admission, &record->drains[0]);
    record->calls[2] = epdx_admission_cancel(admission, "a");
    record->calls[3] = epdx_admission_release(admission, "a");
    record->calls[4] = epdx_admission_release(admission, "a");
    drain(admission, &record->drains[1]);
}

static void test_what_landed_everywhere_is_admitted_once(void **state)
{
    scene_t *scene = open_scene();

    (void)state;
    scene->act = lands_on_all;
    run_scene(scene);
    for (uint32_t r = 0; r < RANKS; r++) {
        record_t *record = &scene->records[r];

        assert_int_equal(record->open, EPDX_OK);
        assert_true(record->sharded);
        assert_int_equal(record->calls[0], EPDX_OK);
        assert_int_equal(record->calls[1], EPDX_ERR_DUPLICATE);
        assert_int_equal(record->drains[0].status, EPDX_OK);
        assert_int_equal(record->drains[0].admitted, 1);
        assert_string_equal(record->drains[0].admitted_id, "a");
        assert_int_equal(record->drains[0].failed, 0);
        assert_int_equal(record->calls[2], EPDX_ERR_NOT_FOUND);
        assert_int_equal(record->calls[3], EPDX_OK);
        assert_int_equal(record->calls[4], EPDX_ERR_NOT_FOUND);
        /* The second drain has nothing pending: no collective. */
        assert_int_equal(record->stats.drains, 2);
        assert_int_equal(record->stats.drains_pending, 1);
        assert_int_equal(record->stats.collectives.creation, 1);
        assert_int_equal(record->stats.collectives.ballot, 1);
        assert_int_equal(record->stats.collectives.reason, 0);
        assert_int_equal(record->stats.collectives.reassembly, 0);
        assert_int_equal(epi_group_fake_count(scene->fake, r, EPI_FAKE_MIN_U8),
                         1);
    }
    close_scene(scene);
}

static void lands_on_all_but_rank_1(epdx_admission_t *admission, uint32_t rank,
                                    record_t *record)
{
    record->calls[0] = stage(admission, "a", 1, WAITS);
    if (rank != 1) { /* as if its rows had come */
        admission->entries[admission->pending[0]].job->state = EPDX_LANDED;
    }
    drain(admission, &record->drains[0]);
    drain(admission, &record->drains[1]);
}

static void keeps_an_id(epdx_admission_t *admission, uint32_t rank,
                        record_t *record)
{
    epdx_decisions_t decisions;

    (void)rank;
    (void)stage(admission, "first", 1, LANDS);
    record->calls[0] = epdx_admission_drain(admission, &decisions);
    record->calls[1] = epdx_admission_release(admission, "first");
    record->calls[2] = stage(admission, "second", 2, LANDS);
    if (decisions.admitted_count == 1) {
        (void)snprintf(record->open_words, sizeof(record->open_words), "%s",
                       decisions.admitted[0].id);
    }
    drain(admission, &record->drains[0]);
}

static void test_a_released_id_is_readable_until_the_next_drain(void **state)
{
    scene_t *scene = open_scene();

    (void)state;
    scene->act = keeps_an_id;
    run_scene(scene);
    for (int r = 0; r < RANKS; r++) {
        assert_int_equal(scene->records[r].calls[0], EPDX_OK);
        assert_int_equal(scene->records[r].calls[1], EPDX_OK);
        assert_int_equal(scene->records[r].calls[2], EPDX_OK);
        assert_string_equal(scene->records[r].open_words, "first");
        assert_string_equal(scene->records[r].drains[0].admitted_id, "second");
    }
    close_scene(scene);
}

static void test_what_waits_on_one_rank_waits_on_all(void **state)
{
    scene_t *scene = open_scene();

    (void)state;
    scene->act = lands_on_all_but_rank_1;
    run_scene(scene);
    for (int r = 0; r < RANKS; r++) {
        assert_int_equal(scene->records[r].drains[1].status, EPDX_OK);
        assert_int_equal(scene->records[r].drains[1].admitted, 0);
        assert_int_equal(scene->records[r].drains[1].failed, 0);
        assert_int_equal(scene->records[r].drains[1].pending, 1);
    }
    close_scene(scene);
}

static void too_large_on_rank_2(epdx_admission_t *admission, uint32_t rank,
                                record_t *record)
{
    epdx_item_t item = {.room = 7, .span = 4, .received = true};
    epdx_request_t fits = {.id = "a", .items = &item, .item_count = 1};

    record->calls[0] = stage(admission, "a", 1, TOO_LARGE);
    if (rank != 2) { /* as if it had fitted there */
        admission->entries[admission->pending[0]].status = EPDX_OK;
        record->calls[3] =
            epdx_receiver_stage(admission->receiver, &fits,
                                &admission->entries[admission->pending[0]].job);
        admission->votes.codes[0] = EPDX_PENDING;
        epi_votes_end(&admission->votes, 1);
        admission->votes_stale = true;
    }
    record->calls[1] = stage(admission, "b", 2, LANDS);
    drain(admission, &record->drains[0]);
    /* The id may be used again at once; the words stay until the next. */
    record->calls[2] = stage(admission, "a", 1, LANDS);
    drain(admission, &record->drains[1]);
}

static void test_a_failure_of_one_rank_ends_it_on_all(void **state)
{
    scene_t *scene = open_scene();

    (void)state;
    scene->act = too_large_on_rank_2;
    run_scene(scene);
    for (int r = 0; r < RANKS; r++) {
        seen_t *seen = &scene->records[r].drains[0];

        assert_int_equal(scene->records[r].calls[0], EPDX_OK);
        assert_int_equal(seen->admitted, 1);
        assert_string_equal(seen->admitted_id, "b");
        assert_int_equal(seen->failed, 1);
        assert_string_equal(seen->failed_id, "a");
        assert_int_equal(seen->failed_status, EPDX_ERR_TOO_LARGE);
        assert_int_equal(seen->failed_rank, 2);
        assert_says(seen->failed_reason, "EPDX_RECV_POOL_MB");
        assert_int_equal(scene->records[r].calls[2], EPDX_OK);
        assert_int_equal(scene->records[r].drains[1].admitted, 1);
        assert_string_equal(scene->records[r].drains[1].admitted_id, "a");
        assert_int_equal(scene->records[r].stats.failed, 1);
        assert_int_equal(scene->records[r].stats.cancelled, 0);
        assert_int_equal(scene->records[r].stats.collectives.reason, 2);
    }
    close_scene(scene);
}

static void fail_on_two_ranks(epdx_admission_t *admission, uint32_t rank,
                              record_t *record)
{
    (void)stage(admission, "a", 1, WAITS);
    (void)stage(admission, "b", 2, rank == 2 ? LATE : WAITS);
    while (rank == 2 &&
           epdx_job_state(admission->entries[admission->pending[1]].job) !=
               EPDX_FAILED) {
        epdx_receiver_poll(admission->receiver);
    }
    if (rank > 0) {
        record->calls[0] = epdx_admission_cancel(admission, "a");
    }
    record->calls[1] = epdx_admission_cancel(admission, "aa");
    drain(admission, &record->drains[0]);
    drain(admission, &record->drains[1]);
}

static void test_cancel_ends_it_on_all_with_the_lowest_ranks_word(void **state)
{
    scene_t *scene = open_scene();

    (void)state;
    scene->act = fail_on_two_ranks;
    run_scene(scene);
    for (int r = 0; r < RANKS; r++) {
        seen_t *seen = &scene->records[r].drains[0];

        assert_int_equal(scene->records[r].calls[0], EPDX_OK);
        assert_int_equal(scene->records[r].calls[1], EPDX_ERR_NOT_FOUND);
        assert_int_equal(seen->failed, 2);
        assert_string_equal(seen->failed_id, "a");
        assert_int_equal(seen->failed_status, EPDX_ERR_CANCELLED);
        assert_int_equal(seen->failed_rank, 1);
        assert_int_equal(scene->records[r].stats.cancelled, 1);
        assert_int_equal(scene->records[r].stats.failed, 2);
        assert_int_equal(scene->records[r].drains[1].pending, 0);
        /* One minimum, and a broadcast from each of ranks 1 and 2. */
        assert_int_equal(scene->records[r].stats.collectives.reason, 3);
        assert_int_equal(scene->records[r].receiver.pool_leased_bytes, 0);
    }
    close_scene(scene);
}

static void other_lists(epdx_admission_t *admission, uint32_t rank,
                        record_t *record)
{
    (void)stage(admission, "a", 1, LANDS);
    if (rank != 1) {
        (void)stage(admission, "b", 2, LANDS);
    }
    drain(admission, &record->drains[0]);
    if (rank == 1) {
        (void)stage(admission, "c", 2, LANDS);
    }
    drain(admission, &record->drains[1]);
}

static void test_lists_that_differ_are_an_error_on_every_rank(void **state)
{
    scene_t *scene = open_scene();

    (void)state;
    scene->act = other_lists;
    run_scene(scene);
    for (int r = 0; r < RANKS; r++) {
        for (int d = 0; d < 2; d++) {
            seen_t *seen = &scene->records[r].drains[d];

            assert_int_equal(seen->status, EPDX_ERR_DISAGREE);
            assert_says(seen->words, "pending requests differ across ranks");
            assert_int_equal(seen->admitted, 0);
            assert_int_equal(seen->failed, 0);
        }
    }
    close_scene(scene);
}

static void other_items(epdx_admission_t *admission, uint32_t rank,
                        record_t *record)
{
    (void)stage(admission, "a", rank == 1 ? 65536 : 131072, LANDS);
    drain(admission, &record->drains[0]);
}

static void other_skips(epdx_admission_t *admission, uint32_t rank,
                        record_t *record)
{
    (void)stage(admission, "a", 1, rank == 1 ? LANDS : WAITS);
    drain(admission, &record->drains[0]);
}

static void test_items_that_differ_are_an_error_on_every_rank(void **state)
{
    void (*const acts[])(epdx_admission_t *, uint32_t,
                         record_t *) = {other_items, other_skips};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        scene_t *scene = open_scene();

        scene->act = acts[i];
        run_scene(scene);
        for (int r = 0; r < RANKS; r++) {
            assert_int_equal(scene->records[r].drains[0].status,
                             EPDX_ERR_DISAGREE);
            assert_says(scene->records[r].drains[0].words, "items");
            assert_int_equal(scene->records[r].drains[0].admitted, 0);
        }
        close_scene(scene);
    }
}

static void drains_idle(epdx_admission_t *admission, uint32_t rank,
                        record_t *record)
{
    (void)rank;
    drain(admission, &record->drains[0]);
    drain(admission, &record->drains[1]);
}

static void test_strict_votes_also_with_nothing_pending(void **state)
{
    scene_t *scene = open_scene();

    (void)state;
    scene->adjust = strict_on_all;
    scene->act = drains_idle;
    run_scene(scene);
    for (int r = 0; r < RANKS; r++) {
        assert_int_equal(scene->records[r].stats.collectives.ballot, 2);
    }
    close_scene(scene);
}

static void test_a_broken_group_is_an_error_of_the_drain(void **state)
{
    scene_t *scene = open_scene();
    epi_fake_fault_t fault = {EPI_FAKE_FAIL_ENTER, 1, EPI_FAKE_MIN_U8, 0};

    (void)state;
    scene->act = lands_on_all;
    epi_group_fake_fault(scene->fake, &fault);
    run_scene(scene);
    for (int r = 0; r < RANKS; r++) {
        assert_true(scene->records[r].drains[0].status < 0);
        assert_int_equal(scene->records[r].drains[0].admitted, 0);
    }
    close_scene(scene);
}

static void fills_up(epdx_admission_t *admission, uint32_t rank,
                     record_t *record)
{
    char id[16];

    (void)rank;
    for (uint64_t i = 0; i < 8; i++) {
        (void)snprintf(id, sizeof(id), "r%d", (int)i);
        record->calls[0] = stage(admission, id, 100 + i, WAITS);
    }
    record->calls[1] = stage(admission, "over", 1, WAITS);
    record->calls[2] = stage(admission, "", 1, WAITS);
    drain(admission, &record->drains[0]);
}

static void test_stage_is_bounded_alike_on_every_rank(void **state)
{
    scene_t *scene = open_scene();

    (void)state;
    scene->act = fills_up;
    run_scene(scene);
    for (int r = 0; r < RANKS; r++) {
        assert_int_equal(scene->records[r].calls[0], EPDX_OK);
        assert_int_equal(scene->records[r].calls[1], EPDX_ERR_FULL);
        assert_int_equal(scene->records[r].calls[2], EPDX_ERR_INVALID);
        assert_int_equal(scene->records[r].drains[0].status, EPDX_OK);
        assert_int_equal(scene->records[r].drains[0].pending, 8);
    }
    close_scene(scene);
}

static void test_err_invalid_params_of_the_receiver_without_size(void **state)
{
    epdx_admission_params_t params = params_plain();
    epdx_admission_t *admission = NULL;
    epdx_group_t *group = NULL;

    (void)state;
    assert_int_equal(epdx_group_single(&group), EPDX_OK);
    params.receiver.struct_size = 0;
    assert_int_equal(epdx_admission_open(group, &params, &admission),
                     EPDX_ERR_INVALID);
    assert_says(epdx_last_error(),
                "admission's receiver: struct_size is 0, this library knows");
    assert_null(admission);
    epdx_group_close(group);
}

static void open_single(epdx_group_t **group_p, epi_loopback_hub_t **hub_p,
                        epdx_admission_t **admission_p)
{
    epdx_admission_params_t params = params_plain();
    epi_dataplane_t *dp = NULL;

    assert_int_equal(epdx_group_single(group_p), EPDX_OK);
    assert_int_equal(epi_loopback_hub_open(hub_p), EPDX_OK);
    assert_int_equal(epi_dataplane_loopback(*hub_p, &dp), EPDX_OK);
    assert_int_equal(
        epi_admission_open_with(*group_p, &params, dp, admission_p), EPDX_OK);
}

static void test_err_invalid_null_arguments(void **state)
{
    epdx_admission_params_t params = params_plain();
    epdx_admission_t *admission = NULL;
    epi_loopback_hub_t *hub = NULL;
    epdx_group_t *group = NULL;
    epdx_decisions_t decisions;
    epdx_admission_stats_t stats;

    (void)state;
    open_single(&group, &hub, &admission);
    assert_int_equal(epdx_admission_open(NULL, &params, &admission),
                     EPDX_ERR_INVALID);
    assert_says(epdx_last_error(), "epdx_admission_open: group is NULL");
    assert_int_equal(epdx_admission_open(group, NULL, &admission),
                     EPDX_ERR_INVALID);
    assert_int_equal(epdx_admission_open(group, &params, NULL),
                     EPDX_ERR_INVALID);
    assert_says(epdx_last_error(), "epdx_admission_open: admission_p is NULL");
    assert_int_equal(epdx_admission_stage(admission, NULL), EPDX_ERR_INVALID);
    assert_says(epdx_last_error(), "epdx_admission_stage: request is NULL");
    assert_int_equal(epdx_admission_cancel(admission, NULL), EPDX_ERR_INVALID);
    assert_says(epdx_last_error(), "epdx_admission_cancel: id is NULL");
    assert_int_equal(epdx_admission_release(admission, NULL), EPDX_ERR_INVALID);
    assert_says(epdx_last_error(), "id is NULL");
    assert_int_equal(epdx_admission_release_after(NULL, "r1", NULL),
                     EPDX_ERR_INVALID);
    assert_int_equal(epdx_admission_drain(admission, NULL), EPDX_ERR_INVALID);
    assert_says(epdx_last_error(), "epdx_admission_drain: decisions_p is NULL");
    assert_int_equal(epdx_admission_drain(NULL, &decisions), EPDX_ERR_INVALID);
    assert_int_equal(epdx_admission_pending(NULL), 0);
    assert_false(epdx_admission_sharded(NULL));
    epdx_admission_stats(NULL, &stats, NULL);
    epdx_admission_stats(admission, &stats, NULL);
    assert_int_equal(stats.drains, 0);
    epdx_admission_close(admission);
    epi_loopback_hub_close(hub);
    epdx_group_close(group);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_settings_that_differ_are_named_on_every_rank),
        cmocka_unit_test(test_a_rank_that_cannot_open_is_named_on_every_rank),
        cmocka_unit_test(test_what_landed_everywhere_is_admitted_once),
        cmocka_unit_test(test_a_released_id_is_readable_until_the_next_drain),
        cmocka_unit_test(test_what_waits_on_one_rank_waits_on_all),
        cmocka_unit_test(test_a_failure_of_one_rank_ends_it_on_all),
        cmocka_unit_test(test_cancel_ends_it_on_all_with_the_lowest_ranks_word),
        cmocka_unit_test(test_lists_that_differ_are_an_error_on_every_rank),
        cmocka_unit_test(test_items_that_differ_are_an_error_on_every_rank),
        cmocka_unit_test(test_strict_votes_also_with_nothing_pending),
        cmocka_unit_test(test_a_broken_group_is_an_error_of_the_drain),
        cmocka_unit_test(test_stage_is_bounded_alike_on_every_rank),
        cmocka_unit_test(test_err_invalid_params_of_the_receiver_without_size),
        cmocka_unit_test(test_err_invalid_null_arguments),
    };

    if (setenv("EPDX_MAX_REQUESTS", "8", 1) != 0) {
        return 1;
    }
    return cmocka_run_group_tests_name("admission", tests, NULL, NULL);
}
