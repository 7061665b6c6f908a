/*
 * memory.h: operations on a kind of memory: host, or that of a CUDA device.
 * Pool and ring are allocated here and then mapped by the data plane. Nobody
 * else calls the CUDA runtime for memory: cuda.c and cuda_copy.c are
 * all that knows it, and are left out where the build has no CUDA.
 *
 * device is as cudaSetDevice() counts; host memory ignores it. All calls leave
 * the calling thread's current device as it was, but those that are for it.
 * They also leave no error behind for the caller's own cudaGetLastError().
 */
#ifndef EPI_MEMORY_MEMORY_H
#define EPI_MEMORY_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "epdx/cuda.h"
#include "epdx/types.h"
#include "memory/copies.h"

typedef enum epi_memory_kind {
    EPI_MEMORY_HOST = 0,
    EPI_MEMORY_CUDA = 1,
} epi_memory_kind_t;

typedef struct epi_memory_ops {
    epi_memory_kind_t kind;
    const char *name;
    /** bytes of page-aligned memory, every page touched, so that no transfer
     *  pays for first touch. EPDX_ERR_NO_MEMORY with the size in words,
     *  for host memory before anything is touched (memory/available.h);
     *  EPDX_ERR_IO: the device fails. */
    epdx_status_t (*alloc)(int device, size_t bytes, void **base_p);
    void (*release)(int device, void *base, size_t bytes);
    /** Whether [base, base + bytes), which a caller gave, is such memory.
     *  EPDX_ERR_INVALID, in words: what it is instead. EPDX_ERR_IO. */
    epdx_status_t (*check)(int device, const void *base, size_t bytes);
    /** How many devices there are, 0 where none can be used. */
    int (*devices)(void);
    /** Make the device the calling thread's, which is epdx's own. EPDX_ERR_IO.
     */
    epdx_status_t (*bind)(int device);
    /** Make the device the calling thread's until leave(*before_p), for what
     *  UCX does on a thread of the caller's. EPDX_ERR_IO. */
    epdx_status_t (*enter)(int device, int *before_p);
    void (*leave)(int before);
    /** How rows come and go; NULL: they are read and written in place. */
    const epi_copy_ops_t *copies;
} epi_memory_ops_t;

/** Memory of one place. */
typedef struct epi_memory {
    const epi_memory_ops_t *ops;
    int device;
} epi_memory_t;

/** Ordinary host memory. */
const epi_memory_ops_t *epi_memory_host(void);

/** Host memory that other processes of this host can map, of a sealed file;
 *  see epi_memory_shared_fd(). EPDX_ERR_NO_MEMORY also where the kernel has no
 *  such files. */
const epi_memory_ops_t *epi_memory_shared(void);

/** The file behind shared memory that begins at base, open as long as that is
 *  not released; -1: it is memory of another kind. */
int epi_memory_shared_fd(const void *base);

/** The name of such a file, as /proc/<pid>/fd shows it behind "/memfd:". */
#define EPI_MEMORY_SHARED_NAME "epdx"

/** Memory of a CUDA device; NULL: this library was built without CUDA. */
const epi_memory_ops_t *epi_memory_cuda(void);

/** What an object's parameters ask for; who names it in errors. */
typedef struct epi_memory_wish {
    const char *who;
    epdx_memory_t memory;    /* EPDX_MEMORY_DEFAULT: preset */
    uint64_t preset;         /* the setting, an epdx_memory_t */
    const epdx_cuda_t *cuda; /* NULL: the calling thread's current device */
} epi_memory_wish_t;

/** Errors: EPDX_ERR_INVALID: no such kind, none in this build, no such device,
 *  or cuda is of a size that this library does not know; EPDX_ERR_IO: there is
 *  no device, or its driver fails. */
EPDX_MUST_CHECK epdx_status_t epi_memory_choose(const epi_memory_wish_t *wish,
                                                epi_memory_t *memory_p);

/** The CUDA half of it: the device to use. In cuda.c. */
EPDX_MUST_CHECK epdx_status_t epi_memory_cuda_device(const char *who,
                                                     const epdx_cuda_t *cuda,
                                                     int *device_p);

#endif
