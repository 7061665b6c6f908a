/*
 * nccl_ending.c: ncclCommAbort() on a thread of its own, see nccl_internal.h.
 *
 *     RUNNING --(the abort is over)--> OVER --> joined and freed by close
 *         \--(close gives up)--> LEFT --(the abort is over)--> freed by it
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "reassembly/nccl_internal.h"

typedef enum ending_state {
    RUNNING,
    OVER,
    LEFT,
} ending_state_t;

struct epi_nccl_ending {
    pthread_t thread;
    bool begun;
    bool threaded;
    ncclComm_t comm;
    int device;
    _Atomic int state;
};

epi_nccl_ending_t *epi_nccl_ending_open(void)
{
    return calloc(1, sizeof(epi_nccl_ending_t));
}

static void *end_comm(void *argument)
{
    epi_nccl_ending_t *ending = argument;
    ncclResult_t result;

    /* A new thread's device is 0, whoever started it. */
    (void)cudaSetDevice(ending->device);
    result = ncclCommAbort(ending->comm);
    if (!epi_nccl_taken(result)) {
        epi_log_error("nccl: ncclCommAbort: %s", ncclGetErrorString(result));
    }
    if (atomic_exchange(&ending->state, OVER) == LEFT) {
        free(ending);
    }
    return NULL;
}

void epi_nccl_ending_begin(epi_nccl_ending_t *ending, ncclComm_t comm,
                           int device)
{
    ending->begun = true;
    ending->comm = comm;
    ending->device = device;
    ending->threaded =
        pthread_create(&ending->thread, NULL, end_comm, ending) == 0;
    if (!ending->threaded) {
        (void)end_comm(ending);
    }
}

bool epi_nccl_ending_over(epi_nccl_ending_t *ending)
{
    return ending->begun && atomic_load(&ending->state) == OVER;
}

bool epi_nccl_ending_close(epi_nccl_ending_t *ending, uint64_t deadline)
{
    pthread_t thread;

    if (ending == NULL || !ending->threaded) {
        free(ending);
        return true;
    }
    thread = ending->thread; /* a LEFT ending may be gone at once */
    while (atomic_load(&ending->state) == RUNNING && epi_now_ns() < deadline) {
        sched_yield();
    }
    if (atomic_exchange(&ending->state, LEFT) == OVER) {
        (void)pthread_join(thread, NULL);
        free(ending);
        return true;
    }
    (void)pthread_detach(thread);
    epi_log_error("nccl: ncclCommAbort has not ended: its communicator is left "
                  "behind");
    return false;
}
