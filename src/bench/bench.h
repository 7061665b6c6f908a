/*
 * bench.h: what the subjects of epdx_bench share: the options, the team, and
 * the ways that are measured beside each other, epdx and its raw parts.
 *
 * Rank 0 of the team is the encode rank; the others are prefill ranks. A case
 * is measured in rounds, and in each round every way once, one after the other:
 * A B C A B C ... What the machine does in between touches all of them alike.
 */
#ifndef EPI_BENCH_BENCH_H
#define EPI_BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/results.h"
#include "bench/team.h"

#define EPI_ROUNDS_MAX 64

typedef struct epi_bench_options {
    bool json;
    bool quick;
    bool own; /* rows are in the caller's own memory, not in the ring */
    uint64_t ranks;
    uint64_t rounds;
    uint64_t memory_mb;
    uint64_t size;
    uint64_t window;
    uint64_t pending;
    uint64_t steps;
    const char *workload;
    const char *meet;
} epi_bench_options_t;

typedef struct epi_bench {
    const epi_bench_options_t *options;
    epi_team_t *team;
    epi_results_t results; /* of rank 0 */
} epi_bench_t;

typedef struct epi_subject {
    const char *name;
    const char *about;
    /** Needs the MPI of an mpirun. */
    bool mpi;
    /** One process is enough. */
    bool alone;
    /** After an error nothing is closed: that would be collective, and other
     *  ranks are elsewhere. The process then ends. */
    epdx_status_t (*run)(epi_bench_t *bench);
} epi_subject_t;

extern const epi_subject_t epi_subject_transfer;
extern const epi_subject_t epi_subject_control;
extern const epi_subject_t epi_subject_drain;
extern const epi_subject_t epi_subject_reassemble;
extern const epi_subject_t epi_subject_trace;
extern const epi_subject_t epi_subject_scale;

/** Bytes that go from the encode rank to each prefill rank. */
typedef struct epi_round {
    size_t size;   /* of one item */
    size_t window; /* items under way at once, at most */
    size_t count;  /* items */
    bool walk;     /* each at its own place; else window places, in turn */
} epi_round_t;

typedef struct epi_way epi_way_t;

typedef struct epi_way_ops {
    const char *name;
    /** Collective, as all that follow. EPDX_ERR_UNSUPPORTED: this way cannot
     *  be gone here; it is then left out on all ranks. */
    epdx_status_t (*open)(epi_bench_t *bench, epi_way_t **way_p);
    /** Move the bytes. *seconds_p: from this rank's start to its last byte, 0
     *  where others' time counts. */
    epdx_status_t (*round)(epi_way_t *way, const epi_round_t *round,
                           double *seconds_p);
    /** What UCX chose; "" where it has no part in it. */
    void (*transport)(epi_way_t *way, char *out, size_t size);
    void (*close)(epi_way_t *way);
} epi_way_ops_t;

struct epi_way {
    const epi_way_ops_t *ops;
    epi_bench_t *bench;
    size_t bytes; /* of memory that items go from and to */
};

extern const epi_way_ops_t epi_way_epdx;        /* with I/O threads */
extern const epi_way_ops_t epi_way_epdx_caller; /* run by its callers */
extern const epi_way_ops_t epi_way_ucx_am;
extern const epi_way_ops_t epi_way_ucx_am_event;
extern const epi_way_ops_t epi_way_ucx_put;
extern const epi_way_ops_t epi_way_tcp;
extern const epi_way_ops_t epi_way_shm;

/** The end of a way's open: *way_p where status is EPDX_OK, else the way is
 *  closed. Returns status. */
EPDX_MUST_CHECK epdx_status_t epi_way_opened(epi_way_t *way,
                                             epdx_status_t status,
                                             epi_way_t **way_p);

/** Place i of a round, in memory of way->bytes. */
size_t epi_round_place(const epi_way_t *way, const epi_round_t *round,
                       size_t index);

/** Items under way at once that the memory has places for. */
size_t epi_round_window(const epi_way_t *way, const epi_round_t *round);

static inline bool epi_bench_encode(const epi_bench_t *bench)
{
    return bench->team->rank == 0;
}

/** Memory with every page touched; NULL: none. To be freed with free(). */
void *epi_bench_memory(size_t bytes);

#endif
