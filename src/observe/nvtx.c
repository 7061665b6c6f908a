/*
 * nvtx.c: see nvtx.h. NVTX attaches a tool at the first call of a process, by
 * pointers that it does not guard: so that is made once, before any other.
 */
#include "observe/nvtx.h"

#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stddef.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void attach(void)
{
    nvtxInitialize(NULL);
}

void epi_nvtx_push(const char *name)
{
    (void)pthread_once(&once, attach);
    (void)nvtxRangePushA(name);
}

void epi_nvtx_pop(void)
{
    (void)nvtxRangePop();
}
