/* doctor_gpu.c: whether rows can be in CUDA memory. */
#include "tools/doctor_checks.h"

/** What is a failure only where EPDX_MEMORY asks for device memory. */
static epi_verdict_t cuda(const void *of, epi_finding_t *finding)
{
    const epi_gpu_facts_t *facts = of;

    if (!facts->cuda_built) {
        return facts->wanted
                   ? epi_say_fail(finding,
                                  "build epdx with -DEPDX_CUDA=ON, or set "
                                  "EPDX_MEMORY=host",
                                  "EPDX_MEMORY is cuda, and epdx was built "
                                  "without CUDA")
                   : epi_say_note(finding, "epdx was built without CUDA");
    }
    if (facts->devices > 0) {
        return epi_say_ok(finding, "%d devices, CUDA %d.%d (driver: %d.%d)",
                          facts->devices, facts->runtime / 1000,
                          facts->runtime % 1000 / 10, facts->driver / 1000,
                          facts->driver % 1000 / 10);
    }
    return facts->wanted
               ? epi_say_fail(finding,
                              "nvidia-smi must show the device here: a driver "
                              "at least as new as the CUDA runtime; of a "
                              "container: --gpus all; or set EPDX_MEMORY=host",
                              "EPDX_MEMORY is cuda, and no device can be used: "
                              "%s",
                              facts->error)
               : epi_say_note(finding,
                              "no CUDA device can be used: %s; rows are in "
                              "host memory",
                              facts->error);
}

static epi_verdict_t driver(const void *of, epi_finding_t *finding)
{
    const epi_gpu_facts_t *facts = of;

    if (facts->devices == 0 || facts->driver >= facts->runtime) {
        return EPI_VERDICT_NONE;
    }
    return epi_say_warn(
        finding,
        "update the driver, or build epdx with a CUDA that is not newer",
        "the driver knows CUDA %d.%d, and %d.%d is loaded",
        facts->driver / 1000, facts->driver % 1000 / 10, facts->runtime / 1000,
        facts->runtime % 1000 / 10);
}

static epi_verdict_t ucx(const void *of, epi_finding_t *finding)
{
    const epi_gpu_facts_t *facts = of;

    if (facts->devices == 0) {
        return EPI_VERDICT_NONE;
    }
    return facts->ucx_cuda
               ? epi_say_ok(finding, "UCX reaches device memory")
               : epi_say_warn(finding,
                              "build UCX --with-cuda (and gdrcopy), and load "
                              "nvidia-peermem for RDMA",
                              "UCX is built without CUDA: rows are copied "
                              "through EPDX_CUDA_STAGING_MB of host memory");
}

/** NCCL writes 2.28.9 as 22809, and before 2.9 2.8.4 as 2804. */
static int nccl_major(int version)
{
    return version >= 10000 ? version / 10000 : version / 1000;
}

static int nccl_minor(int version)
{
    return version >= 10000 ? version / 100 % 100 : version / 100 % 10;
}

static epi_verdict_t nccl(const void *of, epi_finding_t *finding)
{
    const epi_gpu_facts_t *facts = of;

    if (!facts->cuda_built) {
        return EPI_VERDICT_NONE;
    }
    if (facts->nccl_built == 0) {
        return facts->wanted && facts->shard
                   ? epi_say_fail(finding,
                                  "build epdx with -DEPDX_NCCL=ON, or set "
                                  "EPDX_EMBEDDING_SHARD=0",
                                  "epdx was built without NCCL: shards in "
                                  "device memory cannot be rebuilt")
                   : epi_say_note(finding, "epdx was built without NCCL");
    }
    if (facts->nccl < facts->nccl_built) {
        return epi_say_warn(finding,
                            "put the NCCL that epdx was built with first in "
                            "LD_LIBRARY_PATH, the same on all nodes",
                            "NCCL %d.%d.%d is loaded, and epdx was built with "
                            "%d.%d.%d",
                            nccl_major(facts->nccl), nccl_minor(facts->nccl),
                            facts->nccl % 100, nccl_major(facts->nccl_built),
                            nccl_minor(facts->nccl_built),
                            facts->nccl_built % 100);
    }
    return epi_say_ok(finding, "NCCL %d.%d.%d", nccl_major(facts->nccl),
                      nccl_minor(facts->nccl), facts->nccl % 100);
}

static const epi_check_t checks[] = {
    {"gpu.cuda", cuda},
    {"gpu.driver", driver},
    {"gpu.ucx", ucx},
    {"gpu.nccl", nccl},
};

void epi_doctor_gpu(const epi_gpu_facts_t *facts, epi_findings_t *findings)
{
    epi_findings_add(findings, checks, sizeof(checks) / sizeof(checks[0]),
                     facts);
}
