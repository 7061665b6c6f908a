/*
 * admission.h: the ranks of a prefill engine in lockstep. Every rank stages
 * the same requests in the same order and calls drain once a scheduling cycle;
 * every rank gets the same answer in the same cycle.
 */
#ifndef EPDX_ADMISSION_H
#define EPDX_ADMISSION_H

#include "epdx/group.h"
#include "epdx/receiver.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct epdx_admission epdx_admission_t;

typedef struct epdx_admission_params {
    size_t struct_size; /**< sizeof(epdx_admission_params_t) */
    /** The receiver that each rank opens, with its own struct_size; tp_rank and
     *  tp_size are the group's. */
    epdx_receiver_params_t receiver;
    /** Make the collective in every drain, also with nothing pending: for
     *  callers whose ranks may not agree on whether anything is pending. */
    bool strict;
} epdx_admission_params_t;

/** A request that may run on every rank. */
typedef struct epdx_admitted {
    const char *id;
    const epdx_landed_t *items; /**< every row of every item is there */
    size_t item_count;
} epdx_admitted_t;

/** A request that has ended on every rank, for the same cause. */
typedef struct epdx_rejected {
    const char *id;
    epdx_status_t status;
    const char *reason; /**< that of the lowest rank that failed */
    uint32_t rank;      /**< that rank */
} epdx_rejected_t;

/** What one drain decided, in stage order. */
typedef struct epdx_decisions {
    const epdx_admitted_t *admitted;
    size_t admitted_count;
    const epdx_rejected_t *failed;
    size_t failed_count;
    /** cudaEvent_t, this rank's: the rows of the admitted requests are whole
     *  once it is done. That is, for work that is put from now on onto the
     *  stream of epdx_cuda_t, or onto another one behind a
     *  cudaStreamWaitEvent(). NULL: they are whole already, as always on host
     *  memory and without sharding. It is admission's, valid until
     *  epdx_admission_close(). The 32nd batch after this one records it anew,
     *  once this one is complete on every rank: who waits for it later waits
     *  longer, never less. */
    void *ready;
    /** Requests that an earlier drain admitted, whose rows were not whole on
     *  every rank when reassembly failed: what was read of them since is
     *  worthless. Alike on all ranks: also those that this rank has released.
     *  Those that it has not are still to be released. */
    const epdx_rejected_t *revoked;
    size_t revoked_count;
} epdx_decisions_t;

/** Collectives made, by kind. */
typedef struct epdx_collectives {
    uint64_t creation;   /**< settings agreed when admission was opened, and
                              NCCL's start */
    uint64_t ballot;     /**< one a drain with something pending, or with a
                              batch that is not complete on every rank; two
                              where a request past the 64th may be decided */
    uint64_t reason;     /**< first failing rank and its words */
    uint64_t reassembly; /**< one a part (main, deepstack) of an item; with NCCL
                              not of MPI, but nccl_broadcasts in nccl_groups */
    uint64_t launch;     /**< with NCCL: one a group, that it is on the stream
                              of every rank */
    uint64_t nccl_groups;     /**< one a drain that admitted rows to rebuild */
    uint64_t nccl_broadcasts; /**< one a rank with rows of a part of an item */
} epdx_collectives_t;

typedef struct epdx_admission_stats {
    uint64_t drains;           /**< calls */
    uint64_t drains_pending;   /**< of them with something pending */
    uint64_t drains_admitting; /**< of them that admitted a request */
    uint64_t admitted;
    uint64_t failed;
    uint64_t cancelled;         /**< of those failed */
    uint64_t revoked;           /**< of those admitted */
    uint64_t reassembled_bytes; /**< received from the other ranks */
    epdx_collectives_t collectives;
} epdx_admission_stats_t;

/**
 * Open this rank's receiver and agree with the group that all ranks opened
 * theirs, with the same settings: version, dtype, hidden, levels, shard flag,
 * memory, pool bytes, limits, strict. Sharding is on when the settings say so
 * and the group has more than one rank. With it and EPDX_MEMORY_CUDA, NCCL is
 * started and tried: its version compared, a communicator made unless one is
 * given, and a broadcast of every rank done, within EPDX_WAITING_TIMEOUT_S.
 *
 * Shapes:  as epdx_receiver_open().
 * Units:   as epdx_receiver_open().
 * Owns:    params is read during the call only; group stays the caller's and
 *          must outlive *admission_p, which is the caller's, who ends it with
 *          epdx_admission_close(). A stream and a communicator given in
 *          params->receiver.cuda stay the caller's and must outlive it, too.
 *          The communicator is best non-blocking and for this alone: if
 *          reassembly fails it is aborted (ncclCommAbort), and is gone.
 * Threads: the thread that calls MPI, on every rank of the group: it is
 *          collective. All later calls come from that thread.
 * Errors:  those of epdx_receiver_open(), on the rank that has them;
 *          EPDX_ERR_DISAGREE     settings differ, or NCCL's version, or
 *                                another rank could not open its receiver:
 *                                epdx_last_error() names the setting and its
 *                                values, or the rank and its reason, alike on
 *                                all ranks;
 *          EPDX_ERR_UNSUPPORTED  sharded CUDA memory, and this library, or
 *                                that of another rank, was built without NCCL;
 *          EPDX_ERR_INVALID      the communicator given is not that of the
 *                                group's ranks, in their order, on this device;
 *                                or an argument is NULL. Without a group other
 *                                ranks are not told;
 *          EPDX_ERR_GROUP        a collective failed, or NCCL did;
 *          EPDX_ERR_TIMEOUT      a collective, or NCCL's start, passed its
 *                                deadline.
 *          An error on one rank is an error on every rank; *admission_p is
 *          unchanged.
 */
