/*
 * nccl_reassembly_test.c: admission with its pool in CUDA memory and row shards
 * rebuilt by NCCL, under the fakes of both. No encode rank: a request lands
 * when its share is written to the lease here. Every byte is read as a caller
 * does: behind the drain's event, on a stream of the caller's own.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "admission/admission_internal.h"
#include "base/clock.h"
#include "epdx/group_mpi.h"
#include "epdx/shard.h"
#include "harness.h"
#include "testing/fake_nccl.h"

#define HIDDEN     64
#define ROW        (HIDDEN * 4) /* float32 */
#define LEVELS     2
#define DEEP_ROW   (ROW * LEVELS)
#define SPAN_MAX   40
#define POOL_BYTES (1 << 20)
#define PATIENCE   (30 * EPI_S)
#define SHORT_NS   (EPI_S / 2)

/* What the caller of epdx has. */
typedef struct engine {
    epdx_group_t *group;
    epdx_admission_t *admission;
    epdx_decisions_t decisions; /* of the last drain */
    cudaStream_t stream;
    uint8_t *host; /* pinned */
    epi_fake_cuda_live_t before;
    uint64_t next_room;
} engine_t;

static engine_t engine;

static epdx_status_t open_admission(uint64_t timeout_ns)
{
    epdx_cuda_t cuda = {.struct_size = sizeof(cuda),
                        .device = harness_rank() % EPI_FAKE_CUDA_DEVICES};
    epdx_admission_params_t params = {
        .struct_size = sizeof(params),
        .receiver = {.struct_size = sizeof(epdx_receiver_params_t),
                     .dtype = EPDX_FLOAT32,
                     .hidden = HIDDEN,
                     .levels = LEVELS,
                     .host = "127.0.0.1",
                     .pool_bytes = POOL_BYTES,
                     .waiting_timeout_ns = timeout_ns,
                     .bootstrap_timeout_ns = PATIENCE,
                     .memory = EPDX_MEMORY_CUDA,
                     .cuda = &cuda}};

    return epdx_admission_open(engine.group, &params, &engine.admission);
}

static void begin(void)
{
    if (harness_size() == 1) {
        SKIP_ALL("one rank has nothing to rebuild");
    }
    epi_fake_calls_reset();
    epi_fake_cuda_reset();
    epi_fake_nccl_reset();
    engine.before = epi_fake_cuda_live();
    engine.admission = NULL;
    CHECK_ALL_STATUS(epdx_group_mpi(harness_comm(), 0, &engine.group), EPDX_OK);
    CHECK_ALL(cudaSetDevice(harness_rank() % EPI_FAKE_CUDA_DEVICES) ==
              cudaSuccess);
    CHECK_ALL(cudaStreamCreateWithFlags(&engine.stream,
                                        cudaStreamNonBlocking) == cudaSuccess);
    CHECK_ALL(cudaMallocHost((void **)&engine.host, SPAN_MAX * DEEP_ROW) ==
              cudaSuccess);
}

/* A batch may take long where it is not the point: machines are busy. */
static void open_engine(uint64_t timeout_ns)
{
    begin();
    CHECK_ALL_STATUS(open_admission(timeout_ns), EPDX_OK);
}

static void end(void)
{
    epi_fake_cuda_live_t live;

    epdx_admission_close(engine.admission);
    epdx_group_close(engine.group);
    CHECK_ALL(cudaStreamDestroy(engine.stream) == cudaSuccess);
    CHECK_ALL(cudaFreeHost(engine.host) == cudaSuccess);
    live = epi_fake_cuda_live();
    CHECK_ALL(epi_fake_nccl_live() == 0);
    CHECK_ALL(live.streams == engine.before.streams);
    CHECK_ALL(live.events == engine.before.events);
    CHECK_ALL(live.device_allocations == engine.before.device_allocations);
    CHECK_ALL(live.pinned_allocations == engine.before.pinned_allocations);
    CHECK_ALL(epi_fake_cuda_violations() == 0);
}

/* The byte at a place of an item's part; a row differs from its neighbours. */
static uint8_t byte_at(uint64_t room, int part, size_t row, size_t column)
{
    return (uint8_t)(room * 31 + (uint64_t)part * 7 + row * 13 + column);
}

static void land_part(const epdx_landed_t *item, int part, epdx_rows_t share)
{
    uint8_t *rows = part == 0 ? item->main : item->deepstack;
    size_t row_bytes = part == 0 ? ROW : DEEP_ROW;
    uint8_t *bytes = epi_fake_cuda_bytes(rows, item->span * row_bytes);

    for (uint64_t r = share.start; r < share.start + share.count; r++) {
        for (size_t c = 0; c < row_bytes; c++) {
            bytes[r * row_bytes + c] = byte_at(item->room, part, r, c);
        }
    }
}

