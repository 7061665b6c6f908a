/* nccl_test.c: batches that go well, over the fakes or on GPUs; see
 * nccl_scene_test.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sched.h>

#include "reassembly/nccl_scene_test.h"

static void rebuild_twice(rank_t *self)
{
    rank_launch(self);
    self->record->ready = self->ready != NULL;
    rank_poll_through(self);
    rank_rebuild(self);
}

/* What a rank of the fake did: so many groups, and a proper end. */
static void expect_ended(int rank, int groups, int last_group)
{
    if (epi_gpu_is_fake()) {
        epi_fake_nccl_counts_t counts = epi_fake_nccl_counts(rank);

        assert_int_equal(counts.groups, groups);
        assert_int_equal(counts.last_group, last_group);
        assert_int_equal(counts.aborts, 0);
        assert_int_equal(counts.destroys, 1);
    }
}

static void every_rank_has_every_row(void **state)
{
    scene_t *scene = *state;

    if (epi_gpu_is_fake()) {
        epi_fake_nccl_late(9); /* a group is long on its way to the stream */
    }
    scene_run(scene, rebuild_twice);
    assert_rebuilt(scene);
    for (int r = 0; r < scene->ranks; r++) {
        const record_t *record = &scene->records[r];

        assert_true(record->ready);
        assert_int_equal(record->launched, 2);
        /* Same, id, up, warm; then a group a batch. */
        assert_int_equal(record->counters.creation, 4);
        assert_int_equal(record->counters.groups, 2);
        assert_int_equal(record->counters.broadcasts, 2 * scene->broadcasts);
        assert_int_equal(record->counters.bytes, 2 * SPAN * (ROW + DEEP_ROW));
        expect_ended(r, 3, scene->broadcasts);
        assert_int_equal(
            epi_group_fake_count(scene->fake, (uint32_t)r, EPI_FAKE_ANY), 4);
    }
    assert_clean(scene);
}

static void a_batch_creates_nothing_and_waits_for_nothing(void **state)
{
    scene_t *scene = *state;

    scene_run(scene, rebuild_twice);
    assert_rebuilt(scene);
    EPI_GPU_EXPECT_CALLS("cudaEventCreateWithFlags",
                         RANKS * EPI_REASSEMBLY_BATCHES);
    EPI_GPU_EXPECT_CALLS("cudaStreamCreateWithFlags", RANKS);
    EPI_GPU_EXPECT_CALLS("cudaStreamSynchronize", 0);
    EPI_GPU_EXPECT_CALLS("cudaEventSynchronize", 0);
    EPI_GPU_EXPECT_CALLS("cudaDeviceSynchronize", 0);
    assert_clean(scene);
}

static void bring_stream(rank_t *self)
{
    cudaStream_t stream;

    (void)cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    self->cuda.use_stream = true;
    self->cuda.stream = stream;
}

static void end_stream(rank_t *self)
{
    (void)cudaStreamDestroy(self->cuda.stream);
}

static bool is_last(const rank_t *self)
{
    return self->group->rank == self->group->size - 1;
}

/* The batch is behind what the caller has on its stream. */
static void rebuild_behind_work(rank_t *self)
{
    if (is_last(self)) {
        epi_gpu_hold(self->cuda.stream);
    }
    rank_launch(self);
    rank_poll(self);
    rank_barrier(self);
    rank_poll(self);
    self->record->done_before = self->reassembly->done;
    rank_barrier(self);
    if (is_last(self)) {
        epi_gpu_let_go(self->cuda.stream);
    }
    rank_poll_through(self);
}

static void the_callers_stream_orders_it(void **state)
{
    scene_t *scene = *state;

    scene->before = bring_stream;
    scene->after = end_stream;
    scene_run(scene, rebuild_behind_work);
    assert_rebuilt(scene);
    for (int r = 0; r < scene->ranks; r++) {
        /* The last rank's rows had not left it, so nobody's were whole. */
        assert_int_equal(scene->records[r].done_before, 0);
        assert_int_equal(scene->records[r].done, 1);
    }
    assert_clean(scene);
}

static void bring_busy_stream(rank_t *self)
{
    bring_stream(self);
    epi_fake_cuda_hold(self->cuda.stream);
}

static void rebuild_on_it(rank_t *self)
{
    epi_fake_cuda_let_go(self->cuda.stream);
    rank_rebuild(self);
}

static void a_busy_stream_does_not_hold_up_opening(void **state)
{
    scene_t *scene = *state;

    /* NCCL may wait for the whole device while it starts, and says so. */
    EPI_GPU_FAKE_ONLY();
    scene->before = bring_busy_stream;
    scene->after = end_stream;
    scene_run(scene, rebuild_on_it);
    assert_rebuilt(scene);
    assert_clean(scene);
}

static void bring_default_stream(rank_t *self)
{
    self->cuda.use_stream = true;
    self->cuda.stream = NULL;
}

