/*
 * fake_nccl_test.c: the NCCL fake that other tests stand on. Nothing of it
 * waits while communicators are not blocking, so one thread is all the ranks
 * here; fake_nccl_process_test.c has ranks that are processes.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "testing/fake_nccl.h"

#define RANKS_MAX 4
#define ROW       ((size_t)100000) /* more than a slot */

typedef struct rank {
    ncclComm_t comm;
    cudaStream_t stream;
    cudaEvent_t event;
    unsigned char *rows; /* one row of each rank */
} rank_t;

static rank_t ranks[RANKS_MAX];
static int size;

static unsigned char *bytes_of(int r)
{
    return epi_fake_cuda_bytes(ranks[r].rows, RANKS_MAX * ROW);
}

/** A rank has only its own row yet. */
static void open_rank(int r)
{
    rank_t *rank = &ranks[r];

    assert_int_equal(cudaSetDevice(r), cudaSuccess);
    assert_int_equal(cudaMalloc((void **)&rank->rows, RANKS_MAX * ROW),
                     cudaSuccess);
    assert_int_equal(
        cudaStreamCreateWithFlags(&rank->stream, cudaStreamNonBlocking),
        cudaSuccess);
    assert_int_equal(
        cudaEventCreateWithFlags(&rank->event, cudaEventDisableTiming),
        cudaSuccess);
    memset(bytes_of(r) + (size_t)r * ROW, 10 + r, ROW);
}

static int setup(void **state)
{
    int r;

    (void)state;
    epi_fake_cuda_reset();
    epi_fake_nccl_reset();
    memset(ranks, 0, sizeof(ranks));
    size = 0;
    for (r = 0; r < RANKS_MAX; r++) {
        open_rank(r);
    }
    return 0;
}

static int teardown(void **state)
{
    epi_fake_cuda_live_t live;
    int r;

    (void)state;
    epi_fake_cuda_let_go(NULL);
    epi_fake_nccl_version(0);
    for (r = 0; r < RANKS_MAX; r++) {
        if (ranks[r].comm != NULL) {
            assert_int_equal(ncclCommAbort(ranks[r].comm), ncclSuccess);
        }
        assert_int_equal(cudaFree(ranks[r].rows), cudaSuccess);
        assert_int_equal(cudaStreamDestroy(ranks[r].stream), cudaSuccess);
        assert_int_equal(cudaEventDestroy(ranks[r].event), cudaSuccess);
    }
    live = epi_fake_cuda_live();
    assert_int_equal(live.device_allocations, 0);
    assert_int_equal(live.streams, 0);
    assert_int_equal(live.events, 0);
    assert_int_equal(epi_fake_nccl_live(), 0);
    return 0;
}

static ncclResult_t begin_comm(int r, const ncclUniqueId *id)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;

    config.blocking = 0;
    assert_int_equal(cudaSetDevice(r), cudaSuccess);
    return ncclCommInitRankConfig(&ranks[r].comm, size, *id, r, &config);
}

static ncclResult_t look(int r)
{
    ncclResult_t result = ncclNumResults;

    assert_int_equal(ncclCommGetAsyncError(ranks[r].comm, &result),
                     ncclSuccess);
    return result;
}

/** Look until it is no longer in progress; it must not need many looks. */
static ncclResult_t look_on(int r)
{
    int looks;

    for (looks = 0; looks < 10; looks++) {
        ncclResult_t result = look(r);

        if (result != ncclInProgress) {
            return result;
        }
    }
    return ncclInProgress;
}

static void open_comms(int count)
{
    ncclUniqueId id;
    int r;

    size = count;
    assert_int_equal(ncclGetUniqueId(&id), ncclSuccess);
    for (r = 0; r < size; r++) {
        assert_int_equal(begin_comm(r, &id), ncclInProgress);
    }
    for (r = 0; r < size; r++) {
        assert_int_equal(look_on(r), ncclSuccess);
    }
}

static ncclResult_t broadcast(int r, int root, size_t bytes)
{
    unsigned char *row = ranks[r].rows + (size_t)root * ROW;

    return ncclBroadcast(row, row, bytes, ncclUint8, root, ranks[r].comm,
                         ranks[r].stream);
}

/** Each rank's row to all, as one group of rank r. */
static ncclResult_t begin_group(int r, size_t bytes)
{
    int root;

    assert_int_equal(ncclGroupStart(), ncclSuccess);
    for (root = 0; root < size; root++) {
        assert_int_equal(broadcast(r, root, bytes), ncclSuccess);
    }
    return ncclGroupEnd();
}