static void land(epdx_job_t *job)
{
    epdx_landed_t *item = &job->receiver->landed[job->first_slot];
    epdx_rows_t share = epdx_shard_rows(item->span, (uint32_t)harness_rank(),
                                        (uint32_t)harness_size());

    land_part(item, 0, share);
    land_part(item, 1, share);
    job->state = EPDX_LANDED;
    job->landed = job->live;
    job->unsettled = 0;
}

static epdx_status_t stage(const char *id, uint64_t span, bool skipped)
{
    epdx_item_t item = {.room = ++engine.next_room,
                        .span = span,
                        .encode = "127.0.0.1:1",
                        .received = skipped};
    epdx_request_t request = {
        .id = id, .items = &item, .item_count = 1, .timeout_ns = PATIENCE * 20};
    epdx_status_t status = epdx_admission_stage(engine.admission, &request);

    if (status == EPDX_OK && !skipped) {
        epdx_admission_t *admission = engine.admission;
        size_t last = admission->pending_count - 1;

        land(admission->entries[admission->pending[last]].job);
        admission->votes_stale = true; /* nobody reported it */
    }
    return status;
}

static epdx_status_t drain(void)
{
    HARNESS_AT("a drain");
    return epdx_admission_drain(engine.admission, &engine.decisions);
}

/* Read a part of an item behind the event, as the caller's work would. */
static bool part_right(const epdx_landed_t *item, int part)
{
    const void *rows = part == 0 ? item->main : item->deepstack;
    size_t row_bytes = part == 0 ? ROW : DEEP_ROW;
    size_t wrong = 0;

    if (cudaStreamWaitEvent(engine.stream, engine.decisions.ready, 0) !=
            cudaSuccess ||
        cudaMemcpyAsync(engine.host, rows, item->span * row_bytes,
                        cudaMemcpyDeviceToHost, engine.stream) != cudaSuccess ||
        cudaStreamSynchronize(engine.stream) != cudaSuccess) {
        return false;
    }
    for (size_t i = 0; i < item->span * row_bytes; i++) {
        wrong += engine.host[i] !=
                 byte_at(item->room, part, i / row_bytes, i % row_bytes);
    }
    return wrong == 0;
}

static bool admitted_right(void)
{
    bool right = true;

    for (size_t i = 0; i < engine.decisions.admitted_count; i++) {
        const epdx_admitted_t *admitted = &engine.decisions.admitted[i];

        for (size_t j = 0; j < admitted->item_count; j++) {
            right = right && part_right(&admitted->items[j], 0) &&
                    part_right(&admitted->items[j], 1);
        }
    }
    return right;
}

static epdx_admission_stats_t stats(void)
{
    epdx_admission_stats_t all;

    epdx_admission_stats(engine.admission, &all, NULL);
    return all;
}

static size_t leased(void)
{
    epdx_receiver_stats_t all;

    epdx_admission_stats(engine.admission, NULL, &all);
    return all.pool_leased_bytes;
}

/* Drain until no rows rest on any rank. The watchdog ends it where some do. */
static void drain_until_empty(void)
{
    uint64_t free_bytes = 0;
    epdx_status_t status = EPDX_OK;

    while (status == EPDX_OK && free_bytes != POOL_BYTES) {
        status = drain();
        free_bytes = POOL_BYTES - leased();
        if (status == EPDX_OK) {
            status = engine.group->ops->min_u64(engine.group, &free_bytes, 1);
        }
        sched_yield();
    }
    CHECK_ALL_STATUS(status, EPDX_OK);
}

static bool revoked_is(const char *id, epdx_status_t status, uint32_t rank)
{
    const epdx_rejected_t *revoked = engine.decisions.revoked;

    return engine.decisions.revoked_count == 1 &&
           strcmp(revoked->id, id) == 0 && revoked->status == status &&
           revoked->rank == rank;
}

/* Drain until something is revoked, in the same drain on all ranks. */
static void drain_until_revoked(void)
{
    epdx_status_t status = drain();

    while (status == EPDX_OK && engine.decisions.revoked_count == 0) {
        sched_yield();
        status = drain();
    }
    CHECK_ALL_STATUS(status, EPDX_OK);
    CHECK_ALL(engine.decisions.revoked_count == 1);
}

/* Whatever broke: what needs reassembly fails alike, what does not goes on; and
 * in the end this rank aborted once. */
