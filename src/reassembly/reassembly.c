/*
 * reassembly.c: opening by kind of memory, and the operations on host memory:
 * its rows go through the group's gather, in place, since they are where MPI
 * can read and write them.
 */
#include "reassembly/reassembly.h"

#include <stdlib.h>

#include "base/error.h"

static epdx_status_t host_run(epi_reassembly_t *self, const epi_plan_t *plan,
                              void **ready_p)
{
    *ready_p = NULL;
    if (plan->gather_count == 0) {
        return EPDX_OK;
    }
    return self->group->ops->gather(self->group, plan->gathers,
                                    plan->gather_count);
}

static epdx_status_t host_poll(epi_reassembly_t *self)
{
    (void)self;
    return EPDX_OK;
}

static void host_abort(epi_reassembly_t *self)
{
    (void)self;
}

static bool host_close(epi_reassembly_t *self)
{
    free(self);
    return true;
}

static const epi_reassembly_ops_t host_ops = {
    .name = "host",
    .run = host_run,
    .poll = host_poll,
    .abort = host_abort,
    .close = host_close,
};

static epdx_status_t open_host(epdx_group_t *group,
                               epi_reassembly_t **reassembly_p)
{
    epi_reassembly_t *made = calloc(1, sizeof(*made));

    if (made == NULL) {
        return epi_fail(EPDX_ERR_NO_MEMORY, "no memory for reassembly");
    }
    made->ops = &host_ops;
    made->group = group;
    *reassembly_p = made;
    return EPDX_OK;
}

epdx_status_t epi_reassembly_open(epdx_group_t *group,
                                  const epi_reassembly_params_t *params,
                                  epi_reassembly_t **reassembly_p)
{
    if (params->memory.ops->kind == EPI_MEMORY_CUDA) {
        return epi_reassembly_nccl(group, params, reassembly_p);
    }
    return open_host(group, reassembly_p);
}

bool epi_reassembly_close(epi_reassembly_t *reassembly)
{
    return reassembly == NULL || reassembly->ops->close(reassembly);
}
