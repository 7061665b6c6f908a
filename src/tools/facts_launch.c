/* facts_launch.c: what the launcher says, and what MPI makes of it. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "tools/command.h"
#include "tools/facts.h"
#include "tools/info_mpi.h"

#define LIMIT_NS   (40 * EPI_S)
#define SAID_BYTES 8192
#define PROCESSES  2

static uint64_t number_of(const char *name)
{
    const char *text = getenv(name);
    uint64_t value;

    return text != NULL && epi_text_number(text, UINT32_MAX, &value) ? value
                                                                     : 0;
}

static void find_launcher(epi_launch_facts_t *facts)
{
    facts->slurm = getenv("SLURM_JOB_ID") != NULL;
    facts->launcher = EPI_LAUNCHER_MPIRUN;
    facts->tasks = number_of("OMPI_COMM_WORLD_SIZE");
    if (facts->tasks == 0) {
        facts->launcher = EPI_LAUNCHER_SRUN;
        facts->tasks = number_of("SLURM_STEP_NUM_TASKS");
    }
    if (facts->tasks == 0) {
        facts->launcher = EPI_LAUNCHER_NONE;
        facts->tasks = PROCESSES;
    }
}

/** mpirun's own flags, as far as this MPI has them: two ranks on one core, and
 *  also as root. */
static void fill(const epi_launch_facts_t *facts, const char *argv[8])
{
    size_t count = 0;

    if (facts->launcher == EPI_LAUNCHER_NONE) {
        argv[count++] = "mpirun";
        if (strstr(facts->library, "Open MPI") != NULL) {
            argv[count++] = "--oversubscribe";
            argv[count++] = "--allow-run-as-root";
        }
        argv[count++] = "-n";
        argv[count++] = "2";
    }
    argv[count++] = epi_command_self();
    argv[count++] = "--mpi";
    argv[count] = NULL;
}

static void start(epi_launch_facts_t *facts)
{
    const char *argv[8];
    const epi_command_t command = {argv, 1, LIMIT_NS};
    epi_command_end_t end = {.bytes = 0};
    char said[SAID_BYTES];
    epdx_status_t status;

    fill(facts, argv);
    status = epi_command_run(&command, said, sizeof(said) - 1, &end);
    facts->no_mpirun =
        status == EPDX_ERR_INVALID && facts->launcher == EPI_LAUNCHER_NONE;
    if (status != EPDX_OK) {
        (void)epi_text_copy(facts->error, sizeof(facts->error),
                            epdx_last_error());
        return;
    }
    said[end.bytes] = '\0';
    epi_launch_parse(said, facts);
    if (end.status != 0) {
        facts->ranks = 0;
    }
    if (facts->ranks == 0 && facts->error[0] == '\0') {
        epi_text_format(facts->error, sizeof(facts->error),
                        "%s ended with %d, and said nothing", argv[0],
                        end.status);
    }
}

void epi_facts_launch(epi_launch_facts_t *facts_p)
{
    epi_launch_facts_t facts = {.tasks = 0};

    epi_info_mpi(facts.library, sizeof(facts.library));
    find_launcher(&facts);
    if (epi_command_self() == NULL) {
        (void)epi_text_copy(facts.error, sizeof(facts.error),
                            "/proc is not mounted");
    } else {
        start(&facts);
    }
    *facts_p = facts;
}
