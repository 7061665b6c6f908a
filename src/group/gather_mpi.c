/*
 * gather_mpi.c: each rank's rows to all others, in place, many regions in
 * flight at once. A row is one element of a datatype of its own, so that counts
 * and displacements are rows: an item may be larger than INT_MAX bytes.
 */
#include <limits.h>

#include "base/error.h"
#include "group/state_mpi.h"

/** Checked before anything is in flight, and alike on all ranks. */
static epdx_status_t check_gather(const epi_group_mpi_t *self,
                                  const epi_gather_t *gather, size_t index)
{
    uint64_t worst = gather->row_bytes;
    uint32_t rank;

    if (gather->row_bytes == 0) {
        return epi_fail(EPDX_ERR_INVALID, "gather %zu has rows of 0 bytes",
                        index);
    }
    for (rank = 0; rank < self->base.size; rank++) {
        worst = gather->starts[rank] > worst ? gather->starts[rank] : worst;
        worst = gather->counts[rank] > worst ? gather->counts[rank] : worst;
    }
    if (worst > INT_MAX) {
        return epi_fail(EPDX_ERR_TOO_LARGE,
                        "gather %zu has a row start, a row count or row bytes "
                        "of %llu: MPI takes %d at most; split the item",
                        index, (unsigned long long)worst, INT_MAX);
    }
    return EPDX_OK;
}

static const epi_row_type_t *find_type(const epi_group_mpi_t *self,
                                       size_t row_bytes)
{
    size_t i;

    for (i = 0; i < self->type_count; i++) {
        if (self->types[i].row_bytes == row_bytes) {
            return &self->types[i];
        }
    }
    return NULL;
}

/** The datatype of a row, made where it is not there yet. A full cache gives
 *  up its oldest, which no gather in flight may use: see must_wait(). */
static int row_type(epi_group_mpi_t *self, size_t row_bytes,
                    MPI_Datatype *type_p)
{
    const epi_row_type_t *known = find_type(self, row_bytes);
    MPI_Datatype type;
    epi_row_type_t *place;
    int code;

    if (known != NULL) {
        *type_p = known->type;
        return MPI_SUCCESS;
    }
    code = MPI_Type_contiguous((int)row_bytes, MPI_BYTE, &type);
    if (code != MPI_SUCCESS) {
        return code;
    }
    code = MPI_Type_commit(&type);
    if (code != MPI_SUCCESS) {
        MPI_Type_free(&type);
        return code;
    }
    if (self->type_count < EPI_ROW_TYPE_MAX) {
        place = &self->types[self->type_count++];
    } else {
        place = &self->types[self->type_oldest++ % EPI_ROW_TYPE_MAX];
        MPI_Type_free(&place->type);
    }
    place->row_bytes = row_bytes;
    place->type = type;
    *type_p = type;
    return MPI_SUCCESS;
}

/** Whether the gathers in flight must end before this one can begin. MPI only
 *  promises that a freed datatype lives on; not all releases of Open MPI keep
 *  it for non-blocking collectives, so none is freed while in flight. */
static bool must_wait(const epi_group_mpi_t *self, const epi_gather_t *gather)
{
    if (self->in_flight == EPI_GATHERS_IN_FLIGHT) {
        return true;
    }
    return self->in_flight > 0 && self->type_count == EPI_ROW_TYPE_MAX &&
           find_type(self, gather->row_bytes) == NULL;
}

static int post_gather(epi_group_mpi_t *self, const epi_gather_t *gather)
{
    int *counts = self->counts + self->in_flight * self->base.size;
    int *starts = self->starts + self->in_flight * self->base.size;
    MPI_Datatype type;
    uint32_t rank;
    int code;

    code = row_type(self, gather->row_bytes, &type);
    if (code != MPI_SUCCESS) {
        return code;
    }
    for (rank = 0; rank < self->base.size; rank++) {
        counts[rank] = (int)gather->counts[rank];
        starts[rank] = (int)gather->starts[rank];
    }
    code = MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, gather->base,
                           counts, starts, type, self->comm,
                           &self->requests[self->in_flight]);
    if (code == MPI_SUCCESS) {
        self->in_flight++;
    }
    return code;
}

static epdx_status_t check_gathers(const epi_group_mpi_t *self,
                                   const epi_gather_t *gathers, size_t count)
{
    epdx_status_t status = EPDX_OK;
    size_t i;

    for (i = 0; status == EPDX_OK && i < count; i++) {
        status = check_gather(self, &gathers[i], i);
    }
    return status;
}

epdx_status_t epi_group_mpi_gather(epdx_group_t *group,
                                   const epi_gather_t *gathers, size_t count)
{
    epi_group_mpi_t *self = epi_group_mpi_of(group);
    epdx_status_t status = check_gathers(self, gathers, count);
    epi_call_mpi_t call;
    size_t i;
    int code;

    if (status == EPDX_OK) {
        status = epi_group_mpi_begin(self, "gather", &call);
    }
    if (status != EPDX_OK || count == 0) {
        return status;
    }
    for (i = 0; i < count; i++) {
        if (must_wait(self, &gathers[i])) {
            status = epi_group_mpi_wait(self, &call);
            if (status != EPDX_OK) {
                return status;
            }
        }
        code = post_gather(self, &gathers[i]);
        if (code != MPI_SUCCESS) {
            return epi_group_mpi_break(self, call.name, code);
        }
    }
    return epi_group_mpi_wait(self, &call);
}
