/*
 * rebuild_test.c: what admission makes of deferred reassembly. Ranks are
 * threads over a fake group, and reassembly is one whose batches are done, or
 * fail, when a test says so; that it rebuilds rows is shown elsewhere. Rows are
 * taken as landed without an encode rank. What a rank sees it keeps in its
 * record; the test asserts on the records after all threads ended.
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
#include "base/error.h"
#include "dataplane/loopback.h"
#include "testing/group_fake.h"

#define RANKS 3
#define STEPS 80

/* Reassembly as a test wants it. */
typedef struct mock {
    epi_reassembly_t base;
    uint64_t done; /* what the next poll finds */
    epdx_status_t health;
    epdx_status_t run;
    int aborts;
    int runs_after_abort;
    int empty_plans;
} mock_t;

typedef struct seen {
    epdx_status_t status;
    size_t admitted, failed, revoked;
    char admitted_id[EPDX_ID_MAX + 1];
    epdx_rejected_t failed_first;
    char failed_id[EPDX_ID_MAX + 1];
    char failed_reason[EPDX_REASON_MAX];
    epdx_rejected_t revoked_first;
    char revoked_id[EPDX_ID_MAX + 1];
    char revoked_reason[EPDX_REASON_MAX];
    void *ready;
    uint64_t ballots; /* made until then */
    size_t leased;    /* bytes of the pool, after it */
} seen_t;

typedef struct record {
    epdx_status_t open;
    epdx_status_t calls[STEPS];
    seen_t drains[STEPS];
    size_t drained;
    mock_t mock;
    epdx_admission_stats_t stats;
} record_t;

typedef struct scene {
    epi_group_fake_t *fake;
    void (*act)(epdx_admission_t *admission, uint32_t rank, record_t *record);
    record_t records[RANKS];
} scene_t;

static mock_t *mock_of(epi_reassembly_t *base)
{
    return (mock_t *)base;
}

static epdx_status_t mock_run(epi_reassembly_t *self, const epi_plan_t *plan,
                              void **ready_p)
{
    mock_t *mock = mock_of(self);

    mock->empty_plans += plan->gather_count == 0;
    mock->runs_after_abort += mock->aborts > 0;
    self->launched++;
    self->counters.groups++;
    if (mock->run != EPDX_OK) {
        return epi_fail(mock->run, "the launch of this rank failed");
    }
    *ready_p = mock;
    return EPDX_OK;
}

static epdx_status_t mock_poll(epi_reassembly_t *self)
{
    mock_t *mock = mock_of(self);

    self->done = mock->done;
    return mock->health == EPDX_OK
               ? EPDX_OK
               : epi_fail(mock->health, "the fabric of this rank is gone");
}

static void mock_abort(epi_reassembly_t *self)
{
    mock_of(self)->aborts++;
}

static bool mock_close(epi_reassembly_t *self)
{
    (void)self;
    return true;
}

static const epi_reassembly_ops_t mock_ops = {
    .name = "mock",
    .deferred = true,
    .run = mock_run,
    .poll = mock_poll,
    .abort = mock_abort,
    .close = mock_close,
};

static void use_mock(epdx_admission_t *admission, record_t *record)
{
    (void)epi_reassembly_close(admission->rebuild.with);
    record->mock.base.ops = &mock_ops;
    record->mock.base.group = admission->group;
    admission->rebuild.with = &record->mock.base;
    epi_ballot_watch(&admission->ballot);
}

static void run_rank(void *context, epdx_group_t *group)
{
    scene_t *scene = context;
    record_t *record = &scene->records[group->rank];
    epdx_admission_params_t params = {
        .struct_size = sizeof(epdx_admission_params_t),
        .receiver = {.struct_size = sizeof(epdx_receiver_params_t),
                     .dtype = EPDX_FLOAT32,
                     .hidden = 64,
                     .progress = EPDX_PROGRESS_CALLER,
                     .host = "127.0.0.1",
                     .pool_bytes = 256 * 256,
                     .waiting_timeout_ns = 600 * EPI_S,
                     .bootstrap_timeout_ns = 600 * EPI_S},
    };
    epdx_admission_t *admission = NULL;
    epi_loopback_hub_t *hub = NULL;
    epi_dataplane_t *dp = NULL;

    record->open = epi_loopback_hub_open(&hub);
    if (record->open == EPDX_OK) {
        record->open = epi_dataplane_loopback(hub, &dp);
    }
    if (record->open == EPDX_OK) {
        record->open = epi_admission_open_with(group, &params, dp, &admission);
    }
    if (record->open == EPDX_OK) {
        use_mock(admission, record);
        scene->act(admission, group->rank, record);
        epdx_admission_stats(admission, &record->stats, NULL);
    }
    epdx_admission_close(admission);
    epi_loopback_hub_close(hub);
}

