/* doctor_memory.c: whether there is memory enough, of the right kinds. */
#include <inttypes.h>

#include "tools/doctor_checks.h"

#define MIB UINT64_C(1048576)

/** A rank of Open MPI and UCX takes some MiB of /dev/shm, one of NCCL's more;
 *  containers get 64 MiB where nobody asks for more. */
#define SHM_WANTED (256 * MIB)
#define SHM_LEAST  (16 * MIB)

static epi_verdict_t shm(const void *of, epi_finding_t *finding)
{
    static const char *const cure =
        "mount a tmpfs there that all users can write to; of a container: "
        "--shm-size=1g or --ipc=host";
    const epi_memory_facts_t *facts = of;

    if (facts->shm_bytes == 0 || !facts->shm_writable) {
        return epi_say_fail(finding, cure,
                            "/dev/shm %s: MPI and UCX share "
                            "memory there",
                            facts->shm_bytes == 0 ? "is not there"
                                                  : "cannot be written");
    }
    if (facts->shm_free < SHM_LEAST) {
        return epi_say_fail(finding, cure,
                            "/dev/shm has %" PRIu64 " MiB left of %" PRIu64
                            ": ranks will not start",
                            facts->shm_free / MIB, facts->shm_bytes / MIB);
    }
    if (facts->shm_free < SHM_WANTED) {
        return epi_say_warn(finding, cure,
                            "/dev/shm has %" PRIu64 " MiB left of %" PRIu64
                            ": enough for a few ranks only",
                            facts->shm_free / MIB, facts->shm_bytes / MIB);
    }
    return epi_say_ok(finding, "/dev/shm has %" PRIu64 " MiB left of %" PRIu64,
                      facts->shm_free / MIB, facts->shm_bytes / MIB);
}

static uint64_t larger(uint64_t left, uint64_t right)
{
    return left > right ? left : right;
}

static epi_verdict_t locked(const void *of, epi_finding_t *finding)
{
    const epi_memory_facts_t *facts = of;
    uint64_t wanted = larger(facts->pool_bytes, facts->ring_bytes);

    if (facts->locked_bytes == EPI_UNLIMITED) {
        return epi_say_ok(finding, "memory may be locked without a limit");
    }
    if (!facts->rdma) {
        return epi_say_note(finding,
                            "%" PRIu64 " MiB may be locked; without RDMA "
                            "devices nothing is",
                            facts->locked_bytes / MIB);
    }
    if (facts->locked_bytes >= wanted) {
        return epi_say_ok(
            finding, "%" PRIu64 " MiB may be locked, %" PRIu64 " are wanted",
            facts->locked_bytes / MIB, wanted / MIB);
    }
    return epi_say_fail(
        finding,
        "ulimit -l unlimited, in limits.conf for users and LimitMEMLOCK="
        "infinity for slurmd or the container runtime",
        "%" PRIu64 " MiB may be locked; with RDMA the pool or ring of %" PRIu64
        " MiB is (EPDX_RECV_POOL_MB, EPDX_ENCODE_RING_MB)",
        facts->locked_bytes / MIB, wanted / MIB);
}

static const char *fits(const epi_memory_facts_t *facts, uint64_t bytes)
{
    return bytes > facts->available.bytes ? "would be refused now" : "fits";
}

/* Of a rank in device memory. */
static epi_verdict_t staging(const epi_memory_facts_t *facts,
                             epi_finding_t *finding)
{
    if (facts->available.bytes < facts->staging_bytes) {
        return epi_say_warn(
            finding, "lower EPDX_CUDA_STAGING_MB, or give the job more memory",
            "%" PRIu64 " MiB of memory are available: %" PRIu64
            " MiB for the rows of a device would be refused now; by %s",
            facts->available.bytes / MIB, facts->staging_bytes / MIB,
            facts->available.bound);
    }
    return epi_say_ok(finding,
                      "%" PRIu64 " MiB are available: for %" PRIu64
                      " ranks that stage rows in %" PRIu64 " MiB",
                      facts->available.bytes / MIB,
                      facts->available.bytes / facts->staging_bytes,
                      facts->staging_bytes / MIB);
}

static epi_verdict_t available(const void *of, epi_finding_t *finding)
{
    const epi_memory_facts_t *facts = of;
    uint64_t bytes = facts->available.bytes;

    if (bytes == EPI_AVAILABLE_UNKNOWN) {
        return EPI_VERDICT_NONE;
    }
    if (facts->device) {
        return staging(facts, finding);
    }
    if (bytes < larger(facts->pool_bytes, facts->ring_bytes)) {
        /* No failure: a job that runs here has its memory already. */
        return epi_say_warn(
            finding,
            "lower EPDX_RECV_POOL_MB or EPDX_ENCODE_RING_MB, or give the job "
            "more memory",
            "%" PRIu64 " MiB of memory are available: a prefill rank's pool of "
            "%" PRIu64 " MiB %s, an encode rank's ring of %" PRIu64
            " MiB %s; by %s",
            bytes / MIB, facts->pool_bytes / MIB,
            fits(facts, facts->pool_bytes), facts->ring_bytes / MIB,
            fits(facts, facts->ring_bytes), facts->available.bound);
    }
    return epi_say_ok(finding,
                      "%" PRIu64 " MiB are available: for %" PRIu64
                      " pools of %" PRIu64 " MiB",
                      bytes / MIB, bytes / facts->pool_bytes,
                      facts->pool_bytes / MIB);
}

static epi_verdict_t shared(const void *of, epi_finding_t *finding)
{
    const epi_memory_facts_t *facts = of;

    if (facts->shared) {
        return epi_say_ok(finding,
                          "processes of this user share memory by descriptor, "
                          "within %s",
                          facts->namespaces[0] == '\0' ? "its namespaces"
                                                       : facts->namespaces);
    }
    return epi_say_warn(
        finding,
        "mount /proc for this pid namespace, run both as one user, and allow "
        "memfd_create; containers of one node share the PID namespace",
        "one process cannot map another's ring, so rows within this node go "
        "through UCX: %s",
        facts->shared_error);
}

static const epi_check_t checks[] = {
    {"memory.shm", shm},
    {"memory.locked", locked},
    {"memory.available", available},
    {"memory.shared", shared},
};

void epi_doctor_memory(const epi_memory_facts_t *facts,
                       epi_findings_t *findings)
{
    epi_findings_add(findings, checks, sizeof(checks) / sizeof(checks[0]),
                     facts);
}
