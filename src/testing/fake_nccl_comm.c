/*
 * fake_nccl_comm.c: the communicators of the NCCL fake.
 *
 *     making --(all ranks are in)--> ready <--> a group pending
 *        \                             \---> finalizing ---> destroyed
 *         \-----------------------------\----------\-------> aborted
 *
 * One that is not blocking goes on only in ncclCommGetAsyncError(), so that a
 * test decides by its calls when something happens.
 */
#include <stdlib.h>
#include <time.h>

#include "testing/fake_nccl_internal.h"

#define CONFIG_MAGIC 0xcafebeefu

static pthread_rwlock_t registry_lock = PTHREAD_RWLOCK_INITIALIZER;
static ncclComm_t registry;

static bool is_comm(ncclComm_t handle)
{
    ncclComm_t one;

    (void)pthread_rwlock_rdlock(&registry_lock);
    for (one = registry; one != NULL && one != handle; one = one->next) {
    }
    (void)pthread_rwlock_unlock(&registry_lock);
    return one != NULL;
}

static ncclResult_t check_handle(ncclComm_t comm)
{
    if (comm != NULL && is_comm(comm)) {
        return ncclSuccess;
    }
    (void)epi_fake_cuda_violation(cudaErrorInvalidResourceHandle,
                                  "%p is not a communicator, or is no more",
                                  (void *)comm);
    return epi_fake_nccl_fails(ncclInvalidArgument, "%p is not a communicator",
                               (void *)comm);
}

ncclResult_t epi_fake_comm_check(ncclComm_t comm)
{
    ncclResult_t result = check_handle(comm);

    if (result != ncclSuccess) {
        return result;
    }
    result = (ncclResult_t)atomic_load(&comm->error);
    if (result != ncclSuccess) {
        return epi_fake_nccl_fails(result, "the communicator has failed");
    }
    if (!comm->made || comm->group != NULL || comm->finalizing) {
        (void)epi_fake_cuda_violation(
            cudaErrorNotReady, "a call on a communicator that is in progress");
        return epi_fake_nccl_fails(
            ncclInvalidArgument,
            "the communicator is in progress: call ncclCommGetAsyncError() "
            "until it is not");
    }
    return ncclSuccess;
}

void epi_fake_comm_drop(ncclComm_t comm)
{
    if (atomic_fetch_sub(&comm->references, 1) == 1) {
        epi_fake_segment_detach(comm->segment);
        free(comm);
    }
}

static void add_to_registry(ncclComm_t comm)
{
    (void)pthread_rwlock_wrlock(&registry_lock);
    comm->next = registry;
    registry = comm;
    (void)pthread_rwlock_unlock(&registry_lock);
}

static void remove_from_registry(ncclComm_t comm)
{
    ncclComm_t *link;

    (void)pthread_rwlock_wrlock(&registry_lock);
    for (link = &registry; *link != comm; link = &(*link)->next) {
    }
    *link = comm->next;
    (void)pthread_rwlock_unlock(&registry_lock);
}

size_t epi_fake_nccl_live(void)
{
    ncclComm_t one;
    size_t live = 0;

    (void)pthread_rwlock_rdlock(&registry_lock);
    for (one = registry; one != NULL; one = one->next) {
        live++;
    }
    (void)pthread_rwlock_unlock(&registry_lock);
    return live;
}

/** All ranks are in: are they of one version? */
static ncclResult_t end_making(ncclComm_t comm)
{
    epi_fake_segment_t *segment = comm->segment;
    int rank;

    epi_fake_segment_forget(segment);
    for (rank = 0; rank < comm->size; rank++) {
        int version = atomic_load(&segment->versions[rank]);

        if (version != comm->version) {
            atomic_store(&comm->error, ncclInvalidUsage);
            return epi_fake_nccl_fails(
                ncclInvalidUsage,
                "mismatched versions: rank %d has %d, rank %d has %d",
                comm->rank, comm->version, rank, version);
        }
    }
    comm->made = true;
    (void)atomic_fetch_add(&epi_fake_nccl_tally(comm->rank)->inits, 1);
    return ncclSuccess;
}

