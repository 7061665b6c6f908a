/* fake_nccl_internal.h: what the files of the NCCL fake share. */
#ifndef EPI_TESTING_FAKE_NCCL_INTERNAL_H
#define EPI_TESTING_FAKE_NCCL_INTERNAL_H

#include <stdatomic.h>

#include "testing/fake_cuda_internal.h"
#include "testing/fake_nccl.h"

/* fake_nccl_segment.c: the memory that the ranks of a communicator share. */

#define EPI_FAKE_SLOT_BYTES ((size_t)64 * 1024)
#define EPI_FAKE_SLOTS      4

/** What a rank says of the group it enters. */
typedef struct epi_fake_entry {
    atomic_uint_fast64_t number; /* the group, from 1; written last */
    atomic_uint_fast64_t count;
    atomic_uint_fast64_t bytes;
    atomic_uint_fast64_t hash; /* of each root and size, in order */
} epi_fake_entry_t;

/** The bytes that one root sends, through slots that are used in turn. */
typedef struct epi_fake_channel {
    atomic_uint_fast64_t written;                   /* slots, since the start */
    atomic_uint_fast64_t read[EPI_FAKE_NCCL_RANKS]; /* by each rank */
    unsigned char slots[EPI_FAKE_SLOTS][EPI_FAKE_SLOT_BYTES];
} epi_fake_channel_t;

typedef struct epi_fake_segment {
    uint64_t cookie;
    atomic_uint bell; /* changes with everything else here */
    atomic_int size;  /* 0: no rank has attached */
    atomic_int attached;
    atomic_int finalized;
    atomic_int versions[EPI_FAKE_NCCL_RANKS]; /* 0: not attached */
    /** Two, used in turn: a rank that enters a group has seen all ranks enter
     *  the one before, so none still reads the one before that. */
    epi_fake_entry_t entries[2][EPI_FAKE_NCCL_RANKS];
    epi_fake_channel_t channels[EPI_FAKE_NCCL_RANKS];
} epi_fake_segment_t;

/** Make a segment and the id that leads to it. */
ncclResult_t epi_fake_segment_make(ncclUniqueId *id_p);

/** Attach as rank of size. ncclSystemError: it is not there any more;
 *  ncclInvalidUsage: the rank is taken, or others say another size. */
ncclResult_t epi_fake_segment_attach(const ncclUniqueId *id, int rank, int size,
                                     epi_fake_segment_t **segment_p);

/** Count this rank in as attached, of that version. */
void epi_fake_segment_enter(epi_fake_segment_t *segment, int rank, int version);

/** All are attached, or this rank gives up: the id leads nowhere any more. */
void epi_fake_segment_forget(const epi_fake_segment_t *segment);

void epi_fake_segment_detach(epi_fake_segment_t *segment);

/** Tell all ranks that something changed. */
void epi_fake_segment_ring(epi_fake_segment_t *segment);

/** Wait until the bell is no longer at seen, or a little while. */
void epi_fake_segment_wait(epi_fake_segment_t *segment, unsigned seen);

/* fake_nccl_comm.c: communicators. */

typedef struct epi_fake_group epi_fake_group_t;

struct ncclComm {
    struct ncclComm *next; /* registry */
    epi_fake_segment_t *segment;
    int rank;
    int size;
    int device;
    int version;
    bool blocking;
    bool never_made; /* a fault */
    bool finalizing;
    bool made;
    unsigned late;           /* calls until what is pending is done */
    epi_fake_group_t *group; /* pending: not yet in its stream */
    cudaStream_t stream;     /* of it */
    uint64_t issued;         /* groups */
    atomic_uint_fast64_t ended;
    atomic_int error;       /* asynchronous, ncclSuccess while there is none */
    atomic_int error_after; /* becomes error once an event was seen: */
    atomic_uint_fast64_t seen_before; /* those of the device so far */
    atomic_bool aborted;
    atomic_bool running; /* a stream is in one of its groups */
    atomic_uint references;
};

/** ncclInvalidArgument, a violation, where comm is none or in progress. */
ncclResult_t epi_fake_comm_check(ncclComm_t comm);

void epi_fake_comm_drop(ncclComm_t comm);

/* fake_nccl_group.c: groups. */

/** Put a communicator's pending group into its stream. */
ncclResult_t epi_fake_group_issue(ncclComm_t comm);

/** Free a pending group; NULL is allowed. */
void epi_fake_group_drop(epi_fake_group_t *group);

/* fake_nccl_run.c: what a stream does for a group. */

typedef struct epi_fake_broadcast {
    ncclComm_t comm;
    cudaStream_t stream;
    epi_fake_range_t src;
    epi_fake_range_t dst;
    size_t bytes;
    int root;
} epi_fake_broadcast_t;

struct epi_fake_group {
    epi_fake_op_t base;
    ncclComm_t comm;
    uint64_t number; /* of the communicator's, from 1 */
    epi_fake_nccl_fault_t fault;
    size_t count;
    size_t capacity;
    epi_fake_broadcast_t *broadcasts;
};

void epi_fake_group_run(epi_fake_op_t *op);

/* fake_nccl.c: faults, counts, texts. */

/** A call that failed: keep its text for ncclGetLastError(), give result. */
ncclResult_t epi_fake_nccl_fails(ncclResult_t result, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** Take a rank's fault if it is of the creation of a communicator. */
bool epi_fake_nccl_take_init_fault(int rank);

/** The fault that strikes the group a rank issues now; NO_FAULT: none. */
epi_fake_nccl_fault_t epi_fake_nccl_take_group_fault(int rank);

int epi_fake_nccl_my_version(void);
unsigned epi_fake_nccl_lateness(void);

typedef struct epi_fake_nccl_tally {
    atomic_uint_fast64_t inits;
    atomic_uint_fast64_t groups;
    atomic_uint_fast64_t broadcasts;
    atomic_uint_fast64_t bytes;
    atomic_uint_fast64_t last_group;
    atomic_uint_fast64_t aborts;
    atomic_uint_fast64_t destroys;
} epi_fake_nccl_tally_t;

epi_fake_nccl_tally_t *epi_fake_nccl_tally(int rank);

#endif
