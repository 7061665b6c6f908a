/* collective_mpi.c: minimum, broadcast and the wait with a deadline. */
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "group/state_mpi.h"

void epi_group_mpi_words(int code, char *words)
{
    int length = 0;

    if (MPI_Error_string(code, words, &length) != MPI_SUCCESS) {
        snprintf(words, MPI_MAX_ERROR_STRING, "MPI error %d", code);
    }
}

epdx_status_t epi_group_mpi_break(epi_group_mpi_t *self, const char *name,
                                  int code)
{
    char words[MPI_MAX_ERROR_STRING] = "";

    epi_group_mpi_words(code, words);
    snprintf(self->broken, sizeof(self->broken),
             "%s over %u ranks failed on rank %u: %.200s; the group is broken",
             name, self->base.size, self->base.rank, words);
    epi_log_error("%s", self->broken);
    return epi_fail(EPDX_ERR_GROUP, "%s", self->broken);
}

static epdx_status_t break_timeout(epi_group_mpi_t *self, const char *name)
{
    snprintf(self->broken, sizeof(self->broken),
             "%s over %u ranks passed its deadline of %.3f s on rank %u: a "
             "rank did not call it in time, or the group's timeout_ns is too "
             "short; the group is broken",
             name, self->base.size, (double)self->timeout_ns / (double)EPI_S,
             self->base.rank);
    epi_log_error("%s", self->broken);
    return epi_fail(EPDX_ERR_TIMEOUT, "%s", self->broken);
}

epdx_status_t epi_group_mpi_begin(epi_group_mpi_t *self, const char *name,
                                  epi_call_mpi_t *call_p)
{
    if (self->broken[0] != '\0') {
        return epi_fail(EPDX_ERR_GROUP, "%s refused: %s", name, self->broken);
    }
    call_p->name = name;
    call_p->deadline = self->timeout_ns == 0
                           ? EPI_NEVER
                           : epi_after(epi_now_ns(), self->timeout_ns);
    return EPDX_OK;
}

static epdx_status_t check_count(const char *name, size_t count)
{
    if (count > INT_MAX) {
        return epi_fail(EPDX_ERR_TOO_LARGE,
                        "%s of %zu values: MPI takes %d at most", name, count,
                        INT_MAX);
    }
    return EPDX_OK;
}

epdx_status_t epi_group_mpi_wait(epi_group_mpi_t *self,
                                 const epi_call_mpi_t *call)
{
    int count = (int)self->in_flight;
    int done = 0;
    int code;

    if (self->timeout_ns == 0) {
        code = MPI_Waitall(count, self->requests, MPI_STATUSES_IGNORE);
        if (code != MPI_SUCCESS) {
            return epi_group_mpi_break(self, call->name, code);
        }
        self->in_flight = 0;
        return EPDX_OK;
    }
    for (;;) {
        code = MPI_Testall(count, self->requests, &done, MPI_STATUSES_IGNORE);
        if (code != MPI_SUCCESS) {
            return epi_group_mpi_break(self, call->name, code);
        }
        if (done) {
            self->in_flight = 0;
            return EPDX_OK;
        }
        if (epi_now_ns() >= call->deadline) {
            return break_timeout(self, call->name);
        }
        sched_yield();
    }
}

/** Room for a collective's values that outlives its caller. A rank that fails
 *  here is out of step with the others, so its group is broken. */
static epdx_status_t reserve_scratch(epi_group_mpi_t *self, const char *name,
                                     size_t bytes)
{
    void *scratch;

    if (bytes <= self->scratch_bytes) {
        return EPDX_OK;
    }
    scratch = realloc(self->scratch, bytes);
    if (scratch == NULL) {
        return epi_group_mpi_break(self, name, MPI_ERR_NO_MEM);
    }
    self->scratch = scratch;
    self->scratch_bytes = bytes;
    return EPDX_OK;
}

/** Wait for the one request of a collective whose posting gave code, then give
 *  the caller its values. */
