/*
 * team.h: the processes that measure together, rank 0 first. Under mpirun they
 * are its ranks (team_mpi.c). Without one rank 0 starts the others, as this
 * program again, and they meet in shared memory (team.c).
 *
 * They meet between measurements only, so a meeting may be slow: who waits
 * sleeps. Every call is collective and has a deadline.
 */
#ifndef EPI_BENCH_TEAM_H
#define EPI_BENCH_TEAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "epdx/status.h"

/** Most that one rank gives to the others in one meeting. */
#define EPI_TEAM_SHARE_MAX ((size_t)1 << 16)
#define EPI_TEAM_RANKS_MAX 64

typedef struct epi_team epi_team_t;

/** How a process started by another finds it: its arguments. */
#define EPI_TEAM_MEET_OPTION "meet"

typedef struct epi_team_ops {
    /** Each rank's bytes to all, in the order of ranks; at most
     *  EPI_TEAM_SHARE_MAX a rank. EPDX_ERR_TIMEOUT, EPDX_ERR_GROUP. */
    epdx_status_t (*share)(epi_team_t *team, const void *mine, size_t bytes,
                           void *all);
    void (*close)(epi_team_t *team);
} epi_team_ops_t;

struct epi_team {
    const epi_team_ops_t *ops;
    uint32_t rank;
    uint32_t size;
    bool launched; /* by mpirun */
};

/** Rank 0 of size processes, the others started with this program's own
 *  arguments; or, with meet not NULL, one that was started so. EPDX_ERR_IO. */
EPDX_MUST_CHECK epdx_status_t epi_team_open(char **argv, const char *meet,
                                            uint32_t size, epi_team_t **team_p);

/** The ranks of mpirun. EPDX_ERR_GROUP. */
EPDX_MUST_CHECK epdx_status_t epi_team_mpi(epi_team_t **team_p);

/** Wait for all. */
EPDX_MUST_CHECK epdx_status_t epi_team_meet(epi_team_t *team);

/** The largest of the ranks' values, to all. */
EPDX_MUST_CHECK epdx_status_t epi_team_max(epi_team_t *team, double *value_p);

/** Agree that all ranks succeeded; else the lowest failing rank's words. */
EPDX_MUST_CHECK epdx_status_t epi_team_agree(epi_team_t *team,
                                             epdx_status_t status);

void epi_team_close(epi_team_t *team);

#endif
