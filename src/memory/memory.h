/*
 * memory.h: operations on a kind of memory: host now; the seam for device
 * memory. Pool and ring are allocated here and then mapped by the data plane.
 */
#ifndef EPI_MEMORY_MEMORY_H
#define EPI_MEMORY_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "epdx/status.h"

typedef enum epi_memory_kind {
    EPI_MEMORY_HOST = 0,
} epi_memory_kind_t;

typedef struct epi_memory_ops {
    epi_memory_kind_t kind;
    const char *name;
    /** bytes of page-aligned memory, every page touched, so that no transfer
     *  pays for first touch. EPDX_ERR_NO_MEMORY with the size in words. */
    epdx_status_t (*alloc)(size_t bytes, void **base_p);
    void (*release)(void *base, size_t bytes);
} epi_memory_ops_t;

/** Ordinary host memory. */
const epi_memory_ops_t *epi_memory_host(void);

#endif
