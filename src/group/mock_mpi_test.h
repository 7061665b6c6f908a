/*
 * mock_mpi_test.h: MPI as the tests of this folder see it: each call that the
 * group makes is counted and answers as the test has set. The program is linked
 * with --wrap for each of them, so that no MPI job is needed. Tests only.
 */
#ifndef EPI_GROUP_MOCK_MPI_TEST_H
#define EPI_GROUP_MOCK_MPI_TEST_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct mock_mpi {
    /* What MPI answers. */
    bool uninitialized, finalized, inter;
    int size, rank;
    bool other_rank_lacks_memory; /* the first Allreduce finds a 0 */
    int dup_code, allreduce_code, bcast_code, post_code, wait_code;
    bool stuck;         /* nothing begun is ever done */
    bool out_of_memory; /* calloc and realloc give NULL */
    /* What it was asked. */
    int dups, comms_freed, handlers_set;
    int blocking, posted, waits, tests;
    int in_flight, in_flight_most;
    int types_made, types_freed, types_freed_in_flight;
    void *posted_buffer; /* of the last non-blocking collective */
} mock_mpi_t;

extern mock_mpi_t mock_mpi;

/** Rank 0 of two, everything works, nothing asked yet. */
void mock_mpi_reset(void);

#endif
