/*
 * world.h: what a program that runs under mpirun does with MPI itself, beside
 * the library's own collectives: MPI_COMM_WORLD, with a deadline on each call.
 * world_mpi.c is the only file of it that knows MPI; world.c reads what the
 * launcher says in the environment.
 *
 * Every call but the environment's is collective, on the thread that opened.
 */
#ifndef EPI_TOOLS_WORLD_H
#define EPI_TOOLS_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "epdx/status.h"

typedef struct epi_world {
    uint32_t rank;
    uint32_t size;
    uint64_t timeout_ns; /* of one call; 0: none */
} epi_world_t;

/** Whether a launcher (mpirun, srun) started this process as one of several. */
bool epi_world_launched(void);

/** This process's rank as the launcher says it, 0 without a launcher. */
uint32_t epi_world_env_rank(void);

/** MPI_Init_thread(FUNNELED). EPDX_ERR_GROUP with words. */
EPDX_MUST_CHECK epdx_status_t epi_world_open(uint64_t timeout_ns,
                                             epi_world_t *world_p);

/** Rank 0's bytes to all. EPDX_ERR_GROUP, EPDX_ERR_TIMEOUT with words, here
 *  and below: the world is then of no more use but to epi_world_abort(). */
EPDX_MUST_CHECK epdx_status_t epi_world_broadcast(const epi_world_t *world,
                                                  void *bytes, size_t count);

/** Element-wise sum over the ranks, in place, on every rank. */
EPDX_MUST_CHECK epdx_status_t epi_world_sum(const epi_world_t *world,
                                            uint64_t *values, size_t count);

/** One value of each rank, by rank; values has world->size of them on rank 0
 *  and is not used elsewhere. */
EPDX_MUST_CHECK epdx_status_t epi_world_gather(const epi_world_t *world,
                                               uint64_t value,
                                               uint64_t *values);

/** Agree that all ranks succeeded: where one has a status other than EPDX_OK,
 *  every rank gets that of the lowest such rank, and its epdx_last_error(). */
EPDX_MUST_CHECK epdx_status_t epi_world_agree(const epi_world_t *world,
                                              epdx_status_t status);

/** Wait, asleep, until every rank has come here. stop() sleeps for at most
 *  wait_ns; once it says true, the others have 10 seconds: EPDX_ERR_TIMEOUT. */
EPDX_MUST_CHECK epdx_status_t epi_world_meet(bool (*stop)(uint64_t wait_ns));

/** End all ranks at once. MPI_Abort() may hang where a peer is lost, so this
 *  process ends within 5 seconds in any case. */
_Noreturn void epi_world_abort(int exit_status);

/** MPI_Finalize(). */
void epi_world_close(void);

#endif
