/*
 * plan.c: a drain's landed items as gathers. Admission fills a plan, the
 * reassembly of a memory kind carries it out.
 *
 *     init --> clear --> add ... add --> (carried out) --> clear --> ...
 */
#include "reassembly/plan.h"

#include <stdlib.h>

#include "base/checked.h"
#include "base/error.h"
#include "epdx/shard.h"

epdx_status_t epi_plan_init(epi_plan_t *plan, size_t item_max, uint32_t size)
{
    epi_plan_t made = {.item_max = item_max, .size = size};
    uint64_t words, gathers;

    if (!epi_mul_u64(item_max, size, &words) ||
        !epi_mul_u64(item_max, 2, &gathers)) {
        return epi_fail(EPDX_ERR_NO_MEMORY,
                        "a plan of %zu items over %u ranks is too large",
                        item_max, size);
    }
    /* One more than needed, since calloc(0) may answer NULL. */
    made.gather_max = gathers;
    made.gathers = calloc(gathers + 1, sizeof(*made.gathers));
    made.starts = calloc(words + 1, sizeof(*made.starts));
    made.counts = calloc(words + 1, sizeof(*made.counts));
    if (made.gathers == NULL || made.starts == NULL || made.counts == NULL) {
        epi_plan_fini(&made);
        return epi_fail(EPDX_ERR_NO_MEMORY,
                        "out of memory for a plan of %zu items over %u ranks",
                        item_max, size);
    }
    *plan = made;
    return EPDX_OK;
}

void epi_plan_clear(epi_plan_t *plan)
{
    plan->gather_count = 0;
    plan->item_count = 0;
    plan->foreign_bytes = 0;
}

static void add_gather(epi_plan_t *plan, void *base, size_t row_bytes,
                       uint64_t foreign_rows)
{
    size_t words = plan->item_count * plan->size;

    plan->gathers[plan->gather_count++] = (epi_gather_t){
        .base = base,
        .row_bytes = row_bytes,
        .starts = plan->starts + words,
        .counts = plan->counts + words,
    };
    /* The rows lie in one lease: their bytes cannot overflow. */
    plan->foreign_bytes += foreign_rows * row_bytes;
}

epdx_status_t epi_plan_add(epi_plan_t *plan, const epdx_landed_t *item,
                           uint32_t rank, size_t main_row_bytes,
                           size_t deepstack_row_bytes)
{
    size_t words = plan->item_count * plan->size;
    uint64_t foreign_rows;

    if (item->main == NULL || plan->size <= 1) {
        return EPDX_OK;
    }
    if (plan->item_count == plan->item_max) {
        return epi_fail(EPDX_ERR_FULL,
                        "a plan holds %zu items at most: EPDX_MAX_ITEMS",
                        plan->item_max);
    }
    for (uint32_t r = 0; r < plan->size; r++) {
        epdx_rows_t rows = epdx_shard_rows(item->span, r, plan->size);

        plan->starts[words + r] = rows.start;
        plan->counts[words + r] = rows.count;
    }
    foreign_rows =
        item->span - epdx_shard_rows(item->span, rank, plan->size).count;
    add_gather(plan, item->main, main_row_bytes, foreign_rows);
    if (item->deepstack != NULL) {
        add_gather(plan, item->deepstack, deepstack_row_bytes, foreign_rows);
    }
    plan->item_count++;
    return EPDX_OK;
}

void epi_plan_fini(epi_plan_t *plan)
{
    free(plan->gathers);
    free(plan->starts);
    free(plan->counts);
    *plan = (epi_plan_t){0};
}