static scene_t *run_scene(void (*act)(epdx_admission_t *, uint32_t, record_t *))
{
    scene_t *scene = calloc(1, sizeof(*scene));

    assert_non_null(scene);
    assert_int_equal(epi_group_fake_open(RANKS, &scene->fake), EPDX_OK);
    scene->act = act;
    epi_group_fake_run(scene->fake, run_rank, scene);
    for (int r = 0; r < RANKS; r++) {
        assert_int_equal(scene->records[r].open, EPDX_OK);
    }
    return scene;
}

static void close_scene(scene_t *scene)
{
    epi_group_fake_close(scene->fake);
    free(scene);
}

/* A request whose rows have landed on this rank; or one that has none. */
static epdx_status_t lands(epdx_admission_t *admission, const char *id,
                           uint64_t room, bool skipped)
{
    epdx_item_t item = {
        .room = room, .span = 4, .encode = "127.0.0.1:1", .received = skipped};
    epdx_request_t request = {.id = id, .items = &item, .item_count = 1};
    epdx_status_t status = epdx_admission_stage(admission, &request);

    if (status == EPDX_OK && !skipped) {
        size_t last = admission->pending_count - 1;
        epdx_job_t *job = admission->entries[admission->pending[last]].job;

        job->state = EPDX_LANDED;
        job->landed = job->live;
        job->unsettled = 0;
        admission->votes_stale = true; /* nobody reported it */
    }
    return status;
}

static void keep(const epdx_rejected_t *first, epdx_rejected_t *kept, char *id,
                 char *reason)
{
    *kept = *first;
    (void)snprintf(id, EPDX_ID_MAX + 1, "%s", first->id);
    (void)snprintf(reason, EPDX_REASON_MAX, "%s", first->reason);
}

static seen_t *drain(epdx_admission_t *admission, record_t *record)
{
    seen_t *seen = &record->drains[record->drained++];
    epdx_decisions_t decisions;
    epdx_admission_stats_t stats;
    epdx_receiver_stats_t receiver;

    seen->status = epdx_admission_drain(admission, &decisions);
    seen->admitted = decisions.admitted_count;
    seen->failed = decisions.failed_count;
    seen->revoked = decisions.revoked_count;
    seen->ready = decisions.ready;
    if (seen->admitted > 0) {
        (void)snprintf(seen->admitted_id, sizeof(seen->admitted_id), "%s",
                       decisions.admitted[0].id);
    }
    if (seen->failed > 0) {
        keep(decisions.failed, &seen->failed_first, seen->failed_id,
             seen->failed_reason);
    }
    if (seen->revoked > 0) {
        keep(decisions.revoked, &seen->revoked_first, seen->revoked_id,
             seen->revoked_reason);
    }
    epdx_admission_stats(admission, &stats, &receiver);
    seen->ballots = stats.collectives.ballot;
    seen->leased = receiver.pool_leased_bytes;
    return seen;
}

static void assert_says(const char *text, const char *words)
{
    if (strstr(text, words) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", text, words);
    }
}

static void late_on_rank_1(epdx_admission_t *admission, uint32_t rank,
                           record_t *record)
{
    record->calls[0] = lands(admission, "a", 1, false);
    (void)drain(admission, record);
    record->mock.done = rank == 1 ? 0 : 1;
    (void)drain(admission, record);
    record->mock.done = 1;
    (void)drain(admission, record);
    (void)drain(admission, record);
    record->calls[1] = epdx_admission_release(admission, "a");
}