static void end_over(const char *words)
{
    const epdx_rejected_t *failed;

    CHECK_ALL(stage("needs rows", 5, false) == EPDX_OK);
    CHECK_ALL(stage("needs none", 5, true) == EPDX_OK);
    CHECK_ALL_STATUS(drain(), EPDX_OK);
    failed = engine.decisions.failed;
    CHECK_ALL(engine.decisions.failed_count == 1);
    CHECK_ALL(strcmp(failed->id, "needs rows") == 0);
    CHECK_ALL(strstr(failed->reason, "reassembly failed on rank ") != NULL);
    CHECK_ALL(strstr(failed->reason, words) != NULL);
    CHECK_ALL(engine.decisions.admitted_count == 1);
    CHECK_ALL(strcmp(engine.decisions.admitted->id, "needs none") == 0);
    CHECK_ALL(engine.decisions.ready == NULL);
    CHECK_ALL(epdx_admission_release(engine.admission, "needs none") ==
              EPDX_OK);
    drain_until_empty();
    end();
    CHECK_ALL(epi_fake_nccl_counts(harness_rank()).aborts == 1);
    CHECK_ALL(epi_fake_nccl_counts(harness_rank()).destroys == 0);
}

static void rows_are_whole_behind_the_event(void)
{
    uint64_t groups = 0;
    char id[16];

    open_engine(PATIENCE);
    CHECK_ALL(stats().collectives.creation == 5);
    for (int round = 0; round < 12; round++) {
        uint64_t count = 1 + (uint64_t)round % 3;

        for (uint64_t i = 0; i < count; i++) {
            (void)snprintf(id, sizeof(id), "%d.%d", round, (int)i);
            CHECK_ALL_STATUS(
                stage(id, 1 + (i * 17 + (uint64_t)round) % SPAN_MAX, false),
                EPDX_OK);
        }
        CHECK_ALL_STATUS(drain(), EPDX_OK);
        CHECK_ALL(engine.decisions.admitted_count == count);
        CHECK_ALL(engine.decisions.ready != NULL);
        CHECK_ALL(admitted_right());
        groups++;
        CHECK_ALL(stats().collectives.nccl_groups == groups);
        CHECK_ALL(epi_fake_nccl_counts(harness_rank()).groups == groups + 1);
        for (uint64_t i = 0; i < count; i++) {
            (void)snprintf(id, sizeof(id), "%d.%d", round, (int)i);
            CHECK_ALL_STATUS(epdx_admission_release(engine.admission, id),
                             EPDX_OK);
        }
    }
    drain_until_empty();
    CHECK_ALL(stats().collectives.launch == groups);
    CHECK_ALL(stats().collectives.reassembly == 2 * 24);
    CHECK_ALL(stats().revoked == 0);
    end();
}

/* With nothing to rebuild, no group. */
static void skipped_items_make_no_group(void)
{
    open_engine(PATIENCE);
    CHECK_ALL_STATUS(stage("skipped", 5, true), EPDX_OK);
    CHECK_ALL_STATUS(drain(), EPDX_OK);
    CHECK_ALL(engine.decisions.admitted_count == 1);
    CHECK_ALL(engine.decisions.ready == NULL);
    CHECK_ALL(stats().collectives.nccl_groups == 0);
    CHECK_ALL(stats().collectives.launch == 0);
    CHECK_ALL_STATUS(drain(), EPDX_OK);
    CHECK_ALL(stats().collectives.ballot == 1);
    end();
}

/* The streams' own order: the group, its event, the caller's wait for it, the
 * caller's copy. */
static void nothing_is_read_before_its_event(void)
{
    epi_fake_cuda_entry_t entry = {0};
    size_t group, record, wait, copy;

    open_engine(PATIENCE);
    epi_fake_cuda_reset();
    CHECK_ALL(cudaSetDevice(harness_rank() % EPI_FAKE_CUDA_DEVICES) ==
              cudaSuccess);
    CHECK_ALL_STATUS(stage("a", 21, false), EPDX_OK);
    CHECK_ALL_STATUS(stage("b", 2, false), EPDX_OK);
    CHECK_ALL_STATUS(drain(), EPDX_OK);
    CHECK_ALL(engine.decisions.admitted_count == 2);
    CHECK_ALL(admitted_right());
    CHECK_ALL(epi_fake_cuda_log_total(EPI_FAKE_CUDA_NCCL, EPI_FAKE_CUDA_RAN) ==
              1);
    group = epi_fake_cuda_log_find(0, EPI_FAKE_CUDA_NCCL, EPI_FAKE_CUDA_RAN);
    CHECK_ALL(epi_fake_cuda_log_entry(group, &entry));
    CHECK_ALL(entry.bytes == (21 + 2) * (ROW + DEEP_ROW));
    CHECK_ALL(entry.stream != engine.stream);
    record = epi_fake_cuda_log_find(0, EPI_FAKE_CUDA_RECORD, EPI_FAKE_CUDA_RAN);
    wait = epi_fake_cuda_log_find(0, EPI_FAKE_CUDA_WAIT, EPI_FAKE_CUDA_RAN);
    copy = epi_fake_cuda_log_find(0, EPI_FAKE_CUDA_COPY, EPI_FAKE_CUDA_RAN);
    CHECK_ALL(copy != SIZE_MAX);
    CHECK_ALL(group < record && record < wait && wait < copy);
    CHECK_ALL(epi_fake_cuda_log_entry(record, &entry));
    CHECK_ALL(entry.event == engine.decisions.ready);
    CHECK_ALL_STATUS(epdx_admission_release(engine.admission, "a"), EPDX_OK);
    CHECK_ALL_STATUS(epdx_admission_release(engine.admission, "b"), EPDX_OK);
    drain_until_empty();
    end();
}

