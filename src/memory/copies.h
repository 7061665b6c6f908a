/*
 * copies.h: rows on their way between the CPU and a device: staging memory that
 * a device copies from and to by itself, copies in a stream's order, and events
 * that tell when they are done. Streams and events are cudaStream_t and
 * cudaEvent_t, passed as void *. Nothing here waits.
 *
 * What the events prove (CUDA runtime): once cudaEventQuery() says that an
 * event is done, all that its stream was given before it has been done, and
 * work that is submitted to the device from then on sees it.
 */
#ifndef EPI_MEMORY_COPIES_H
#define EPI_MEMORY_COPIES_H

#include <stddef.h>

#include "epdx/status.h"

/** Whether rows that another device on the bus wrote into this one can be read
 *  by work that is submitted after the CPU learned of it. */
typedef enum epi_flush {
    EPI_FLUSH_NONE,   /* as it is */
    EPI_FLUSH_NEEDED, /* after flush() */
    EPI_FLUSH_LACKS,  /* no: such writes must not be used */
} epi_flush_t;

typedef struct epi_copy_ops {
    /** Pinned host memory. EPDX_ERR_NO_MEMORY with the size in words, _IO. */
    epdx_status_t (*pin)(int device, size_t bytes, void **base_p);
    void (*unpin)(int device, void *base);
    /** A stream that no other one orders itself against. EPDX_ERR_IO. */
    epdx_status_t (*stream_open)(int device, void **stream_p);
    void (*stream_close)(int device, void *stream);
    epdx_status_t (*event_open)(int device, void **event_p);
    void (*event_close)(int device, void *event);
    /** Begin a copy, in either direction. EPDX_ERR_IO: it was not begun. */
    epdx_status_t (*copy)(void *stream, void *to, const void *from,
                          size_t bytes);
    /** Let event tell of all that stream was given so far. EPDX_ERR_IO. */
    epdx_status_t (*record)(void *stream, void *event);
    /** Let what stream is given from now on begin only once event is done.
     *  EPDX_ERR_IO. */
    epdx_status_t (*wait)(void *stream, void *event);
    /** EPDX_OK: done; EPDX_IN_PROGRESS; EPDX_ERR_IO: something failed, in
     *  words, and the event tells nothing. */
    epdx_status_t (*event_done)(void *event);
    /** The same of all that a stream was given. After EPDX_ERR_IO the device
     *  does nothing of it any more. */
    epdx_status_t (*stream_done)(void *stream);
    epi_flush_t (*flush_mode)(int device);
    /** Blocks for microseconds, in the bus. EPDX_ERR_IO. */
    epdx_status_t (*flush)(int device);
} epi_copy_ops_t;

#endif
