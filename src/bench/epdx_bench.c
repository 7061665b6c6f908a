/* epdx_bench.c: what epdx costs, beside the raw parts it is made of. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "bench/bench.h"
#include "tools/args.h"
#include "tools/world.h"

#define PROGRAM        "epdx_bench"
#define RANKS_MAX      (EPI_TEAM_RANKS_MAX - 1)
#define OPTION(member) offsetof(epi_bench_options_t, member)

static const epi_subject_t *const subjects[] = {
    &epi_subject_transfer,   &epi_subject_control, &epi_subject_drain,
    &epi_subject_reassemble, &epi_subject_trace,   &epi_subject_scale,
};

#define SUBJECTS (sizeof(subjects) / sizeof(subjects[0]))

static const epi_arg_t table[] = {
    {"ranks", "N",
     "prefill ranks, beside the encode rank; under mpirun\n"
     "its ranks but one (1)",
     EPI_ARG_COUNT, OPTION(ranks), 1, RANKS_MAX},
    {"rounds", "R", "rounds of each case; the median is told (7)",
     EPI_ARG_COUNT, OPTION(rounds), 1, EPI_ROUNDS_MAX},
    {"quick", NULL, "fewer cases, smaller rounds", EPI_ARG_FLAG, OPTION(quick),
     0, 0},
    {"own", NULL,
     "rows are sent from the caller's own memory, which no\n"
     "other process can map: they always go through UCX",
     EPI_ARG_FLAG, OPTION(own), 0, 0},
    {"memory-mb", "MB", "ring, pool and their like (256)", EPI_ARG_COUNT,
     OPTION(memory_mb), 8, 1048576},
    {"size", "BYTES", "of transfer: this size only", EPI_ARG_COUNT,
     OPTION(size), 2048, UINT64_C(1) << 40},
    {"window", "W", "of transfer: this window only", EPI_ARG_COUNT,
     OPTION(window), 1, 4096},
    {"workload", "FILE",
     "of trace: its JSON lines (workloads/mm-image-2000.jsonl)", EPI_ARG_TEXT,
     OPTION(workload), 0, 0},
    {"json", NULL, "at the end one line of JSON", EPI_ARG_FLAG, OPTION(json), 0,
     0},
    {EPI_TEAM_MEET_OPTION, "PLACE", "of the processes that this one starts",
     EPI_ARG_TEXT, OPTION(meet), 0, 0},
};

static const epi_args_t args = {
    .program = PROGRAM,
    .usage = "SUBJECT [options]",
    .about =
        "Measures epdx beside the raw parts that it is made of, in one run, "
        "in turn.\nOnly the ratios mean anything. Runs as the ranks of an "
        "mpirun, or as processes\nthat it starts itself.\n\nSUBJECT is one "
        "of: transfer, control, drain, reassemble, trace, scale.\ndrain and "
        "reassemble need mpirun.",
    .args = table,
    .count = sizeof(table) / sizeof(table[0]),
};

static const epi_subject_t *find(const char *name)
{
    for (size_t i = 0; name != NULL && i < SUBJECTS; i++) {
        if (strcmp(subjects[i]->name, name) == 0) {
            return subjects[i];
        }
    }
    return NULL;
}

static int fault(const char *words, int exit_status)
{
    fprintf(stderr, PROGRAM ": %s\n", words);
    return exit_status;
}

static epdx_status_t open_team(const epi_subject_t *subject,
                               const epi_bench_options_t *options, char **argv,
                               epi_team_t **team_p)
{
    uint32_t size = subject->alone ? 1 : (uint32_t)options->ranks + 1;

    if (epi_world_launched()) {
        return epi_team_mpi(team_p);
    }
    return epi_team_open(argv, options->meet, size, team_p);
}

static int run(const epi_subject_t *subject, const epi_bench_options_t *options,
               char **argv)
{
    epi_bench_t bench = {
        .options = options,
        .results = {.subject = subject->name, .json = options->json}};
    epdx_status_t status;
    bool first;

    status = open_team(subject, options, argv, &bench.team);
    if (status != EPDX_OK) {
        return fault(epdx_last_error(), 1);
    }
    first = bench.team->rank == 0;
    if (bench.team->size < 2 && !subject->alone) {
        status = epi_fail(EPDX_ERR_INVALID, "one rank only: mpirun -n 2");
    }
    if (status == EPDX_OK) {
        status = subject->run(&bench);
    }
    if (status != EPDX_OK) {
        /* Ranks may be at different places: none waits for the others. */
        if (bench.team->launched) {
            (void)fault(epdx_last_error(), 1);
            epi_world_abort(1);
        }
        return fault(epdx_last_error(), 1);
    }
    if (first) {
        epi_results_end(&bench.results);
    }
    epi_team_close(bench.team);
    return 0;
}

int main(int argc, char **argv)
{
    static epi_bench_options_t options = {
        .ranks = 1, .rounds = 7, .memory_mb = 256};
    const epi_subject_t *subject = find(argc > 1 ? argv[1] : NULL);
    int exit_status = 0;

    if (!epi_args_main(&args, argv + (subject != NULL), &options,
                       &exit_status)) {
        return exit_status;
    }
    if (subject == NULL) {
        return fault("names no subject; see --help", EPI_EXIT_USAGE);
    }
    if (subject->mpi && !epi_world_launched()) {
        return fault("this subject needs an mpirun", EPI_EXIT_USAGE);
    }
    (void)signal(SIGPIPE, SIG_IGN);
    return run(subject, &options, argv);
}
