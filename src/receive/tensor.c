/*
 * tensor.c: landed rows as DLPack tensors. Made by the receiver's thread,
 * deleted by any. A tensor lies in a hold of its job (holds.h), so making and
 * deleting one allocates nothing.
 */
#include <assert.h>
#include <stddef.h>

#include "base/error.h"
#include "base/params.h"
#include "epdx/dlpack.h"
#include "receive/receiver_internal.h"

typedef struct epi_tensor {
    epi_hold_t hold; /* first: the block is the hold's */
    int64_t shape[2];
    int64_t strides[2];
    union {
        DLManagedTensor plain;
#if defined(DLPACK_MAJOR_VERSION) && DLPACK_MAJOR_VERSION >= 1
        struct DLManagedTensorVersioned versioned;
#endif
    } as;
} epi_tensor_t;

static_assert(offsetof(epi_tensor_t, hold) == 0 &&
                  sizeof(epi_tensor_t) <= EPI_HOLD_BYTES,
              "a tensor fits a hold");

/* The rows of a part; an error where there are none. */
static epdx_status_t find_rows(const epdx_job_t *job, size_t item_index,
                               epdx_part_t part, const epdx_landed_t **item_p)
{
    size_t count;
    const epdx_landed_t *items = epdx_job_items(job, &count);

    if (job->released) {
        return epi_fail(EPDX_ERR_INVALID,
                        "request %s was released: it has no tensors any more",
                        job->id);
    }
    if (items == NULL) {
        return epi_fail(EPDX_ERR_INVALID,
                        "request %s has not landed: it has no tensors",
                        job->id);
    }
    if (item_index >= count) {
        return epi_fail(EPDX_ERR_INVALID,
                        "request %s has no item %zu, but %zu items", job->id,
                        item_index, count);
    }
    if (part != EPDX_PART_MAIN && part != EPDX_PART_DEEPSTACK) {
        return epi_fail(EPDX_ERR_INVALID, "request %s: no part %d", job->id,
                        (int)part);
    }
    if (items[item_index].main == NULL) {
        return epi_fail(EPDX_ERR_NOT_FOUND,
                        "request %s: item %zu was skipped: it has no rows here",
                        job->id, item_index);
    }
    if (part == EPDX_PART_DEEPSTACK && items[item_index].deepstack == NULL) {
        return epi_fail(EPDX_ERR_NOT_FOUND,
                        "request %s: item %zu has no deepstack rows: the "
                        "receiver's levels are 0",
                        job->id, item_index);
    }
    *item_p = &items[item_index];
    return EPDX_OK;
}

static DLDataType data_type(epdx_dtype_t dtype)
{
    DLDataType type = {.code = dtype == EPDX_BFLOAT16 ? kDLBfloat : kDLFloat,
                       .bits = (uint8_t)(8 * epdx_dtype_bytes(dtype)),
                       .lanes = 1};

    return type;
}

static DLDevice device_of(const epi_memory_t *memory)
{
    bool cuda = memory->ops->kind == EPI_MEMORY_CUDA;
    DLDevice device = {.device_type = cuda ? kDLCUDA : kDLCPU,
                       .device_id = cuda ? memory->device : 0};

    return device;
}

static epdx_status_t make_tensor(epdx_job_t *job, size_t item_index,
                                 epdx_part_t part, epi_tensor_t **tensor_p,
                                 DLTensor *fields_p)
{
    const epi_receive_config_t *config = &job->receiver->shared.config;
    const epdx_landed_t *item = NULL;
    epi_hold_t *hold = NULL;
    epi_tensor_t *tensor;
    bool deep = part == EPDX_PART_DEEPSTACK;
    epdx_status_t status = find_rows(job, item_index, part, &item);

    if (status == EPDX_OK) {
        status = epi_job_hold(job, &hold);
    }
    if (status != EPDX_OK) {
        return status;
    }
    tensor = (epi_tensor_t *)(void *)hold;
    tensor->shape[0] = (int64_t)item->span;
    tensor->shape[1] =
        (int64_t)(config->hidden * (deep ? (uint64_t)config->levels : 1));
    /* They say the same as NULL, which DLPack allows no more from 1.2 on. */
    tensor->strides[0] = tensor->shape[1];
    tensor->strides[1] = 1;
    *fields_p = (DLTensor){.data = deep ? item->deepstack : item->main,
                           .device = device_of(&config->memory),
                           .ndim = 2,
                           .dtype = data_type(config->dtype),
                           .shape = tensor->shape,
                           .strides = tensor->strides,
                           .byte_offset = 0};
    *tensor_p = tensor;
    return EPDX_OK;
}

static void delete_plain(DLManagedTensor *self)
{
    if (self != NULL) {
        epi_hold_give_back(self->manager_ctx);
    }
}

epdx_status_t epdx_job_tensor(epdx_job_t *job, size_t item_index,
                              epdx_part_t part, DLManagedTensor **tensor_p)
{
    epi_tensor_t *tensor;
    DLTensor fields;
    epdx_status_t status = epi_given(job, tensor_p);

    if (status == EPDX_OK) {
        status = make_tensor(job, item_index, part, &tensor, &fields);
    }
    if (status == EPDX_OK) {
        tensor->as.plain = (DLManagedTensor){.dl_tensor = fields,
                                             .manager_ctx = &tensor->hold,
                                             .deleter = delete_plain};
        *tensor_p = &tensor->as.plain;
    }
    return status;
}

#if defined(DLPACK_MAJOR_VERSION) && DLPACK_MAJOR_VERSION >= 1
static void delete_versioned(struct DLManagedTensorVersioned *self)
{
    if (self != NULL) {
        epi_hold_give_back(self->manager_ctx);
    }
}

epdx_status_t epdx_job_tensor_versioned(
    epdx_job_t *job, size_t item_index, epdx_part_t part,
    struct DLManagedTensorVersioned **tensor_p)
{
    epi_tensor_t *tensor;
    DLTensor fields;
    epdx_status_t status = epi_given(job, tensor_p);

    if (status == EPDX_OK) {
        status = make_tensor(job, item_index, part, &tensor, &fields);
    }
    if (status == EPDX_OK) {
        tensor->as.versioned = (struct DLManagedTensorVersioned){
            .version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION},
            .manager_ctx = &tensor->hold,
            .deleter = delete_versioned,
            .flags = 0,
            .dl_tensor = fields};
        *tensor_p = &tensor->as.versioned;
    }
    return status;
}
#endif
