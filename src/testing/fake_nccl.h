/*
 * fake_nccl.h: NCCL without GPUs, for tests. It stands behind the real
 * <nccl.h>, on top of the CUDA fake: whoever links epi_gpu_fake gets both. The
 * ranks of a communicator are processes of one host or threads of one process.
 * Here is what a test does to it besides.
 *
 * How it is faithful:
 * - A group is one operation in its stream. It begins once every rank's stream
 *   has come to it, moves the bytes, and is done when this rank's are there.
 * - A communicator that is not blocking answers ncclInProgress. What a group
 *   issues is only in the stream once ncclCommGetAsyncError() has said
 *   ncclSuccess, and that takes epi_fake_nccl_late() calls of it: an event
 *   recorded earlier is recorded before the broadcasts.
 * - A rank that fails tells nobody: the others wait in the stream until they
 *   abort.
 * - ncclCommAbort() ends what the streams wait in. The stream goes on without
 *   an error, so events behind the group become done though its bytes never
 *   came; the rows it would have written are EPI_FAKE_CUDA_POISON then.
 * - Communicators of different versions fail in their creation.
 *
 * Where it is stricter: ranks whose nth groups differ (count, roots, sizes)
 * all get the asynchronous error ncclInvalidUsage, and hang until they abort.
 * Buffers must be device memory of the communicator's device, in bounds; else
 * ncclInvalidArgument. A call on a communicator that is still in progress, or
 * gone, is ncclInvalidArgument. All of these count as violations of the CUDA
 * fake, but for the ranks that differ.
 *
 * Nothing is named in the file system: ranks find their shared memory through
 * the process that made the id, and the kernel frees it with the last of them,
 * however they end. At most EPI_FAKE_NCCL_RANKS ranks.
 *
 * epi_fake_fail("ncclGroupEnd", 0, ncclSystemError) fails a call, as in
 * fake_calls.h. Faults and counts here are by rank, for ranks that are threads.
 */
#ifndef EPI_TESTING_FAKE_NCCL_H
#define EPI_TESTING_FAKE_NCCL_H

#include <stdbool.h>
#include <stdint.h>

#include <nccl.h>

#include "testing/fake_cuda.h"

#define EPI_FAKE_NCCL_RANKS 16

typedef enum epi_fake_nccl_fault_kind {
    EPI_FAKE_NCCL_NO_FAULT,
    /** The group hangs on this rank, before it begins, and its communicator has
     *  the asynchronous error. */
    EPI_FAKE_NCCL_ERROR,
    /** The group is done on all ranks, and once the caller has seen an event
     *  behind it done, the communicator of this one has the asynchronous
     *  error. */
    EPI_FAKE_NCCL_ERROR_AFTER,
    /** The rank never enters: its group hangs until it aborts, without an
     *  error. */
    EPI_FAKE_NCCL_NEVER_ENTERS,
    /** Its next communicator is never made: in progress for ever, on all
     *  ranks, until they abort. nth and error are not read. */
    EPI_FAKE_NCCL_INIT_NEVER_ENDS,
} epi_fake_nccl_fault_kind_t;

typedef struct epi_fake_nccl_fault {
    epi_fake_nccl_fault_kind_t kind;
    int rank;
    uint64_t nth; /* of the groups that the rank issues from now on, from 0 */
    ncclResult_t error;
} epi_fake_nccl_fault_t;

/** Set the one fault of a rank in this process, in place of an earlier one. It
 *  strikes once. */
void epi_fake_nccl_fault(const epi_fake_nccl_fault_t *fault);

/** The version of the library that the calling thread has, for
 *  ncclGetVersion() and for the communicators it makes. 0: nccl.h's own. */
void epi_fake_nccl_version(int version);

/** After how many calls of ncclCommGetAsyncError() the work of a communicator
 *  that is not blocking is done; from now on. At first 2; at least 1. */
void epi_fake_nccl_late(unsigned calls);

typedef struct epi_fake_nccl_counts {
    uint64_t inits;  /* communicators whose creation came to its end */
    uint64_t groups; /* of at least one broadcast */
    uint64_t broadcasts;
    uint64_t bytes;
    uint64_t last_group; /* broadcasts of the last group */
    uint64_t aborts;
    uint64_t destroys;
} epi_fake_nccl_counts_t;

/** What a rank of this process has done since the start or the last reset. */
epi_fake_nccl_counts_t epi_fake_nccl_counts(int rank);

/** Communicators of this process that were neither aborted nor destroyed. */
size_t epi_fake_nccl_live(void);

/** For the start of a test: no faults, versions, counts. epi_fake_cuda_reset()
 *  is a call of its own. */
void epi_fake_nccl_reset(void);

#endif
