/* nvtx_none.c: nvtx.h in a build without NVTX. */
#include "observe/nvtx.h"

void epi_nvtx_push(const char *name)
{
    (void)name;
}

void epi_nvtx_pop(void)
{
}
