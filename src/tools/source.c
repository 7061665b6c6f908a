/* source.c: items from a trace or from arrays. */
#include "tools/source.h"

#include <string.h>

#include "base/error.h"
#include "tools/rooms.h"

epdx_status_t epi_source_check(const epi_source_params_t *params)
{
    if (params->workload != NULL && params->npy != NULL) {
        return epi_fail(EPDX_ERR_INVALID,
                        "--workload and --npy do not go together");
    }
    if (params->workload == NULL && params->npy == NULL) {
        return epi_fail(EPDX_ERR_INVALID,
                        "one of --workload and --npy is needed");
    }
    if (params->npy != NULL &&
        (params->hidden != 0 || params->levels != EPI_ARG_UNSET ||
         params->dtype != EPDX_DTYPE_NONE)) {
        return epi_fail(EPDX_ERR_INVALID,
                        "--hidden, --dtype and --levels go with --workload; "
                        "the arrays of --npy say their own");
    }
    return EPDX_OK;
}

static epdx_status_t open_workload(const epi_source_params_t *params,
                                   epi_source_t *source)
{
    source->hidden = params->hidden == 0 ? EPI_HIDDEN_PRESET : params->hidden;
    source->levels =
        params->levels == EPI_ARG_UNSET ? 0 : (uint32_t)params->levels;
    source->dtype =
        params->dtype == EPDX_DTYPE_NONE ? EPDX_BFLOAT16 : params->dtype;
    return epi_workload_load(params->workload, params->requests,
                             &source->workload);
}

static epdx_status_t add_arrays(epi_source_t *source)
{
    for (size_t i = 0; i < source->npy.count; i++) {
        const epi_npy_item_t *item = &source->npy.items[i];
        epdx_status_t status = epi_workload_add(&source->workload, item->name,
                                                0, &item->main.shape.rows, 1);

        if (status != EPDX_OK) {
            return epi_fail(status, "%s.npy: %s", item->name,
                            epdx_last_error());
        }
    }
    return epi_workload_seal(&source->workload);
}

static epdx_status_t open_arrays(const epi_source_params_t *params,
                                 epi_source_t *source)
{
    epdx_status_t status =
        epi_npy_dir_open(params->npy, params->requests, &source->npy);

    if (status != EPDX_OK) {
        return status;
    }
    source->hidden = source->npy.hidden;
    source->levels = source->npy.levels;
    source->dtype = source->npy.dtype;
    return add_arrays(source);
}

epdx_status_t epi_source_open(const epi_source_params_t *params,
                              epi_source_t *source_p)
{
    epi_source_t source;
    epdx_status_t status;

    memset(&source, 0, sizeof(source));
    status = params->npy != NULL ? open_arrays(params, &source)
                                 : open_workload(params, &source);
    if (status != EPDX_OK) {
        epi_source_close(&source);
        return status;
    }
    source.main_row_bytes = source.hidden * epdx_dtype_bytes(source.dtype);
    source.deepstack_row_bytes = source.main_row_bytes * source.levels;
    *source_p = source;
    return EPDX_OK;
}

uint64_t epi_source_rows(const epi_source_t *source, epi_source_item_t at)
{
    return source->workload
        .rows[source->workload.requests[at.request].first + at.item];
}

static epi_synthetic_t synthetic_of(const epi_source_t *source,
                                    epi_source_item_t at, uint32_t part)
{
    epi_synthetic_t synthetic = {
        .room = epi_room(at.request, at.item),
        .part = part,
        .columns = part == EPI_PART_MAIN ? source->hidden
                                         : source->hidden * source->levels,
        .element_bytes = epdx_dtype_bytes(source->dtype),
    };

    return synthetic;
}

bool epi_source_mapped(const epi_source_t *source, epi_source_item_t at,
                       const void **main_p, const void **deepstack_p)
{
    if (source->npy.count == 0) {
        return false;
    }
    *main_p = source->npy.items[at.request].main.data;
    *deepstack_p = source->npy.items[at.request].deepstack.data;
    return true;
}

void epi_source_fill(const epi_source_t *source, epi_source_item_t at,
                     void *main, void *deepstack)
{
    epi_synthetic_t synthetic = synthetic_of(source, at, EPI_PART_MAIN);
    epdx_rows_t rows = {0, epi_source_rows(source, at)};
    const void *from_main, *from_deepstack;
    bool mapped = epi_source_mapped(source, at, &from_main, &from_deepstack);

    if (mapped) {
        memcpy(main, from_main, rows.count * source->main_row_bytes);
    } else {
        epi_synthetic_fill(&synthetic, rows, main);
    }
    if (source->levels == 0) {
        return;
    }
    synthetic = synthetic_of(source, at, EPI_PART_DEEPSTACK);
    if (mapped) {
        memcpy(deepstack, from_deepstack,
               rows.count * source->deepstack_row_bytes);
    } else {
        epi_synthetic_fill(&synthetic, rows, deepstack);
    }
}

uint64_t epi_source_verify_part(const epi_source_t *source,
                                epi_source_item_t at, uint32_t part,
                                const void *in, epi_wrong_t *wrong_p)
{
    epi_synthetic_t synthetic = synthetic_of(source, at, part);
    epdx_rows_t rows = {0, epi_source_rows(source, at)};
    const void *from_main, *from_deepstack;

    if (epi_source_mapped(source, at, &from_main, &from_deepstack)) {
        return epi_bytes_verify(
            &synthetic, rows,
            part == EPI_PART_MAIN ? from_main : from_deepstack, in, wrong_p);
    }
    return epi_synthetic_verify(&synthetic, rows, in, wrong_p);
}

void epi_source_close(epi_source_t *source)
{
    epi_workload_fini(&source->workload);
    epi_npy_dir_close(&source->npy);
}
