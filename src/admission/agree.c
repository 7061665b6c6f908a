/*
 * agree.c: settings that gate a collective, or decide who sends what, must be
 * the same on every rank before the first request: torn, they would be a hang
 * or wrong rows.
 *
 * Each value goes into one MIN as (x, ~x): the minimum, and the complement of
 * the maximum. They meet exactly when all ranks gave the same.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "admission/admission_internal.h"
#include "admission/watch.h"
#include "base/error.h"
#include "epdx/epdx.h"

#define SETTING_MAX 12

typedef struct setting {
    const char *name;
    uint64_t value;
} setting_t;

/* This rank's values; zeros where it has no receiver. */
static size_t list_settings(const epdx_admission_t *admission,
                            setting_t settings[SETTING_MAX])
{
    static const epi_receive_config_t none;
    const epi_receive_config_t *config =
        admission->receiver == NULL ? &none
                                    : epi_receiver_config(admission->receiver);
    const char *version = epdx_version();
    const setting_t list[] = {
        {"library version (hash)", epi_hash(version, strlen(version))},
        {"dtype", config->dtype},
        {"hidden", config->hidden},
        {"levels", config->levels},
        {"EPDX_EMBEDDING_SHARD", config->shard_flag},
        {"memory (EPDX_MEMORY: 0 is host, 1 is cuda)",
         config->memory.ops == NULL ? 0 : config->memory.ops->kind},
        {"pool_bytes (EPDX_RECV_POOL_MB)", config->pool_bytes},
        {"EPDX_MAX_REQUESTS", config->max_requests},
        {"EPDX_MAX_ITEMS", config->max_items},
        {"strict", admission->strict},
    };
    size_t count = sizeof(list) / sizeof(list[0]);

    _Static_assert(sizeof(list) / sizeof(list[0]) <= SETTING_MAX,
                   "SETTING_MAX is too small");
    memcpy(settings, list, sizeof(list));
    return count;
}

/* Another rank has no receiver: tell which, and why, alike on all ranks. */
static epdx_status_t share_open_failure(epdx_admission_t *admission,
                                        epdx_status_t own)
{
    epdx_group_t *group = admission->group;
    uint64_t first = own == EPDX_OK ? UINT64_MAX : group->rank;
    epi_verdict_t verdict = {.status = own};
    epdx_status_t status;

    (void)snprintf(verdict.reason, sizeof(verdict.reason), "%s",
                   own == EPDX_OK ? "" : epdx_last_error());
    admission->stats.collectives.creation += 2;
    status = group->ops->min_u64(group, &first, 1);
    if (status == EPDX_OK) {
        status = group->ops->broadcast(group, &verdict, sizeof(verdict),
                                       (uint32_t)first);
    }
    if (status != EPDX_OK) {
        return status;
    }
    verdict.reason[sizeof(verdict.reason) - 1] = '\0';
    return epi_fail(own == EPDX_OK ? EPDX_ERR_DISAGREE : own,
                    "rank %" PRIu64 " could not open its receiver: %.450s",
                    first, verdict.reason);
}

static epdx_status_t compare(const setting_t *settings, const uint64_t *words,
                             size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t least = words[2 * i];
        uint64_t most = ~words[2 * i + 1];

        if (least != most) {
            return epi_fail(EPDX_ERR_DISAGREE,
                            "%s differs across ranks, from %" PRIu64
                            " to %" PRIu64 " (here %" PRIu64
                            "); set it identically on every rank",
                            settings[i].name, least, most, settings[i].value);
        }
    }
    return EPDX_OK;
}

epdx_status_t epi_agree_settings(epdx_admission_t *admission, epdx_status_t own)
{
    epdx_group_t *group = admission->group;
    setting_t settings[SETTING_MAX];
    size_t count = list_settings(admission, settings);
    uint64_t words[2 * SETTING_MAX + 2];
    epdx_status_t status;

    for (size_t i = 0; i < count; i++) {
        words[2 * i] = settings[i].value;
        words[2 * i + 1] = ~settings[i].value;
    }
    words[2 * count] = own == EPDX_OK ? 1 : 0;
    words[2 * count + 1] = admission->watch.trace != NULL;
    admission->stats.collectives.creation++;
    status = group->ops->min_u64(group, words, 2 * count + 2);
    if (status != EPDX_OK) {
        return status;
    }
    if (words[2 * count] == 0) {
        return share_open_failure(admission, own);
    }
    status = compare(settings, words, count);
    if (status == EPDX_OK && words[2 * count + 1] != 0 && group->size > 1) {
        status = epi_admission_clocks(admission);
    }
    return status;
}
