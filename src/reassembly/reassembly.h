/*
 * reassembly.h: full rows from row shards, in place, all items of a drain in
 * flight at once. One object a group of ranks, behind a table of operations by
 * kind of memory: host rows by the group's gather, rows in CUDA memory by NCCL.
 * On the thread that calls MPI. Admission calls it:
 *
 *     open --> run ... run --> close
 *               \--(a rank failed, agreed)--> abort --> close
 *
 * A drain's plan is a batch. A host batch is complete when run() returns. A
 * deferred one (NCCL) is queued then, complete later, in order, and may fail
 * until then: poll() tells, on each rank for itself. What follows for the group
 * is the caller's to agree on: nothing here but open() and a host run() is a
 * collective of the group.
 */
#ifndef EPI_REASSEMBLY_REASSEMBLY_H
#define EPI_REASSEMBLY_REASSEMBLY_H

#include "epdx/cuda.h"
#include "group/group.h"
#include "memory/memory.h"
#include "reassembly/plan.h"

/** Deferred batches in flight at once, on any rank. */
#define EPI_REASSEMBLY_BATCHES 32

typedef struct epi_reassembly epi_reassembly_t;

typedef struct epi_reassembly_ops {
    const char *name;
    /** Batches complete after run(). */
    bool deferred;
    /** Carry a plan that has gathers out. Host: returns when the caller may
     *  read every row; the errors are those of the group. Deferred: returns
     *  when the batch is queued in stream order, never waits for a stream;
     *  *ready_p is the batch's event (a cudaEvent_t). Its errors are this
     *  rank's: EPDX_ERR_GROUP, _TIMEOUT, _IO, and the batch, which counts as
     *  launched all the same, is then never complete here. At most
     *  EPI_REASSEMBLY_BATCHES may be launched and not complete. */
    epdx_status_t (*run)(epi_reassembly_t *self, const epi_plan_t *plan,
                         void **ready_p);
    /** Look once at the batches in flight, oldest first, and whether this rank
     *  is still well. EPDX_ERR_TIMEOUT, _GROUP or _IO with words: it is not,
     *  and stays so. */
    epdx_status_t (*poll)(epi_reassembly_t *self);
    /** Agreed: end what is in flight. No run() may follow; poll() still tells
     *  of batches. Does not wait. */
    void (*abort)(epi_reassembly_t *self);
    /** False: a batch may still use the rows that it was to rebuild. */
    bool (*close)(epi_reassembly_t *self);
} epi_reassembly_ops_t;

typedef struct epi_reassembly_counters {
    uint64_t creation; /* collectives of the group that open() made */
    uint64_t groups;   /* NCCL groups launched by run() */
    uint64_t broadcasts;
    uint64_t bytes; /* broadcast, those of all roots */
} epi_reassembly_counters_t;

struct epi_reassembly {
    const epi_reassembly_ops_t *ops; /* first member of every kind */
    epdx_group_t *group;
    /* Deferred batches since open: the same on every rank, and of them those
     * that are complete on this rank, as of the last poll(). */
    uint64_t launched;
    uint64_t done;
    epi_reassembly_counters_t counters;
};

typedef struct epi_reassembly_params {
    epi_memory_t memory;     /* of the rows */
    const epdx_cuda_t *cuda; /* NULL: own stream, own communicator */
    /* For the communicator to come up, and for a batch from its launch until
     * it is complete: EPDX_WAITING_TIMEOUT_S. */
    uint64_t timeout_ns;
} epi_reassembly_params_t;

/** Open on every rank, with the same kind of memory. Host memory: makes no
 *  collective; EPDX_ERR_NO_MEMORY. CUDA memory: collective over the group, and
 *  an error on one rank is one on every rank: EPDX_ERR_DISAGREE: NCCL's
 *  versions differ, or a communicator is given on some ranks only;
 *  EPDX_ERR_UNSUPPORTED: built without NCCL; EPDX_ERR_INVALID: the communicator
 *  given is not one of this group; EPDX_ERR_TIMEOUT, _GROUP, _IO, _NO_MEMORY.
 */
EPDX_MUST_CHECK epdx_status_t
epi_reassembly_open(epdx_group_t *group, const epi_reassembly_params_t *params,
                    epi_reassembly_t **reassembly_p);

/** Waits for batches in flight, 20 s at most. NULL is allowed. The batches'
 *  events end with it. False: a batch may still use its rows. */
bool epi_reassembly_close(epi_reassembly_t *reassembly);

/** The CUDA half of open: in nccl_open.c, or in nccl_none.c where NCCL is left
 *  out. */
EPDX_MUST_CHECK epdx_status_t
epi_reassembly_nccl(epdx_group_t *group, const epi_reassembly_params_t *params,
                    epi_reassembly_t **reassembly_p);

#endif