/** A group on rank r, in its stream, and then its event. */
static void issue_group(int r, size_t bytes)
{
    assert_int_equal(begin_group(r, bytes), ncclInProgress);
    assert_int_equal(look_on(r), ncclSuccess);
    assert_int_equal(cudaEventRecord(ranks[r].event, ranks[r].stream),
                     cudaSuccess);
}

static void abort_all(void)
{
    int r;

    for (r = 0; r < size; r++) {
        assert_int_equal(ncclCommAbort(ranks[r].comm), ncclSuccess);
        ranks[r].comm = NULL;
    }
}

static void assert_row(int r, int row, size_t bytes, int value)
{
    const unsigned char *at = bytes_of(r) + (size_t)row * ROW;
    size_t i;

    for (i = 0; i < bytes; i++) {
        assert_int_equal(at[i], value);
    }
}

/** Every event comes, though no row did. */
static void assert_poisoned(void)
{
    int row;
    int r;

    for (r = 0; r < size; r++) {
        assert_int_equal(cudaEventSynchronize(ranks[r].event), cudaSuccess);
        for (row = 0; row < size; row++) {
            assert_row(r, row, ROW, row == r ? 10 + r : EPI_FAKE_CUDA_POISON);
        }
    }
}

static void every_row_comes_to_every_rank(int count)
{
    epi_fake_nccl_counts_t counts;
    int row;
    int r;

    open_comms(count);
    for (r = 0; r < size; r++) {
        issue_group(r, ROW);
    }
    for (r = 0; r < size; r++) {
        assert_int_equal(cudaEventSynchronize(ranks[r].event), cudaSuccess);
        for (row = 0; row < size; row++) {
            assert_row(r, row, ROW, 10 + row);
        }
        counts = epi_fake_nccl_counts(r);
        assert_int_equal(counts.inits, 1);
        assert_int_equal(counts.groups, 1);
        assert_int_equal(counts.broadcasts, count);
        assert_int_equal(counts.last_group, count);
        assert_int_equal(counts.bytes, (size_t)count * ROW);
    }
    assert_int_equal(
        epi_fake_cuda_log_total(EPI_FAKE_CUDA_NCCL, EPI_FAKE_CUDA_RAN), count);
    assert_int_equal(epi_fake_cuda_violations(), 0);
}

static void one_rank(void **state)
{
    (void)state;
    every_row_comes_to_every_rank(1);
}

static void two_ranks(void **state)
{
    (void)state;
    every_row_comes_to_every_rank(2);
}

static void four_ranks(void **state)
{
    (void)state;
    every_row_comes_to_every_rank(4);
}

static void many_groups_in_a_row(void **state)
{
    int round;
    int r;

    (void)state;
    open_comms(3);
    for (round = 0; round < 20; round++) {
        memset(bytes_of(round % 3) + (size_t)(round % 3) * ROW, 100 + round,
               ROW);
        for (r = 0; r < size; r++) {
            issue_group(r, ROW - (size_t)round);
        }
        for (r = 0; r < size; r++) {
            assert_int_equal(cudaEventSynchronize(ranks[r].event), cudaSuccess);
            assert_row(r, round % 3, ROW - (size_t)round, 100 + round);
        }
    }
}

static void a_communicator_tells_what_it_is(void **state)
{
    int value = -1;

    (void)state;
    open_comms(2);
    assert_int_equal(ncclCommCount(ranks[1].comm, &value), ncclSuccess);
    assert_int_equal(value, 2);
    assert_int_equal(ncclCommUserRank(ranks[1].comm, &value), ncclSuccess);
    assert_int_equal(value, 1);
    assert_int_equal(ncclCommCuDevice(ranks[1].comm, &value), ncclSuccess);
    assert_int_equal(value, 1);
    assert_int_equal(epi_fake_nccl_live(), 2);
}

static void a_broadcast_may_be_out_of_place(void **state)
{
    int r;

    (void)state;
    open_comms(2);
    for (r = 0; r < 2; r++) {
        assert_int_equal(ncclBroadcast(ranks[r].rows, ranks[r].rows + 3 * ROW,
                                       ROW / 2, ncclBfloat16, 0, ranks[r].comm,
                                       ranks[r].stream),
                         ncclInProgress);
        assert_int_equal(look_on(r), ncclSuccess);
    }
    for (r = 0; r < 2; r++) {
        assert_int_equal(cudaStreamSynchronize(ranks[r].stream), cudaSuccess);
        assert_row(r, 3, ROW / 2 * 2, 10);
    }
    assert_row(1, 0, ROW, EPI_FAKE_CUDA_POISON);
}

