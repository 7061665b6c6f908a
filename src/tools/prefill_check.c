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

static void check_item(const epi_prefill_t *prefill, epi_source_item_t at,
                       const epdx_landed_t *landed,
                       epi_prefill_totals_t *totals)
{
    const epi_source_t *source = prefill->source;
    epi_wrong_t wrong = {0, 0, 0};

    if (!item_fits(source, at, landed)) {
        wrong.bytes = whole_item(source, at);
    } else if (prefill->options->verify) {
        (void)epi_source_verify(source, at, landed->main, landed->deepstack,
                                &wrong);
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

static epdx_status_t write_part(const char *dir, const char *name,
                                bool deepstack, const epi_npy_shape_t *shape,
                                const void *rows)
{
    char path[PATH_MAX];

    if (!epi_npy_dir_path(dir, name, deepstack, path, sizeof(path))) {
        return epi_fail(EPDX_ERR_INVALID, "%s: the path is too long", dir);
    }
    return epi_npy_write(path, shape, rows);
}

static epdx_status_t write_item(const epi_prefill_t *prefill, size_t index,
                                const epdx_landed_t *landed)
{
    const epi_source_t *source = prefill->source;
    const char *name = source->workload.requests[index].id;
    epi_npy_shape_t shape = {landed->span, source->hidden, source->dtype};
    epdx_status_t status =
        write_part(prefill->options->out, name, false, &shape, landed->main);

    if (status != EPDX_OK || source->levels == 0) {
        return status;
    }
    shape.columns = source->hidden * source->levels;
    return write_part(prefill->options->out, name, true, &shape,
                      landed->deepstack);
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
