/* nccl_failure_test.c: what fails, on which ranks, and that nothing is left of
 * it; see nccl_scene_test.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sched.h>
#include <string.h>

#include "base/clock.h"
#include "reassembly/nccl_scene_test.h"

#define SHORT_NS (EPI_S / 2)

/* All ranks could not open, for the same cause. */
static void assert_unopened(const scene_t *scene, epdx_status_t status,
                            const char *words)
{
    for (int r = 0; r < RANKS; r++) {
        assert_int_equal(scene->records[r].open, status);
        assert_says(scene->records[r].words, words);
    }
    assert_clean(scene);
}

static void assert_aborts(uint64_t aborts)
{
    for (int r = 0; r < RANKS; r++) {
        assert_int_equal(epi_fake_nccl_counts(r).aborts, aborts);
    }
}

static void old_on_rank_1(rank_t *self)
{
    epi_fake_nccl_version(self->group->rank == 1 ? 21903 : 22809);
}

static void disagree_in_version(void **state)
{
    scene_t *scene = *state;

    scene->before = old_on_rank_1;
    scene_run(scene, rank_rebuild);
    assert_unopened(scene, EPDX_ERR_DISAGREE,
                    "nccl's version differs across ranks, from 2.19.3 to "
                    "2.28.9");
    assert_says(scene->records[1].words, "(here 2.19.3)");
    /* Nobody entered NCCL. */
    assert_int_equal(epi_fake_calls("ncclCommInitRankConfig"), 0);
}

/* A communicator of the test, its ranks turned by so many. */
static void bring_comm(rank_t *self, int turn)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    int rank = ((int)self->group->rank + turn) % RANKS;
    ncclResult_t state = ncclInProgress;
    ncclComm_t comm;

    if (self->group->rank == 0) {
        (void)ncclGetUniqueId(&self->scene->id);
    }
    rank_barrier(self);
    config.blocking = 0;
    (void)ncclCommInitRankConfig(&comm, RANKS, self->scene->id, rank, &config);
    while (state == ncclInProgress) {
        sched_yield();
        (void)ncclCommGetAsyncError(comm, &state);
    }
    self->cuda.nccl_comm = comm;
}

static void bring_turned_comm(rank_t *self)
{
    bring_comm(self, 1);
    self->scene->comms[self->group->rank] = self->cuda.nccl_comm;
}

static void bring_comm_on_some(rank_t *self)
{
    bring_comm(self, 0);
    self->scene->comms[self->group->rank] = self->cuda.nccl_comm;
    if (self->group->rank == 2) {
        self->cuda.nccl_comm = NULL;
    }
}

static void end_comms(scene_t *scene)
{
    for (int r = 0; r < RANKS; r++) {
        assert_int_equal(ncclCommAbort(scene->comms[r]), ncclSuccess);
    }
}

static void invalid_communicator_of_other_ranks(void **state)
{
    scene_t *scene = *state;

    scene->before = bring_turned_comm;
    scene_run(scene, rank_rebuild);
    assert_aborts(0); /* it is the caller's still */
    end_comms(scene);
    assert_unopened(scene, EPDX_ERR_INVALID,
                    "rank 0 could not open reassembly by nccl: nccl_comm is "
                    "rank 1 of 3 on device 0, this is rank 0 of 3 on device 0");
}

static void disagree_in_whether_a_communicator_is_given(void **state)
{
    scene_t *scene = *state;

    scene->before = bring_comm_on_some;
    scene_run(scene, rank_rebuild);
    end_comms(scene);
    assert_unopened(scene, EPDX_ERR_DISAGREE,
                    "nccl_comm is given on some ranks only");
    assert_says(scene->records[2].words, "(here not given)");
}

static void timeout_of_a_start_that_never_ends(void **state)
{
    scene_t *scene = *state;
    const epi_fake_nccl_fault_t fault = {.kind = EPI_FAKE_NCCL_INIT_NEVER_ENDS,
                                         .rank = 2};

    scene->timeout_ns = SHORT_NS;
    epi_fake_nccl_fault(&fault);
    scene_run(scene, rank_rebuild);
    assert_aborts(1);
    assert_unopened(scene, EPDX_ERR_TIMEOUT, "EPDX_WAITING_TIMEOUT_S");
}

static void group_when_the_start_fails(void **state)
{
    scene_t *scene = *state;

    scene->timeout_ns = SHORT_NS; /* for those that start alone */
    epi_fake_fail("ncclCommInitRankConfig", 1, ncclSystemError);
    scene_run(scene, rank_rebuild);
    for (int r = 0; r < RANKS; r++) {
        /* The lowest rank's word: an error, or that others did not come. */
        assert_true(scene->records[r].open == EPDX_ERR_GROUP ||
                    scene->records[r].open == EPDX_ERR_TIMEOUT);
        assert_string_equal(scene->records[r].words, scene->records[0].words);
    }
    assert_clean(scene);
}