static void an_empty_group_and_no_bytes_are_nothing(void **state)
{
    int r;

    (void)state;
    open_comms(2);
    assert_int_equal(ncclGroupStart(), ncclSuccess);
    assert_int_equal(ncclGroupEnd(), ncclSuccess);
    assert_int_equal(epi_fake_nccl_counts(0).groups, 0);
    for (r = 0; r < 2; r++) {
        issue_group(r, 0);
    }
    for (r = 0; r < 2; r++) {
        assert_int_equal(cudaEventSynchronize(ranks[r].event), cudaSuccess);
    }
}

static void creation_is_in_progress_until_all_ranks_are_in(void **state)
{
    ncclUniqueId id;
    int value;

    (void)state;
    size = 2;
    assert_int_equal(ncclGetUniqueId(&id), ncclSuccess);
    assert_int_equal(begin_comm(0, &id), ncclInProgress);
    assert_int_equal(look_on(0), ncclInProgress);
    assert_int_equal(ncclCommCount(ranks[0].comm, &value), ncclInvalidArgument);
    assert_int_equal(epi_fake_cuda_violations(), 1);
    epi_fake_nccl_late(3);
    assert_int_equal(begin_comm(1, &id), ncclInProgress);
    assert_int_equal(look(1), ncclInProgress);
    assert_int_equal(look(1), ncclInProgress);
    assert_int_equal(look(1), ncclSuccess);
    assert_int_equal(look_on(0), ncclSuccess);
}

static void creation_that_never_ends_can_be_aborted(void **state)
{
    const epi_fake_nccl_fault_t fault = {.kind = EPI_FAKE_NCCL_INIT_NEVER_ENDS,
                                         .rank = 1};
    ncclUniqueId id;
    int r;

    (void)state;
    size = 2;
    epi_fake_nccl_fault(&fault);
    assert_int_equal(ncclGetUniqueId(&id), ncclSuccess);
    for (r = 0; r < 2; r++) {
        assert_int_equal(begin_comm(r, &id), ncclInProgress);
    }
    for (r = 0; r < 2; r++) {
        assert_int_equal(look_on(r), ncclInProgress);
    }
    abort_all();
    assert_int_equal(epi_fake_nccl_counts(0).aborts, 1);
    assert_int_equal(epi_fake_nccl_counts(0).inits, 0);
}

static void versions_that_differ_fail_the_creation(void **state)
{
    ncclUniqueId id;
    int version = 0;
    int r;

    (void)state;
    size = 2;
    assert_int_equal(ncclGetUniqueId(&id), ncclSuccess);
    assert_int_equal(begin_comm(0, &id), ncclInProgress);
    epi_fake_nccl_version(22703);
    assert_int_equal(ncclGetVersion(&version), ncclSuccess);
    assert_int_equal(version, 22703);
    assert_int_equal(begin_comm(1, &id), ncclInProgress);
    for (r = 0; r < 2; r++) {
        assert_int_equal(look_on(r), ncclInvalidUsage);
    }
    assert_non_null(strstr(ncclGetLastError(NULL), "mismatched versions"));
    epi_fake_nccl_version(0);
    assert_int_equal(ncclGetVersion(&version), ncclSuccess);
    assert_int_equal(version, NCCL_VERSION_CODE);
}

static void ranks_and_configurations_are_checked(void **state)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    ncclUniqueId id;
    ncclComm_t comm = NULL;

    (void)state;
    size = 2;
    assert_int_equal(ncclGetUniqueId(&id), ncclSuccess);
    assert_int_equal(ncclCommInitRank(&comm, 2, id, 2), ncclInvalidArgument);
    config.magic = 1;
    assert_int_equal(ncclCommInitRankConfig(&comm, 2, id, 0, &config),
                     ncclInvalidArgument);
    assert_int_equal(begin_comm(0, &id), ncclInProgress);
    config = (ncclConfig_t)NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    assert_int_equal(ncclCommInitRankConfig(&comm, 2, id, 0, &config),
                     ncclInvalidUsage); /* taken */
    assert_int_equal(ncclCommInitRankConfig(&comm, 3, id, 1, &config),
                     ncclInvalidUsage); /* of another size */
    memset(&id, 0, sizeof(id));
    assert_int_equal(ncclCommInitRankConfig(&comm, 2, id, 1, &config),
                     ncclSystemError);
    assert_null(comm);
}