/* The warm-up of each rank first, on a stream of epdx's. */
static void expect_on_the_default_stream(size_t broadcasts)
{
    epi_fake_cuda_entry_t entry;
    size_t at =
        epi_fake_cuda_log_find(0, EPI_FAKE_CUDA_NCCL, EPI_FAKE_CUDA_ISSUED);

    assert_true(epi_fake_cuda_log_entry(at, &entry));
    assert_non_null(entry.stream);
    while (entry.stream != NULL) {
        at = epi_fake_cuda_log_find(at + 1, EPI_FAKE_CUDA_NCCL,
                                    EPI_FAKE_CUDA_ISSUED);
        assert_true(epi_fake_cuda_log_entry(at, &entry));
    }
    assert_int_equal(entry.count, broadcasts);
}

static void the_default_stream_can_be_asked_for(void **state)
{
    scene_t *scene = *state;

    scene->before = bring_default_stream;
    scene_run(scene, rank_rebuild);
    assert_rebuilt(scene);
    if (epi_gpu_is_fake()) {
        expect_on_the_default_stream((size_t)scene->broadcasts);
    }
    assert_clean(scene);
}

/* A communicator of the test. */
static void bring_comm(rank_t *self)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    ncclResult_t state = ncclInProgress;
    ncclComm_t comm;

    if (self->group->rank == 0) {
        (void)ncclGetUniqueId(&self->scene->id);
    }
    rank_barrier(self);
    config.blocking = 0;
    (void)ncclCommInitRankConfig(&comm, self->scene->ranks, self->scene->id,
                                 (int)self->group->rank, &config);
    while (state == ncclInProgress) {
        sched_yield();
        (void)ncclCommGetAsyncError(comm, &state);
    }
    self->cuda.nccl_comm = comm;
}

static void end_comm(rank_t *self)
{
    rank_barrier(self);
    self->record->live = epi_fake_nccl_live();
    rank_barrier(self);
    (void)ncclCommAbort(self->cuda.nccl_comm);
}

static void the_callers_communicator_stays_the_callers(void **state)
{
    scene_t *scene = *state;

    scene->before = bring_comm;
    scene->after = end_comm;
    scene_run(scene, rank_rebuild);
    assert_rebuilt(scene);
    for (int r = 0; r < scene->ranks; r++) {
        /* No id, and no communicator that has to come up. */
        assert_int_equal(scene->records[r].counters.creation, 2);
        if (epi_gpu_is_fake()) {
            assert_int_equal(scene->records[r].live, RANKS);
            assert_int_equal(epi_fake_nccl_counts(r).inits, 1);
            assert_int_equal(epi_fake_nccl_counts(r).destroys, 0);
        }
    }
    assert_clean(scene);
}

static void launch_too_many(rank_t *self)
{
    epi_gpu_hold(self->cuda.stream);
    for (int i = 0; i < EPI_REASSEMBLY_BATCHES; i++) {
        rank_launch(self);
    }
    self->record->open = self->record->run;
    rank_launch(self);
    self->record->done_before = self->reassembly->done;
    epi_gpu_let_go(self->cuda.stream);
    rank_poll_through(self);
}

static void full_when_too_many_are_in_flight(void **state)
{
    scene_t *scene = *state;

    scene->before = bring_stream;
    scene->after = end_stream;
    scene_run(scene, launch_too_many);
    for (int r = 0; r < scene->ranks; r++) {
        const record_t *record = &scene->records[r];

        assert_int_equal(record->open, EPDX_OK);
        assert_int_equal(record->run, EPDX_ERR_FULL);
        assert_int_equal(record->done_before, 0);
        assert_int_equal(record->launched, EPI_REASSEMBLY_BATCHES);
        assert_int_equal(record->done, EPI_REASSEMBLY_BATCHES);
    }
    assert_clean(scene);
}

/* Closing waits for a batch in flight, and the other ranks close, too. */
static void a_batch_in_flight_ends_before_the_close(void **state)
{
    scene_t *scene = *state;

    scene_run(scene, rank_launch);
    for (int r = 0; r < scene->ranks; r++) {
        assert_int_equal(scene->records[r].run, EPDX_OK);
        assert_true(scene->records[r].closed);
        assert_true(scene->records[r].right);
        expect_ended(r, 2, scene->broadcasts);
    }
    assert_clean(scene);
}

#define CASE(name)                                                             \
    cmocka_unit_test_setup_teardown(name, scene_setup, scene_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(every_rank_has_every_row),
        CASE(a_batch_creates_nothing_and_waits_for_nothing),
        CASE(the_callers_stream_orders_it),
        CASE(a_busy_stream_does_not_hold_up_opening),
        CASE(the_default_stream_can_be_asked_for),
        CASE(the_callers_communicator_stays_the_callers),
        CASE(full_when_too_many_are_in_flight),
        CASE(a_batch_in_flight_ends_before_the_close),
    };

    return cmocka_run_group_tests_name("nccl", tests, NULL, NULL);
}
