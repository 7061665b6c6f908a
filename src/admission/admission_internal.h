/*
 * admission_internal.h: what admission.c, agree.c, reasons.c, drain.c,
 * release.c and tensor.c share. The caller's thread only.
 *
 *     stage --> pending --> admitted --> released
 *                    \----> failed (kept until the next drain: its words are
 *                           in the caller's hands)
 *
 * Pending entries are the same on every rank, in number and order: only stage
 * and drain, which ranks call alike, change them. Admitted entries are not:
 * ranks release when they like. Where reassembly is deferred, admitted entries
 * fly until their batch is complete on every rank, released or not: a batch
 * that fails takes them back (see rebuild.c).
 */
#ifndef EPI_ADMISSION_ADMISSION_INTERNAL_H
#define EPI_ADMISSION_ADMISSION_INTERNAL_H

#include "admission/ballot.h"
#include "admission/votes.h"
#include "base/table.h"
#include "epdx/admission.h"
#include "group/group.h"
#include "observe/observe.h"
#include "reassembly/outcome.h"
#include "reassembly/reassembly.h"
#include "receive/receiver_internal.h"

/** Entries for each request that may be pending. */
#define EPI_ENTRIES 5

typedef struct epi_entry {
    char id[EPDX_ID_MAX + 1];
    uint64_t id_hash;   /* of its id: the key in by_id */
    uint64_t vote_hash; /* of its id and items: what ranks must agree on */
    epdx_job_t *job;    /* NULL when this rank could not stage it */
    uint32_t place;     /* among the pending ones */
    bool admitted;
    bool flying;          /* its batch is not complete on every rank */
    uint64_t batch;       /* that rebuilds its rows, from 1; 0: none */
    epdx_state_t vote;    /* this rank's word, while it is pending */
    epdx_status_t status; /* why this rank votes FAILED; then the agreed one */
    uint64_t staged_ns;   /* 0 where admission is not watched */
    char reason[EPDX_REASON_MAX];
} epi_entry_t;

/** Why a request failed, as one rank tells the others. */
typedef struct epi_verdict {
    int32_t status;
    char reason[EPDX_REASON_MAX];
} epi_verdict_t;

/** A job whose rows a batch on this rank may still use. */
typedef struct epi_pin {
    epdx_job_t *job;
    uint64_t batch;
} epi_pin_t;

/** Reassembly, as the ranks agreed on it. The counts of batches, flying and
 *  failure are the same on every rank; all stays empty on host memory. */
typedef struct epi_rebuild {
    epi_reassembly_t *with;
    epi_outcome_t own;     /* this rank's health, as of this drain's poll */
    epi_outcome_t failure; /* agreed; EPDX_OK while it works */
    uint64_t complete;     /* batches complete on every rank */
    uint32_t *flying;      /* entries, in the order of their batches */
    size_t flying_count;
    epi_pin_t *pins; /* in that order, too */
    size_t pin_count;
    epdx_rejected_t *revoked; /* what the last drain told */
    size_t revoked_count;
    void *ready; /* event of the last drain's batch; NULL: none */
} epi_rebuild_t;

#define EPI_DRAIN_STEPS 4

/** What is kept to be told of drains, where admission is watched. */
typedef struct epi_watched_drain {
    epi_trace_event_t steps[EPI_DRAIN_STEPS]; /* of this drain */
    size_t step_count;
    uint64_t idle_count; /* drains in a row that decided nothing */
    uint64_t idle_begun_ns;
    uint64_t idle_ended_ns;
} epi_watched_drain_t;

struct epdx_admission {
    epdx_group_t *group; /* not owned */
    epdx_receiver_t *receiver;
    bool strict;
    bool sharded;
    size_t pending_max;
    epi_entry_t *entries; /* EPI_ENTRIES * pending_max: pending, admitted,
                             flying, and those that ended or were released
                             since a drain */
    uint32_t *free_entries;
    size_t free_count;
    epi_table_t by_id;
    uint32_t *pending; /* entries, in stage order */
    size_t pending_count;
    uint32_t *ended; /* entries that failed in the last drain */
    size_t ended_count;
    uint32_t *released; /* entries released since the last drain, or flying */
    size_t released_count;
    epi_votes_t votes; /* by place */
    bool votes_stale;  /* all of them must be looked at anew */
    epi_ballot_t ballot;
    epi_plan_t plan;
    epi_rebuild_t rebuild;
    uint32_t *landed;       /* entries admitted in this drain */
    uint64_t *first_failed; /* by failed request: the lowest failing rank */
    epi_verdict_t *verdicts;
    epdx_admitted_t *admitted;
    epdx_rejected_t *failed;
    size_t failed_count;
    epdx_admission_stats_t stats;
    epi_watch_t watch; /* on the receiver's track */
    epi_watched_drain_t drain;
};

