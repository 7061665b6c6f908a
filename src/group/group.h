/*
 * group.h: what ranks do together. single.c is a group of one; group_mpi.c
 * carries it over MPI, with a deadline for each collective where one is set.
 * src/testing/group_fake.h is a group of threads, for tests.
 *
 * Every call is collective over the group, on the thread that calls MPI.
 * A collective that fails or passes its deadline breaks the group: that call
 * and all later ones give EPDX_ERR_GROUP or EPDX_ERR_TIMEOUT with words.
 */
#ifndef EPI_GROUP_GROUP_H
#define EPI_GROUP_GROUP_H

#include <stddef.h>
#include <stdint.h>

#include "epdx/group.h"

/** A block of each rank's rows in one region, for gather. */
typedef struct epi_gather {
    void *base; /* [sum of counts] rows of row_bytes, same on all */
    size_t row_bytes;
    const uint64_t *starts; /* by rank, in rows from base */
    const uint64_t *counts; /* by rank, in rows; 0 is allowed */
} epi_gather_t;

typedef struct epi_group_ops {
    /** Element-wise minimum of bytes over the ranks, in place. */
    epdx_status_t (*min_u8)(epdx_group_t *group, uint8_t *values, size_t count);
    /** The same of 64-bit words. */
    epdx_status_t (*min_u64)(epdx_group_t *group, uint64_t *values,
                             size_t count);
    /** root's bytes to all. */
    epdx_status_t (*broadcast)(epdx_group_t *group, void *bytes, size_t count,
                               uint32_t root);
    /** Each rank's block to all others, in place, count blocks at once, all in
     *  flight together, one wait. Returns when all of them are complete. */
    epdx_status_t (*gather)(epdx_group_t *group, const epi_gather_t *gathers,
                            size_t count);
    void (*close)(epdx_group_t *group);
} epi_group_ops_t;

struct epdx_group {
    const epi_group_ops_t *ops; /* first member of every implementation */
    uint32_t rank;
    uint32_t size;
};

#endif