static void test_ranks_vote_until_a_batch_is_complete_on_all(void **state)
{
    scene_t *scene = run_scene(late_on_rank_1);

    (void)state;
    for (uint32_t r = 0; r < RANKS; r++) {
        record_t *record = &scene->records[r];

        assert_int_equal(record->calls[0], EPDX_OK);
        assert_int_equal(record->drains[0].status, EPDX_OK);
        assert_int_equal(record->drains[0].admitted, 1);
        assert_string_equal(record->drains[0].admitted_id, "a");
        assert_ptr_equal(record->drains[0].ready, &record->mock);
        assert_null(record->drains[1].ready);
        assert_int_equal(record->drains[0].ballots, 1);
        assert_int_equal(record->drains[1].ballots, 2);
        assert_int_equal(record->drains[2].ballots, 3);
        assert_int_equal(record->drains[3].ballots, 3);
        assert_int_equal(record->stats.drains_pending, 1);
        assert_int_equal(record->stats.collectives.launch, 1);
        assert_int_equal(record->stats.collectives.nccl_groups, 1);
        assert_int_equal(record->stats.collectives.reassembly, 1);
        assert_int_equal(record->stats.revoked, 0);
        assert_int_equal(record->calls[1], EPDX_OK);
        assert_int_equal(record->mock.aborts, 0);
        /* Settings and the launch; nothing else was agreed on. */
        assert_int_equal(epi_group_fake_count(scene->fake, r, EPI_FAKE_MIN_U64),
                         2);
        assert_int_equal(epi_group_fake_count(scene->fake, r, EPI_FAKE_GATHER),
                         0);
    }
    close_scene(scene);
}

/* "a" is complete everywhere, "b" is not, when rank 2 finds an error. */
static void breaks_on_rank_2(epdx_admission_t *admission, uint32_t rank,
                             record_t *record)
{
    record->calls[0] = lands(admission, "a", 1, false);
    (void)drain(admission, record);
    record->mock.done = 1;
    record->calls[1] = lands(admission, "b", 2, false);
    (void)drain(admission, record);
    if (rank == 0) { /* it makes no difference to what is told */
        record->mock.done = 2;
        record->calls[2] = epdx_admission_release(admission, "b");
    }
    record->mock.health = rank == 2 ? EPDX_ERR_GROUP : EPDX_OK;
    record->calls[3] = lands(admission, "c", 3, false);
    record->calls[4] = lands(admission, "skipped", 4, true);
    (void)drain(admission, record);
    (void)drain(admission, record);
    record->calls[5] = lands(admission, "d", 5, false);
    record->calls[6] = lands(admission, "skipped too", 6, true);
    (void)drain(admission, record);
    (void)drain(admission, record);
    record->calls[7] = epdx_admission_release(admission, "a");
    record->calls[8] = epdx_admission_release(admission, "b");
}

static void assert_broken(const epdx_rejected_t *rejected, const char *reason)
{
    assert_int_equal(rejected->status, EPDX_ERR_GROUP);
    assert_says(reason, "reassembly failed on rank 2");
    assert_says(reason, "the fabric of this rank is gone");
}

static void test_a_failure_revokes_what_was_not_complete_on_all(void **state)
{
    scene_t *scene = run_scene(breaks_on_rank_2);

    (void)state;
    for (int r = 0; r < RANKS; r++) {
        record_t *record = &scene->records[r];
        seen_t *broken = &record->drains[2];

        for (int i = 0; i < 8; i++) {
            assert_int_equal(record->calls[i], EPDX_OK);
        }
        assert_int_equal(record->calls[8],
                         r == 0 ? EPDX_ERR_NOT_FOUND : EPDX_OK);
        assert_int_equal(broken->status, EPDX_OK);
        assert_int_equal(broken->revoked, 1);
        assert_string_equal(broken->revoked_id, "b");
        assert_int_equal(broken->revoked_first.rank, 2);
        assert_broken(&broken->revoked_first, broken->revoked_reason);
        /* Others go on in the same drain; "c" is told in the next. */
        assert_int_equal(broken->admitted, 1);
        assert_string_equal(broken->admitted_id, "skipped");
        assert_null(broken->ready);
        assert_int_equal(broken->failed, 0);
        assert_int_equal(record->drains[3].revoked, 0);
        assert_int_equal(record->drains[3].failed, 1);
        assert_string_equal(record->drains[3].failed_id, "c");
        assert_broken(&record->drains[3].failed_first,
                      record->drains[3].failed_reason);
        assert_int_equal(record->drains[4].failed, 1);
        assert_string_equal(record->drains[4].failed_id, "d");
        assert_broken(&record->drains[4].failed_first,
                      record->drains[4].failed_reason);
        assert_string_equal(record->drains[4].admitted_id, "skipped too");
        /* Nothing is awaited any more: no vote. */
        assert_int_equal(record->drains[5].ballots, record->drains[4].ballots);
        assert_int_equal(record->mock.aborts, 1);
        assert_int_equal(record->mock.runs_after_abort, 0);
        assert_int_equal(record->mock.empty_plans, 0);
        assert_int_equal(record->stats.revoked, 1);
        assert_int_equal(record->stats.failed, 2);
        assert_int_equal(record->stats.collectives.launch, 2);
    }
    close_scene(scene);
}

