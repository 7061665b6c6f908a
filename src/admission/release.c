/* release.c: giving admitted requests back. The caller's thread; each rank
 * does so when it likes. */
#include "admission/admission_internal.h"
#include "base/error.h"
#include "base/params.h"

epdx_status_t epi_entry_admitted(epdx_admission_t *admission, const char *id,
                                 epi_entry_t **entry_p)
{
    uint32_t index;
    epi_entry_t *entry = epi_entry_find(admission, id, &index);

    if (entry == NULL || !entry->admitted) {
        return epi_fail(EPDX_ERR_NOT_FOUND,
                        "no request %.64s is admitted and not released", id);
    }
    *entry_p = entry;
    return EPDX_OK;
}

static epdx_status_t release(epdx_admission_t *admission, const char *id,
                             void *event)
{
    epi_entry_t *entry = NULL;
    epdx_status_t status = epi_entry_admitted(admission, id, &entry);

    if (status == EPDX_OK) {
        status = epdx_job_release_after(entry->job, event);
    }
    if (status != EPDX_OK) {
        return status;
    }
    (void)epi_table_remove(&admission->by_id, entry->id_hash);
    /* Its id is in the decisions that the caller holds. */
    admission->released[admission->released_count++] =
        (uint32_t)(entry - admission->entries);
    return EPDX_OK;
}

epdx_status_t epdx_admission_release_after(epdx_admission_t *admission,
                                           const char *id, void *event)
{
    epdx_status_t status = epi_given(admission, id);

    return status == EPDX_OK ? release(admission, id, event) : status;
}

epdx_status_t epdx_admission_release(epdx_admission_t *admission,
                                     const char *id)
{
    epdx_status_t status = epi_given(admission, id);

    return status == EPDX_OK ? release(admission, id, NULL) : status;
}
