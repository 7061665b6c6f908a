/*
 * outcome.h: whether a step that each rank took for itself went well on all of
 * them; if not, every rank learns the same cause: that of the lowest rank that
 * failed.
 */
#ifndef EPI_REASSEMBLY_OUTCOME_H
#define EPI_REASSEMBLY_OUTCOME_H

#include "epdx/types.h"
#include "group/group.h"

typedef struct epi_outcome {
    epdx_status_t status; /* of this rank; then the agreed one */
    uint32_t rank;        /* agreed: whose it is, unless EPDX_OK */
    char reason[EPDX_REASON_MAX];
} epi_outcome_t;

/** This rank's outcome: where status is a failure, epdx_last_error() is its
 *  reason. */
epi_outcome_t epi_outcome_of(epdx_status_t status);

/** Agree. Collective: one minimum, and where a rank failed a broadcast;
 *  *made_p counts them. EPDX_OK: *outcome is the group's; else the collective
 *  failed and it is this rank's still. */
EPDX_MUST_CHECK epdx_status_t epi_outcome_agree(epdx_group_t *group,
                                                epi_outcome_t *outcome,
                                                uint64_t *made_p);

/** The broadcast alone, of a failure whose lowest rank is known already. */
EPDX_MUST_CHECK epdx_status_t epi_outcome_share(epdx_group_t *group,
                                                uint32_t root,
                                                epi_outcome_t *outcome,
                                                uint64_t *made_p);

#endif