static bool all_are_in(const ncclComm_t comm)
{
    return !comm->never_made &&
           atomic_load(&comm->segment->attached) == comm->size;
}

/** The rest of a creation that waits. */
static ncclResult_t await_made(ncclComm_t comm)
{
    for (;;) {
        unsigned seen = atomic_load(&comm->segment->bell);

        if (all_are_in(comm)) {
            return end_making(comm);
        }
        epi_fake_segment_wait(comm->segment, seen);
    }
}

static ncclResult_t check_config(const ncclConfig_t *config, bool *blocking_p)
{
    if (config == NULL) {
        *blocking_p = true;
        return ncclSuccess;
    }
    if (config->size != sizeof(*config) || config->magic != CONFIG_MAGIC) {
        return epi_fake_nccl_fails(ncclInvalidArgument,
                                   "the configuration was not initialized "
                                   "by NCCL_CONFIG_INITIALIZER");
    }
    if (config->blocking != NCCL_CONFIG_UNDEF_INT && config->blocking != 0 &&
        config->blocking != 1) {
        return epi_fake_nccl_fails(ncclInvalidArgument, "blocking is %d",
                                   config->blocking);
    }
    *blocking_p = config->blocking != 0;
    return ncclSuccess;
}

static ncclResult_t make(ncclComm_t *comm_p, const ncclUniqueId *id, int rank,
                         int size, bool blocking)
{
    ncclComm_t comm = calloc(1, sizeof(*comm));
    ncclResult_t result;

    if (comm == NULL) {
        return epi_fake_nccl_fails(ncclSystemError, "out of memory");
    }
    result = epi_fake_segment_attach(id, rank, size, &comm->segment);
    if (result != ncclSuccess) {
        free(comm);
        return result;
    }
    comm->rank = rank;
    comm->size = size;
    comm->device = epi_fake_cuda_device();
    comm->version = epi_fake_nccl_my_version();
    comm->blocking = blocking;
    comm->never_made = epi_fake_nccl_take_init_fault(rank);
    comm->late = epi_fake_nccl_lateness();
    atomic_init(&comm->references, 1);
    add_to_registry(comm);
    if (!comm->never_made) {
        epi_fake_segment_enter(comm->segment, rank, comm->version);
    }
    *comm_p = comm;
    return blocking ? await_made(comm) : ncclInProgress;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *uniqueId)
{
    int fault = epi_fake_call(__func__);

    return fault != 0 ? (ncclResult_t)fault : epi_fake_segment_make(uniqueId);
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int nranks,
                                    ncclUniqueId commId, int rank,
                                    ncclConfig_t *config)
{
    bool blocking = true;
    ncclResult_t result = (ncclResult_t)epi_fake_call(__func__);

    if (result == ncclSuccess) {
        result = check_config(config, &blocking);
    }
    if (result != ncclSuccess) {
        return result;
    }
    if (comm == NULL || nranks < 1 || nranks > EPI_FAKE_NCCL_RANKS ||
        rank < 0 || rank >= nranks) {
        return epi_fake_nccl_fails(ncclInvalidArgument, "rank %d of %d", rank,
                                   nranks);
    }
    return make(comm, &commId, rank, nranks, blocking);
}

ncclResult_t ncclCommInitRank(ncclComm_t *comm, int nranks, ncclUniqueId commId,
                              int rank)
{
    int fault = epi_fake_call(__func__);

    return fault != 0
               ? (ncclResult_t)fault
               : ncclCommInitRankConfig(comm, nranks, commId, rank, NULL);
}

static bool all_ended(ncclComm_t comm)
{
    return atomic_load(&comm->ended) == comm->issued;
}

/** Go on with what a communicator is at; ncclInProgress: there is more. */
static ncclResult_t go_on(ncclComm_t comm)
{
    if (!comm->made) {
        if (!all_are_in(comm)) {
            return ncclInProgress;
        }
        return comm->late-- > 1 ? ncclInProgress : end_making(comm);
    }
    if (comm->group != NULL) {
        return comm->late-- > 1 ? ncclInProgress : epi_fake_group_issue(comm);
    }
    if (comm->finalizing &&
        (!all_ended(comm) ||
         atomic_load(&comm->segment->finalized) != comm->size)) {
        return ncclInProgress;
    }
    return ncclSuccess;
}