static void group_when_there_is_no_id(void **state)
{
    scene_t *scene = *state;

    epi_fake_fail("ncclGetUniqueId", 0, ncclSystemError);
    scene_run(scene, rank_rebuild);
    assert_unopened(scene, EPDX_ERR_GROUP, "rank 0 could not open reassembly");
    assert_says(scene->records[2].words, "ncclGetUniqueId");
    assert_int_equal(epi_fake_calls("ncclCommInitRankConfig"), 0);
}

static void io_when_a_rank_has_no_events(void **state)
{
    scene_t *scene = *state;

    epi_fake_fail("cudaEventCreateWithFlags", 40, cudaErrorUnknown);
    scene_run(scene, rank_rebuild);
    assert_unopened(scene, EPDX_ERR_IO, "cudaEventCreateWithFlags");
    assert_int_equal(epi_fake_calls("ncclCommInitRankConfig"), 0);
}

static void no_memory_for_a_stream(void **state)
{
    scene_t *scene = *state;

    epi_fake_fail("cudaStreamCreateWithFlags", 1, cudaErrorMemoryAllocation);
    scene_run(scene, rank_rebuild);
    assert_unopened(scene, EPDX_ERR_NO_MEMORY, "cudaStreamCreateWithFlags");
}

static void group_when_the_warm_up_fails(void **state)
{
    scene_t *scene = *state;
    const epi_fake_nccl_fault_t fault = {
        .kind = EPI_FAKE_NCCL_ERROR, .rank = 1, .error = ncclSystemError};

    scene->timeout_ns = SHORT_NS; /* for those that wait for rank 1 */
    epi_fake_nccl_fault(&fault);
    scene_run(scene, rank_rebuild);
    assert_aborts(1);
    assert_unopened(scene, EPDX_ERR_TIMEOUT, "rank 0 could not open");
}

/* What admission does: whoever fails, all abort. */
static void rebuild_until_one_fails(rank_t *self)
{
    rank_rebuild(self);
    rank_barrier(self); /* a rank's own error comes first */
    self->reassembly->ops->abort(self->reassembly);
    /* The kernels end, and so does what was queued behind them. */
    while (self->reassembly->done < self->reassembly->launched) {
        sched_yield();
        (void)self->reassembly->ops->poll(self->reassembly);
    }
}

/* The group after the warm-up. */
static void strike(epi_fake_nccl_fault_kind_t kind, int rank)
{
    const epi_fake_nccl_fault_t fault = {
        .kind = kind, .rank = rank, .nth = 1, .error = ncclRemoteError};

    epi_fake_nccl_fault(&fault);
}

static void assert_failed(const record_t *record, epdx_status_t status,
                          const char *words)
{
    assert_int_equal(record->open, EPDX_OK);
    assert_int_equal(record->run, EPDX_OK);
    assert_int_equal(record->poll, status);
    assert_says(record->words, words);
}

static void group_on_the_rank_with_an_asynchronous_error(void **state)
{
    scene_t *scene = *state;

    scene->timeout_ns = 4 * SHORT_NS;
    strike(EPI_FAKE_NCCL_ERROR, 2);
    scene_run(scene, rebuild_until_one_fails);
    assert_failed(&scene->records[2], EPDX_ERR_GROUP, "asynchronous error");
    for (int r = 0; r < 2; r++) { /* they hang, and learn it by the clock */
        assert_failed(&scene->records[r], EPDX_ERR_TIMEOUT,
                      "batch 0 was not done");
    }
    for (int r = 0; r < RANKS; r++) {
        assert_int_equal(scene->records[r].done, 1);
        assert_false(scene->records[r].right); /* nobody may read them */
        assert_true(scene->records[r].closed);
    }
    assert_aborts(1);
    assert_clean(scene);
}

static void timeout_when_a_rank_never_enters(void **state)
{
    scene_t *scene = *state;

    scene->timeout_ns = SHORT_NS;
    strike(EPI_FAKE_NCCL_NEVER_ENTERS, 0);
    scene_run(scene, rebuild_until_one_fails);
    for (int r = 0; r < RANKS; r++) {
        assert_failed(&scene->records[r], EPDX_ERR_TIMEOUT,
                      "a rank has not entered it");
        assert_true(scene->records[r].closed);
    }
    assert_aborts(1);
    assert_clean(scene);
}

