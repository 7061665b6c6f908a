/* group_mpi.h: a group from an MPI communicator. Needs mpi.h. */
#ifndef EPDX_GROUP_MPI_H
#define EPDX_GROUP_MPI_H

#include <mpi.h>

#include "epdx/group.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Make a group of the ranks of comm. The communicator is duplicated: epdx's
 * collectives never meet the caller's.
 *
 * Shapes:  none.
 * Units:   timeout_ns in nanoseconds: how long one collective of the group may
 *          take before it fails with EPDX_ERR_TIMEOUT, after which the group
 *          is broken and every further collective fails at once; 0: no limit.
 *          MPI may still write rows of an unfinished collective into the
 *          receive pool of a broken group: the process should exit.
 * Owns:    comm stays the caller's; *group_p is the caller's, who ends it with
 *          epdx_group_close().
 * Threads: the thread that calls MPI; MPI_THREAD_FUNNELED is enough. Every
 *          rank of comm must call: it is collective and may block.
 * Errors:  EPDX_ERR_INVALID    comm is MPI_COMM_NULL or an inter-communicator,
 *                              MPI is not initialised, or group_p is NULL;
 *          EPDX_ERR_GROUP      MPI refused to duplicate comm;
 *          EPDX_ERR_NO_MEMORY  it could not be allocated, here or on another
 *                              rank.
 *          On error *group_p is unchanged.
 */
EPDX_API EPDX_MUST_CHECK epdx_status_t epdx_group_mpi(MPI_Comm comm,
                                                      uint64_t timeout_ns,
                                                      epdx_group_t **group_p);

#ifdef __cplusplus
}
#endif
#endif