/* Nothing is pending when it fails: it is told all the same. */
static void breaks_while_idle(epdx_admission_t *admission, uint32_t rank,
                              record_t *record)
{
    record->calls[0] = lands(admission, "a", 1, false);
    (void)drain(admission, record);
    record->mock.health = rank > 0 ? EPDX_ERR_TIMEOUT : EPDX_OK;
    (void)drain(admission, record);
    (void)drain(admission, record);
}

static void test_a_failure_is_told_by_an_idle_engine(void **state)
{
    scene_t *scene = run_scene(breaks_while_idle);

    (void)state;
    for (int r = 0; r < RANKS; r++) {
        record_t *record = &scene->records[r];

        assert_int_equal(record->drains[1].revoked, 1);
        assert_string_equal(record->drains[1].revoked_id, "a");
        assert_int_equal(record->drains[1].revoked_first.status,
                         EPDX_ERR_TIMEOUT);
        assert_int_equal(record->drains[1].revoked_first.rank, 1);
        assert_int_equal(record->drains[2].revoked, 0);
        assert_int_equal(record->drains[2].ballots, 2);
        assert_int_equal(record->mock.aborts, 1);
    }
    close_scene(scene);
}

/* Rank 1 cannot queue the batch: nobody is told of its rows. */
static void cannot_launch_on_rank_1(epdx_admission_t *admission, uint32_t rank,
                                    record_t *record)
{
    record->calls[0] = lands(admission, "early", 1, false);
    (void)drain(admission, record);
    record->mock.run = rank == 1 ? EPDX_ERR_GROUP : EPDX_OK;
    record->calls[1] = lands(admission, "a", 2, false);
    record->calls[2] = lands(admission, "skipped", 3, true);
    record->calls[3] = lands(admission, "b", 4, false);
    (void)drain(admission, record);
    record->calls[4] = epdx_admission_release(admission, "a");
    /* Its id is free again. */
    record->calls[5] = lands(admission, "a", 5, true);
    (void)drain(admission, record);
    /* What other ranks queued ends, and the rows of it go back. */
    record->calls[6] = epdx_admission_release(admission, "early");
    (void)drain(admission, record);
    record->mock.done = 2;
    (void)drain(admission, record);
}

static void test_a_batch_that_a_rank_cannot_launch_fails_on_all(void **state)
{
    scene_t *scene = run_scene(cannot_launch_on_rank_1);

    (void)state;
    for (int r = 0; r < RANKS; r++) {
        record_t *record = &scene->records[r];
        seen_t *broken = &record->drains[1];

        assert_int_equal(broken->status, EPDX_OK);
        assert_int_equal(broken->admitted, 1);
        assert_string_equal(broken->admitted_id, "skipped");
        assert_null(broken->ready);
        assert_int_equal(broken->failed, 2);
        assert_string_equal(broken->failed_id, "a");
        assert_int_equal(broken->failed_first.rank, 1);
        assert_int_equal(broken->failed_first.status, EPDX_ERR_GROUP);
        assert_says(broken->failed_reason, "the launch of this rank failed");
        assert_int_equal(broken->revoked, 1);
        assert_string_equal(broken->revoked_id, "early");
        assert_int_equal(record->calls[4], EPDX_ERR_NOT_FOUND);
        assert_int_equal(record->calls[5], EPDX_OK);
        assert_string_equal(record->drains[2].admitted_id, "a");
        assert_int_equal(record->calls[6], EPDX_OK);
        assert_int_equal(record->mock.aborts, 1);
        assert_int_equal(record->drains[3].leased, 3 * 4 * 256);
        assert_int_equal(record->drains[4].leased, 0);
    }
    close_scene(scene);
}

/* The caller needs the rows no more, but the batch still writes to them. */
static void releases_at_once(epdx_admission_t *admission, uint32_t rank,
                             record_t *record)
{
    record->calls[0] = lands(admission, "a", 1, false);
    (void)drain(admission, record);
    record->calls[1] = epdx_admission_release(admission, "a");
    (void)drain(admission, record);
    record->mock.done = rank == 0 ? 0 : 1;
    (void)drain(admission, record);
    record->mock.done = 1;
    (void)drain(admission, record);
}