static void hold_and_rebuild(rank_t *self)
{
    rank_barrier(self);
    if (self->group->rank == 1) {
        epi_fake_cuda_hold_kinds(EPI_FAKE_CUDA_NCCL);
    }
    rank_barrier(self);
    rank_rebuild(self);
    rank_barrier(self);
    self->record->done_before = self->reassembly->done;
    self->reassembly->ops->abort(self->reassembly);
    epi_fake_cuda_hold_kinds(0);
}

static void timeout_of_a_stream_that_is_held_up(void **state)
{
    scene_t *scene = *state;

    scene->timeout_ns = SHORT_NS;
    scene_run(scene, hold_and_rebuild);
    for (int r = 0; r < RANKS; r++) {
        assert_failed(&scene->records[r], EPDX_ERR_TIMEOUT, "holds it up");
        assert_int_equal(scene->records[r].done_before, 0);
        assert_true(scene->records[r].closed);
    }
    assert_aborts(1);
    assert_clean(scene);
}

/* The communicator of rank 1 breaks when all rows have come: still an error. */
static void rebuild_and_await_error(rank_t *self)
{
    rank_rebuild(self);
    while (self->group->rank == 1 && self->record->poll == EPDX_OK) {
        sched_yield();
        rank_poll(self);
    }
    rank_barrier(self);
    self->reassembly->ops->abort(self->reassembly);
}

static void group_also_when_every_batch_is_done(void **state)
{
    scene_t *scene = *state;

    strike(EPI_FAKE_NCCL_ERROR_AFTER, 1);
    scene_run(scene, rebuild_and_await_error);
    for (int r = 0; r < RANKS; r++) {
        assert_int_equal(scene->records[r].poll,
                         r == 1 ? EPDX_ERR_GROUP : EPDX_OK);
        assert_int_equal(scene->records[r].done, 1);
        assert_true(scene->records[r].closed);
    }
    assert_aborts(1);
    assert_clean(scene);
}

static void launch_until_one_fails(rank_t *self)
{
    rank_launch(self);
    rank_barrier(self);
    self->reassembly->ops->abort(self->reassembly);
    while (self->reassembly->done < self->reassembly->launched) {
        sched_yield();
        (void)self->reassembly->ops->poll(self->reassembly);
    }
}

/* One rank's launch fails in the call named; that rank alone says so. */
static void check_launch(scene_t *scene, const char *function, uint64_t nth)
{
    int failures = 0;

    epi_fake_fail(function, nth, ncclSystemError);
    scene_run(scene, launch_until_one_fails);
    for (int r = 0; r < RANKS; r++) {
        const record_t *record = &scene->records[r];

        assert_int_equal(record->open, EPDX_OK);
        if (record->run != EPDX_OK) {
            failures++;
            assert_int_equal(record->run, EPDX_ERR_GROUP);
            assert_says(record->words, "launch of a group");
        }
        assert_int_equal(record->launched, 1);
        assert_int_equal(record->done, 1);
        assert_true(record->closed);
    }
    assert_int_equal(failures, 1);
    assert_aborts(1);
    assert_clean(scene);
}

static void group_when_a_group_cannot_begin(void **state)
{
    check_launch(*state, "ncclGroupStart", RANKS);
}

static void group_when_a_broadcast_is_refused(void **state)
{
    check_launch(*state, "ncclBroadcast", RANKS * RANKS + 2);
}

static void group_when_a_group_cannot_end(void **state)
{
    check_launch(*state, "ncclGroupEnd", RANKS);
}

#define CASE(name)                                                             \
    cmocka_unit_test_setup_teardown(name, scene_setup, scene_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(disagree_in_version),
        CASE(invalid_communicator_of_other_ranks),
        CASE(disagree_in_whether_a_communicator_is_given),
        CASE(timeout_of_a_start_that_never_ends),
        CASE(group_when_the_start_fails),
        CASE(group_when_there_is_no_id),
        CASE(io_when_a_rank_has_no_events),
        CASE(no_memory_for_a_stream),
        CASE(group_when_the_warm_up_fails),
        CASE(group_on_the_rank_with_an_asynchronous_error),
        CASE(timeout_when_a_rank_never_enters),
        CASE(timeout_of_a_stream_that_is_held_up),
        CASE(group_also_when_every_batch_is_done),
        CASE(group_when_a_group_cannot_begin),
        CASE(group_when_a_broadcast_is_refused),
        CASE(group_when_a_group_cannot_end),
    };

    return cmocka_run_group_tests_name("nccl failures", tests, NULL, NULL);
}
