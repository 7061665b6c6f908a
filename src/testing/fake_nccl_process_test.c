/* fake_nccl_process_test.c: the NCCL fake between processes: rows come, a rank
 * that is killed leaves nothing behind and can be aborted from. */
#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "testing/fake_nccl.h"

#define RANKS ((int)4)
#define ROW   ((size_t)300000) /* several times round the slots */

/** What a process does with its communicator: it gives its exit status, 0 when
 *  all was as it should be. */
typedef int (*body_t)(int rank, ncclComm_t comm);

static int pipes[RANKS][2];

/** Rank 0 makes the id and tells the others. */
static bool share_id(int rank, ncclUniqueId *id)
{
    int r;

    if (rank > 0) {
        return read(pipes[rank][0], id, sizeof(*id)) == (ssize_t)sizeof(*id);
    }
    if (ncclGetUniqueId(id) != ncclSuccess) {
        return false;
    }
    for (r = 1; r < RANKS; r++) {
        if (write(pipes[r][1], id, sizeof(*id)) != (ssize_t)sizeof(*id)) {
            return false;
        }
    }
    return true;
}

static ncclResult_t look_on(ncclComm_t comm)
{
    ncclResult_t result;

    do {
        if (ncclCommGetAsyncError(comm, &result) != ncclSuccess) {
            return ncclInternalError;
        }
    } while (result == ncclInProgress);
    return result;
}

static int be_rank(int rank, body_t body)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    ncclUniqueId id;
    ncclComm_t comm;

    config.blocking = 0;
    if (!share_id(rank, &id) || cudaSetDevice(rank) != cudaSuccess ||
        ncclCommInitRankConfig(&comm, RANKS, id, rank, &config) !=
            ncclInProgress ||
        look_on(comm) != ncclSuccess) {
        return 10;
    }
    return body(rank, comm);
}

/** The processes end with the statuses wanted; a signal counts as 128 + it. */
static void run(body_t body, const int wanted[RANKS])
{
    pid_t children[RANKS];
    int status;
    int r;

    for (r = 0; r < RANKS; r++) {
        assert_int_equal(pipe(pipes[r]), 0);
    }
    for (r = 0; r < RANKS; r++) {
        children[r] = fork();
        assert_true(children[r] >= 0);
        if (children[r] == 0) {
            _exit(be_rank(r, body));
        }
    }
    for (r = 0; r < RANKS; r++) {
        assert_int_equal(waitpid(children[r], &status, 0), children[r]);
        assert_int_equal(WIFSIGNALED(status) ? 128 + WTERMSIG(status)
                                             : WEXITSTATUS(status),
                         wanted[r]);
        (void)close(pipes[r][0]);
        (void)close(pipes[r][1]);
    }
}

/** One group that brings each rank's row to all, in its stream. */
static bool issue(int rank, ncclComm_t comm, unsigned char *rows,
                  cudaStream_t stream)
{
    int root;

    memset(epi_fake_cuda_bytes(rows + (size_t)rank * ROW, ROW), 10 + rank, ROW);
    (void)ncclGroupStart();
    for (root = 0; root < RANKS; root++) {
        unsigned char *row = rows + (size_t)root * ROW;

        (void)ncclBroadcast(row, row, ROW, ncclUint8, root, comm, stream);
    }
    return ncclGroupEnd() == ncclInProgress && look_on(comm) == ncclSuccess;
}

static bool are_all(const unsigned char *rows, int row, int value)
{
    const unsigned char *bytes =
        epi_fake_cuda_bytes(rows + (size_t)row * ROW, ROW);
    size_t i;

    for (i = 0; i < ROW && bytes[i] == value; i++) {
    }
    return i == ROW;
}

static int exchange(int rank, ncclComm_t comm)
{
    unsigned char *rows;
    cudaStream_t stream;
    int row;

    if (cudaMalloc((void **)&rows, RANKS * ROW) != cudaSuccess ||
        cudaStreamCreate(&stream) != cudaSuccess ||
        !issue(rank, comm, rows, stream) ||
        cudaStreamSynchronize(stream) != cudaSuccess) {
        return 11;
    }
    for (row = 0; row < RANKS; row++) {
        if (!are_all(rows, row, 10 + row)) {
            return 12;
        }
    }
    return ncclCommAbort(comm) == ncclSuccess && cudaFree(rows) == cudaSuccess
               ? 0
               : 13;
}

/** Rank 1 is killed; the others hang in their streams until they abort. */
static int lose_rank_1(int rank, ncclComm_t comm)
{
    unsigned char *rows;
    cudaStream_t stream;

    if (rank == 1) {
        (void)raise(SIGKILL);
    }
    if (cudaMalloc((void **)&rows, RANKS * ROW) != cudaSuccess ||
        cudaStreamCreate(&stream) != cudaSuccess ||
        !issue(rank, comm, rows, stream) ||
        cudaStreamQuery(stream) != cudaErrorNotReady) {
        return 11;
    }
    if (ncclCommAbort(comm) != ncclSuccess ||
        cudaStreamSynchronize(stream) != cudaSuccess) {
        return 12;
    }
    return are_all(rows, 1, EPI_FAKE_CUDA_POISON) &&
                   are_all(rows, rank, 10 + rank)
               ? 0
               : 13;
}

static int leave(int rank, ncclComm_t comm)
{
    (void)comm;
    return rank;
}

static void rows_come_to_every_process(void **state)
{
    const int wanted[RANKS] = {0};

    (void)state;
    run(exchange, wanted);
}

static void a_killed_rank_is_aborted_from(void **state)
{
    const int wanted[RANKS] = {[1] = 128 + SIGKILL};

    (void)state;
    run(lose_rank_1, wanted);
}

static void ranks_may_just_leave(void **state)
{
    const int wanted[RANKS] = {0, 1, 2, 3};

    (void)state;
    run(leave, wanted);
}

static void an_id_ends_with_its_process(void **state)
{
    ncclUniqueId id;
    ncclComm_t comm;
    pid_t child;
    int status;

    (void)state;
    assert_int_equal(pipe(pipes[0]), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        bool made = ncclGetUniqueId(&id) == ncclSuccess &&
                    write(pipes[0][1], &id, sizeof(id)) == (ssize_t)sizeof(id);

        _exit(made ? 0 : 1);
    }
    assert_int_equal(read(pipes[0][0], &id, sizeof(id)), sizeof(id));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(ncclCommInitRank(&comm, 2, id, 1), ncclSystemError);
    (void)close(pipes[0][0]);
    (void)close(pipes[0][1]);
}

static void nothing_is_named_in_shared_memory(void **state)
{
    const struct dirent *entry;
    DIR *folder = opendir("/dev/shm");

    (void)state;
    if (folder == NULL) {
        return;
    }
    while ((entry = readdir(folder)) != NULL) {
        assert_null(strstr(entry->d_name, "epdx_fake"));
    }
    (void)closedir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_come_to_every_process),
        cmocka_unit_test(a_killed_rank_is_aborted_from),
        cmocka_unit_test(ranks_may_just_leave),
        cmocka_unit_test(an_id_ends_with_its_process),
        cmocka_unit_test(nothing_is_named_in_shared_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