/* The stream of the last rank is late, but not too late. Drains go on, rows
 * that were given back rest, and nobody forgets the batch. */
static void a_late_stream_is_waited_for(void)
{
    int last = harness_size() - 1;

    open_engine(PATIENCE);
    if (harness_rank() == last) {
        epi_fake_cuda_hold_kinds(EPI_FAKE_CUDA_NCCL);
    }
    CHECK_ALL_STATUS(stage("a", 21, false), EPDX_OK);
    CHECK_ALL_STATUS(drain(), EPDX_OK);
    CHECK_ALL(engine.decisions.admitted_count == 1);
    CHECK_ALL_STATUS(epdx_admission_release(engine.admission, "a"), EPDX_OK);
    for (int i = 0; i < 20; i++) {
        CHECK_ALL_STATUS(drain(), EPDX_OK);
        CHECK_ALL(engine.decisions.revoked_count == 0);
    }
    CHECK_ALL(stats().collectives.ballot == 21);
    CHECK_ALL(leased() > 0);
    epi_fake_cuda_hold_kinds(0);
    drain_until_empty();
    end();
}

static void a_stream_that_is_too_late_revokes(void)
{
    open_engine(SHORT_NS);
    CHECK_ALL_STATUS(stage("a", 21, false), EPDX_OK);
    if (harness_rank() == 1) {
        epi_fake_cuda_hold_kinds(EPI_FAKE_CUDA_NCCL);
    }
    CHECK_ALL_STATUS(drain(), EPDX_OK);
    CHECK_ALL(engine.decisions.admitted_count == 1);
    drain_until_revoked();
    CHECK_ALL(strcmp(engine.decisions.revoked->id, "a") == 0);
    CHECK_ALL(engine.decisions.revoked->status == EPDX_ERR_TIMEOUT);
    epi_fake_cuda_hold_kinds(0);
    CHECK_ALL_STATUS(epdx_admission_release(engine.admission, "a"), EPDX_OK);
    end_over("EPDX_WAITING_TIMEOUT_S");
}

static void strike(epi_fake_nccl_fault_kind_t kind, int rank)
{
    const epi_fake_nccl_fault_t fault = {
        .kind = kind, .rank = rank, .nth = 0, .error = ncclRemoteError};

    if (harness_rank() == rank) {
        epi_fake_nccl_fault(&fault);
    }
}

static void an_error_on_one_rank_revokes_on_all(void)
{
    open_engine(PATIENCE);
    /* The first batch goes well, and is complete everywhere. */
    CHECK_ALL_STATUS(stage("good", 9, false), EPDX_OK);
    CHECK_ALL_STATUS(drain(), EPDX_OK);
    CHECK_ALL(admitted_right());
    CHECK_ALL_STATUS(drain(), EPDX_OK);
    strike(EPI_FAKE_NCCL_ERROR, 1);
    CHECK_ALL_STATUS(stage("a", 21, false), EPDX_OK);
    CHECK_ALL_STATUS(drain(), EPDX_OK);
    CHECK_ALL(engine.decisions.admitted_count == 1);
    drain_until_revoked();
    CHECK_ALL(revoked_is("a", EPDX_ERR_GROUP, 1));
    CHECK_ALL(strstr(engine.decisions.revoked->reason,
                     "reassembly failed on rank 1") != NULL);
    CHECK_ALL_STATUS(epdx_admission_release(engine.admission, "a"), EPDX_OK);
    CHECK_ALL_STATUS(epdx_admission_release(engine.admission, "good"), EPDX_OK);
    end_over("asynchronous error");
}

