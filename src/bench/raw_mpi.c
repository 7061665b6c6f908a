/* raw_mpi.c: see raw_mpi.h. */
#include "bench/raw_mpi.h"

#include "base/error.h"
#include "epdx/group_mpi.h"

static epdx_status_t told(const char *call, int code)
{
    return code == MPI_SUCCESS ? EPDX_OK
                               : epi_fail(EPDX_ERR_GROUP, "%s failed", call);
}

epdx_status_t epi_raw_mpi_min(void *bytes, size_t count)
{
    return told("MPI_Allreduce",
                MPI_Allreduce(MPI_IN_PLACE, bytes, (int)count, MPI_UINT8_T,
                              MPI_MIN, MPI_COMM_WORLD));
}

static epdx_status_t gather_one(const epi_gather_t *gather, uint32_t ranks)
{
    int counts[EPI_TEAM_RANKS_MAX];
    int starts[EPI_TEAM_RANKS_MAX];

    for (uint32_t i = 0; i < ranks; i++) {
        counts[i] = (int)(gather->counts[i] * gather->row_bytes);
        starts[i] = (int)(gather->starts[i] * gather->row_bytes);
    }
    return told("MPI_Allgatherv",
                MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, gather->base,
                               counts, starts, MPI_BYTE, MPI_COMM_WORLD));
}

epdx_status_t epi_raw_mpi_gather(const epi_gather_t *gathers, size_t count,
                                 uint32_t ranks)
{
    epdx_status_t status = EPDX_OK;

    for (size_t i = 0; status == EPDX_OK && i < count; i++) {
        status = gather_one(&gathers[i], ranks);
    }
    return status;
}

epdx_status_t epi_raw_mpi_barrier(void)
{
    return told("MPI_Barrier", MPI_Barrier(MPI_COMM_WORLD));
}

static epdx_status_t group_of_ranks(const epi_team_t *team, uint32_t first,
                                    epdx_group_t **group_p)
{
    bool in = team->rank >= first;
    epdx_status_t status;
    MPI_Comm comm;

    status = told("MPI_Comm_split",
                  MPI_Comm_split(MPI_COMM_WORLD, in ? 0 : MPI_UNDEFINED,
                                 (int)team->rank, &comm));
    if (status != EPDX_OK || !in) {
        return status;
    }
    status = epdx_group_mpi(comm, 0, group_p); /* duplicates it */
    (void)MPI_Comm_free(&comm);
    return status;
}

epdx_status_t epi_bench_group(const epi_bench_t *bench, uint32_t first,
                              epdx_group_t **group_p)
{
    const epi_team_t *team = bench->team;

    *group_p = NULL;
    if (team->launched) {
        return group_of_ranks(team, first, group_p);
    }
    if (team->size - first > 1) {
        return epi_fail(EPDX_ERR_UNSUPPORTED,
                        "several prefill ranks that decide together need an "
                        "mpirun");
    }
    return team->rank >= first ? epdx_group_single(group_p) : EPDX_OK;
}
