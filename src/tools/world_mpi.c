/* world_mpi.c: MPI_COMM_WORLD for the programs. */
#include <mpi.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "tools/world.h"

#define ABORT_SECONDS 5
#define MEET_PAUSE_NS (5 * EPI_MS)
#define MEET_LIMIT_NS (10 * EPI_S)

static epdx_status_t failed(const char *call, int code)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;

    (void)MPI_Error_string(code, text, &length);
    return epi_fail(EPDX_ERR_GROUP, "%s failed: %s", call, text);
}

/* A blocking call would spin inside MPI without a deadline. */
static epdx_status_t finish(const epi_world_t *world, const char *call,
                            int code, MPI_Request *request)
{
    uint64_t due = world->timeout_ns == 0
                       ? EPI_NEVER
                       : epi_after(epi_now_ns(), world->timeout_ns);
    int done = 0;

    while (code == MPI_SUCCESS) {
        code = MPI_Test(request, &done, MPI_STATUS_IGNORE);
        if (code == MPI_SUCCESS && done) {
            return EPDX_OK;
        }
        if (epi_now_ns() >= due) {
            return epi_fail(EPDX_ERR_TIMEOUT,
                            "%s was not joined by all ranks within %.1f s "
                            "(--collective-timeout)",
                            call, (double)world->timeout_ns / 1e9);
        }
        (void)sched_yield();
    }
    return failed(call, code);
}

epdx_status_t epi_world_open(uint64_t timeout_ns, epi_world_t *world_p)
{
    int provided, rank, size;
    int code = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);

    if (code != MPI_SUCCESS) {
        return failed("MPI_Init_thread", code);
    }
    if (provided < MPI_THREAD_FUNNELED) {
        return epi_fail(EPDX_ERR_GROUP, "this MPI has no MPI_THREAD_FUNNELED");
    }
    (void)MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    (void)MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    (void)MPI_Comm_size(MPI_COMM_WORLD, &size);
    *world_p = (epi_world_t){(uint32_t)rank, (uint32_t)size, timeout_ns};
    return EPDX_OK;
}

epdx_status_t epi_world_broadcast(const epi_world_t *world, void *bytes,
                                  size_t count)
{
    MPI_Request request;
    int code =
        MPI_Ibcast(bytes, (int)count, MPI_BYTE, 0, MPI_COMM_WORLD, &request);

    return finish(world, "MPI_Ibcast", code, &request);
}

epdx_status_t epi_world_sum(const epi_world_t *world, uint64_t *values,
                            size_t count)
{
    MPI_Request request;
    int code = MPI_Iallreduce(MPI_IN_PLACE, values, (int)count, MPI_UINT64_T,
                              MPI_SUM, MPI_COMM_WORLD, &request);

    return finish(world, "MPI_Iallreduce", code, &request);
}

epdx_status_t epi_world_gather(const epi_world_t *world, uint64_t value,
                               uint64_t *values)
{
    MPI_Request request;
    int code = MPI_Igather(&value, 1, MPI_UINT64_T, values, 1, MPI_UINT64_T, 0,
                           MPI_COMM_WORLD, &request);

    return finish(world, "MPI_Igather", code, &request);
}

/* The words of the lowest failing rank to all. */
static epdx_status_t share_words(const epi_world_t *world, uint32_t root,
                                 epdx_status_t own)
{
    struct {
        int32_t status;
        char words[512];
    } shared;
    epdx_status_t status;
    MPI_Request request;
    int code;

    memset(&shared, 0, sizeof(shared));
    shared.status = own;
    strncpy(shared.words, epdx_last_error(), sizeof(shared.words) - 1);
    code = MPI_Ibcast(&shared, (int)sizeof(shared), MPI_BYTE, (int)root,
                      MPI_COMM_WORLD, &request);
    status = finish(world, "MPI_Ibcast", code, &request);
    if (status != EPDX_OK) {
        return status;
    }
    return root == world->rank || world->size == 1
               ? own
               : epi_fail((epdx_status_t)shared.status, "rank %u: %s", root,
                          shared.words);
}

epdx_status_t epi_world_agree(const epi_world_t *world, epdx_status_t status)
{
    uint32_t lowest = status == EPDX_OK ? world->size : world->rank;
    epdx_status_t agreed;
    MPI_Request request;
    int code = MPI_Iallreduce(MPI_IN_PLACE, &lowest, 1, MPI_UINT32_T, MPI_MIN,
                              MPI_COMM_WORLD, &request);

    agreed = finish(world, "MPI_Iallreduce", code, &request);
    if (agreed != EPDX_OK || lowest == world->size) {
        return agreed;
    }
    return share_words(world, lowest, status);
}

epdx_status_t epi_world_meet(bool (*stop)(uint64_t wait_ns))
{
    MPI_Request request;
    uint64_t due = EPI_NEVER;
    int code = MPI_Ibarrier(MPI_COMM_WORLD, &request);
    int done = 0;

    while (code == MPI_SUCCESS) {
        code = MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        if (code == MPI_SUCCESS && done) {
            return EPDX_OK;
        }
        if (stop(MEET_PAUSE_NS) && due == EPI_NEVER) {
            due = epi_now_ns() + MEET_LIMIT_NS;
        }
        if (epi_now_ns() >= due) {
            return epi_fail(EPDX_ERR_TIMEOUT,
                            "the other ranks did not end within 10 s");
        }
    }
    return failed("MPI_Ibarrier", code);
}

_Noreturn void epi_world_abort(int exit_status)
{
    (void)alarm(ABORT_SECONDS);
    (void)MPI_Abort(MPI_COMM_WORLD, exit_status);
    _exit(exit_status);
}

void epi_world_close(void)
{
    (void)MPI_Finalize();
}
