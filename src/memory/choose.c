/* choose.c: the memory that an object's parameters ask for. */
#include "base/error.h"
#include "memory/memory.h"

epdx_status_t epi_memory_choose(const epi_memory_wish_t *wish,
                                epi_memory_t *memory_p)
{
    epdx_memory_t memory = wish->memory;
    int device;
    epdx_status_t status;

    if (memory == EPDX_MEMORY_DEFAULT) {
        memory = (epdx_memory_t)wish->preset;
    }
    if (memory == EPDX_MEMORY_HOST) {
        *memory_p = (epi_memory_t){epi_memory_host(), 0};
        return EPDX_OK;
    }
    if (memory != EPDX_MEMORY_CUDA) {
        return epi_fail(EPDX_ERR_INVALID,
                        "%s: memory %d is none that this library knows",
                        wish->who, (int)memory);
    }
    status = epi_memory_cuda_device(wish->who, wish->cuda, &device);
    if (status == EPDX_OK) {
        *memory_p = (epi_memory_t){epi_memory_cuda(), device};
    }
    return status;
}
