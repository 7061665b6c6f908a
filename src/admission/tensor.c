/* tensor.c: an admitted request's rows as DLPack tensors. The caller's thread;
 * see receive/tensor.c. */
#include "admission/admission_internal.h"
#include "base/params.h"
#include "epdx/dlpack.h"

epdx_status_t epdx_admission_tensor(epdx_admission_t *admission, const char *id,
                                    size_t item_index, epdx_part_t part,
                                    DLManagedTensor **tensor_p)
{
    epi_entry_t *entry = NULL;
    epdx_status_t status = epi_given(admission, id, tensor_p);

    if (status == EPDX_OK) {
        status = epi_entry_admitted(admission, id, &entry);
    }
    return status == EPDX_OK
               ? epdx_job_tensor(entry->job, item_index, part, tensor_p)
               : status;
}

#if defined(DLPACK_MAJOR_VERSION) && DLPACK_MAJOR_VERSION >= 1
epdx_status_t epdx_admission_tensor_versioned(
    epdx_admission_t *admission, const char *id, size_t item_index,
    epdx_part_t part, struct DLManagedTensorVersioned **tensor_p)
{
    epi_entry_t *entry = NULL;
    epdx_status_t status = epi_given(admission, id, tensor_p);

    if (status == EPDX_OK) {
        status = epi_entry_admitted(admission, id, &entry);
    }
    return status == EPDX_OK ? epdx_job_tensor_versioned(entry->job, item_index,
                                                         part, tensor_p)
                             : status;
}
#endif