EPDX_API EPDX_MUST_CHECK epdx_status_t
epdx_admission_open(epdx_group_t *group, const epdx_admission_params_t *params,
                    epdx_admission_t **admission_p);

/**
 * Begin receiving a request; drain answers for it. A request that this rank
 * cannot stage (it can never fit, or a room is in use) is still recorded: this
 * rank votes FAILED for it, so that all ranks end it together, and its encode
 * ranks are told at once, as by epdx_receiver_withdraw().
 *
 * Shapes:  as epdx_receiver_stage().
 * Units:   as epdx_receiver_stage().
 * Owns:    request is read during the call only.
 * Threads: admission's thread, on every rank, in the same order. Never blocks,
 *          never does I/O.
 * Errors:  EPDX_ERR_INVALID    the id is empty or too long, or an argument is
 *                              NULL: nothing is recorded, and no rank may have
 *                              recorded it;
 *          EPDX_ERR_DUPLICATE  the id is pending or not yet released:
 *                              likewise, and the first use is untouched;
 *          EPDX_ERR_FULL       EPDX_MAX_REQUESTS requests are pending:
 *                              likewise.
 *          Requests that were admitted and not released, or whose rows events
 *          or tensors still keep in place, count, too: one that
 *          passes EPDX_MAX_REQUESTS, or whose items pass EPDX_MAX_ITEMS, only
 *          together with those is recorded, and fails on all ranks with
 *          EPDX_ERR_FULL in the next drain.
 *          On error the request is the caller's to stage again or to give up
 *          by epdx_admission_withdraw().
 */
EPDX_API EPDX_MUST_CHECK epdx_status_t epdx_admission_stage(
    epdx_admission_t *admission, const epdx_request_t *request);

/**
 * Give up a request that is not recorded, since epdx_admission_stage() answered
 * an error or was never called for it: as epdx_receiver_withdraw(), which see.
 * One that is recorded is cancelled instead.
 *
 * Shapes:  as epdx_receiver_withdraw().
 * Units:   as epdx_receiver_withdraw().
 * Owns:    as epdx_receiver_withdraw().
 * Threads: admission's thread. Each rank tells its own encode ranks: call it on
 *          all, in any order. Never blocks, never does I/O.
 * Errors:  those of epdx_receiver_withdraw().
 */
EPDX_API EPDX_MUST_CHECK epdx_status_t
epdx_admission_withdraw(epdx_admission_t *admission,
                        const epdx_request_t *request, const char *reason);

/**
 * Cancel a request by its exact id. One that has not been admitted is failed
 * with EPDX_ERR_CANCELLED by the next drain, on all ranks, whichever rank
 * cancelled it.
 *
 * Shapes:  none.
 * Units:   none.
 * Owns:    id is read during the call only.
 * Threads: admission's thread. Never blocks.
 * Errors:  EPDX_ERR_INVALID    an argument is NULL;
 *          EPDX_ERR_NOT_FOUND  no request of that id is pending.
 */
EPDX_API EPDX_MUST_CHECK epdx_status_t
epdx_admission_cancel(epdx_admission_t *admission, const char *id);