static void a_group_is_issued_by_looking(void **state)
{
    int r;

    (void)state;
    open_comms(2);
    for (r = 0; r < 2; r++) {
        assert_int_equal(begin_group(r, ROW), ncclInProgress);
    }
    /* Recorded too early: before the broadcasts. */
    assert_int_equal(cudaEventRecord(ranks[0].event, ranks[0].stream),
                     cudaSuccess);
    assert_int_equal(cudaEventSynchronize(ranks[0].event), cudaSuccess);
    assert_row(0, 1, ROW, EPI_FAKE_CUDA_POISON);
    /* And nothing else may be begun. */
    assert_int_equal(broadcast(0, 0, 1), ncclInvalidArgument);
    assert_int_equal(epi_fake_cuda_violations(), 1);
    for (r = 0; r < 2; r++) {
        assert_int_equal(look(r), ncclInProgress);
        assert_int_equal(look(r), ncclSuccess);
    }
    assert_int_equal(cudaStreamSynchronize(ranks[0].stream), cudaSuccess);
    assert_row(0, 1, ROW, 11);
}

static void a_group_waits_for_what_is_before_it(void **state)
{
    (void)state;
    open_comms(2);
    epi_fake_cuda_hold(ranks[1].stream);
    assert_int_equal(
        cudaMemsetAsync(ranks[1].rows + ROW, 99, ROW, ranks[1].stream),
        cudaSuccess);
    issue_group(0, ROW);
    issue_group(1, ROW);
    assert_int_equal(cudaEventQuery(ranks[0].event), cudaErrorNotReady);
    epi_fake_cuda_let_go(ranks[1].stream);
    assert_int_equal(cudaEventSynchronize(ranks[0].event), cudaSuccess);
    assert_row(0, 1, ROW, 99);
}

static void a_rank_that_never_enters_holds_all(void **state)
{
    const epi_fake_nccl_fault_t fault = {
        .kind = EPI_FAKE_NCCL_NEVER_ENTERS, .rank = 1, .nth = 1};
    int r;

    (void)state;
    open_comms(3);
    epi_fake_nccl_fault(&fault);
    for (r = 0; r < 3; r++) {
        issue_group(r, 0);
    }
    for (r = 0; r < 3; r++) {
        assert_int_equal(cudaEventSynchronize(ranks[r].event), cudaSuccess);
    }
    for (r = 0; r < 3; r++) {
        issue_group(r, ROW);
    }
    for (r = 0; r < 3; r++) {
        assert_int_equal(cudaEventQuery(ranks[r].event), cudaErrorNotReady);
        assert_int_equal(look(r), ncclSuccess);
    }
    abort_all();
    assert_poisoned();
    assert_int_equal(epi_fake_nccl_counts(2).aborts, 1);
}

static ncclResult_t await_error(int r)
{
    ncclResult_t result;

    do {
        result = look(r);
    } while (result == ncclSuccess);
    return result;
}

static void an_asynchronous_error_is_its_ranks_own(void **state)
{
    const epi_fake_nccl_fault_t fault = {
        .kind = EPI_FAKE_NCCL_ERROR, .rank = 0, .error = ncclRemoteError};
    int r;

    (void)state;
    open_comms(2);
    epi_fake_nccl_fault(&fault);
    for (r = 0; r < 2; r++) {
        issue_group(r, ROW);
    }
    assert_int_equal(await_error(0), ncclRemoteError);
    assert_int_equal(broadcast(0, 0, 1), ncclRemoteError);
    assert_int_equal(look(1), ncclSuccess);
    for (r = 0; r < 2; r++) {
        assert_int_equal(cudaEventQuery(ranks[r].event), cudaErrorNotReady);
    }
    abort_all();
    assert_poisoned();
}

static void an_error_can_come_after_the_rows(void **state)
{
    const epi_fake_nccl_fault_t fault = {
        .kind = EPI_FAKE_NCCL_ERROR_AFTER, .rank = 0, .error = ncclSystemError};
    int r;

    (void)state;
    open_comms(2);
    epi_fake_nccl_fault(&fault);
    for (r = 0; r < 2; r++) {
        issue_group(r, ROW);
    }
    for (r = 0; r < 2; r++) {
        assert_int_equal(cudaEventSynchronize(ranks[r].event), cudaSuccess);
        assert_row(r, 1 - r, ROW, 10 + 1 - r);
    }
    assert_int_equal(look(0), ncclSystemError);
    assert_int_equal(look(1), ncclSuccess);
}

