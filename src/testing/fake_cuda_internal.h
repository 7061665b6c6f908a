/*
 * fake_cuda_internal.h: what the files of the CUDA fake, and the NCCL fake on
 * top of it, share.
 *
 * Locks, outer to inner: registry (streams and events), a stream's, a point's.
 * The table of allocations has its own and takes no other. Both tables are
 * read-write locks: readers are not ordered by them, which keeps races between
 * the threads of the product visible to the thread sanitizer.
 */
#ifndef EPI_TESTING_FAKE_CUDA_INTERNAL_H
#define EPI_TESTING_FAKE_CUDA_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "testing/fake_cuda.h"

/* fake_cuda_log.c: */

void epi_fake_cuda_log_add(const epi_fake_cuda_entry_t *entry);
void epi_fake_cuda_log_reset(void);

/** Count a misuse and log it. Gives error, for the caller to return. */
cudaError_t epi_fake_cuda_violation(cudaError_t error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* fake_cuda.c: */

/** Begin a call: the error that a fault wants, noted as the last error. */
cudaError_t epi_fake_cuda_enter(const char *function);

/** End a call: note error as the thread's last error, and give it. */
cudaError_t epi_fake_cuda_leave(cudaError_t error);

/** The calling thread's device. */
int epi_fake_cuda_device(void);

/* fake_cuda_memory.c: */

typedef enum epi_fake_memory {
    EPI_FAKE_PAGEABLE, /* nothing that the fake knows */
    EPI_FAKE_PINNED,
    EPI_FAKE_DEVICE,
} epi_fake_memory_t;

typedef struct epi_fake_allocation epi_fake_allocation_t;

/** A range of memory, held: its allocation is not freed before epi_fake_drop().
 */
typedef struct epi_fake_range {
    epi_fake_memory_t memory;
    unsigned char *bytes;              /* where the fake reaches them */
    int device;                        /* of EPI_FAKE_DEVICE */
    epi_fake_allocation_t *allocation; /* NULL: pageable */
} epi_fake_range_t;

/** Look up and hold. cudaErrorInvalidValue, counted as a violation, when base
 *  is in an allocation and base + bytes is not. */
cudaError_t epi_fake_take(const void *base, size_t bytes,
                          epi_fake_range_t *range_p);
void epi_fake_drop(const epi_fake_range_t *range);

void epi_fake_memory_live(epi_fake_cuda_live_t *live);

/* fake_cuda_stream.c: */

/** What a stream does; the first member of a larger struct. */
typedef struct epi_fake_op {
    struct epi_fake_op *next;
    /** Do it, then free op and what it holds. On the stream's thread, without a
     *  lock; it may wait. */
    void (*run)(struct epi_fake_op *op);
    /** Free op and what it holds, undone. */
    void (*drop)(struct epi_fake_op *op);
    epi_fake_cuda_entry_t entry;
    bool quiet; /* not in the log */
    uint64_t not_before_ns;
} epi_fake_op_t;

/** Put op at the end of stream (NULL: the default stream of the thread's
 *  device). op is the stream's, and dropped on error: a violation where the
 *  handle is none. NULL, from an allocation that failed, is
 *  cudaErrorMemoryAllocation. */
cudaError_t epi_fake_enqueue(cudaStream_t stream, epi_fake_op_t *op);

/** Wait until stream has done what is in it. */
cudaError_t epi_fake_await_stream(cudaStream_t stream);

/** The device of a stream; a violation where it is none. */
cudaError_t epi_fake_stream_device(cudaStream_t stream, int *device_p);

void epi_fake_stream_live(epi_fake_cuda_live_t *live);
void epi_fake_stream_reset(void);

/* fake_cuda_point.c: */

/** A point in a stream, which an event names; shared by a count. */
typedef struct epi_fake_point epi_fake_point_t;

/** NULL: no memory; then everything below gives NULL too, or does nothing. */
epi_fake_point_t *epi_fake_point_open(void);
epi_fake_point_t *epi_fake_point_share(epi_fake_point_t *point);
void epi_fake_point_drop(epi_fake_point_t *point);
bool epi_fake_point_done(epi_fake_point_t *point);
void epi_fake_point_await(epi_fake_point_t *point);

/** True for the first caller. */
bool epi_fake_point_see(epi_fake_point_t *point);

/** Operations that end a point and wait for it. entry NULL: not logged. */
epi_fake_op_t *epi_fake_point_end_op(epi_fake_point_t *point,
                                     const epi_fake_cuda_entry_t *entry);
epi_fake_op_t *epi_fake_point_wait_op(epi_fake_point_t *point,
                                      const epi_fake_cuda_entry_t *entry);

/** Drop an operation that no stream has; NULL is allowed. */
void epi_fake_op_drop(epi_fake_op_t *op);

/* fake_cuda_copy.c: */

void epi_fake_copy_reset(void);

/* fake_cuda_capture.c: */

/** Whether the calling thread may make a call that could disturb a capture:
 *  cudaErrorStreamCaptureUnsupported, and the capture is spoilt. */
cudaError_t epi_fake_capture_allows(void);

/* fake_cuda_event.c: */

void epi_fake_event_live(epi_fake_cuda_live_t *live);

/** How often an event of a device was seen done for the first time. */
uint64_t epi_fake_event_seen(int device);

#endif
