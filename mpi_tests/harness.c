/*
 * harness.c: see harness.h. The watchdog is a thread that calls no MPI: a rank
 * that hangs in MPI is ended by _exit(), because neither MPI_Finalize() nor
 * MPI_Abort() is sure to return when another rank is not there to answer.
 */
#include "harness.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"

#define EXIT_FAILED     1
#define EXIT_SKIPPED    77
#define EXIT_LATE       124
#define DEFAULT_LIMIT_S 60
#define FINALIZE_NS     (10 * EPI_S)

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t deadline;
    bool ended;
    bool finalizing;
    int code; /* when it hangs in MPI_Finalize() */
    const char *case_name;
    const char *what;
    const char *file;
    int line;
} watch = {.lock = PTHREAD_MUTEX_INITIALIZER,
           .case_name = "",
           .what = "start",
           .file = "",
           .line = 0};

static pthread_t watchdog;
static MPI_Comm own_comm = MPI_COMM_NULL;
static int own_rank = -1;
static int own_size = 0;
static int argument_count;
static char **arguments;

static void bark(void)
{
    if (watch.finalizing) {
        fprintf(stderr,
                "rank %d of %d: MPI_Finalize() has not returned: ending with "
                "%d\n",
                own_rank, own_size, watch.code);
    } else {
        fprintf(stderr, "rank %d of %d: time limit passed in %s at %s:%d: %s\n",
                own_rank, own_size, watch.case_name, watch.file, watch.line,
                watch.what);
    }
    fflush(stderr);
    _exit(watch.finalizing ? watch.code : EXIT_LATE);
}

static void *watch_over(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&watch.lock);
    while (!watch.ended) {
        const struct timespec until = {
            .tv_sec = (time_t)(watch.deadline / EPI_S),
            .tv_nsec = (long)(watch.deadline % EPI_S)};

        pthread_cond_timedwait(&watch.changed, &watch.lock, &until);
        if (!watch.ended && epi_now_ns() >= watch.deadline) {
            bark();
        }
    }
    pthread_mutex_unlock(&watch.lock);
    return NULL;
}

static void start_watchdog(uint64_t limit_s)
{
    pthread_condattr_t monotonic;

    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&watch.changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    watch.deadline = epi_after(epi_now_ns(), limit_s * EPI_S);
    if (pthread_create(&watchdog, NULL, watch_over, NULL) != 0) {
        fprintf(stderr, "harness: no thread for the watchdog\n");
        _exit(EXIT_FAILED);
    }
}

static void end_watchdog(void)
{
    pthread_mutex_lock(&watch.lock);
    watch.ended = true;
    pthread_cond_signal(&watch.changed);
    pthread_mutex_unlock(&watch.lock);
    pthread_join(watchdog, NULL);
}

/** MPI_Finalize() may hang after a collective that never ended. */
static void end_mpi(int code)
{
    pthread_mutex_lock(&watch.lock);
    watch.finalizing = true;
    watch.code = code;
    watch.deadline = epi_after(epi_now_ns(), FINALIZE_NS);
    pthread_cond_signal(&watch.changed);
    pthread_mutex_unlock(&watch.lock);
    MPI_Comm_free(&own_comm);
    MPI_Finalize();
    end_watchdog();
}

static void end_all(int code)
{
    fflush(NULL);
    end_mpi(code);
    _exit(code);
}

void harness_at(const char *what, const char *file, int line)
{
    pthread_mutex_lock(&watch.lock);
    watch.what = what;
    watch.file = file;
    watch.line = line;
    pthread_mutex_unlock(&watch.lock);
}

/** What all ranks learn from one another at a check. */
static void agree(bool *holds_p, const char *file, int line)
{
    int all[3] = {*holds_p, line, -line};

    MPI_Allreduce(MPI_IN_PLACE, all, 3, MPI_INT, MPI_MIN, own_comm);
    if (all[1] != -all[2]) {
        fprintf(stderr,
                "%s:%d: rank %d of %d: ranks are at different checks, lines "
                "%d to %d\n",
                file, line, own_rank, own_size, all[1], -all[2]);
        end_all(EXIT_FAILED);
    }
    *holds_p = all[0] != 0;
}

void harness_check(bool holds, const char *text, const char *file, int line)
{
    harness_at(text, file, line);
    if (!holds) {
        fprintf(stderr, "%s:%d: rank %d of %d: %s: CHECK_ALL(%s) failed\n",
                file, line, own_rank, own_size, watch.case_name, text);
    }
    agree(&holds, file, line);
    if (!holds) {
        end_all(EXIT_FAILED);
    }
}

void harness_check_status(epdx_status_t status, epdx_status_t expected,
                          const char *text, const char *file, int line)
{
    bool holds = status == expected;

    harness_at(text, file, line);
    if (!holds) {
        fprintf(stderr,
                "%s:%d: rank %d of %d: %s: %s is %s, not %s; last error: %s\n",
                file, line, own_rank, own_size, watch.case_name, text,
                epdx_status_name(status), epdx_status_name(expected),
                epdx_last_error());
    }
    agree(&holds, file, line);
    if (!holds) {
        end_all(EXIT_FAILED);
    }
}

void harness_skip(const char *reason, const char *file, int line)
{
    bool run = reason == NULL;

    harness_at("SKIP_ALL", file, line);
    if (!run) {
        fprintf(stderr, "rank %d of %d: skipped: %s\n", own_rank, own_size,
                reason);
    }
    agree(&run, file, line);
    if (!run) {
        end_all(EXIT_SKIPPED);
    }
}

int harness_rank(void)
{
    return own_rank;
}

int harness_size(void)
{
    return own_size;
}

MPI_Comm harness_comm(void)
{
    return MPI_COMM_WORLD;
}

const char *harness_argument(int index)
{
    return index + 2 < argument_count ? arguments[index + 2] : NULL;
}

static void start_mpi(int *argc, char ***argv)
{
    int provided = MPI_THREAD_SINGLE;

    harness_at("MPI_Init_thread()", __FILE__, __LINE__);
    MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_dup(MPI_COMM_WORLD, &own_comm);
    MPI_Comm_rank(own_comm, &own_rank);
    MPI_Comm_size(own_comm, &own_size);
    SKIP_ALL(provided < MPI_THREAD_FUNNELED
                 ? "MPI gives less than MPI_THREAD_FUNNELED"
                 : NULL);
}

static void run_case(const harness_case_t *one)
{
    pthread_mutex_lock(&watch.lock);
    watch.case_name = one->name;
    pthread_mutex_unlock(&watch.lock);
    HARNESS_AT("begin");
    one->body();
    HARNESS_AT("end");
    MPI_Barrier(own_comm);
    if (own_rank == 0) {
        printf("ok %s\n", one->name);
        fflush(stdout);
    }
}

int harness_main(int argc, char **argv, const harness_case_t *cases,
                 size_t count)
{
    uint64_t limit_s = DEFAULT_LIMIT_S;
    size_t i;

    if (argc > 1 && !epi_text_number(argv[1], 3600, &limit_s)) {
        fprintf(stderr, "usage: %s [limit in seconds]\n", argv[0]);
        return EXIT_FAILED;
    }
    start_watchdog(limit_s);
    start_mpi(&argc, &argv);
    argument_count = argc;
    arguments = argv;
    for (i = 0; i < count; i++) {
        run_case(&cases[i]);
    }
    end_mpi(0);
    return 0;
}