static void groups_that_differ_fail_on_all_ranks(void **state)
{
    int r;

    (void)state;
    open_comms(2);
    issue_group(0, ROW);
    issue_group(1, ROW - 1);
    for (r = 0; r < 2; r++) {
        assert_int_equal(await_error(r), ncclInvalidUsage);
        assert_int_equal(cudaEventQuery(ranks[r].event), cudaErrorNotReady);
    }
    abort_all();
    assert_poisoned();
}

static void roots_that_differ_fail_on_all_ranks(void **state)
{
    int r;

    (void)state;
    open_comms(2);
    for (r = 0; r < 2; r++) {
        assert_int_equal(broadcast(r, r, ROW), ncclInProgress);
        assert_int_equal(look_on(r), ncclSuccess);
    }
    for (r = 0; r < 2; r++) {
        assert_int_equal(await_error(r), ncclInvalidUsage);
    }
}

static void an_aborted_group_not_yet_begun_touches_nothing(void **state)
{
    (void)state;
    open_comms(2);
    epi_fake_cuda_hold(ranks[0].stream);
    issue_group(0, ROW);
    issue_group(1, ROW);
    abort_all();
    memset(bytes_of(0), 42, 2 * ROW);
    epi_fake_cuda_let_go(ranks[0].stream);
    assert_int_equal(cudaEventSynchronize(ranks[0].event), cudaSuccess);
    assert_row(0, 0, 2 * ROW, 42);
    assert_int_equal(cudaEventSynchronize(ranks[1].event), cudaSuccess);
}

static void buffers_streams_and_roots_are_checked(void **state)
{
    unsigned char plain[16];

    (void)state;
    open_comms(2);
    assert_int_equal(ncclBroadcast(plain, plain, 16, ncclUint8, 0,
                                   ranks[0].comm, ranks[0].stream),
                     ncclInvalidArgument);
    assert_int_equal(ncclBroadcast(ranks[1].rows, ranks[1].rows, 16, ncclUint8,
                                   0, ranks[0].comm, ranks[0].stream),
                     ncclInvalidArgument);
    assert_int_equal(broadcast(0, 1, RANKS_MAX * ROW), ncclInvalidArgument);
    assert_int_equal(ncclBroadcast(ranks[0].rows, ranks[0].rows, 16, ncclUint8,
                                   0, ranks[0].comm, ranks[1].stream),
                     ncclInvalidUsage);
    assert_int_equal(ncclBroadcast(ranks[0].rows, ranks[0].rows, 16, ncclUint8,
                                   2, ranks[0].comm, ranks[0].stream),
                     ncclInvalidArgument);
    assert_int_equal(ncclBroadcast(ranks[0].rows, ranks[0].rows, 16,
                                   ncclNumTypes, 0, ranks[0].comm,
                                   ranks[0].stream),
                     ncclInvalidArgument);
    assert_int_equal(epi_fake_nccl_counts(0).groups, 0);
}

static void an_error_inside_a_group_is_the_groups(void **state)
{
    (void)state;
    open_comms(1);
    assert_int_equal(ncclGroupEnd(), ncclInvalidUsage);
    assert_int_equal(ncclGroupStart(), ncclSuccess);
    assert_int_equal(broadcast(0, 0, 1), ncclSuccess);
    assert_int_equal(broadcast(0, 1, 1), ncclInvalidArgument);
    assert_int_equal(ncclGroupEnd(), ncclInvalidArgument);
    assert_int_equal(epi_fake_nccl_counts(0).groups, 0);
    epi_fake_fail("ncclGroupEnd", 0, ncclInternalError);
    assert_int_equal(begin_group(0, 1), ncclInternalError);
    epi_fake_fail("ncclBroadcast", 0, ncclSystemError);
    assert_int_equal(broadcast(0, 0, 1), ncclSystemError);
    issue_group(0, 1);
    assert_int_equal(cudaEventSynchronize(ranks[0].event), cudaSuccess);
}

