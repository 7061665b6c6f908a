/*
 * cuda.h: which device, stream and communicator rows in CUDA memory use. No
 * CUDA header is needed here: a stream, an event or a communicator is a void *
 * of the type that its comment names.
 *
 * With EPDX_MEMORY_CUDA the pool of a receiver, the ring of a sender and a
 * sender's own memory are memory of one device. Where UCX reaches that memory,
 * rows go straight in and out. Where it does not, they are copied through
 * pinned host memory, of EPDX_CUDA_STAGING_MB, and the log says so. Either way
 * an item has landed only once its rows can be read by work that is submitted
 * to the device from then on, and a chunk's rows are read only once its ready
 * event is done.
 *
 * epdx waits for no stream and no event: it asks, in poll and drain and in its
 * own thread, also while another thread captures a graph. That thread makes the
 * device current for itself. With EPDX_PROGRESS_CALLER there is none, and the
 * device must be current in the calling thread.
 */
#ifndef EPDX_CUDA_H
#define EPDX_CUDA_H

#include <stdbool.h>
#include <stddef.h>

#include "epdx/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Set struct_size and device; zero elsewhere is the default. */
typedef struct epdx_cuda {
    size_t struct_size; /**< sizeof(epdx_cuda_t) */
    int device;         /**< as cudaSetDevice() counts */
    /** Rebuild full rows on stream, in its order; else on epdx's own. */
    bool use_stream;
    void *stream; /**< cudaStream_t; NULL is the default stream */
    /** ncclComm_t of the group's ranks, in their order, on this device, which
     *  stays the caller's; NULL: epdx makes one. */
    void *nccl_comm;
} epdx_cuda_t;

#ifdef __cplusplus
}
#endif
#endif
