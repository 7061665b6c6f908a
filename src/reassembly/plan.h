/*
 * plan.h: which ranges each rank gives to the others when items are rebuilt
 * from row shards, and in which order. Pure: the same on every rank.
 */
#ifndef EPI_REASSEMBLY_PLAN_H
#define EPI_REASSEMBLY_PLAN_H

#include "epdx/types.h"
#include "group/group.h"

/** Row ranges by rank of items of one drain, with the gathers over them. */
typedef struct epi_plan {
    epi_gather_t *gathers; /* main, then deepstack, item by item */
    size_t gather_count;
    size_t gather_max;
    uint64_t *starts; /* size words an item */
    uint64_t *counts;
    size_t item_count;
    size_t item_max;
    uint32_t size;
    uint64_t foreign_bytes; /* what this rank receives by the plan */
} epi_plan_t;

/** For at most item_max items a drain over size ranks. EPDX_ERR_NO_MEMORY. */
EPDX_MUST_CHECK epdx_status_t epi_plan_init(epi_plan_t *plan, size_t item_max,
                                            uint32_t size);

void epi_plan_clear(epi_plan_t *plan);

/** Add a landed item; skipped items (main is NULL) and groups of one rank add
 *  nothing. Row bytes are of one row of each part. EPDX_ERR_FULL: item_max. */
EPDX_MUST_CHECK epdx_status_t epi_plan_add(epi_plan_t *plan,
                                           const epdx_landed_t *item,
                                           uint32_t rank, size_t main_row_bytes,
                                           size_t deepstack_row_bytes);

void epi_plan_fini(epi_plan_t *plan);

#endif
