/* no_cuda.c: stands for cuda.c in a build without CUDA. */
#include "base/error.h"
#include "memory/memory.h"

const epi_memory_ops_t *epi_memory_cuda(void)
{
    return NULL;
}

epdx_status_t epi_memory_cuda_device(const char *who, const epdx_cuda_t *cuda,
                                     int *device_p)
{
    (void)cuda;
    (void)device_p;
    return epi_fail(EPDX_ERR_INVALID,
                    "%s: CUDA memory is asked for, and this epdx was built "
                    "without CUDA: build it with -DEPDX_CUDA=ON, or use host "
                    "memory (EPDX_MEMORY)",
                    who);
}
