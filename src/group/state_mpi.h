/*
 * state_mpi.h: what the files of the group over MPI share: group_mpi.c opens
 * and closes it, collective_mpi.c reduces, broadcasts and waits, gather_mpi.c
 * gathers. For those files only.
 *
 *     WORKING --(an MPI error, a passed deadline)--> BROKEN
 *
 * Without a deadline a collective is MPI's blocking form. With one it is the
 * non-blocking form, tested until it is done or the deadline has passed.
 *
 * MPI cannot take back a collective that was begun. So a broken group is never
 * freed: MPI may still read its arrays, and may still write rows into the
 * regions of an unfinished gather whenever MPI is entered again. Reductions
 * and broadcasts with a deadline go through memory of the group's own, since
 * their callers' values may be gone by then. The process should exit.
 *
 * Open MPI 4.1.4 as seen: freeing a communicator with an unfinished collective
 * is undefined, MPI_Abort() may never return, and a loop of MPI_Test() that
 * does not yield starves the other ranks of a busy machine.
 */
#ifndef EPI_GROUP_STATE_MPI_H
#define EPI_GROUP_STATE_MPI_H

#include "epdx/group_mpi.h"
#include "group/group.h"

#define EPI_GATHERS_IN_FLIGHT 256 /* between two waits */
#define EPI_ROW_TYPE_MAX      16

/** A datatype of one row, kept for the next gather of such rows. */
typedef struct epi_row_type {
    size_t row_bytes;
    MPI_Datatype type;
} epi_row_type_t;

typedef struct epi_group_mpi {
    epdx_group_t base;
    MPI_Comm comm;
    uint64_t timeout_ns;          /* of one collective; 0: none */
    char broken[EPDX_REASON_MAX]; /* why; "" while it works */
    void *scratch;
    size_t scratch_bytes;
    size_t in_flight;
    MPI_Request requests[EPI_GATHERS_IN_FLIGHT];
    int *counts; /* EPI_GATHERS_IN_FLIGHT * size: MPI's until the wait */
    int *starts;
    size_t type_count;
    size_t type_oldest;
    epi_row_type_t types[EPI_ROW_TYPE_MAX];
    struct epi_group_mpi *next_broken;
} epi_group_mpi_t;

/** One collective under way: its name for people, and its deadline. */
typedef struct epi_call_mpi {
    const char *name;
    uint64_t deadline;
} epi_call_mpi_t;

static inline epi_group_mpi_t *epi_group_mpi_of(epdx_group_t *group)
{
    return (epi_group_mpi_t *)group;
}

/** MPI's text of an error, in MPI_MAX_ERROR_STRING bytes. */
void epi_group_mpi_words(int code, char *words);

/** Every collective begins here. EPDX_ERR_GROUP for a broken group. */
EPDX_MUST_CHECK epdx_status_t epi_group_mpi_begin(epi_group_mpi_t *self,
                                                  const char *name,
                                                  epi_call_mpi_t *call_p);

/** Break the group for an MPI error; gives EPDX_ERR_GROUP. */
EPDX_MUST_CHECK epdx_status_t epi_group_mpi_break(epi_group_mpi_t *self,
                                                  const char *name, int code);

/** Wait for the in_flight requests. EPDX_ERR_GROUP, EPDX_ERR_TIMEOUT: the group
 *  is broken. */
EPDX_MUST_CHECK epdx_status_t epi_group_mpi_wait(epi_group_mpi_t *self,
                                                 const epi_call_mpi_t *call);

/** The operations. */
epdx_status_t epi_group_mpi_min_u8(epdx_group_t *group, uint8_t *values,
                                   size_t count);
epdx_status_t epi_group_mpi_min_u64(epdx_group_t *group, uint64_t *values,
                                    size_t count);
epdx_status_t epi_group_mpi_broadcast(epdx_group_t *group, void *bytes,
                                      size_t count, uint32_t root);
epdx_status_t epi_group_mpi_gather(epdx_group_t *group,
                                   const epi_gather_t *gathers, size_t count);

#endif