static ncclResult_t error_now(ncclComm_t comm)
{
    int after = atomic_load(&comm->error_after);

    if (after != ncclSuccess &&
        epi_fake_event_seen(comm->device) > atomic_load(&comm->seen_before)) {
        atomic_store(&comm->error, after);
    }
    return (ncclResult_t)atomic_load(&comm->error);
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *asyncError)
{
    int fault = epi_fake_call(__func__);
    ncclResult_t result = fault != 0 ? (ncclResult_t)fault : check_handle(comm);

    if (result != ncclSuccess) {
        return result;
    }
    *asyncError = error_now(comm);
    if (*asyncError == ncclSuccess) {
        *asyncError = go_on(comm);
    }
    return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm)
{
    int fault = epi_fake_call(__func__);
    ncclResult_t result =
        fault != 0 ? (ncclResult_t)fault : epi_fake_comm_check(comm);

    if (result != ncclSuccess) {
        return result;
    }
    comm->finalizing = true;
    (void)atomic_fetch_add(&comm->segment->finalized, 1);
    epi_fake_segment_ring(comm->segment);
    while (comm->blocking && go_on(comm) == ncclInProgress) {
        epi_fake_segment_wait(comm->segment, atomic_load(&comm->segment->bell));
    }
    return comm->blocking ? ncclSuccess : ncclInProgress;
}

/** End a communicator; its groups still in a stream keep what they need. */
static void end_comm(ncclComm_t comm)
{
    remove_from_registry(comm);
    epi_fake_segment_forget(comm->segment);
    epi_fake_group_drop(comm->group);
    comm->group = NULL;
    epi_fake_comm_drop(comm);
}

/** Waits for its groups to end, as the real one does. */
ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
    const struct timespec nap = {.tv_nsec = 50000};
    int fault = epi_fake_call(__func__);
    ncclResult_t result = fault != 0 ? (ncclResult_t)fault : check_handle(comm);

    if (result != ncclSuccess) {
        return result;
    }
    while (comm->group == NULL && !all_ended(comm)) {
        nanosleep(&nap, NULL);
    }
    (void)atomic_fetch_add(&epi_fake_nccl_tally(comm->rank)->destroys, 1);
    end_comm(comm);
    return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm)
{
    const struct timespec nap = {.tv_nsec = 50000};
    int fault = epi_fake_call(__func__);
    ncclResult_t result = fault != 0 ? (ncclResult_t)fault : check_handle(comm);

    if (result != ncclSuccess) {
        return result;
    }
    atomic_store(&comm->aborted, true);
    epi_fake_segment_ring(comm->segment);
    while (atomic_load(&comm->running)) {
        nanosleep(&nap, NULL);
    }
    (void)atomic_fetch_add(&epi_fake_nccl_tally(comm->rank)->aborts, 1);
    end_comm(comm);
    return ncclSuccess;
}

ncclResult_t ncclCommCount(const ncclComm_t comm, int *count)
{
    int fault = epi_fake_call(__func__);
    ncclResult_t result =
        fault != 0 ? (ncclResult_t)fault : epi_fake_comm_check(comm);

    if (result == ncclSuccess) {
        *count = comm->size;
    }
    return result;
}

ncclResult_t ncclCommUserRank(const ncclComm_t comm, int *rank)
{
    int fault = epi_fake_call(__func__);
    ncclResult_t result =
        fault != 0 ? (ncclResult_t)fault : epi_fake_comm_check(comm);

    if (result == ncclSuccess) {
        *rank = comm->rank;
    }
    return result;
}

ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int *device)
{
    int fault = epi_fake_call(__func__);
    ncclResult_t result =
        fault != 0 ? (ncclResult_t)fault : epi_fake_comm_check(comm);

    if (result == ncclSuccess) {
        *device = comm->device;
    }
    return result;
}