static epdx_status_t finish_scratch(epi_group_mpi_t *self,
                                    const epi_call_mpi_t *call, int code,
                                    void *values, size_t bytes)
{
    epdx_status_t status;

    if (code != MPI_SUCCESS) {
        return epi_group_mpi_break(self, call->name, code);
    }
    self->in_flight = 1;
    status = epi_group_mpi_wait(self, call);
    if (status == EPDX_OK) {
        memcpy(values, self->scratch, bytes);
    }
    return status;
}

static epdx_status_t reduce_min(epi_group_mpi_t *self,
                                const epi_call_mpi_t *call, void *values,
                                int count, MPI_Datatype type)
{
    size_t width = type == MPI_UINT64_T ? sizeof(uint64_t) : sizeof(uint8_t);
    size_t bytes = (size_t)count * width;
    epdx_status_t status;
    int code;

    if (self->timeout_ns == 0) {
        code = MPI_Allreduce(MPI_IN_PLACE, values, count, type, MPI_MIN,
                             self->comm);
        return code == MPI_SUCCESS
                   ? EPDX_OK
                   : epi_group_mpi_break(self, call->name, code);
    }
    status = reserve_scratch(self, call->name, bytes);
    if (status != EPDX_OK) {
        return status;
    }
    memcpy(self->scratch, values, bytes);
    code = MPI_Iallreduce(MPI_IN_PLACE, self->scratch, count, type, MPI_MIN,
                          self->comm, &self->requests[0]);
    return finish_scratch(self, call, code, values, bytes);
}

static epdx_status_t min_values(epdx_group_t *group, const char *name,
                                void *values, size_t count, MPI_Datatype type)
{
    epdx_status_t status = check_count(name, count);
    epi_call_mpi_t call;

    if (status == EPDX_OK) {
        status = epi_group_mpi_begin(epi_group_mpi_of(group), name, &call);
    }
    if (status != EPDX_OK || count == 0) {
        return status;
    }
    return reduce_min(epi_group_mpi_of(group), &call, values, (int)count, type);
}

epdx_status_t epi_group_mpi_min_u8(epdx_group_t *group, uint8_t *values,
                                   size_t count)
{
    return min_values(group, "min_u8", values, count, MPI_UINT8_T);
}

epdx_status_t epi_group_mpi_min_u64(epdx_group_t *group, uint64_t *values,
                                    size_t count)
{
    return min_values(group, "min_u64", values, count, MPI_UINT64_T);
}

static epdx_status_t broadcast_bytes(epi_group_mpi_t *self,
                                     const epi_call_mpi_t *call, void *bytes,
                                     int count, int root)
{
    epdx_status_t status;
    int code;

    if (self->timeout_ns == 0) {
        code = MPI_Bcast(bytes, count, MPI_BYTE, root, self->comm);
        return code == MPI_SUCCESS
                   ? EPDX_OK
                   : epi_group_mpi_break(self, call->name, code);
    }
    status = reserve_scratch(self, call->name, (size_t)count);
    if (status != EPDX_OK) {
        return status;
    }
    if ((uint32_t)root == self->base.rank) {
        memcpy(self->scratch, bytes, (size_t)count);
    }
    code = MPI_Ibcast(self->scratch, count, MPI_BYTE, root, self->comm,
                      &self->requests[0]);
    return finish_scratch(self, call, code, bytes, (size_t)count);
}

epdx_status_t epi_group_mpi_broadcast(epdx_group_t *group, void *bytes,
                                      size_t count, uint32_t root)
{
    epdx_status_t status = check_count("broadcast", count);
    epi_call_mpi_t call;

    if (status == EPDX_OK && root >= group->size) {
        status = epi_fail(EPDX_ERR_INVALID,
                          "broadcast from rank %u in a group of %u ranks", root,
                          group->size);
    }
    if (status == EPDX_OK) {
        status =
            epi_group_mpi_begin(epi_group_mpi_of(group), "broadcast", &call);
    }
    if (status != EPDX_OK || count == 0) {
        return status;
    }
    return broadcast_bytes(epi_group_mpi_of(group), &call, bytes, (int)count,
                           (int)root);
}
