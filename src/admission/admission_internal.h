/*
 * admission_internal.h: what admission.c, agree.c, reasons.c and drain.c
 * share. The caller's thread only.
 *
 *     stage --> pending --> admitted --> released
 *                    \----> failed (kept until the next drain: its words are
 *                           in the caller's hands)
 *
 * Pending entries are the same on every rank, in number and order: only stage
 * and drain, which ranks call alike, change them. Admitted entries are not:
 * ranks release when they like.
 */
#ifndef EPI_ADMISSION_ADMISSION_INTERNAL_H
#define EPI_ADMISSION_ADMISSION_INTERNAL_H

#include "admission/ballot.h"
#include "base/table.h"
#include "epdx/admission.h"
#include "group/group.h"
#include "reassembly/reassembly.h"
#include "receive/receiver_internal.h"

typedef struct epi_entry {
    char id[EPDX_ID_MAX + 1];
    uint64_t id_hash;   /* of its id: the key in by_id */
    uint64_t vote_hash; /* of its id and items: what ranks must agree on */
    epdx_job_t *job;    /* NULL when this rank could not stage it */
    bool admitted;
    epdx_state_t vote;    /* of the drain under way */
    epdx_status_t status; /* why this rank votes FAILED; then the agreed one */
    char reason[EPDX_REASON_MAX];
} epi_entry_t;

/** Why a request failed, as one rank tells the others. */
typedef struct epi_verdict {
    int32_t status;
    char reason[EPDX_REASON_MAX];
} epi_verdict_t;

struct epdx_admission {
    epdx_group_t *group; /* not owned */
    epdx_receiver_t *receiver;
    bool strict;
    bool sharded;
    size_t pending_max;
    epi_entry_t *entries; /* 4 * pending_max: pending, admitted, and those
                             that ended or were released since a drain */
    uint32_t *free_entries;
    size_t free_count;
    epi_table_t by_id;
    uint32_t *pending; /* entries, in stage order */
    size_t pending_count;
    uint32_t *ended; /* entries that failed in the last drain */
    size_t ended_count;
    uint32_t *released; /* entries released since the last drain */
    size_t released_count;
    epi_ballot_t ballot;
    epi_plan_t plan;
    uint64_t *first_failed; /* by failed request: the lowest failing rank */
    epi_verdict_t *verdicts;
    epdx_admitted_t *admitted;
    epdx_rejected_t *failed;
    epdx_admission_stats_t stats;
};

/** Agree that every rank opened its receiver, with the same settings.
 *  receiver is NULL where this rank did not; status and epdx_last_error() then
 *  say why. Collective. See epdx_admission_open() for the errors. */
EPDX_MUST_CHECK epdx_status_t epi_agree_settings(epdx_admission_t *admission,
                                                 epdx_status_t status);

/** Share why requests failed: for each of the count entries in ended, the
 *  verdict of the lowest rank that voted FAILED, in verdicts and first_failed.
 *  Collective. */
EPDX_MUST_CHECK epdx_status_t epi_share_reasons(epdx_admission_t *admission);

/** Open over a data plane for the receiver, for tests; NULL: UCX. */
EPDX_MUST_CHECK epdx_status_t epi_admission_open_with(
    epdx_group_t *group, const epdx_admission_params_t *params,
    epi_dataplane_t *dp, epdx_admission_t **admission_p);

/** Give an entry back whose id is out of by_id. */
void epi_entry_free(epdx_admission_t *admission, uint32_t index);

#endif
