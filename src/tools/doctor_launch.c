/* doctor_launch.c: whether the ranks of an engine find each other. */
#include <inttypes.h>

#include "tools/doctor_checks.h"

static const char *const starters[] = {"mpirun", "mpirun", "srun"};

static epi_verdict_t not_started(const epi_launch_facts_t *facts,
                                 epi_finding_t *finding)
{
    if (facts->no_mpirun) {
        return epi_say_warn(
            finding,
            "install the MPI that epdx was built with (Debian: openmpi-bin), "
            "or start ranks with srun --mpi=pmix; an engine of one rank needs "
            "neither",
            "there is no mpirun in PATH; epdx uses %s", facts->library);
    }
    if (facts->launcher == EPI_LAUNCHER_SRUN) {
        return epi_say_fail(
            finding,
            "look at srun --mpi=list: Open MPI of Debian takes pmix and not "
            "pmi2; or use mpirun inside the allocation",
            "a task of srun cannot start MPI: %s", facts->error);
    }
    return epi_say_fail(
        finding,
        "run mpirun -n 2 hostname; as root Open MPI wants --allow-run-as-root, "
        "and in a container a writable /tmp and /dev/shm",
        "mpirun does not start ranks: %s", facts->error);
}

static epi_verdict_t start(const void *of, epi_finding_t *finding)
{
    const epi_launch_facts_t *facts = of;
    const char *starter = starters[facts->launcher];

    if (facts->ranks == 0) {
        return not_started(facts, finding);
    }
    if (facts->ranks == facts->tasks) {
        return epi_say_ok(finding, "%s starts a job of %" PRIu64 " ranks (%s)",
                          starter, facts->ranks, facts->library);
    }
    if (facts->launcher == EPI_LAUNCHER_SRUN) {
        return epi_say_fail(
            finding,
            "srun --mpi=pmix, or mpirun inside the allocation; encode nodes "
            "of one rank each need no MPI",
            "srun started %" PRIu64 " tasks, and MPI made jobs of %" PRIu64
            " rank of them: each would be an engine of its own",
            facts->tasks, facts->ranks);
    }
    return epi_say_fail(
        finding, "use the mpirun of that MPI: its folder first in PATH",
        "mpirun started %" PRIu64 " processes, and each is in a job of %" PRIu64
        ": it is not the mpirun of %s",
        facts->tasks, facts->ranks, facts->library);
}

static const epi_check_t checks[] = {
    {"launch.start", start},
};

void epi_doctor_launch(const epi_launch_facts_t *facts,
                       epi_findings_t *findings)
{
    epi_findings_add(findings, checks, sizeof(checks) / sizeof(checks[0]),
                     facts);
}
