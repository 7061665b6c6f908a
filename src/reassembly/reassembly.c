/*
 * reassembly.c: the operations by kind of memory. Host rows go through the
 * group's gather, in place: they are where MPI can read and write them.
 */
#include "reassembly/reassembly.h"

static epdx_status_t host_run(epdx_group_t *group, const epi_plan_t *plan)
{
    if (plan->gather_count == 0) {
        return EPDX_OK;
    }
    return group->ops->gather(group, plan->gathers, plan->gather_count);
}

static const epi_reassembly_ops_t host_ops = {
    .name = "host",
    .run = host_run,
};

const epi_reassembly_ops_t *epi_reassembly_for(epi_memory_kind_t kind)
{
    switch (kind) {
    case EPI_MEMORY_HOST:
        return &host_ops;
    }
    return NULL;
}
