/*
 * reasons.c: every rank reports the same cause of a failure: that of the lowest
 * rank that voted FAILED. One minimum finds these ranks, and each of them then
 * broadcasts its words for all its requests at once.
 */
#include <stdio.h>
#include <string.h>

#include "admission/admission_internal.h"

static epi_entry_t *ended_entry(epdx_admission_t *admission, size_t i)
{
    return &admission->entries[admission->ended[i]];
}

/* Copy the verdicts of one rank's requests out of, or into, one run. */
static size_t pack(epdx_admission_t *admission, uint32_t root)
{
    size_t count = 0;

    for (size_t i = 0; i < admission->ended_count; i++) {
        const epi_entry_t *entry = ended_entry(admission, i);
        epi_verdict_t *verdict = &admission->verdicts[count];

        if (admission->first_failed[i] != root) {
            continue;
        }
        verdict->status = entry->status;
        memcpy(verdict->reason, entry->reason, sizeof(verdict->reason));
        count++;
    }
    return count;
}

static void unpack(epdx_admission_t *admission, uint32_t root)
{
    size_t count = 0;

    for (size_t i = 0; i < admission->ended_count; i++) {
        epi_entry_t *entry = ended_entry(admission, i);
        epi_verdict_t *verdict = &admission->verdicts[count];

        if (admission->first_failed[i] != root) {
            continue;
        }
        verdict->reason[sizeof(verdict->reason) - 1] = '\0';
        entry->status = (epdx_status_t)verdict->status;
        (void)snprintf(entry->reason, sizeof(entry->reason), "%s",
                       verdict->reason);
        count++;
    }
}

static epdx_status_t share_from(epdx_admission_t *admission, uint32_t root)
{
    epdx_group_t *group = admission->group;
    size_t count = pack(admission, root);
    epdx_status_t status;

    if (count == 0) {
        return EPDX_OK;
    }
    admission->stats.collectives.reason++;
    status = group->ops->broadcast(group, admission->verdicts,
                                   count * sizeof(*admission->verdicts), root);
    if (status == EPDX_OK) {
        unpack(admission, root);
    }
    return status;
}

epdx_status_t epi_share_reasons(epdx_admission_t *admission)
{
    epdx_group_t *group = admission->group;
    epdx_status_t status;

    for (size_t i = 0; i < admission->ended_count; i++) {
        admission->first_failed[i] =
            ended_entry(admission, i)->vote == EPDX_FAILED ? group->rank
                                                           : UINT64_MAX;
    }
    if (group->size == 1) {
        return EPDX_OK;
    }
    admission->stats.collectives.reason++;
    status = group->ops->min_u64(group, admission->first_failed,
                                 admission->ended_count);
    for (uint32_t root = 0; status == EPDX_OK && root < group->size; root++) {
        status = share_from(admission, root);
    }
    return status;
}