/** Agree that every rank opened its receiver, with the same settings.
 *  receiver is NULL where this rank did not; status and epdx_last_error() then
 *  say why. Collective. See epdx_admission_open() for the errors. */
EPDX_MUST_CHECK epdx_status_t epi_agree_settings(epdx_admission_t *admission,
                                                 epdx_status_t status);

/** Look at a pending entry's state and vote by it. In drain.c. */
void epi_entry_vote(epdx_admission_t *admission, epi_entry_t *entry);

/** Share why requests failed: for each of the count entries in ended, the
 *  verdict of the lowest rank that voted FAILED, in verdicts and first_failed.
 *  Collective. */
EPDX_MUST_CHECK epdx_status_t epi_share_reasons(epdx_admission_t *admission);

/** What rebuild.c needs; false: no memory. */
EPDX_MUST_CHECK bool epi_rebuild_init(epi_rebuild_t *rebuild, size_t entry_max,
                                      size_t job_max);

/** Ends reassembly. False: it may still use the pool. */
bool epi_rebuild_fini(epi_rebuild_t *rebuild);

/** Look once at the batches in flight; then what the drain before told is
 *  over. */
void epi_rebuild_poll(epdx_admission_t *admission);

/** Whether every rank must vote, though nothing is pending: a batch is not yet
 *  known to be complete on every rank. */
bool epi_rebuild_watches(const epdx_admission_t *admission);

/** Put this rank's word on the ballot. */
void epi_rebuild_vote(epdx_admission_t *admission);

/** Whether a request that needs reassembly must fail: it sets the entry's
 *  status and reason, alike on all ranks. */
bool epi_rebuild_refuses(const epdx_admission_t *admission, epi_entry_t *entry);

/** Whether a request that landed everywhere must wait for a later drain: too
 *  many batches are in flight, or reassembly failed in this vote. */
bool epi_rebuild_defers(const epdx_admission_t *admission,
                        const epi_entry_t *entry);

/** Act on the vote: batches that are complete everywhere are forgotten; after
 *  a failure the ranks share its cause, abort, and what flies is revoked.
 *  Collective in that case. */
EPDX_MUST_CHECK epdx_status_t epi_rebuild_settle(epdx_admission_t *admission);

/** Rebuild the rows of the *admitted requests of this drain. Where a rank could
 *  not begin, those that needed it go from admitted to failed. Collective. */
EPDX_MUST_CHECK epdx_status_t epi_rebuild_run(epdx_admission_t *admission,
                                              size_t *admitted);

/** Put an ended entry among those that this drain tells as failed, and end its
 *  job. In drain.c. */
void epi_entry_reject(epdx_admission_t *admission, uint32_t index,
                      uint32_t rank);

/** Open over a data plane for the receiver, for tests; NULL: UCX. */
EPDX_MUST_CHECK epdx_status_t epi_admission_open_with(
    epdx_group_t *group, const epdx_admission_params_t *params,
    epi_dataplane_t *dp, epdx_admission_t **admission_p);

/** The entry of an id that is pending or admitted; NULL when there is none. */
epi_entry_t *epi_entry_find(epdx_admission_t *admission, const char *id,
                            uint32_t *index_p);

/** The entry of an id that is admitted and not released; EPDX_ERR_NOT_FOUND
 *  with words. In release.c. */
EPDX_MUST_CHECK epdx_status_t epi_entry_admitted(epdx_admission_t *admission,
                                                 const char *id,
                                                 epi_entry_t **entry_p);

/** Give an entry back whose id is out of by_id. */
void epi_entry_free(epdx_admission_t *admission, uint32_t index);

#endif
