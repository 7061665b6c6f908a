/* team_mpi.c: the ranks of one mpirun as a team. */
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "bench/team.h"
#include "tools/world.h"

#define MEET_LIMIT_NS (600 * EPI_S)
#define NAP_NS        (50 * EPI_US)

static epdx_status_t failed(const char *call)
{
    return epi_fail(EPDX_ERR_GROUP, "%s failed", call);
}

static epdx_status_t mpi_share(epi_team_t *team, const void *mine, size_t bytes,
                               void *all)
{
    const struct timespec nap = {0, NAP_NS};
    uint64_t limit = epi_now_ns() + MEET_LIMIT_NS;
    MPI_Request request;
    int done = 0;
    int code = bytes == 0
                   ? MPI_Ibarrier(MPI_COMM_WORLD, &request)
                   : MPI_Iallgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes,
                                    MPI_BYTE, MPI_COMM_WORLD, &request);

    while (code == MPI_SUCCESS && !done) {
        code = MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        if (!done) {
            (void)nanosleep(&nap, NULL);
        }
        if (!done && epi_now_ns() > limit) {
            return epi_fail(EPDX_ERR_TIMEOUT, "a rank of %u did not come",
                            team->size);
        }
    }
    return code == MPI_SUCCESS ? EPDX_OK : failed("MPI_Iallgather");
}

static void mpi_close(epi_team_t *team)
{
    free(team);
    epi_world_close();
}

static const epi_team_ops_t mpi_ops = {mpi_share, mpi_close};

epdx_status_t epi_team_mpi(epi_team_t **team_p)
{
    epi_team_t *team = calloc(1, sizeof(*team));
    epi_world_t world;
    epdx_status_t status;

    if (team == NULL) {
        return epi_fail(EPDX_ERR_NO_MEMORY, "no memory for a team");
    }
    status = epi_world_open(0, &world);
    if (status == EPDX_OK && world.size > EPI_TEAM_RANKS_MAX) {
        status = epi_fail(EPDX_ERR_INVALID, "%u ranks: at most %d are measured",
                          world.size, EPI_TEAM_RANKS_MAX);
    }
    if (status != EPDX_OK) {
        free(team);
        return status;
    }
    *team = (epi_team_t){&mpi_ops, world.rank, world.size, true};
    *team_p = team;
    return EPDX_OK;
}
