/* info_doctor.c: see info_doctor.h. */
#include "tools/info_doctor.h"

#include <stdlib.h>
#include <string.h>

#include "epdx/epdx.h"
#include "tools/facts.h"

extern char **environ;

/** Whether this is the first process of its job on this node. */
static bool speaks(void)
{
    const char *rank = getenv("OMPI_COMM_WORLD_LOCAL_RANK");

    if (rank == NULL && getenv("SLURM_STEP_NUM_TASKS") != NULL) {
        rank = getenv("SLURM_LOCALID");
    }
    return rank == NULL || strcmp(rank, "0") == 0;
}

static void look_at_encode(const epi_doctor_t *doctor, epi_findings_t *findings)
{
    for (size_t i = 0; i < doctor->encode->count; i++) {
        epi_encode_facts_t facts;

        epi_facts_encode(doctor->options, doctor->encode->values[i], &facts);
        epi_doctor_encode(&facts, findings);
    }
}

static void look(const epi_doctor_t *doctor, const epi_network_facts_t *network,
                 epi_findings_t *findings)
{
    epi_memory_facts_t memory;
    epi_plane_facts_t plane;
    epi_gpu_facts_t gpu;

    epi_facts_memory(doctor->options, &memory);
    epi_facts_ucx(network, doctor->ucx_built, &plane);
    epi_facts_gpu(doctor->options, plane.ucx.cuda, &gpu);
    epi_doctor_network(network, findings);
    epi_doctor_ucx(&plane, findings);
    epi_doctor_memory(&memory, findings);
    epi_doctor_gpu(&gpu, findings);
    look_at_encode(doctor, findings);
}

static void print(const epi_doctor_t *doctor, const char *node,
                  const epi_findings_t *findings)
{
    epi_json_t json;

    if (doctor->json) {
        epi_json_begin(&json, stdout);
        epi_json_text(&json, "node", node);
        epi_json_text(&json, "version", epdx_version());
        epi_findings_json(findings, &json);
        epi_json_end(&json);
        return;
    }
    printf("node %s, epdx %s\n", node, epdx_version());
    epi_findings_print(findings, stdout);
}

int epi_info_doctor(const epi_doctor_t *doctor)
{
    static epi_findings_t findings;
    epi_launch_facts_t launch;
    epi_network_facts_t network;

    /* A collective of all processes of the job. */
    epi_facts_launch(&launch);
    if (!speaks()) {
        return 0;
    }
    epi_doctor_launch(&launch, &findings);
    epi_facts_network(doctor->options, &network);
    look(doctor, &network, &findings);
    epi_doctor_settings((const char *const *)environ, &findings);
    print(doctor, network.name, &findings);
    return epi_findings_count(&findings, EPI_VERDICT_FAIL) > 0 ? 1 : 0;
}
