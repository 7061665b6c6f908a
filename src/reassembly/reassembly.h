/*
 * reassembly.h: full rows from row shards, in place, all items of a drain in
 * flight at once: the operations, one table a memory kind. Collective over the
 * group, on the thread that calls MPI.
 */
#ifndef EPI_REASSEMBLY_REASSEMBLY_H
#define EPI_REASSEMBLY_REASSEMBLY_H

#include "group/group.h"
#include "memory/memory.h"
#include "reassembly/plan.h"

typedef struct epi_reassembly_ops {
    const char *name;
    /** Carry the plan out. Returns when the caller may read every row. The
     *  errors are those of the group. */
    epdx_status_t (*run)(epdx_group_t *group, const epi_plan_t *plan);
} epi_reassembly_ops_t;

/** The operations for a kind of memory. Host: the group's gather. */
const epi_reassembly_ops_t *epi_reassembly_for(epi_memory_kind_t kind);

#endif
