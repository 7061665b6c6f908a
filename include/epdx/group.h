/*
 * group.h: ranks that decide together, the attention-TP ranks of one prefill
 * engine. group_mpi.h makes a group of an MPI communicator.
 */
#ifndef EPDX_GROUP_H
#define EPDX_GROUP_H

#include "epdx/types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct epdx_group epdx_group_t;

/**
 * A group of one rank, which needs no MPI.
 *
 * Shapes:  none.
 * Units:   none.
 * Owns:    *group_p is the caller's, who ends it with epdx_group_close().
 * Threads: any.
 * Errors:  EPDX_ERR_INVALID    group_p is NULL;
 *          EPDX_ERR_NO_MEMORY  it could not be allocated; *group_p unchanged.
 */
EPDX_API EPDX_MUST_CHECK epdx_status_t
epdx_group_single(epdx_group_t **group_p);

/**
 * This process's rank in the group, 0 ... size - 1.
 *
 * Shapes:  none.
 * Units:   ranks.
 * Owns:    nothing.
 * Threads: any.
 * Errors:  none; 0 for NULL.
 */
EPDX_API uint32_t epdx_group_rank(const epdx_group_t *group);

/**
 * The group's ranks.
 *
 * Shapes:  none.
 * Units:   ranks.
 * Owns:    nothing.
 * Threads: any.
 * Errors:  none; 0 for NULL.
 */
EPDX_API uint32_t epdx_group_size(const epdx_group_t *group);

/**
 * End a group and free what it made (its duplicate of a communicator).
 *
 * Shapes:  none.
 * Units:   none.
 * Owns:    takes group; NULL is allowed.
 * Threads: the one that calls MPI; every rank of the group, before
 *          MPI_Finalize(), after the objects that use the group are closed.
 * Errors:  none.
 */
EPDX_API void epdx_group_close(epdx_group_t *group);

#ifdef __cplusplus
}
#endif
#endif
