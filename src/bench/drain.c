/*
 * drain.c: what one scheduling cycle costs on the caller's thread: a drain with
 * so many pending and nothing ready, and one that admits k, beside a bare
 * MPI_Allreduce of as many bytes as its ballot. Every rank is a prefill rank;
 * rank 0 is the encode rank as well.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "bench/engine.h"
#include "bench/raw_mpi.h"
#include "bench/stats.h"
#include "bench/tap.h"

#define PENDING_MAX 4096
#define BALLOT_MAX  ((size_t)65536)
#define READY_MAX   64
#define WAIT_NS     (60 * EPI_S)
#define MIB         ((size_t)1 << 20)

typedef struct drain {
    epi_bench_t *bench;
    epi_engine_t engine;
    uint64_t first; /* rooms [first, next) are pending */
    uint64_t next;
    uint64_t asks; /* that rank 0 waits for */
    uint64_t landed;
    double ours[EPI_ROUNDS_MAX];   /* microseconds a drain */
    double theirs[EPI_ROUNDS_MAX]; /* a bare collective */
    size_t bytes;                  /* of a drain's collective */
    uint8_t ballot[BALLOT_MAX];
} drain_t;

static void nap(void)
{
    const struct timespec time = {0, (long)EPI_MS};

    (void)nanosleep(&time, NULL);
}

/* Until the encode rank has all asks: what is measured is then alone. */
static epdx_status_t settle(drain_t *drain)
{
    uint64_t limit = epi_now_ns() + WAIT_NS;
    epdx_decisions_t decisions;
    epdx_status_t status = EPDX_OK;
    double missing = 1;

    while (status == EPDX_OK && missing > 0) {
        status = epdx_admission_drain(drain->engine.admission, &decisions);
        nap();
        missing = 0;
        if (drain->engine.sender != NULL) {
            missing = epi_engine_asks(&drain->engine) < drain->asks;
        }
        if (status == EPDX_OK) {
            status = epi_team_max(drain->bench->team, &missing);
        }
        if (epi_now_ns() > limit) {
            return epi_fail(EPDX_ERR_TIMEOUT, "the asks did not come in");
        }
    }
    return status;
}

/* Stage until so many are pending. */
static epdx_status_t fill(drain_t *drain, size_t pending)
{
    epdx_status_t status = EPDX_OK;

    while (status == EPDX_OK && drain->next - drain->first < pending) {
        status = epi_engine_stage(&drain->engine, drain->next, 1);
        drain->next += status == EPDX_OK;
    }
    drain->asks = (drain->next - 1) * drain->bench->team->size;
    return status == EPDX_OK ? settle(drain) : status;
}

static epdx_status_t time_drains(drain_t *drain, size_t steps, double *us_p)
{
    epdx_decisions_t decisions;
    epdx_status_t status = epi_raw_mpi_barrier();
    uint64_t start = epi_now_ns();

    for (size_t i = 0; status == EPDX_OK && i < steps; i++) {
        status = epdx_admission_drain(drain->engine.admission, &decisions);
    }
    *us_p = (double)(epi_now_ns() - start) / 1e3 / (double)steps;
    return status == EPDX_OK ? epi_team_max(drain->bench->team, us_p) : status;
}

/* As many bytes as the drain before it reduced. */
static epdx_status_t time_bare(drain_t *drain, size_t steps, double *us_p)
{
    size_t reduced = epi_tap_reduced();
    size_t bytes = reduced < BALLOT_MAX ? reduced : BALLOT_MAX;
    epdx_status_t status = epi_raw_mpi_barrier();
    uint64_t start = epi_now_ns();

    drain->bytes = bytes;
    for (size_t i = 0; status == EPDX_OK && i < steps; i++) {
        status = epi_raw_mpi_min(drain->ballot, bytes);
    }
    *us_p = (double)(epi_now_ns() - start) / 1e3 / (double)steps;
    return status == EPDX_OK ? epi_team_max(drain->bench->team, us_p) : status;
}