static void a_communicator_that_is_gone_is_refused(void **state)
{
    ncclResult_t result;
    ncclComm_t gone;

    (void)state;
    open_comms(1);
    gone = ranks[0].comm;
    abort_all();
    assert_int_equal(ncclCommAbort(gone), ncclInvalidArgument);
    assert_int_equal(ncclCommDestroy(NULL), ncclInvalidArgument);
    assert_int_equal(ncclCommGetAsyncError(gone, &result), ncclInvalidArgument);
    assert_int_equal(epi_fake_cuda_violations(), 3);
}

static void finalizing_ends_when_all_ranks_do(void **state)
{
    int r;

    (void)state;
    open_comms(2);
    for (r = 0; r < 2; r++) {
        issue_group(r, ROW);
    }
    assert_int_equal(ncclCommFinalize(ranks[0].comm), ncclInProgress);
    assert_int_equal(look_on(0), ncclInProgress);
    assert_int_equal(ncclCommFinalize(ranks[1].comm), ncclInProgress);
    for (r = 0; r < 2; r++) {
        assert_int_equal(cudaEventSynchronize(ranks[r].event), cudaSuccess);
    }
    for (r = 0; r < 2; r++) {
        ncclResult_t result;

        do {
            result = look(r);
        } while (result == ncclInProgress);
        assert_int_equal(result, ncclSuccess);
        assert_int_equal(ncclCommDestroy(ranks[r].comm), ncclSuccess);
        ranks[r].comm = NULL;
        assert_int_equal(epi_fake_nccl_counts(r).destroys, 1);
    }
}

/** A rank whose calls wait. */
typedef struct blocking {
    ncclUniqueId id;
    int rank;
    ncclResult_t results[4];
} blocking_t;

static void *block(void *context)
{
    blocking_t *mine = context;
    rank_t *rank = &ranks[mine->rank];
    unsigned char *row = rank->rows;
    ncclComm_t comm = NULL;

    (void)cudaSetDevice(mine->rank);
    mine->results[0] = ncclCommInitRank(&comm, 2, mine->id, mine->rank);
    mine->results[1] =
        ncclBroadcast(row, row, ROW, ncclUint8, 0, comm, rank->stream);
    mine->results[2] = ncclCommFinalize(comm);
    mine->results[3] = ncclCommDestroy(comm);
    return NULL;
}

static void blocking_communicators_wait(void **state)
{
    blocking_t both[2] = {{.rank = 0}, {.rank = 1}};
    pthread_t threads[2];
    int r;
    int i;

    (void)state;
    size = 2;
    assert_int_equal(ncclGetUniqueId(&both[0].id), ncclSuccess);
    both[1].id = both[0].id;
    for (r = 0; r < 2; r++) {
        assert_int_equal(pthread_create(&threads[r], NULL, block, &both[r]), 0);
    }
    for (r = 0; r < 2; r++) {
        assert_int_equal(pthread_join(threads[r], NULL), 0);
        for (i = 0; i < 4; i++) {
            assert_int_equal(both[r].results[i], ncclSuccess);
        }
    }
    assert_int_equal(cudaStreamSynchronize(ranks[1].stream), cudaSuccess);
    assert_row(1, 0, ROW, 10);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(one_rank),
        TEST(two_ranks),
        TEST(four_ranks),
        TEST(many_groups_in_a_row),
        TEST(a_communicator_tells_what_it_is),
        TEST(a_broadcast_may_be_out_of_place),
        TEST(an_empty_group_and_no_bytes_are_nothing),
        TEST(creation_is_in_progress_until_all_ranks_are_in),
        TEST(creation_that_never_ends_can_be_aborted),
        TEST(versions_that_differ_fail_the_creation),
        TEST(ranks_and_configurations_are_checked),
        TEST(a_group_is_issued_by_looking),
        TEST(a_group_waits_for_what_is_before_it),
        TEST(a_rank_that_never_enters_holds_all),
        TEST(an_asynchronous_error_is_its_ranks_own),
        TEST(an_error_can_come_after_the_rows),
        TEST(groups_that_differ_fail_on_all_ranks),
        TEST(roots_that_differ_fail_on_all_ranks),
        TEST(an_aborted_group_not_yet_begun_touches_nothing),
        TEST(buffers_streams_and_roots_are_checked),
        TEST(an_error_inside_a_group_is_the_groups),
        TEST(a_communicator_that_is_gone_is_refused),
        TEST(finalizing_ends_when_all_ranks_do),
        TEST(blocking_communicators_wait),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