static void a_rank_that_never_enters_revokes_on_all(void)
{
    open_engine(SHORT_NS);
    strike(EPI_FAKE_NCCL_NEVER_ENTERS, harness_size() - 1);
    CHECK_ALL_STATUS(stage("a", 21, false), EPDX_OK);
    CHECK_ALL_STATUS(drain(), EPDX_OK);
    CHECK_ALL(engine.decisions.admitted_count == 1);
    /* Given back at once, as by a caller that has its work on a stream. */
    CHECK_ALL_STATUS(epdx_admission_release(engine.admission, "a"), EPDX_OK);
    drain_until_revoked();
    CHECK_ALL(strcmp(engine.decisions.revoked->id, "a") == 0);
    CHECK_ALL(engine.decisions.revoked->status == EPDX_ERR_TIMEOUT);
    end_over("a rank has not entered it");
}

/* Nobody is told of rows that a rank could not queue. */
static void a_launch_that_fails_on_one_rank_fails_on_all(void)
{
    open_engine(PATIENCE);
    if (harness_rank() == 1) {
        epi_fake_fail("ncclGroupEnd", 0, ncclSystemError);
    }
    CHECK_ALL_STATUS(stage("a", 21, false), EPDX_OK);
    CHECK_ALL_STATUS(stage("skipped", 21, true), EPDX_OK);
    CHECK_ALL_STATUS(drain(), EPDX_OK);
    CHECK_ALL(engine.decisions.admitted_count == 1);
    CHECK_ALL(strcmp(engine.decisions.admitted->id, "skipped") == 0);
    CHECK_ALL(engine.decisions.ready == NULL);
    CHECK_ALL(engine.decisions.failed_count == 1);
    CHECK_ALL(strcmp(engine.decisions.failed->id, "a") == 0);
    CHECK_ALL(engine.decisions.failed->rank == 1);
    CHECK_ALL(engine.decisions.revoked_count == 0);
    CHECK_ALL_STATUS(epdx_admission_release(engine.admission, "skipped"),
                     EPDX_OK);
    end_over("launch of a group");
}

static void other_versions_are_named_on_every_rank(void)
{
    begin();
    epi_fake_nccl_version(harness_rank() == 0 ? 22703 : 22809);
    CHECK_ALL_STATUS(open_admission(PATIENCE), EPDX_ERR_DISAGREE);
    CHECK_ALL(strstr(epdx_last_error(), "from 2.27.3 to 2.28.9") != NULL);
    CHECK_ALL(epi_fake_calls("ncclCommInitRankConfig") == 0);
    epi_fake_nccl_version(0);
    end();
}

static void a_start_that_never_ends_is_an_error_of_all(void)
{
    begin();
    strike(EPI_FAKE_NCCL_INIT_NEVER_ENDS, harness_size() - 1);
    CHECK_ALL_STATUS(open_admission(SHORT_NS), EPDX_ERR_TIMEOUT);
    CHECK_ALL(strstr(epdx_last_error(), "EPDX_WAITING_TIMEOUT_S") != NULL);
    CHECK_ALL(epi_fake_nccl_counts(harness_rank()).aborts == 1);
    end();
}

/* Batches are in flight when all ranks close. */
static void closing_lets_batches_end(void)
{
    open_engine(PATIENCE);
    CHECK_ALL_STATUS(stage("a", 21, false), EPDX_OK);
    CHECK_ALL_STATUS(drain(), EPDX_OK);
    CHECK_ALL(engine.decisions.admitted_count == 1);
    end();
    CHECK_ALL(epi_fake_nccl_counts(harness_rank()).destroys == 1);
    CHECK_ALL(epi_fake_nccl_counts(harness_rank()).aborts == 0);
}

int main(int argc, char **argv)
{
    static const harness_case_t cases[] = {
        HARNESS_CASE(rows_are_whole_behind_the_event),
        HARNESS_CASE(skipped_items_make_no_group),
        HARNESS_CASE(nothing_is_read_before_its_event),
        HARNESS_CASE(a_late_stream_is_waited_for),
        HARNESS_CASE(a_stream_that_is_too_late_revokes),
        HARNESS_CASE(an_error_on_one_rank_revokes_on_all),
        HARNESS_CASE(a_rank_that_never_enters_revokes_on_all),
        HARNESS_CASE(a_launch_that_fails_on_one_rank_fails_on_all),
        HARNESS_CASE(other_versions_are_named_on_every_rank),
        HARNESS_CASE(a_start_that_never_ends_is_an_error_of_all),
        HARNESS_CASE(closing_lets_batches_end),
    };

    return harness_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
