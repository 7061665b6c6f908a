/*
 * nccl.c: the batches of reassembly by NCCL; see nccl_internal.h for what it
 * relies on and what may wait.
 */
#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "memory/cuda_internal.h"
#include "memory/event.h"
#include "reassembly/nccl_internal.h"

#define CLOSE_NS (10 * EPI_S)

static epi_nccl_t *of(epi_reassembly_t *base)
{
    return (epi_nccl_t *)base;
}

static epi_nccl_batch_t *batch_of(epi_nccl_t *self, uint64_t number)
{
    return &self->batches[number % EPI_REASSEMBLY_BATCHES];
}

epdx_status_t epi_nccl_fail(ncclComm_t comm, ncclResult_t result,
                            const char *what)
{
    const char *more = ncclGetLastError(comm);

    return more == NULL || more[0] == '\0'
               ? epi_fail(EPDX_ERR_GROUP, "nccl: %s: %s", what,
                          ncclGetErrorString(result))
               : epi_fail(EPDX_ERR_GROUP, "nccl: %s: %s: %.300s", what,
                          ncclGetErrorString(result), more);
}

epdx_status_t epi_nccl_await(ncclComm_t comm, const char *what,
                             uint64_t deadline)
{
    for (;;) {
        ncclResult_t state = ncclSuccess;
        ncclResult_t asked = ncclCommGetAsyncError(comm, &state);

        if (asked != ncclSuccess) {
            return epi_nccl_fail(comm, asked, "ncclCommGetAsyncError");
        }
        if (state == ncclSuccess) {
            return EPDX_OK;
        }
        if (state != ncclInProgress) {
            return epi_nccl_fail(comm, state, what);
        }
        if (epi_now_ns() >= deadline) {
            return epi_fail(EPDX_ERR_TIMEOUT,
                            "nccl: %s was not over by its deadline", what);
        }
        sched_yield();
    }
}

/* Each rank's block to all others, in place: the root sends from where the
 * others receive. As bytes, so that rows of any dtype stay as they are. */
static ncclResult_t queue_gather(epi_nccl_t *self, const epi_gather_t *gather)
{
    for (uint32_t root = 0; root < self->base.group->size; root++) {
        size_t bytes = (size_t)gather->counts[root] * gather->row_bytes;
        uint8_t *block = (uint8_t *)gather->base +
                         (size_t)gather->starts[root] * gather->row_bytes;
        ncclResult_t result;

        if (bytes == 0) {
            continue; /* of every rank's plan, so no rank waits for it */
        }
        result = ncclBroadcast(block, block, bytes, ncclUint8, (int)root,
                               self->comm, self->stream);
        if (!epi_nccl_taken(result)) {
            return result;
        }
        self->base.counters.broadcasts++;
        self->base.counters.bytes += bytes;
    }
    return ncclSuccess;
}

static ncclResult_t queue_group(epi_nccl_t *self, const epi_plan_t *plan)
{
    ncclResult_t result = ncclGroupStart();
    ncclResult_t ended;

    if (result != ncclSuccess) {
        return result;
    }
    for (size_t i = 0; i < plan->gather_count && epi_nccl_taken(result); i++) {
        result = queue_gather(self, &plan->gathers[i]);
    }
    /* Also after an error: an open group would swallow the caller's calls. */
    ended = ncclGroupEnd();
    return epi_nccl_taken(result) ? ended : result;
}

static epdx_status_t launch(epi_nccl_t *self, const epi_plan_t *plan)
{
    uint64_t limit = epi_after(epi_now_ns(), self->launch_limit);
    ncclResult_t result = queue_group(self, plan);

    self->base.counters.groups++;
    if (!epi_nccl_taken(result)) {
        return epi_nccl_fail(self->comm, result, "launch of a group");
    }
    return epi_nccl_await(self->comm, "launch of a group", limit);
}

static epdx_status_t mark(epi_nccl_t *self, epi_nccl_batch_t *batch)
{
    cudaError_t error = cudaEventRecord(batch->event, self->stream);

    if (error != cudaSuccess) {
        return epi_cuda_fail(error, "cudaEventRecord");
    }
    batch->unmarked = false;
    return EPDX_OK;
}

static epdx_status_t nccl_run(epi_reassembly_t *base, const epi_plan_t *plan,
                              void **ready_p)
{
    epi_nccl_t *self = of(base);
    epi_nccl_batch_t *batch = batch_of(self, base->launched);
    epdx_status_t status;
    int before;

    if (base->launched - base->done == EPI_REASSEMBLY_BATCHES) {
        return epi_fail(EPDX_ERR_FULL, "%d batches are in flight",
                        EPI_REASSEMBLY_BATCHES);
    }
    base->launched++;
    batch->unmarked = true;
    batch->deadline = epi_after(epi_now_ns(), self->timeout_ns);
    status = epi_cuda_enter(self->device, &before);
    if (status != EPDX_OK) {
        return status;
    }
    status = launch(self, plan);
    if (status == EPDX_OK) {
        status = mark(self, batch);
    }
    epi_cuda_leave(before);
    if (status == EPDX_OK) {
        *ready_p = batch->event;
    }
    return status;
}

/* Keep this rank's first failure. */
static void note(epi_nccl_t *self, epdx_status_t status)
{
    if (self->health.status == EPDX_OK) {
        self->health = epi_outcome_of(status);
    }
}

/* A launch that failed left no mark behind it. Once the abort is over nothing
 * more comes onto the stream, and a mark there is behind whatever came. */