static epdx_status_t add(drain_t *drain, const char *way, double *values,
                         epi_result_t *result)
{
    size_t rounds = (size_t)drain->bench->options->rounds;

    if (drain->bench->team->rank != 0) {
        return EPDX_OK;
    }
    (void)epi_text_copy(result->what, sizeof(result->what), "drain");
    (void)epi_text_copy(result->way, sizeof(result->way), way);
    (void)epi_text_copy(result->unit, sizeof(result->unit), "us");
    result->ranks = drain->bench->team->size;
    result->value = epi_stats_median(values, rounds);
    result->low = values[0];
    result->high = values[rounds - 1];
    return epi_results_add(&drain->bench->results, result);
}

static epdx_status_t report(drain_t *drain, size_t pending, size_t ready)
{
    size_t rounds = (size_t)drain->bench->options->rounds;
    double scratch[EPI_ROUNDS_MAX];
    epi_result_t result = {.pending = pending, .ready = ready};
    epi_result_t bare = result;
    epdx_status_t status;

    if (pending > 0) {
        (void)epi_text_copy(result.baseline, sizeof(result.baseline),
                            "mpi_allreduce");
        result.ratio =
            epi_stats_ratio(drain->ours, drain->theirs, rounds, scratch);
    }
    status = add(drain, "epdx", drain->ours, &result);
    bare.size = drain->bytes;
    return status == EPDX_OK && pending > 0
               ? add(drain, "mpi_allreduce", drain->theirs, &bare)
               : status;
}

static epdx_status_t run_pending(drain_t *drain, size_t pending)
{
    size_t rounds = (size_t)drain->bench->options->rounds;
    size_t steps = drain->bench->options->quick ? 50 : 200;
    epdx_status_t status = fill(drain, pending);
    double warm;

    if (status == EPDX_OK) {
        status = time_drains(drain, steps, &warm);
    }
    for (size_t r = 0; status == EPDX_OK && r < rounds; r++) {
        status = time_drains(drain, steps, &drain->ours[r]);
        if (status == EPDX_OK) {
            status = time_bare(drain, steps, &drain->theirs[r]);
        }
    }
    return status == EPDX_OK ? report(drain, pending, 0) : status;
}

/* Send the oldest k, and wait until this rank has them. */
static epdx_status_t land(drain_t *drain, size_t ready)
{
    uint64_t limit = epi_now_ns() + WAIT_NS;
    epdx_receiver_stats_t stats;
    epdx_status_t status = EPDX_OK;
    size_t count, done = 0;

    for (size_t i = 0; i < ready && drain->engine.sender != NULL; i++) {
        status = epi_engine_send(&drain->engine, drain->first + i, 1);
        if (status != EPDX_OK) {
            return status;
        }
    }
    drain->landed += ready;
    do {
        epdx_admission_stats(drain->engine.admission, NULL, &stats);
        nap();
        if (epi_now_ns() > limit) {
            return epi_fail(EPDX_ERR_TIMEOUT, "the rows did not land");
        }
    } while (stats.rows_landed < drain->landed);
    while (status == EPDX_OK && done < ready && drain->engine.sender != NULL) {
        status = epi_engine_outcomes(&drain->engine, &count);
        done += count;
        if (epi_now_ns() > limit) {
            return epi_fail(EPDX_ERR_TIMEOUT, "the outcomes did not come");
        }
    }
    return epi_team_agree(drain->bench->team, status);
}

/* One drain that admits k. */
static epdx_status_t time_ready(drain_t *drain, size_t ready, double *us_p)
{
    epdx_decisions_t decisions;
    epdx_status_t status = land(drain, ready);
    uint64_t start;

    if (status == EPDX_OK) {
        status = epi_raw_mpi_barrier();
    }
    start = epi_now_ns();
    if (status == EPDX_OK) {
        status = epdx_admission_drain(drain->engine.admission, &decisions);
    }
    *us_p = (double)(epi_now_ns() - start) / 1e3;
    if (status == EPDX_OK && decisions.admitted_count != ready) {
        return epi_fail(EPDX_ERR_MISMATCH, "%zu of %zu were admitted",
                        decisions.admitted_count, ready);
    }
    for (size_t i = 0; status == EPDX_OK && i < ready; i++) {
        epi_engine_release(&drain->engine, decisions.admitted[i].id);
    }
    drain->first += ready;
    return status == EPDX_OK ? epi_team_max(drain->bench->team, us_p) : status;
}

