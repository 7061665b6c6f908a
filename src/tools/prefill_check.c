/* prefill_check.c: admitted requests checked and written. */
#include "tools/prefill_check.h"

#include <limits.h>

#include "base/error.h"
#include "base/log.h"
#include "tools/rooms.h"

static uint64_t whole_item(const epi_source_t *source, epi_source_item_t at)
{
    return epi_source_rows(source, at) *
           (source->main_row_bytes + source->deepstack_row_bytes);
}

/* Whether an item is the one staged, of the size it must have. */
static bool item_fits(const epi_source_t *source, epi_source_item_t at,
                      const epdx_landed_t *landed)
{
    uint64_t rows = epi_source_rows(source, at);
    bool deepstack = source->levels > 0;

    return landed->room == epi_room(at.request, at.item) &&
           landed->span == rows && landed->main != NULL &&
           landed->main_bytes == rows * source->main_row_bytes &&
           (landed->deepstack != NULL) == deepstack &&
           landed->deepstack_bytes == rows * source->deepstack_row_bytes;
}

/* A part that the device does not give back is wrong as a whole. */
static void verify_part(const epi_prefill_t *prefill, epi_source_item_t at,
                        uint32_t part, const epdx_landed_t *landed,
                        epi_wrong_t *wrong)
{
    bool main = part == EPI_PART_MAIN;
    size_t bytes = main ? landed->main_bytes : landed->deepstack_bytes;
    const void *rows;

    if (epi_device_read(prefill->device,
                        main ? landed->main : landed->deepstack, bytes,
                        &rows) == EPDX_OK) {
        (void)epi_source_verify_part(prefill->source, at, part, rows, wrong);
    } else {
        epi_log_error("%s", epdx_last_error());
        wrong->bytes += bytes;
    }
}

static void check_item(const epi_prefill_t *prefill, epi_source_item_t at,
                       const epdx_landed_t *landed,
                       epi_prefill_totals_t *totals)
{
    const epi_source_t *source = prefill->source;
    epi_wrong_t wrong = {0, 0, 0};

    if (!item_fits(source, at, landed)) {
        wrong.bytes = whole_item(source, at);
    } else if (prefill->options->verify) {
        verify_part(prefill, at, EPI_PART_MAIN, landed, &wrong);
        if (source->levels > 0) {
            verify_part(prefill, at, EPI_PART_DEEPSTACK, landed, &wrong);
        }
    }
    if (wrong.bytes > 0 && totals->mismatched_bytes == 0) {
        epi_log_error("rank %u: request %s item %zu: %llu wrong bytes, the "
                      "first in row %llu, column %llu; further ones are "
                      "counted only",
                      prefill->world->rank,
                      source->workload.requests[at.request].id, at.item,
                      (unsigned long long)wrong.bytes,
                      (unsigned long long)wrong.first_row,
                      (unsigned long long)wrong.first_column);
    }
    totals->mismatched_bytes += wrong.bytes;
}

static epdx_status_t write_part(const epi_prefill_t *prefill, const char *name,
                                const epi_npy_shape_t *shape,
                                const epdx_landed_t *landed, bool deepstack)
{
    const char *dir = prefill->options->out;
    const void *rows;
    char path[PATH_MAX];
    epdx_status_t status;

    if (!epi_npy_dir_path(dir, name, deepstack, path, sizeof(path))) {
        return epi_fail(EPDX_ERR_INVALID, "%s: the path is too long", dir);
    }
    status = epi_device_read(
        prefill->device, deepstack ? landed->deepstack : landed->main,
        deepstack ? landed->deepstack_bytes : landed->main_bytes, &rows);
    return status == EPDX_OK ? epi_npy_write(path, shape, rows) : status;
}

static epdx_status_t write_item(const epi_prefill_t *prefill, size_t index,
                                const epdx_landed_t *landed)
{
    const epi_source_t *source = prefill->source;
    const char *name = source->workload.requests[index].id;
    epi_npy_shape_t shape = {landed->span, source->hidden, source->dtype};
    epdx_status_t status = write_part(prefill, name, &shape, landed, false);

    if (status != EPDX_OK || source->levels == 0) {
        return status;
    }
    shape.columns = source->hidden * source->levels;
    return write_part(prefill, name, &shape, landed, true);
}

void epi_prefill_check(const epi_prefill_t *prefill, size_t index,
                       const epdx_admitted_t *admitted,
                       epi_prefill_totals_t *totals)
{
    size_t count = prefill->source->workload.requests[index].count;
    uint64_t before = totals->mismatched_bytes;

    for (size_t j = 0; j < count; j++) {
        epi_source_item_t at = {index, j};
        epdx_landed_t none = {0};

        check_item(prefill, at,
                   j < admitted->item_count ? &admitted->items[j] : &none,
                   totals);
    }
    if (prefill->options->out == NULL || prefill->world->rank != 0 ||
        totals->mismatched_bytes > before) {
        return;
    }
    if (write_item(prefill, index, &admitted->items[0]) != EPDX_OK) {
        if (totals->write_errors == 0) {
            epi_log_error("%s; further ones are counted only",
                          epdx_last_error());
        }
        totals->write_errors++;
    }
}