static bool mark_late(epi_nccl_t *self, epi_nccl_batch_t *batch)
{
    int before;

    if (!epi_nccl_ending_over(self->ending) ||
        epi_cuda_enter(self->device, &before) != EPDX_OK) {
        return false;
    }
    if (mark(self, batch) != EPDX_OK) {
        epi_log_debug("a batch that failed: %s", epdx_last_error());
    }
    epi_cuda_leave(before);
    return !batch->unmarked;
}

static void late(epi_nccl_t *self, uint64_t number)
{
    note(
        self,
        epi_fail(EPDX_ERR_TIMEOUT,
                 "nccl: batch %" PRIu64 " was not done %.1f s after its launch "
                 "(EPDX_WAITING_TIMEOUT_S): a rank has not entered it, or work "
                 "that was on the stream before it holds it up",
                 number, (double)self->timeout_ns / 1e9));
}

/* Count the batches that are done, up to the first that is not. */
static void look(epi_nccl_t *self)
{
    epi_reassembly_t *base = &self->base;

    while (base->done < base->launched) {
        epi_nccl_batch_t *batch = batch_of(self, base->done);
        bool done = false;

        if (batch->unmarked && !mark_late(self, batch)) {
            return;
        }
        if (epi_event_done(batch->event, &done) != EPDX_OK) {
            note(self, EPDX_ERR_IO);
        }
        if (!done) {
            if (self->comm != NULL && epi_now_ns() >= batch->deadline) {
                late(self, base->done);
            }
            return;
        }
        base->done++;
    }
}

static epdx_status_t nccl_poll(epi_reassembly_t *base)
{
    epi_nccl_t *self = of(base);
    ncclResult_t state = ncclSuccess;
    ncclResult_t asked;

    look(self);
    if (self->comm != NULL) {
        asked = ncclCommGetAsyncError(self->comm, &state);
        if (asked != ncclSuccess || !epi_nccl_taken(state)) {
            note(self,
                 epi_nccl_fail(self->comm, asked != ncclSuccess ? asked : state,
                               "asynchronous error"));
        }
    }
    if (self->health.status != EPDX_OK) {
        return epi_fail(self->health.status, "%s", self->health.reason);
    }
    return EPDX_OK;
}

static void nccl_abort(epi_reassembly_t *base)
{
    epi_nccl_t *self = of(base);

    if (self->comm != NULL) {
        epi_nccl_ending_begin(self->ending, self->comm, self->device);
        self->comm = NULL;
    }
}

/* Ask until every batch is done. */
static bool settle(epi_nccl_t *self, uint64_t deadline)
{
    look(self);
    while (self->base.done < self->base.launched && epi_now_ns() < deadline) {
        sched_yield();
        look(self);
    }
    return self->base.done == self->base.launched;
}

/* What this rank still owes to others is sent; then its side is freed. */
static bool finalize(epi_nccl_t *self, uint64_t deadline)
{
    ncclResult_t result = ncclCommFinalize(self->comm);
    epdx_status_t status;

    if (!epi_nccl_taken(result)) {
        epi_log_warn("nccl: ncclCommFinalize: %s", ncclGetErrorString(result));
        return false;
    }
    status = epi_nccl_await(self->comm, "ncclCommFinalize", deadline);
    if (status != EPDX_OK) {
        epi_log_warn("%s", epdx_last_error());
        return false;
    }
    result = ncclCommDestroy(self->comm);
    if (!epi_nccl_taken(result)) {
        epi_log_warn("nccl: ncclCommDestroy: %s", ncclGetErrorString(result));
    }
    self->comm = NULL;
    return true;
}

static void free_own(epi_nccl_t *self)
{
    while (self->event_count > 0) {
        (void)cudaEventDestroy(self->batches[--self->event_count].event);
    }
    if (self->own != NULL) {
        (void)cudaStreamDestroy(self->own);
    }
    (void)cudaFree(self->warm);
    (void)cudaGetLastError();
}

/* Let what is in flight end, or end it. */
static bool wind_up(epi_nccl_t *self)
{
    uint64_t deadline = epi_after(epi_now_ns(), CLOSE_NS);
    bool settled, ended;

    if (self->comm != NULL) {
        settled = settle(self, deadline);
        if (!self->comm_given && !(settled && finalize(self, deadline))) {
            nccl_abort(&self->base);
        }
    }
    /* After an abort the kernels end, and what was marked is done. */
    deadline = epi_after(epi_now_ns(), CLOSE_NS);
    settled = settle(self, deadline);
    ended = epi_nccl_ending_close(self->ending, deadline);
    return settled && ended;
}

static bool nccl_close(epi_reassembly_t *base)
{
    epi_nccl_t *self = of(base);
    bool whole;
    int before;

    if (epi_cuda_enter(self->device, &before) != EPDX_OK) {
        epi_log_error("reassembly is left behind: %s", epdx_last_error());
        return false;
    }
    whole = wind_up(self);
    if (whole) {
        free_own(self);
    } else {
        epi_log_error("nccl: %" PRIu64 " batches or an abort did not end in "
                      "%d s",
                      base->launched - base->done, (int)(CLOSE_NS / EPI_S));
    }
    epi_cuda_leave(before);
    free(self);
    return whole;
}

static const epi_reassembly_ops_t nccl_ops = {
    .name = "nccl",
    .deferred = true,
    .run = nccl_run,
    .poll = nccl_poll,
    .abort = nccl_abort,
    .close = nccl_close,
};

const epi_reassembly_ops_t *epi_nccl_ops(void)
{
    return &nccl_ops;
}