/**
 * One step of all ranks: poll, vote, decide alike, reassemble.
 *
 * With NCCL, rows are rebuilt in stream order: see ready. A rank that finds an
 * error of NCCL's, or a batch that is not done EPDX_WAITING_TIMEOUT_S after the
 * drain that launched it, votes so in its next drain; then all ranks abort the
 * communicator, revoke what was not whole everywhere, and fail every request
 * that needs reassembly from then on, for the same cause. Others go on. With
 * nothing pending, ranks go on voting while a batch is not complete on every
 * rank. At most 32 batches are: then what has landed waits for a later drain.
 *
 * Shapes:  none.
 * Units:   none.
 * Owns:    the arrays and texts of *decisions_p are admission's, valid until
 *          the next drain; the rows of an admitted request until its
 *          epdx_admission_release(). A failed request needs no release.
 * Threads: admission's thread, on every rank. Blocks in the collectives only:
 *          one MPI_Allreduce where something is pending, a second one where
 *          a request past the 64th pending can be decided, and those of
 *          reassembly and reasons where a request was admitted or failed. With
 *          NCCL also, 10 s at most, while NCCL puts a group on the stream. It
 *          waits for no stream and no event.
 * Errors:  EPDX_ERR_DISAGREE  the ranks' pending lists differ: nothing was
 *                             decided, and epdx_last_error() says how they
 *                             differ, on every rank;
 *          EPDX_ERR_GROUP     a collective failed;
 *          EPDX_ERR_TIMEOUT   a collective passed the group's deadline: the
 *                             group is broken, the process should exit;
 *          EPDX_ERR_INVALID   an argument is NULL: this rank did not take part.
 *          On error *decisions_p is empty.
 */
EPDX_API EPDX_MUST_CHECK epdx_status_t epdx_admission_drain(
    epdx_admission_t *admission, epdx_decisions_t *decisions_p);

/**
 * Give back the rows of an admitted request: at once, or, where tensors hold
 * them (dlpack.h), when those are deleted.
 *
 * Shapes:  none.
 * Units:   none.
 * Owns:    id is read during the call only; the request's rows and landed
 *          items must not be used any more.
 * Threads: admission's thread; ranks may release in any order and at any time,
 *          but an id may be staged again only once every rank released it.
 * Errors:  EPDX_ERR_INVALID    an argument is NULL;
 *          EPDX_ERR_NOT_FOUND  no admitted request of that id.
 */
EPDX_API EPDX_MUST_CHECK epdx_status_t
epdx_admission_release(epdx_admission_t *admission, const char *id);

/**
 * As epdx_admission_release(), but the rows stay in place until an event is
 * done: see epdx_job_release_after(). The next drains ask for it; nothing
 * waits. To the ranks the request is released at this call: its id may be
 * staged again once every rank has called, whether the events are done or not.
 * It counts for EPDX_MAX_REQUESTS and EPDX_MAX_ITEMS of this rank until then,
 * see epdx_admission_stage().
 *
 * Shapes:  none.
 * Units:   none.
 * Owns:    id is read during the call only; event as epdx_job_release_after()
 *          says, a drain being a poll; NULL: as epdx_admission_release().
 * Threads: admission's thread; as epdx_admission_release().
 * Errors:  EPDX_ERR_NOT_FOUND  no admitted request of that id;
 *          EPDX_ERR_INVALID    an event, and this library was built without
 *                              CUDA; or an argument but event is NULL;
 *          EPDX_ERR_IO         CUDA cannot query the event.
 *          On error the request is still admitted and not released.
 */
EPDX_API EPDX_MUST_CHECK epdx_status_t epdx_admission_release_after(
    epdx_admission_t *admission, const char *id, void *event);

/**
 * Requests staged and not yet admitted or failed.
 *
 * Shapes:  none.
 * Units:   requests.
 * Owns:    nothing.
 * Threads: admission's thread.
 * Errors:  none.
 */
EPDX_API size_t epdx_admission_pending(const epdx_admission_t *admission);

/**
 * Whether ranks pull shards: the group agreed on it and has several ranks.
 *
 * Shapes:  none.
 * Units:   none.
 * Owns:    nothing.
 * Threads: admission's thread.
 * Errors:  none.
 */
EPDX_API bool epdx_admission_sharded(const epdx_admission_t *admission);

/**
 * Copy admission's counters and its receiver's. Either may be NULL.
 *
 * Shapes:  none.
 * Units:   bytes, counts.
 * Owns:    *stats_p and *receiver_p are the caller's.
 * Threads: admission's thread.
 * Errors:  none.
 */
EPDX_API void epdx_admission_stats(const epdx_admission_t *admission,
                                   epdx_admission_stats_t *stats_p,
                                   epdx_receiver_stats_t *receiver_p);

/**
 * End admission, its receiver, and every request of it.
 *
 * Shapes:  none.
 * Units:   none.
 * Owns:    takes admission; NULL is allowed. The group stays the caller's.
 *          The event ready of any drain is gone.
 * Threads: admission's thread; makes no collective of MPI. With NCCL it waits,
 *          20 s at most, for batches in flight and for the other ranks to
 *          close, too. Where a batch does not end, even aborted, the log says
 *          so and the pool is left allocated.
 * Errors:  none.
 */
EPDX_API void epdx_admission_close(epdx_admission_t *admission);

#ifdef __cplusplus
}
#endif
#endif
