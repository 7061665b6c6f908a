/*
 * group_mpi.c: opens and closes a group over a duplicate of the caller's
 * communicator; see state_mpi.h. Called on the thread that calls MPI.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "base/params.h"
#include "group/state_mpi.h"

#define SCRATCH_BYTES ((size_t)16 * 1024)

static void free_group(epi_group_mpi_t *self)
{
    if (self != NULL) {
        free(self->counts);
        free(self->starts);
        free(self->scratch);
        free(self);
    }
}

/* Broken groups, which stay reachable because MPI may still use them. Only
 * the thread that calls MPI comes here. */
static epi_group_mpi_t *broken_groups;

static void mpi_close(epdx_group_t *group)
{
    epi_group_mpi_t *self = epi_group_mpi_of(group);
    int finalized = 0;
    size_t i;

    MPI_Finalized(&finalized);
    if (self->broken[0] != '\0') {
        epi_log_warn("a broken group's communicator is leaked, since MPI may "
                     "still use it: %s",
                     self->broken);
        self->next_broken = broken_groups;
        broken_groups = self;
        return;
    }
    if (finalized) {
        epi_log_error("a group was closed after MPI_Finalize(): its "
                      "communicator is leaked; close it before");
    } else {
        for (i = 0; i < self->type_count; i++) {
            MPI_Type_free(&self->types[i].type);
        }
        MPI_Comm_free(&self->comm);
    }
    free_group(self);
}

static const epi_group_ops_t mpi_ops = {
    .min_u8 = epi_group_mpi_min_u8,
    .min_u64 = epi_group_mpi_min_u64,
    .broadcast = epi_group_mpi_broadcast,
    .gather = epi_group_mpi_gather,
    .close = mpi_close,
};

static epdx_status_t check_comm(MPI_Comm comm)
{
    int initialized = 0;
    int finalized = 0;
    int inter = 0;

    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    if (!initialized || finalized) {
        return epi_fail(EPDX_ERR_INVALID,
                        "a group over MPI needs MPI to be initialised: open it "
                        "between MPI_Init_thread() and MPI_Finalize()");
    }
    if (comm == MPI_COMM_NULL) {
        return epi_fail(EPDX_ERR_INVALID,
                        "a group over MPI_COMM_NULL: this process is not in "
                        "the communicator");
    }
    if (MPI_Comm_test_inter(comm, &inter) == MPI_SUCCESS && inter) {
        return epi_fail(EPDX_ERR_INVALID,
                        "a group over an inter-communicator: merge it first "
                        "with MPI_Intercomm_merge()");
    }
    return EPDX_OK;
}

/** Duplicate comm so that an error comes back rather than to comm's handler,
 *  which may end the job. */
static epdx_status_t duplicate(MPI_Comm comm, MPI_Comm *comm_p)
{
    char words[MPI_MAX_ERROR_STRING] = "";
    MPI_Errhandler handler;
    int code;

    code = MPI_Comm_get_errhandler(comm, &handler);
    if (code == MPI_SUCCESS) {
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        code = MPI_Comm_dup(comm, comm_p);
        MPI_Comm_set_errhandler(comm, handler);
        MPI_Errhandler_free(&handler);
    }
    if (code != MPI_SUCCESS) {
        epi_group_mpi_words(code, words);
        return epi_fail(EPDX_ERR_GROUP,
                        "the communicator could not be duplicated: %.200s",
                        words);
    }
    MPI_Comm_set_errhandler(*comm_p, MPI_ERRORS_RETURN);
    return EPDX_OK;
}

static epi_group_mpi_t *alloc_group(MPI_Comm comm, uint64_t timeout_ns)
{
    epi_group_mpi_t *self = calloc(1, sizeof(*self));
    int rank = 0;
    int size = 0;

    if (self == NULL) {
        return NULL;
    }
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    self->base.ops = &mpi_ops;
    self->base.rank = (uint32_t)rank;
    self->base.size = (uint32_t)size;
    self->timeout_ns = timeout_ns;
    self->scratch_bytes = SCRATCH_BYTES;
    self->scratch = malloc(self->scratch_bytes);
    self->counts =
        calloc(EPI_GATHERS_IN_FLIGHT, (size_t)size * sizeof(*self->counts));
    self->starts =
        calloc(EPI_GATHERS_IN_FLIGHT, (size_t)size * sizeof(*self->starts));
    if (self->scratch == NULL || self->counts == NULL || self->starts == NULL) {
        free_group(self);
        return NULL;
    }
    return self;
}

/** All ranks learn whether every one of them has its memory. */
static epdx_status_t agree_memory(MPI_Comm comm, bool here)
{
    uint8_t everywhere = here ? 1 : 0;
    char words[MPI_MAX_ERROR_STRING] = "";
    int code;

    code =
        MPI_Allreduce(MPI_IN_PLACE, &everywhere, 1, MPI_UINT8_T, MPI_MIN, comm);
    if (code != MPI_SUCCESS) {
        epi_group_mpi_words(code, words);
        return epi_fail(EPDX_ERR_GROUP,
                        "the group's first collective failed: %.200s", words);
    }
    if (!everywhere) {
        return epi_fail(EPDX_ERR_NO_MEMORY, "no memory for a group %s",
                        here ? "on another rank" : "on this rank");
    }
    return EPDX_OK;
}

/** Without its process manager each task of srun is an MPI job of its own. */
static void warn_if_alone(uint32_t size)
{
    const char *tasks = getenv("SLURM_STEP_NUM_TASKS");

    if (size == 1 && tasks != NULL && strcmp(tasks, "1") != 0) {
        epi_log_warn("the group has one rank, but srun started %.20s tasks: "
                     "if they are to be one group, use srun --mpi=pmix or "
                     "mpirun",
                     tasks);
    }
}

epdx_status_t epdx_group_mpi(MPI_Comm comm, uint64_t timeout_ns,
                             epdx_group_t **group_p)
{
    epdx_status_t status = epi_given(group_p);
    epi_group_mpi_t *self;
    MPI_Comm dup;

    if (status == EPDX_OK) {
        status = check_comm(comm);
    }
    if (status != EPDX_OK) {
        return status;
    }
    self = alloc_group(comm, timeout_ns);
    status = duplicate(comm, &dup);
    if (status != EPDX_OK) {
        goto err_free_group;
    }
    status = agree_memory(dup, self != NULL);
    if (status != EPDX_OK) {
        goto err_free_comm;
    }
    self->comm = dup;
    warn_if_alone(self->base.size);
    *group_p = &self->base;
    return EPDX_OK;

err_free_comm:
    MPI_Comm_free(&dup);
err_free_group:
    free_group(self);
    return status;
}
