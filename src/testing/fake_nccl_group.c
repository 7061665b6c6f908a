/* fake_nccl_group.c: groups of broadcasts, as the calls make them. */
#include <stdlib.h>

#include "testing/fake_nccl_internal.h"

/* nccl.h declares these two without a prototype. */
ncclResult_t ncclGroupStart(void);
ncclResult_t ncclGroupEnd(void);

/** What the calling thread has begun. */
static _Thread_local unsigned depth;
static _Thread_local ncclResult_t failed; /* the first error inside a group */
static _Thread_local epi_fake_group_t *open_group;

void epi_fake_group_drop(epi_fake_group_t *group)
{
    size_t i;

    if (group == NULL) {
        return;
    }
    for (i = 0; i < group->count; i++) {
        epi_fake_drop(&group->broadcasts[i].src);
        epi_fake_drop(&group->broadcasts[i].dst);
    }
    free(group->broadcasts);
    free(group);
}

static void drop_op(epi_fake_op_t *op)
{
    epi_fake_group_drop((epi_fake_group_t *)op);
}

static epi_fake_group_t *make_group(ncclComm_t comm)
{
    epi_fake_group_t *group = calloc(1, sizeof(*group));

    if (group != NULL) {
        group->base.run = epi_fake_group_run;
        group->base.drop = drop_op;
        group->base.entry = (epi_fake_cuda_entry_t){
            .kind = EPI_FAKE_CUDA_NCCL, .stage = EPI_FAKE_CUDA_ISSUED};
        group->comm = comm;
    }
    return group;
}

/** Append to the thread's group, which takes the ranges over. */
static ncclResult_t append(const epi_fake_broadcast_t *one)
{
    epi_fake_group_t *group = open_group;

    if (group == NULL) {
        group = make_group(one->comm);
        open_group = group;
    }
    if (group == NULL) {
        return epi_fake_nccl_fails(ncclSystemError, "out of memory");
    }
    if (group->comm != one->comm ||
        (group->count > 0 && group->broadcasts[0].stream != one->stream)) {
        return epi_fake_nccl_fails(
            ncclInvalidUsage,
            "the fake takes one communicator and one stream a group");
    }
    if (group->count == group->capacity) {
        size_t capacity = group->capacity == 0 ? 16 : group->capacity * 2;
        epi_fake_broadcast_t *larger =
            realloc(group->broadcasts, capacity * sizeof(*larger));

        if (larger == NULL) {
            return epi_fake_nccl_fails(ncclSystemError, "out of memory");
        }
        group->broadcasts = larger;
        group->capacity = capacity;
    }
    group->broadcasts[group->count++] = *one;
    group->base.entry.bytes += one->bytes;
    group->base.entry.count = group->count;
    return ncclSuccess;
}

static size_t element_bytes(ncclDataType_t type)
{
    switch (type) {
    case ncclInt8:
    case ncclUint8:
    case ncclFloat8e4m3:
    case ncclFloat8e5m2:
        return 1;
    case ncclFloat16:
    case ncclBfloat16:
        return 2;
    case ncclInt32:
    case ncclUint32:
    case ncclFloat32:
        return 4;
    case ncclInt64:
    case ncclUint64:
    case ncclFloat64:
        return 8;
    default:
        return 0;
    }
}

/** Hold one buffer, which must be memory of the communicator's device. */
static ncclResult_t take(const void *buffer, size_t bytes, ncclComm_t comm,
                         epi_fake_range_t *range_p)
{
    epi_fake_range_t range = {.memory = EPI_FAKE_PAGEABLE};

    if (bytes == 0) {
        *range_p = range;
        return ncclSuccess;
    }
    if (epi_fake_take(buffer, bytes, &range) != cudaSuccess) {
        return epi_fake_nccl_fails(ncclInvalidArgument,
                                   "a buffer leaves its allocation");
    }
    if (range.memory != EPI_FAKE_DEVICE || range.device != comm->device) {
        epi_fake_drop(&range);
        (void)epi_fake_cuda_violation(
            cudaErrorInvalidValue,
            "ncclBroadcast: %p is not memory of device %d", buffer,
            comm->device);
        return epi_fake_nccl_fails(ncclInvalidArgument,
                                   "%p is not memory of device %d", buffer,
                                   comm->device);
    }
    *range_p = range;
    return ncclSuccess;
}

