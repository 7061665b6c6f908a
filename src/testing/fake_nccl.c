/* fake_nccl.c: faults, counts, versions and texts of the NCCL fake. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "testing/fake_nccl_internal.h"

static pthread_mutex_t fault_lock = PTHREAD_MUTEX_INITIALIZER;
static epi_fake_nccl_fault_t faults[EPI_FAKE_NCCL_RANKS];
static epi_fake_nccl_tally_t tallies[EPI_FAKE_NCCL_RANKS];
static atomic_uint lateness = 2;
static _Thread_local int my_version;
static _Thread_local char last_error[256];

static void check_rank(int rank)
{
    if (rank < 0 || rank >= EPI_FAKE_NCCL_RANKS) {
        (void)fprintf(stderr, "fake_nccl: there is no rank %d\n", rank);
        abort();
    }
}

void epi_fake_nccl_fault(const epi_fake_nccl_fault_t *fault)
{
    check_rank(fault->rank);
    (void)pthread_mutex_lock(&fault_lock);
    faults[fault->rank] = *fault;
    (void)pthread_mutex_unlock(&fault_lock);
}

bool epi_fake_nccl_take_init_fault(int rank)
{
    bool strikes;

    (void)pthread_mutex_lock(&fault_lock);
    strikes = faults[rank].kind == EPI_FAKE_NCCL_INIT_NEVER_ENDS;
    if (strikes) {
        faults[rank].kind = EPI_FAKE_NCCL_NO_FAULT;
    }
    (void)pthread_mutex_unlock(&fault_lock);
    return strikes;
}

epi_fake_nccl_fault_t epi_fake_nccl_take_group_fault(int rank)
{
    epi_fake_nccl_fault_t strikes = {.kind = EPI_FAKE_NCCL_NO_FAULT};
    epi_fake_nccl_fault_t *fault = &faults[rank];

    (void)pthread_mutex_lock(&fault_lock);
    if (fault->kind != EPI_FAKE_NCCL_NO_FAULT &&
        fault->kind != EPI_FAKE_NCCL_INIT_NEVER_ENDS) {
        if (fault->nth == 0) {
            strikes = *fault;
            fault->kind = EPI_FAKE_NCCL_NO_FAULT;
        } else {
            fault->nth--;
        }
    }
    (void)pthread_mutex_unlock(&fault_lock);
    return strikes;
}

void epi_fake_nccl_version(int version)
{
    my_version = version;
}

int epi_fake_nccl_my_version(void)
{
    return my_version != 0 ? my_version : NCCL_VERSION_CODE;
}

void epi_fake_nccl_late(unsigned calls)
{
    atomic_store(&lateness, calls > 0 ? calls : 1);
}

unsigned epi_fake_nccl_lateness(void)
{
    return atomic_load(&lateness);
}

epi_fake_nccl_tally_t *epi_fake_nccl_tally(int rank)
{
    return &tallies[rank];
}

epi_fake_nccl_counts_t epi_fake_nccl_counts(int rank)
{
    epi_fake_nccl_tally_t *tally = &tallies[rank];

    check_rank(rank);
    return (epi_fake_nccl_counts_t){
        .inits = atomic_load(&tally->inits),
        .groups = atomic_load(&tally->groups),
        .broadcasts = atomic_load(&tally->broadcasts),
        .bytes = atomic_load(&tally->bytes),
        .last_group = atomic_load(&tally->last_group),
        .aborts = atomic_load(&tally->aborts),
        .destroys = atomic_load(&tally->destroys),
    };
}

static void reset_tally(epi_fake_nccl_tally_t *tally)
{
    atomic_store(&tally->inits, 0);
    atomic_store(&tally->groups, 0);
    atomic_store(&tally->broadcasts, 0);
    atomic_store(&tally->bytes, 0);
    atomic_store(&tally->last_group, 0);
    atomic_store(&tally->aborts, 0);
    atomic_store(&tally->destroys, 0);
}

void epi_fake_nccl_reset(void)
{
    int rank;

    (void)pthread_mutex_lock(&fault_lock);
    for (rank = 0; rank < EPI_FAKE_NCCL_RANKS; rank++) {
        faults[rank].kind = EPI_FAKE_NCCL_NO_FAULT;
        reset_tally(&tallies[rank]);
    }
    (void)pthread_mutex_unlock(&fault_lock);
    epi_fake_nccl_version(0);
    epi_fake_nccl_late(2);
}

ncclResult_t epi_fake_nccl_fails(ncclResult_t result, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(last_error, sizeof(last_error), format, arguments);
    va_end(arguments);
    return result;
}

ncclResult_t ncclGetVersion(int *version)
{
    int fault = epi_fake_call(__func__);

    if (fault == 0) {
        *version = epi_fake_nccl_my_version();
    }
    return (ncclResult_t)fault;
}

const char *ncclGetErrorString(ncclResult_t result)
{
    switch (result) {
    case ncclSuccess:
        return "no error";
    case ncclUnhandledCudaError:
        return "unhandled cuda error";
    case ncclSystemError:
        return "unhandled system error";
    case ncclInternalError:
        return "internal error";
    case ncclInvalidArgument:
        return "invalid argument";
    case ncclInvalidUsage:
        return "invalid usage";
    case ncclRemoteError:
        return "remote process exited or there was a network error";
    case ncclInProgress:
        return "NCCL operation in progress";
    default:
        return "unknown result code";
    }
}

/** The calling thread's; the real one does not look at comm either. */
const char *ncclGetLastError(ncclComm_t comm)
{
    (void)comm;
    return last_error;
}
