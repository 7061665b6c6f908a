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
    /** The receiver that each rank opens; tp_rank and tp_size are the
     *  group's. */
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
} epdx_decisions_t;

/** Collectives made, by kind. */
typedef struct epdx_collectives {
    uint64_t creation;   /**< settings agreed when admission was opened */
    uint64_t ballot;     /**< one a drain with something pending */
    uint64_t reason;     /**< first failing rank and its words */
    uint64_t reassembly; /**< one a part (main, deepstack) of an item */
} epdx_collectives_t;

typedef struct epdx_admission_stats {
    uint64_t drains;         /**< calls */
    uint64_t drains_pending; /**< of them with something pending */
    uint64_t admitted;
    uint64_t failed;
    uint64_t cancelled;         /**< of those failed */
    uint64_t reassembled_bytes; /**< received from the other ranks */
    epdx_collectives_t collectives;
} epdx_admission_stats_t;

/**
 * Open this rank's receiver and agree with the group that all ranks opened
 * theirs, with the same settings: version, dtype, hidden, levels, shard flag,
 * pool bytes, limits, strict. Sharding is on when the settings say so and the
 * group has more than one rank.
 *
 * Shapes:  as epdx_receiver_open().
 * Units:   as epdx_receiver_open().
 * Owns:    params is read during the call only; group stays the caller's and
 *          must outlive *admission_p, which is the caller's, who ends it with
 *          epdx_admission_close().
 * Threads: the thread that calls MPI, on every rank of the group: it is
 *          collective. All later calls come from that thread.
 * Errors:  those of epdx_receiver_open(), on the rank that has them;
 *          EPDX_ERR_DISAGREE  settings differ, or another rank could not open
 *                             its receiver: epdx_last_error() names the
 *                             setting and its values, or the rank and its
 *                             reason, alike on all ranks;
 *          EPDX_ERR_GROUP     a collective failed;
 *          EPDX_ERR_TIMEOUT   a collective passed its deadline.
 *          An error on one rank is an error on every rank; *admission_p is
 *          unchanged.
 */
EPDX_API EPDX_MUST_CHECK epdx_status_t
epdx_admission_open(epdx_group_t *group, const epdx_admission_params_t *params,
                    epdx_admission_t **admission_p);

/**
 * Begin receiving a request; drain answers for it. A request that this rank
 * cannot stage (it can never fit, or a room is in use) is still recorded: this
 * rank votes FAILED for it, so that all ranks end it together.
 *
 * Shapes:  as epdx_receiver_stage().
 * Units:   as epdx_receiver_stage().
 * Owns:    request is read during the call only.
 * Threads: admission's thread, on every rank, in the same order. Never blocks,
 *          never does I/O.
 * Errors:  EPDX_ERR_INVALID    the id is empty or too long: nothing is
 *                              recorded, and no rank may have recorded it;
 *          EPDX_ERR_DUPLICATE  the id is pending or not yet released:
 *                              likewise, and the first use is untouched;
 *          EPDX_ERR_FULL       EPDX_MAX_REQUESTS requests are pending:
 *                              likewise.
 *          Requests that were admitted and not released count, too: one that
 *          passes EPDX_MAX_REQUESTS, or whose items pass EPDX_MAX_ITEMS, only
 *          together with those is recorded, and fails on all ranks with
 *          EPDX_ERR_FULL in the next drain.
 */
EPDX_API EPDX_MUST_CHECK epdx_status_t epdx_admission_stage(
    epdx_admission_t *admission, const epdx_request_t *request);

/**
 * Cancel a request by its exact id. One that has not been admitted is failed
 * with EPDX_ERR_CANCELLED by the next drain, on all ranks, whichever rank
 * cancelled it.
 *
 * Shapes:  none.
 * Units:   none.
 * Owns:    id is read during the call only.
 * Threads: admission's thread. Never blocks.
 * Errors:  EPDX_ERR_NOT_FOUND  no request of that id is pending.
 */
EPDX_API EPDX_MUST_CHECK epdx_status_t
epdx_admission_cancel(epdx_admission_t *admission, const char *id);

/**
 * One step of all ranks: poll, vote, decide alike, reassemble.
 *
 * Shapes:  none.
 * Units:   none.
 * Owns:    the arrays and texts of *decisions_p are admission's, valid until
 *          the next drain; the rows of an admitted request until its
 *          epdx_admission_release(). A failed request needs no release.
 * Threads: admission's thread, on every rank. Blocks in the collectives only:
 *          one MPI_Allreduce where something is pending, and those of
 *          reassembly and reasons where a request was admitted or failed.
 * Errors:  EPDX_ERR_DISAGREE  the ranks' pending lists differ: nothing was
 *                             decided, and epdx_last_error() says how they
 *                             differ, on every rank;
 *          EPDX_ERR_GROUP     a collective failed;
 *          EPDX_ERR_TIMEOUT   a collective passed the group's deadline: the
 *                             group is broken, the process should exit.
 *          On error *decisions_p is empty.
 */
EPDX_API EPDX_MUST_CHECK epdx_status_t epdx_admission_drain(
    epdx_admission_t *admission, epdx_decisions_t *decisions_p);

/**
 * Give back the rows of an admitted request.
 *
 * Shapes:  none.
 * Units:   none.
 * Owns:    id is read during the call only; the request's rows and landed
 *          items must not be used any more.
 * Threads: admission's thread; ranks may release in any order and at any time,
 *          but an id may be staged again only once every rank released it.
 * Errors:  EPDX_ERR_NOT_FOUND  no admitted request of that id.
 */
EPDX_API EPDX_MUST_CHECK epdx_status_t
epdx_admission_release(epdx_admission_t *admission, const char *id);

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
 * Threads: admission's thread; makes no collective.
 * Errors:  none.
 */
EPDX_API void epdx_admission_close(epdx_admission_t *admission);

#ifdef __cplusplus
}
#endif
#endif