static void test_released_rows_rest_until_the_batch_is_done_here(void **state)
{
    scene_t *scene = run_scene(releases_at_once);

    (void)state;
    for (int r = 0; r < RANKS; r++) {
        record_t *record = &scene->records[r];

        assert_int_equal(record->calls[1], EPDX_OK);
        assert_int_equal(record->drains[1].leased, 4 * 256);
        assert_int_equal(record->drains[2].leased, r == 0 ? 4 * 256 : 0);
        assert_int_equal(record->drains[3].leased, 0);
        assert_int_equal(record->drains[3].revoked, 0);
    }
    close_scene(scene);
}

static void fills_the_flight(epdx_admission_t *admission, uint32_t rank,
                             record_t *record)
{
    char id[8];

    for (int i = 0; i < EPI_REASSEMBLY_BATCHES; i++) {
        (void)snprintf(id, sizeof(id), "%d", i);
        record->calls[i] = lands(admission, id, (uint64_t)i + 1, false);
        (void)drain(admission, record);
    }
    record->calls[32] = lands(admission, "one more", 100, false);
    record->calls[33] = lands(admission, "skipped", 101, true);
    record->mock.done = rank == 2 ? 0 : 32;
    (void)drain(admission, record);
    record->mock.done = rank == 2 ? 1 : 32;
    (void)drain(admission, record);
}

static void test_what_landed_waits_while_too_many_batches_fly(void **state)
{
    scene_t *scene = run_scene(fills_the_flight);

    (void)state;
    for (int r = 0; r < RANKS; r++) {
        record_t *record = &scene->records[r];

        for (int i = 0; i < EPI_REASSEMBLY_BATCHES; i++) {
            assert_int_equal(record->calls[i], EPDX_OK);
            assert_int_equal(record->drains[i].admitted, 1);
        }
        assert_int_equal(record->drains[32].admitted, 1);
        assert_string_equal(record->drains[32].admitted_id, "skipped");
        assert_null(record->drains[32].ready);
        assert_int_equal(record->drains[33].admitted, 1);
        assert_string_equal(record->drains[33].admitted_id, "one more");
        assert_non_null(record->drains[33].ready);
        assert_int_equal(record->stats.collectives.nccl_groups, 33);
    }
    close_scene(scene);
}

static epdx_status_t serve(epdx_admission_t *admission, record_t *record,
                           const char *id, uint64_t room, bool skipped)
{
    epdx_status_t status = lands(admission, id, room, skipped);

    (void)drain(admission, record);
    return status == EPDX_OK ? epdx_admission_release(admission, id) : status;
}

/* An entry is used again only when its batch is complete everywhere, also
 * though the request was released long before. */
static void releases_all_along(epdx_admission_t *admission, uint32_t rank,
                               record_t *record)
{
    char id[8];

    record->calls[0] = serve(admission, record, "flies", 100, false);
    record->mock.done = rank == 1 ? 0 : 1;
    for (int i = 1; i < 61; i++) {
        record->mock.health = rank == 1 && i == 60 ? EPDX_ERR_GROUP : EPDX_OK;
        (void)snprintf(id, sizeof(id), "%d", i);
        record->calls[i] =
            serve(admission, record, id, (uint64_t)i + 200, true);
    }
}

static void test_a_released_request_is_still_known_when_it_is_revoked(
    void **state)
{
    scene_t *scene = run_scene(releases_all_along);

    (void)state;
    for (int r = 0; r < RANKS; r++) {
        record_t *record = &scene->records[r];

        for (int i = 0; i < 61; i++) {
            assert_int_equal(record->calls[i], EPDX_OK);
            assert_int_equal(record->drains[i].admitted, 1);
            assert_int_equal(record->drains[i].revoked, i == 60 ? 1 : 0);
        }
        assert_string_equal(record->drains[60].revoked_id, "flies");
    }
    close_scene(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranks_vote_until_a_batch_is_complete_on_all),
        cmocka_unit_test(test_a_failure_revokes_what_was_not_complete_on_all),
        cmocka_unit_test(test_a_failure_is_told_by_an_idle_engine),
        cmocka_unit_test(test_a_batch_that_a_rank_cannot_launch_fails_on_all),
        cmocka_unit_test(test_released_rows_rest_until_the_batch_is_done_here),
        cmocka_unit_test(test_what_landed_waits_while_too_many_batches_fly),
        cmocka_unit_test(
            test_a_released_request_is_still_known_when_it_is_revoked),
    };

    if (setenv("EPDX_MAX_REQUESTS", "64", 1) != 0) {
        return 1;
    }
    return cmocka_run_group_tests_name("rebuild", tests, NULL, NULL);
}
