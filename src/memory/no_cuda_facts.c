/* no_cuda_facts.c: CUDA is left out of this build. */
#include "memory/cuda_facts.h"

void epi_cuda_facts(epi_cuda_facts_t *facts_p)
{
    *facts_p = (epi_cuda_facts_t){.built = false};
}