static ncclResult_t add(const void *sendbuff, void *recvbuff,
                        epi_fake_broadcast_t *one)
{
    int device = -1;
    ncclResult_t result = epi_fake_comm_check(one->comm);

    if (result != ncclSuccess) {
        return result;
    }
    if (one->root < 0 || one->root >= one->comm->size) {
        return epi_fake_nccl_fails(ncclInvalidArgument, "root is %d of %d",
                                   one->root, one->comm->size);
    }
    if (epi_fake_stream_device(one->stream, &device) != cudaSuccess ||
        device != one->comm->device) {
        return epi_fake_nccl_fails(ncclInvalidUsage,
                                   "the stream is not device %d's",
                                   one->comm->device);
    }
    result = take(recvbuff, one->bytes, one->comm, &one->dst);
    if (result != ncclSuccess) {
        return result;
    }
    /* sendbuff is only the root's. */
    if (one->root == one->comm->rank) {
        result = take(sendbuff, one->bytes, one->comm, &one->src);
    }
    if (result == ncclSuccess) {
        result = append(one);
    }
    if (result != ncclSuccess) {
        epi_fake_drop(&one->dst);
        epi_fake_drop(&one->src);
    }
    return result;
}

static void count(const epi_fake_group_t *group)
{
    epi_fake_nccl_tally_t *tally = epi_fake_nccl_tally(group->comm->rank);

    (void)atomic_fetch_add(&tally->groups, 1);
    (void)atomic_fetch_add(&tally->broadcasts, group->count);
    (void)atomic_fetch_add(&tally->bytes, group->base.entry.bytes);
    atomic_store(&tally->last_group, group->count);
}

ncclResult_t epi_fake_group_issue(ncclComm_t comm)
{
    epi_fake_group_t *group = comm->group;

    comm->group = NULL;
    (void)atomic_fetch_add(&comm->references, 1);
    if (epi_fake_enqueue(comm->stream, &group->base) != cudaSuccess) {
        (void)atomic_fetch_add(&comm->ended, 1);
        epi_fake_comm_drop(comm);
        return epi_fake_nccl_fails(ncclUnhandledCudaError,
                                   "the stream takes nothing");
    }
    return ncclSuccess;
}

/** The outermost end: what the thread's group holds is issued. */
static ncclResult_t end_group(void)
{
    epi_fake_group_t *group = open_group;
    ncclResult_t result = failed;
    ncclComm_t comm;

    open_group = NULL;
    failed = ncclSuccess;
    if (result != ncclSuccess || group == NULL) {
        epi_fake_group_drop(group);
        return result;
    }
    comm = group->comm;
    result = epi_fake_comm_check(comm);
    if (result != ncclSuccess) {
        epi_fake_group_drop(group);
        return result;
    }
    group->number = ++comm->issued;
    group->fault = epi_fake_nccl_take_group_fault(comm->rank);
    comm->stream = group->broadcasts[0].stream;
    comm->group = group;
    count(group);
    if (comm->blocking) {
        return epi_fake_group_issue(comm);
    }
    comm->late = epi_fake_nccl_lateness();
    return ncclInProgress;
}

ncclResult_t ncclGroupStart(void)
{
    int fault = epi_fake_call(__func__);

    if (fault == 0) {
        depth++;
    }
    return (ncclResult_t)fault;
}

ncclResult_t ncclGroupEnd(void)
{
    int fault = epi_fake_call(__func__);

    if (depth == 0) {
        return epi_fake_nccl_fails(ncclInvalidUsage, "no group was started");
    }
    depth--;
    if (fault != 0 && failed == ncclSuccess) {
        failed = (ncclResult_t)fault;
    }
    return depth > 0 ? (ncclResult_t)fault : end_group();
}

ncclResult_t ncclBroadcast(const void *sendbuff, void *recvbuff, size_t count_,
                           ncclDataType_t datatype, int root, ncclComm_t comm,
                           cudaStream_t stream)
{
    epi_fake_broadcast_t one = {.comm = comm,
                                .stream = stream,
                                .bytes = count_ * element_bytes(datatype),
                                .root = root};
    ncclResult_t result = (ncclResult_t)epi_fake_call(__func__);

    if (result == ncclSuccess) {
        result = element_bytes(datatype) == 0
                     ? epi_fake_nccl_fails(ncclInvalidArgument, "data type %d",
                                           (int)datatype)
                     : add(sendbuff, recvbuff, &one);
    }
    if (result != ncclSuccess && failed == ncclSuccess) {
        failed = result;
    }
    return depth > 0 ? result : end_group();
}
