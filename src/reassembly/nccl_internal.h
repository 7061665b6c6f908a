/*
 * nccl_internal.h: reassembly by NCCL, shared by nccl_open.c (creation),
 * nccl.c (batches) and nccl_ending.c (abort). The caller's thread, but for the
 * thread that aborts.
 *
 *     open --> READY --run--> batch in flight --(its event is done)--> READY
 *                                 \--(error, deadline; agreed)--> ABORTED
 *
 * What the code relies on, as NCCL 2.28.9's nccl.h, user guide (group calls,
 * fault tolerance) and source tell it:
 *
 * - A non-blocking communicator's ncclGroupEnd() may answer ncclInProgress:
 *   the kernels are then put on the stream by a thread of NCCL's. Only once
 *   ncclCommGetAsyncError() gives ncclSuccess are they there, and an event
 *   recorded behind them means anything. That is work of this process alone:
 *   the connections were made by the warm-up. So run() asks for it, yields and
 *   asks again, LAUNCH_NS at most. It never waits for the stream.
 * - A kernel waits on the stream for the other ranks' kernels: whether it ends
 *   is told by its event, which is asked for once a poll.
 * - Every rank must queue the same collectives in the same order: a plan is the
 *   same on every rank, and one thread runs them.
 * - ncclCommAbort() ends kernels that wait. It joins NCCL's threads and may
 *   wait for work that lies on the stream before them: so it has a thread of
 *   its own. Nothing else is called on the communicator from then on.
 * - ncclCommFinalize() flushes: a rank whose batches are done may still have to
 *   send to others.
 * - NCCL_COMM_BLOCKING=1 overrides the config, and a communicator of the
 *   caller's may be blocking: then the calls above wait inside NCCL.
 *
 * A batch reads rows that landed by direct pulls, flushed, or by copies whose
 * events were done before LANDED was told: whatever is put on a stream
 * afterwards sees them, so the stream waits for nothing else.
 */
#ifndef EPI_REASSEMBLY_NCCL_INTERNAL_H
#define EPI_REASSEMBLY_NCCL_INTERNAL_H

#include <nccl.h>

#include "reassembly/outcome.h"
#include "reassembly/reassembly.h"

/** An abort, which has a thread of its own. */
typedef struct epi_nccl_ending epi_nccl_ending_t;

typedef struct epi_nccl_batch {
    cudaEvent_t event; /* recorded behind the batch, unless it is unmarked */
    uint64_t deadline;
    bool unmarked; /* nothing tells yet when the stream is past it */
} epi_nccl_batch_t;

typedef struct epi_nccl {
    epi_reassembly_t base;
    int device;
    uint64_t timeout_ns;
    cudaStream_t stream; /* the caller's, or own */
    cudaStream_t own;    /* also that of the warm-up */
    ncclComm_t comm;     /* NULL: none yet, or aborted */
    bool comm_given;
    void *warm;            /* device memory of the warm-up */
    epi_outcome_t health;  /* of this rank; its first failure stays */
    uint64_t launch_limit; /* of a group to be put on the stream */
    epi_nccl_ending_t *ending;
    size_t event_count;
    epi_nccl_batch_t batches[EPI_REASSEMBLY_BATCHES]; /* by number, modulo */
} epi_nccl_t;

/** Whether a call was taken: at once, or to be ended in the background. */
static inline bool epi_nccl_taken(ncclResult_t result)
{
    return result == ncclSuccess || result == ncclInProgress;
}

/** EPDX_ERR_GROUP, with NCCL's words. */
epdx_status_t epi_nccl_fail(ncclComm_t comm, ncclResult_t result,
                            const char *what);

/** Ask until what the communicator has under way is over. EPDX_ERR_TIMEOUT,
 *  EPDX_ERR_GROUP. */
EPDX_MUST_CHECK epdx_status_t epi_nccl_await(ncclComm_t comm, const char *what,
                                             uint64_t deadline);

/** The operations. */
const epi_reassembly_ops_t *epi_nccl_ops(void);

/** Room for an abort, so that a failure needs no memory; NULL without. */
epi_nccl_ending_t *epi_nccl_ending_open(void);

/** Begin to abort, once. Does not wait. */
void epi_nccl_ending_begin(epi_nccl_ending_t *ending, ncclComm_t comm,
                           int device);

/** Whether an abort was begun and has ended. */
bool epi_nccl_ending_over(epi_nccl_ending_t *ending);

/** Wait until deadline for an abort that was begun. NULL is allowed. False: it
 *  goes on, and the communicator is left behind. */
bool epi_nccl_ending_close(epi_nccl_ending_t *ending, uint64_t deadline);

#endif
