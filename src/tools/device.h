/*
 * device.h: rows on their way between a program and where its receiver or
 * sender has them. In host memory they are used in place; in device memory they
 * are copied through pinned memory, on a stream of the program's own. One
 * thread.
 */
#ifndef EPI_TOOLS_DEVICE_H
#define EPI_TOOLS_DEVICE_H

#include "memory/memory.h"
#include "tools/report.h"

typedef struct epi_device {
    epi_memory_t memory; /* no ops: not open */
    epdx_cuda_t cuda;    /* for the parameters of receiver or sender */
    void *stream;
    void *pinned; /* pinned_bytes of it */
    size_t pinned_bytes;
} epi_device_t;

/** memory is that of --memory; the setting where it was not given. rank takes
 *  device rank % N of N, and makes it the calling thread's. Errors:
 *  EPDX_ERR_INVALID, _IO: as epi_memory_choose(). */
EPDX_MUST_CHECK epdx_status_t epi_device_open(epdx_memory_t memory,
                                              uint32_t rank,
                                              epi_device_t *device_p);

/** Whether rows are in device memory. */
bool epi_device_away(const epi_device_t *device);

/** For the parameters of receiver or sender: the kind, and which device. */
epdx_memory_t epi_device_kind(const epi_device_t *device);
const epdx_cuda_t *epi_device_cuda(const epi_device_t *device);

/** "memory", and in device memory "gpu": whether a real one is behind it. */
void epi_device_json(const epi_device_t *device, epi_json_t *json);

/** Let what is read from now on be read only once event (NULL: none) is done.
 *  EPDX_ERR_IO. */
EPDX_MUST_CHECK epdx_status_t epi_device_after(epi_device_t *device,
                                               void *event);

/** rows, where the program can read them: *rows_p is valid until the next call.
 *  Waits for the copy. EPDX_ERR_NO_MEMORY, _IO. */
EPDX_MUST_CHECK epdx_status_t epi_device_read(epi_device_t *device,
                                              const void *rows, size_t bytes,
                                              const void **rows_p);

/** Memory of at least bytes for rows to be written. EPDX_ERR_FULL: what was
 *  written before is still being copied; EPDX_ERR_NO_MEMORY, _IO. */
EPDX_MUST_CHECK epdx_status_t epi_device_draft(epi_device_t *device,
                                               size_t bytes, void **draft_p);

/** Begin to copy rows from the draft, and let event tell when that is done.
 *  EPDX_ERR_IO. */
EPDX_MUST_CHECK epdx_status_t epi_device_write(epi_device_t *device, void *rows,
                                               const void *draft, size_t bytes,
                                               void *event);

/** Waits for copies under way. A device that is not open is allowed. */
void epi_device_close(epi_device_t *device);

#endif
