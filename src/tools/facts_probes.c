/* facts_probes.c: what UCX and the GPU libraries say, of probes.h. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "tools/facts.h"
#include "tools/probes.h"

#define LIMIT_NS (40 * EPI_S)

void epi_facts_ucx(const epi_network_facts_t *network, const char *built,
                   epi_plane_facts_t *facts_p)
{
    epi_plane_facts_t facts = {.built = built,
                               .loopback = network->loopback,
                               .user_settings =
                                   getenv("UCX_TLS") != NULL ||
                                   getenv("UCX_NET_DEVICES") != NULL};

    if (network->address[0] == '\0') {
        (void)epi_text_copy(facts.ucx.error, sizeof(facts.ucx.error),
                            network->error);
    } else if (epi_probe_run(EPI_PROBE_UCX, network->address, LIMIT_NS,
                             &facts.ucx) != EPDX_OK) {
        memset(&facts.ucx, 0, sizeof(facts.ucx));
        (void)epi_text_copy(facts.ucx.error, sizeof(facts.ucx.error),
                            epdx_last_error());
    }
    *facts_p = facts;
}

void epi_facts_gpu(const epi_options_t *options, bool ucx,
                   epi_gpu_facts_t *facts_p)
{
    epi_gpu_facts_t facts = {.wanted = options->memory == EPDX_MEMORY_CUDA,
                             .shard = options->embedding_shard != 0,
                             .ucx_cuda = ucx};
    epi_device_facts_t found = {.nccl = 0};

    if (epi_probe_run(EPI_PROBE_GPU, "", LIMIT_NS, &found) != EPDX_OK) {
        memset(&found, 0, sizeof(found));
        found.cuda.built = true;
        (void)epi_text_copy(found.cuda.error, sizeof(found.cuda.error),
                            epdx_last_error());
    }
    facts.cuda_built = found.cuda.built;
    facts.runtime = found.cuda.runtime;
    facts.driver = found.cuda.driver;
    facts.devices = found.cuda.devices;
    (void)epi_text_copy(facts.error, sizeof(facts.error), found.cuda.error);
    facts.nccl_built = found.nccl_built;
    facts.nccl = found.nccl;
    *facts_p = facts;
}
