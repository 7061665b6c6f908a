/* prefill_mpi.c: MPI_COMM_WORLD as a group: a program may, the library not. */
#include "tools/prefill_mpi.h"

#include "epdx/group_mpi.h"

epdx_status_t epi_prefill_group(const epi_world_t *world,
                                epdx_group_t **group_p)
{
    return epdx_group_mpi(MPI_COMM_WORLD, world->timeout_ns, group_p);
}
