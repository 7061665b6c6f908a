/*
 * nccl_open.c: a communicator that is known to work, or the same error on every
 * rank. Collectives of the group stand between the steps, so that no rank
 * enters NCCL where another will not come:
 *
 *     prepare alone --> same? --> id of rank 0 --> init --> all up?
 *                                                    --> warm-up --> all done?
 *
 * A collective of NCCL waits here for the other ranks, each of which has left
 * the group's collective before it: nobody needs this rank to go on with MPI.
 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/params.h"
#include "memory/cuda_internal.h"
#include "reassembly/nccl_internal.h"
#include "reassembly/same.h"

#define LAUNCH_NS  (10 * EPI_S)
#define WARM_BYTES 4096 /* of each rank */

/* Rank 0's id, or why there is none. */
typedef struct id_message {
    int32_t status;
    char reason[EPDX_REASON_MAX];
    ncclUniqueId id;
} id_message_t;

static epdx_status_t open_events(epi_nccl_t *self)
{
    while (self->event_count < EPI_REASSEMBLY_BATCHES) {
        cudaEvent_t *event = &self->batches[self->event_count].event;
        cudaError_t error =
            cudaEventCreateWithFlags(event, cudaEventDisableTiming);

        if (error != cudaSuccess) {
            return epi_cuda_fail(error, "cudaEventCreateWithFlags");
        }
        self->event_count++;
    }
    return EPDX_OK;
}

static epdx_status_t open_own(epi_nccl_t *self)
{
    size_t bytes = (size_t)self->base.group->size * WARM_BYTES;
    cudaError_t error =
        cudaStreamCreateWithFlags(&self->own, cudaStreamNonBlocking);

    if (error != cudaSuccess) {
        self->own = NULL;
        return epi_cuda_fail(error, "cudaStreamCreateWithFlags");
    }
    error = cudaMalloc(&self->warm, bytes);
    if (error != cudaSuccess) {
        self->warm = NULL;
        return epi_cuda_fail(error, "cudaMalloc");
    }
    /* Not cleared by a call that would wait for the device: what is in it goes
     * round and is never read. */
    return open_events(self);
}

/* Whether the caller's communicator is one of this group, on this device. */
static epdx_status_t check_given(const epi_nccl_t *self)
{
    const epdx_group_t *group = self->base.group;
    int size = -1, rank = -1, device = -1;
    ncclResult_t result = ncclCommCount(self->comm, &size);

    if (result == ncclSuccess) {
        result = ncclCommUserRank(self->comm, &rank);
    }
    if (result == ncclSuccess) {
        result = ncclCommCuDevice(self->comm, &device);
    }
    if (result != ncclSuccess) {
        return epi_nccl_fail(self->comm, result, "the communicator given");
    }
    if (size != (int)group->size || rank != (int)group->rank ||
        device != self->device) {
        return epi_fail(EPDX_ERR_INVALID,
                        "nccl_comm is rank %d of %d on device %d, this is rank "
                        "%u of %u on device %d; give a communicator of the "
                        "group's ranks in their order",
                        rank, size, device, group->rank, group->size,
                        self->device);
    }
    return EPDX_OK;
}

static epdx_status_t open_alone(epi_nccl_t *self,
                                const epi_reassembly_params_t *params,
                                epi_same_t *same_p)
{
    epdx_cuda_t cuda = {0};
    ncclResult_t result = ncclGetVersion(&same_p->version);
    epdx_status_t status = EPDX_OK;

    if (params->cuda != NULL) {
        status =
            epi_params_copy(&cuda, sizeof(cuda), params->cuda,
                            offsetof(epdx_cuda_t, use_stream), "reassembly");
    }
    if (status != EPDX_OK) {
        return status;
    }
    if (result != ncclSuccess) {
        return epi_nccl_fail(NULL, result, "ncclGetVersion");
    }
    self->ending = epi_nccl_ending_open();
    if (self->ending == NULL) {
        return epi_fail(EPDX_ERR_NO_MEMORY, "no memory for reassembly by nccl");
    }
    status = open_own(self);
    self->stream = cuda.use_stream ? (cudaStream_t)cuda.stream : self->own;
    if (status == EPDX_OK && cuda.nccl_comm != NULL) {
        same_p->given = true;
        self->comm = (ncclComm_t)cuda.nccl_comm;
        status = check_given(self);
        self->comm = status == EPDX_OK ? self->comm : NULL;
    }
    return status;
}

/* What this rank needs before NCCL may be entered. */
static epdx_status_t prepare(epdx_group_t *group,
                             const epi_reassembly_params_t *params,
                             epi_same_t *same_p, epi_nccl_t **self_p)
{
    epi_nccl_t *self = calloc(1, sizeof(*self));
    epdx_status_t status;
    int before;

    if (self == NULL) {
        return epi_fail(EPDX_ERR_NO_MEMORY, "no memory for reassembly by nccl");
    }
    self->base.ops = epi_nccl_ops();
    self->base.group = group;
    self->device = params->memory.device;
    self->timeout_ns = params->timeout_ns;
    self->launch_limit = params->timeout_ns;
    *self_p = self; /* also on error: it is closed by who opens */
    status = epi_cuda_enter(self->device, &before);
    if (status == EPDX_OK) {
        status = open_alone(self, params, same_p);
        self->comm_given = same_p->given;
        epi_cuda_leave(before);
    }
    return status;
}

