/* outcome.c: see outcome.h. */
#include "reassembly/outcome.h"

#include <string.h>

#include "base/text.h"

/* What the lowest rank that failed tells the others. */
typedef struct words {
    int32_t status;
    char reason[EPDX_REASON_MAX];
} words_t;

epi_outcome_t epi_outcome_of(epdx_status_t status)
{
    epi_outcome_t outcome = {.status = status};

    if (status != EPDX_OK) {
        (void)epi_text_copy(outcome.reason, sizeof(outcome.reason),
                            epdx_last_error());
    }
    return outcome;
}

epdx_status_t epi_outcome_share(epdx_group_t *group, uint32_t root,
                                epi_outcome_t *outcome, uint64_t *made_p)
{
    words_t words = {.status = outcome->status};
    epdx_status_t status;

    memcpy(words.reason, outcome->reason, sizeof(words.reason));
    ++*made_p;
    status = group->ops->broadcast(group, &words, sizeof(words), root);
    if (status != EPDX_OK) {
        return status;
    }
    words.reason[sizeof(words.reason) - 1] = '\0';
    outcome->status = (epdx_status_t)words.status;
    outcome->rank = root;
    memcpy(outcome->reason, words.reason, sizeof(outcome->reason));
    return EPDX_OK;
}

epdx_status_t epi_outcome_agree(epdx_group_t *group, epi_outcome_t *outcome,
                                uint64_t *made_p)
{
    uint64_t first = outcome->status == EPDX_OK ? UINT64_MAX : group->rank;
    epdx_status_t status;

    ++*made_p;
    status = group->ops->min_u64(group, &first, 1);
    if (status != EPDX_OK || first == UINT64_MAX) {
        return status;
    }
    return epi_outcome_share(group, (uint32_t)first, outcome, made_p);
}
