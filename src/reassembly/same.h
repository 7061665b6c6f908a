/* same.h: the first collective of ranks that are about to use NCCL. */
#ifndef EPI_REASSEMBLY_SAME_H
#define EPI_REASSEMBLY_SAME_H

#include <stdbool.h>

#include "reassembly/outcome.h"

/** What must be the same on every rank before NCCL may be entered. */
typedef struct epi_same {
    int version; /* as ncclGetVersion() tells it */
    bool given;  /* the communicator is the caller's */
} epi_same_t;

/** Agree that every rank is prepared, and alike. Collective; *made_p counts.
 *  EPDX_ERR_DISAGREE: it differs, named with its values; the status of the
 *  lowest rank that is not prepared, with that rank and its reason. */
EPDX_MUST_CHECK epdx_status_t epi_same_agree(epdx_group_t *group,
                                             const epi_same_t *own,
                                             epi_outcome_t *prepared,
                                             uint64_t *made_p);

/** An agreed outcome as an error, with its rank in words; EPDX_OK as it is. */
EPDX_MUST_CHECK epdx_status_t epi_same_failed(const epi_outcome_t *outcome);

#endif