static epdx_status_t share_id(epi_nccl_t *self, ncclUniqueId *id_p)
{
    epdx_group_t *group = self->base.group;
    id_message_t message = {.status = EPDX_OK};
    epi_outcome_t outcome = {.rank = 0};
    epdx_status_t status;

    if (group->rank == 0) {
        ncclResult_t result = ncclGetUniqueId(&message.id);

        if (result != ncclSuccess) {
            outcome =
                epi_outcome_of(epi_nccl_fail(NULL, result, "ncclGetUniqueId"));
        }
        message.status = outcome.status;
        memcpy(message.reason, outcome.reason, sizeof(message.reason));
    }
    self->base.counters.creation++;
    status = group->ops->broadcast(group, &message, sizeof(message), 0);
    if (status != EPDX_OK) {
        return status;
    }
    message.reason[sizeof(message.reason) - 1] = '\0';
    outcome.status = (epdx_status_t)message.status;
    memcpy(outcome.reason, message.reason, sizeof(outcome.reason));
    *id_p = message.id;
    return epi_same_failed(&outcome);
}

static epdx_status_t init(epi_nccl_t *self, const ncclUniqueId *id)
{
    uint64_t deadline = epi_after(epi_now_ns(), self->timeout_ns);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    ncclResult_t result;

    config.blocking = 0;
    result = ncclCommInitRankConfig(&self->comm, (int)self->base.group->size,
                                    *id, (int)self->base.group->rank, &config);
    if (!epi_nccl_taken(result)) {
        return epi_nccl_fail(NULL, result, "ncclCommInitRankConfig");
    }
    return epi_nccl_await(self->comm,
                          "start of a communicator (EPDX_WAITING_TIMEOUT_S)",
                          deadline);
}

/* A batch like any other, of a block of every rank: what NCCL sets up at the
 * first of its kind is not paid by a request, nor found broken by one. */
static epdx_status_t warm_up(epi_nccl_t *self)
{
    epi_reassembly_t *base = &self->base;
    epdx_landed_t blocks = {.span = base->group->size, .main = self->warm};
    cudaStream_t stream = self->stream;
    void *ready = NULL;
    epi_plan_t plan;
    epdx_status_t status = epi_plan_init(&plan, 1, base->group->size);

    if (status != EPDX_OK) {
        return status;
    }
    status = epi_plan_add(&plan, &blocks, base->group->rank, WARM_BYTES, 0);
    if (status == EPDX_OK) {
        self->stream = self->own; /* the caller's may be busy */
        status = base->ops->run(base, &plan, &ready);
        self->stream = stream;
    }
    while (status == EPDX_OK && base->done < base->launched) {
        sched_yield();
        status = base->ops->poll(base);
    }
    epi_plan_fini(&plan);
    return status;
}

/* One step that every rank takes for itself; then all learn how it went. */
static epdx_status_t agree(epi_nccl_t *self, epdx_status_t own)
{
    epi_outcome_t outcome = epi_outcome_of(own);
    epdx_status_t status = epi_outcome_agree(self->base.group, &outcome,
                                             &self->base.counters.creation);

    return status == EPDX_OK ? epi_same_failed(&outcome) : status;
}

static epdx_status_t connect_all(epi_nccl_t *self)
{
    ncclUniqueId id;
    epdx_status_t status;
    int before;

    if (!self->comm_given) {
        status = share_id(self, &id);
        if (status != EPDX_OK) {
            return status;
        }
        status = epi_cuda_enter(self->device, &before);
        if (status == EPDX_OK) {
            status = init(self, &id);
            epi_cuda_leave(before);
        }
        status = agree(self, status);
        if (status != EPDX_OK) {
            return status;
        }
    }
    return agree(self, warm_up(self));
}

/* The warm-up is not counted. */
static void begin(epi_nccl_t *self)
{
    uint64_t creation = self->base.counters.creation;

    self->base.counters = (epi_reassembly_counters_t){.creation = creation};
    self->base.launched = 0;
    self->base.done = 0;
    if (self->launch_limit > LAUNCH_NS) {
        self->launch_limit = LAUNCH_NS; /* connections are made by now */
    }
}

/* Keep the error through what is closed. */
static epdx_status_t give_up(epi_nccl_t *self, epdx_status_t status)
{
    epi_outcome_t outcome = epi_outcome_of(status);

    if (self != NULL) {
        if (!self->comm_given || self->base.launched > 0) {
            self->base.ops->abort(&self->base);
        }
        (void)self->base.ops->close(&self->base);
    }
    return epi_fail(outcome.status, "%s", outcome.reason);
}

epdx_status_t epi_reassembly_nccl(epdx_group_t *group,
                                  const epi_reassembly_params_t *params,
                                  epi_reassembly_t **reassembly_p)
{
    epi_same_t same = {0};
    epi_nccl_t *self = NULL;
    epi_outcome_t prepared =
        epi_outcome_of(prepare(group, params, &same, &self));
    uint64_t made = 0;
    epdx_status_t status = epi_same_agree(group, &same, &prepared, &made);

    if (status != EPDX_OK || self == NULL) {
        return give_up(self, status);
    }
    self->base.counters.creation = made;
    status = connect_all(self);
    if (status != EPDX_OK) {
        return give_up(self, status);
    }
    begin(self);
    *reassembly_p = &self->base;
    return EPDX_OK;
}