static epdx_status_t run_ready(drain_t *drain, size_t pending, size_t ready)
{
    size_t rounds = (size_t)drain->bench->options->rounds;
    epdx_status_t status = EPDX_OK;

    for (size_t r = 0; status == EPDX_OK && r < rounds; r++) {
        status = fill(drain, pending);
        if (status == EPDX_OK) {
            status = time_ready(drain, ready, &drain->ours[r]);
        }
        if (status == EPDX_OK) {
            status = time_bare(drain, 1, &drain->theirs[r]);
        }
    }
    return status == EPDX_OK ? report(drain, pending, ready) : status;
}

/* A drain over many beside the same over few, where nothing changes. */
static epdx_status_t run_many(drain_t *many, drain_t *few)
{
    size_t rounds = (size_t)many->bench->options->rounds;
    size_t steps = many->bench->options->quick ? 50 : 200;
    double scratch[EPI_ROUNDS_MAX];
    epi_result_t result = {.pending = PENDING_MAX, .baseline = "drain_64"};
    epdx_status_t status = fill(few, READY_MAX);

    for (size_t r = 0; status == EPDX_OK && r < rounds; r++) {
        status = time_drains(many, steps, &many->ours[r]);
        if (status == EPDX_OK) {
            status = time_drains(few, steps, &few->ours[r]);
        }
    }
    if (status != EPDX_OK) {
        return status;
    }
    result.ratio = epi_stats_ratio(many->ours, few->ours, rounds, scratch);
    return add(many, "epdx_many", many->ours, &result);
}

static epdx_status_t run_cases(drain_t *drain)
{
    static const size_t few[] = {0, 1, READY_MAX};
    static const size_t ready[] = {1, 8, READY_MAX};
    static const size_t many[] = {512, PENDING_MAX};
    epdx_status_t status = EPDX_OK;

    /* What is pending only grows. */
    for (size_t i = 0; status == EPDX_OK && i < 3; i++) {
        status = run_pending(drain, few[i]);
    }
    for (size_t i = 0; status == EPDX_OK && i < 3; i++) {
        status = run_ready(drain, READY_MAX, ready[i]);
    }
    for (size_t i = 0; status == EPDX_OK && i < 2; i++) {
        status = run_pending(drain, many[i]);
    }
    return status;
}

static epdx_status_t open_drain(epi_bench_t *bench, drain_t *drain)
{
    epi_engine_params_t params = {
        .hidden = 128, .pool_bytes = 16 * MIB, .ring_bytes = 16 * MIB};
    epdx_status_t status;

    memset(drain, 0, sizeof(*drain));
    drain->bench = bench;
    drain->first = drain->next = 1;
    status = epi_engine_open(&drain->engine, bench, &params);
    if (status == EPDX_OK) {
        epi_tap_group(drain->engine.group);
    }
    return status;
}

static epdx_status_t run(epi_bench_t *bench)
{
    static drain_t drain, few;
    epdx_status_t status = open_drain(bench, &drain);

    if (status != EPDX_OK) {
        return status;
    }
    status = run_cases(&drain);
    if (status == EPDX_OK) {
        status = open_drain(bench, &few);
    }
    if (status == EPDX_OK) {
        status = run_many(&drain, &few);
    }
    if (status == EPDX_OK) {
        epi_engine_close(&few.engine);
        epi_engine_close(&drain.engine);
    }
    return status;
}

const epi_subject_t epi_subject_drain = {
    .name = "drain",
    .about = "one scheduling cycle, by what is pending and what is ready",
    .mpi = true,
    .run = run,
};
