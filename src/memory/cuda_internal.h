/* cuda_internal.h: what cuda.c and cuda_copy.c share. */
#ifndef EPI_MEMORY_CUDA_INTERNAL_H
#define EPI_MEMORY_CUDA_INTERNAL_H

#include <cuda_runtime_api.h>

#include "memory/memory.h"

/** A CUDA error as ours, in words: EPDX_ERR_NO_MEMORY or EPDX_ERR_IO. Takes the
 *  error away from cudaGetLastError(), but one that stays with the context. */
epdx_status_t epi_cuda_fail(cudaError_t error, const char *what);

/** Make device current; *before_p is what was. EPDX_ERR_IO. */
EPDX_MUST_CHECK epdx_status_t epi_cuda_enter(int device, int *before_p);
void epi_cuda_leave(int before);

extern const epi_copy_ops_t epi_cuda_copies;

#endif
