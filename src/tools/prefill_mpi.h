/* prefill_mpi.h: the library's group over MPI_COMM_WORLD, for epdx_prefill. */
#ifndef EPI_TOOLS_PREFILL_MPI_H
#define EPI_TOOLS_PREFILL_MPI_H

#include "epdx/group.h"
#include "tools/world.h"

/** See epdx_group_mpi(). */
EPDX_MUST_CHECK epdx_status_t epi_prefill_group(const epi_world_t *world,
                                                epdx_group_t **group_p);

#endif
