/*
 * raw_mpi.h: bare MPI over MPI_COMM_WORLD, and the group that epdx makes of it.
 * Under mpirun only, but for epi_bench_group().
 */
#ifndef EPI_BENCH_RAW_MPI_H
#define EPI_BENCH_RAW_MPI_H

#include "bench/bench.h"
#include "epdx/group.h"
#include "group/group.h"

/** MPI_Allreduce(MIN) of bytes, in place. */
EPDX_MUST_CHECK epdx_status_t epi_raw_mpi_min(void *bytes, size_t count);

/** One MPI_Allgatherv a block, in place, one after the other. */
EPDX_MUST_CHECK epdx_status_t epi_raw_mpi_gather(const epi_gather_t *gathers,
                                                 size_t count, uint32_t ranks);

/** Come together, awake: what is measured next begins at once everywhere. */
EPDX_MUST_CHECK epdx_status_t epi_raw_mpi_barrier(void);

/** The team's ranks from first on as a group; collective over all of the team.
 *  *group_p is NULL on the ranks before first. EPDX_ERR_UNSUPPORTED: several
 *  without an mpirun. */
EPDX_MUST_CHECK epdx_status_t epi_bench_group(const epi_bench_t *bench,
                                              uint32_t first,
                                              epdx_group_t **group_p);

#endif
