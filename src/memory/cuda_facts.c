/* cuda_facts.c: see cuda_facts.h. */
#include "memory/cuda_facts.h"

#include <cuda_runtime_api.h>

#include "base/text.h"

void epi_cuda_facts(epi_cuda_facts_t *facts_p)
{
    epi_cuda_facts_t facts = {.built = true};
    cudaError_t error;

    (void)cudaRuntimeGetVersion(&facts.runtime);
    (void)cudaDriverGetVersion(&facts.driver);
    error = cudaGetDeviceCount(&facts.devices);
    if (error != cudaSuccess) {
        facts.devices = 0;
        (void)epi_text_copy(facts.error, sizeof(facts.error),
                            cudaGetErrorString(error));
    } else if (facts.devices == 0) {
        (void)epi_text_copy(facts.error, sizeof(facts.error),
                            "the driver shows no device");
    }
    *facts_p = facts;
}
