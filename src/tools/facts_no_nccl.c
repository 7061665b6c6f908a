/* facts_no_nccl.c: NCCL is left out of this build. */
#include "tools/probes.h"

void epi_facts_nccl(epi_device_facts_t *facts)
{
    facts->nccl_built = 0;
    facts->nccl = 0;
}
