/* facts_nccl.c: NCCL's version, of the header and of what is loaded. */
#include <nccl.h>

#include "tools/probes.h"

void epi_facts_nccl(epi_device_facts_t *facts)
{
    facts->nccl_built = NCCL_VERSION_CODE;
    if (ncclGetVersion(&facts->nccl) != ncclSuccess) {
        facts->nccl = 0;
    }
}
