/*
 * control.c: what an item waits for beside its own bytes, step by step, beside
 * bare round trips of UCX and ZeroMQ. The item is one row of 64 bytes.
 *
 * control: its rows are ready before it is staged.
 *
 *     staged --> asked --> offered --> pulled --> admitted
 *        stage_ask  ask_offer  offer_land  land_admit
 *
 * land: its asks are in before its rows are sent, as where a request waits for
 * the encoder: from the sender's send() to the receiver's drain.
 *
 *     sent --> offered --> seen --> pulled --> admitted
 *    land_offer   land_seen  land_pulled
 *
 * busy: the callers run the I/O loops and look without end; so do the bare
 * round trips. asleep: the I/O threads sleep until something comes, and the
 * callers look in between; in the bare round trips who waits sleeps.
 *
 * Times of both ends are compared, so all processes are on one host. Each keeps
 * to a core of its own where there are as many, as if it had a host of its own:
 * else a wake-up costs three times as much in one run as in the next, by where
 * the kernel put who is woken.
 */
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "bench/engine.h"
#include "bench/ping.h"
#include "bench/stats.h"
#include "bench/tap.h"

#define HIDDEN  32 /* of 2 bytes */
#define WAIT_NS (30 * EPI_S)
#define OPS_MAX 400
#define MIB     ((size_t)1 << 20)

enum {
    STAGE_ASK,
    ASK_OFFER,
    OFFER_LAND,
    LAND_ADMIT,
    LAND,
    LAND_OFFER,
    LAND_SEEN,
    LAND_PULLED,
    STEPS
};

static const char *const step_names[] = {
    "stage_ask", "ask_offer",  "offer_land", "land_admit",
    "land",      "land_offer", "land_seen",  "land_pulled"};

static const epi_ping_ops_t *const ping_table[] = {&epi_ping_ucx,
                                                   &epi_ping_zmq};
#define PINGS  2
#define SERIES (STEPS + PINGS)

typedef struct control {
    epi_bench_t *bench;
    epi_engine_t engine;
    epi_ping_t *pings[PINGS];
    bool asleep;
    size_t ops; /* a round */
    uint64_t room;
    double us[SERIES][EPI_ROUNDS_MAX * OPS_MAX];
    double p50[SERIES][EPI_ROUNDS_MAX];
} control_t;

/* One operation's times, of the rank that has them; 0: another's. */
typedef struct times {
    uint64_t sent, offered, staged, asked, seen, pulled, admitted;
} times_t;

static epdx_status_t late(uint64_t limit, const char *what)
{
    return epi_now_ns() < limit ? EPDX_OK
                                : epi_fail(EPDX_ERR_TIMEOUT, "%s", what);
}

/* Until the room's outcome is there. */
static epdx_status_t serve(control_t *control, times_t *times)
{
    uint64_t limit = epi_now_ns() + WAIT_NS;
    epdx_status_t status = EPDX_OK;
    size_t count = 0;

    while (status == EPDX_OK && count == 0) {
        status = epi_engine_outcomes(&control->engine, &count);
        if (control->asleep) {
            epi_ping_pause();
        } else {
            (void)sched_yield();
        }
        if (status == EPDX_OK) {
            status = late(limit, "a room's outcome did not come");
        }
    }
    times->offered = epi_tap_read().offer_ns;
    return status;
}

static uint64_t asks_sent(const control_t *control)
{
    epdx_receiver_stats_t stats;

    epdx_admission_stats(control->engine.admission, NULL, &stats);
    return stats.asks_sent;
}

/* Stage, and look until the row is admitted; on the way, when its ask went. */
static epdx_status_t receive(control_t *control, times_t *times)
{
    uint64_t limit = epi_now_ns() + WAIT_NS;
    uint64_t before = asks_sent(control);
    epdx_decisions_t decisions = {0};
    epdx_status_t status;

    times->staged = epi_now_ns();
    status = epi_engine_stage(&control->engine, control->room, 1);
    while (status == EPDX_OK && decisions.admitted_count == 0) {
        status = epdx_admission_drain(control->engine.admission, &decisions);
        if (times->asked == 0 && asks_sent(control) > before) {
            times->asked = epi_now_ns();
        }
        (void)sched_yield(); /* ZeroMQ's threads need a core as well */
        if (decisions.failed_count > 0) {
            return epi_fail(decisions.failed[0].status, "%s",
                            decisions.failed[0].reason);
        }
        if (status == EPDX_OK) {
            status = late(limit, "a row did not land");
        }
    }
    if (status == EPDX_OK) {
        times->admitted = epi_now_ns();
        times->seen = epi_tap_read().offered_ns;
        times->pulled = epi_tap_read().pulled_ns;
        epi_engine_release(&control->engine, decisions.admitted[0].id);
    }
    return status;
}

static epdx_status_t send_row(control_t *control, times_t *times)
{
    times->sent = epi_now_ns();
    return epi_engine_send(&control->engine, control->room, 1);
}

/* Until the sender has the room's ask. */
static epdx_status_t await_ask(control_t *control, uint64_t asks)
{
    uint64_t limit = epi_now_ns() + WAIT_NS;
    epdx_status_t status = EPDX_OK;
    size_t count;

    while (status == EPDX_OK && epi_engine_asks(&control->engine) < asks) {
        status = epi_engine_outcomes(&control->engine, &count);
        (void)sched_yield();
        if (status == EPDX_OK) {
            status = late(limit, "an ask did not come");
        }
    }
    if (control->asleep) {
        epi_ping_pause(); /* all have gone to sleep again */
    }
    return status;
}

/* The ranks' halves in one. */
static epdx_status_t join(control_t *control, times_t *times)
{
    times_t all[EPI_TEAM_RANKS_MAX];
    epi_team_t *team = control->bench->team;
    epdx_status_t status = team->ops->share(team, times, sizeof(*times), all);

    if (status == EPDX_OK) {
        *times = all[1];
        times->sent = all[0].sent;
        times->offered = all[0].offered;
        /* A poll that sends an ask may go on for longer than its answer. */
        if (times->asked > times->offered) {
            times->asked = times->offered;
        }
    }
    return status;
}

static double us_between(uint64_t from, uint64_t to)
{
    return to > from ? (double)(to - from) / 1e3 : 0;
}

static epdx_status_t run_control(control_t *control, size_t at)
{
    bool encode = epi_bench_encode(control->bench);
    times_t times = {0};
    epdx_status_t status = EPDX_OK;

    control->room++;
    if (encode) {
        status = send_row(control, &times);
    }
    status = epi_team_agree(control->bench->team, status);
    if (status == EPDX_OK && encode) {
        status = serve(control, &times);
    } else if (status == EPDX_OK) {
        if (control->asleep) {
            epi_ping_pause();
        }
        status = receive(control, &times);
    }
    if (status == EPDX_OK) {
        status = join(control, &times);
    }
    control->us[STAGE_ASK][at] = us_between(times.staged, times.asked);
    control->us[ASK_OFFER][at] = us_between(times.asked, times.offered);
    control->us[OFFER_LAND][at] = us_between(times.offered, times.pulled);
    control->us[LAND_ADMIT][at] = us_between(times.pulled, times.admitted);
    return status;
}

static epdx_status_t run_land(control_t *control, size_t at)
{
    bool encode = epi_bench_encode(control->bench);
    times_t times = {0};
    epdx_status_t status = epi_team_meet(control->bench->team);

    control->room++;
    if (status == EPDX_OK && encode) {
        status = await_ask(control,
                           control->room * (control->bench->team->size - 1));
        if (status == EPDX_OK) {
            status = send_row(control, &times);
        }
        if (status == EPDX_OK) {
            status = serve(control, &times);
        }
    } else if (status == EPDX_OK) {
        status = receive(control, &times);
    }
    if (status == EPDX_OK) {
        status = join(control, &times);
    }
    control->us[LAND][at] = us_between(times.sent, times.admitted);
    control->us[LAND_OFFER][at] = us_between(times.sent, times.offered);
    control->us[LAND_SEEN][at] = us_between(times.offered, times.seen);
    control->us[LAND_PULLED][at] = us_between(times.seen, times.pulled);
    return status;
}

static epdx_status_t run_round(control_t *control, size_t round)
{
    size_t first = round * control->ops;
    epdx_status_t status = EPDX_OK;
    double scratch[OPS_MAX];

    for (size_t i = 0; status == EPDX_OK && i < control->ops; i++) {
        status = run_control(control, first + i);
        if (status == EPDX_OK) {
            status = run_land(control, first + i);
        }
    }
    for (size_t p = 0; status == EPDX_OK && p < PINGS; p++) {
        status = epi_team_meet(control->bench->team);
        if (status == EPDX_OK) {
            status = control->pings[p]->ops->round(
                control->pings[p], control->asleep, control->ops,
                &control->us[STEPS + p][first]);
        }
    }
    for (size_t s = 0; s < SERIES; s++) {
        memcpy(scratch, &control->us[s][first], control->ops * sizeof(double));
        control->p50[s][round] = epi_stats_median(scratch, control->ops);
    }
    return status;
}

static epdx_status_t report(control_t *control, size_t series, size_t against)
{
    size_t rounds = (size_t)control->bench->options->rounds;
    size_t count = rounds * control->ops;
    bool bare = series >= STEPS;
    double scratch[EPI_ROUNDS_MAX];
    epi_result_t result = {.ranks = control->bench->team->size - 1,
                           .unit = "us"};

    if (!bare) {
        (void)epi_text_copy(result.baseline, sizeof(result.baseline),
                            ping_table[against]->name);
        result.ratio =
            epi_stats_ratio(control->p50[series], control->p50[STEPS + against],
                            rounds, scratch);
    }
    memcpy(scratch, control->p50[series], rounds * sizeof(double));
    result.value = epi_stats_median(scratch, rounds);
    result.low = scratch[0];
    result.high = scratch[rounds - 1];
    result.p50 = epi_stats_percentile(control->us[series], count, 50);
    result.p99 = epi_stats_percentile(control->us[series], count, 99);
    epi_text_format(result.what, sizeof(result.what), "%s",
                    bare ? "round_trip" : step_names[series]);
    epi_text_format(result.way, sizeof(result.way), "%s",
                    bare ? ping_table[series - STEPS]->name : "epdx");
    epi_text_format(result.note, sizeof(result.note), "%s",
                    control->asleep ? "asleep" : "busy");
    if (bare) {
        control->pings[series - STEPS]->ops->transport(
            control->pings[series - STEPS], result.transport,
            sizeof(result.transport));
    } else {
        epdx_sender_stats_t stats;

        epdx_sender_stats(control->engine.sender, &stats);
        (void)epi_text_copy(result.transport, sizeof(result.transport),
                            stats.transport);
    }
    return epi_results_add(&control->bench->results, &result);
}

static epdx_status_t report_all(control_t *control)
{
    epdx_status_t status = EPDX_OK;

    for (size_t s = 0; status == EPDX_OK && s < SERIES; s++) {
        /* Asks go over ZeroMQ, rows over UCX. */
        status = report(control, s, s == STAGE_ASK || s == ASK_OFFER ? 1 : 0);
    }
    return status;
}

static double cpu_seconds(void)
{
    struct rusage usage = {0};

    (void)getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* What a receiver takes that is connected and has nothing pending: of one
 * core, its caller asleep. */
static epdx_status_t run_idle(control_t *control)
{
    const struct timespec time = {control->bench->options->quick ? 2 : 5, 0};
    epdx_status_t status = epi_team_meet(control->bench->team);
    double all[EPI_TEAM_RANKS_MAX];
    double start = cpu_seconds();
    epi_result_t result = {.what = "idle",
                           .way = "epdx",
                           .unit = "% of a core",
                           .ranks = control->bench->team->size - 1};

    if (status != EPDX_OK) {
        return status;
    }
    (void)nanosleep(&time, NULL);
    result.value = (cpu_seconds() - start) * 100 / (double)time.tv_sec;
    status = control->bench->team->ops->share(
        control->bench->team, &result.value, sizeof(result.value), all);
    if (status != EPDX_OK || !epi_bench_encode(control->bench)) {
        return status;
    }
    result.value = result.low = result.high = all[1];
    return epi_results_add(&control->bench->results, &result);
}

static epdx_status_t run_mode(control_t *control)
{
    epi_engine_params_t params = {
        .first = 1,
        .hidden = HIDDEN,
        .tap = true,
        .progress =
            control->asleep ? EPDX_PROGRESS_THREAD : EPDX_PROGRESS_CALLER,
        .pool_bytes = 8 * MIB,
        .ring_bytes = 8 * MIB,
    };
    size_t rounds = (size_t)control->bench->options->rounds;
    epdx_status_t status =
        epi_engine_open(&control->engine, control->bench, &params);

    if (status != EPDX_OK) {
        return status;
    }
    control->room = 0;
    status = run_round(control, 0); /* look-ups and connections */
    for (size_t r = 0; status == EPDX_OK && r < rounds; r++) {
        status = run_round(control, r);
    }
    if (status != EPDX_OK) {
        /* The others may take their time to find out. */
        fprintf(stderr, "rank %u: %s\n", control->bench->team->rank,
                epdx_last_error());
    }
    if (status == EPDX_OK && epi_bench_encode(control->bench)) {
        status = report_all(control);
    }
    if (status == EPDX_OK && control->asleep) {
        status = run_idle(control);
    }
    if (status == EPDX_OK) {
        epi_engine_close(&control->engine);
    }
    return status;
}

/* The threads that this one starts inherit it. */
static void keep_to_a_core(const epi_team_t *team)
{
    cpu_set_t allowed, one;
    uint32_t skip = team->rank;

    if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0 ||
        team->size > (uint32_t)CPU_COUNT(&allowed)) {
        return;
    }
    CPU_ZERO(&one);
    for (int core = 0; core < CPU_SETSIZE; core++) {
        if (CPU_ISSET(core, &allowed) && skip-- == 0) {
            CPU_SET(core, &one);
        }
    }
    (void)sched_setaffinity(0, sizeof(one), &one);
}

static epdx_status_t run(epi_bench_t *bench)
{
    control_t *control = calloc(1, sizeof(*control));
    epdx_status_t status = EPDX_OK;

    if (control == NULL) {
        return epi_fail(EPDX_ERR_NO_MEMORY, "no memory for the times");
    }
    keep_to_a_core(bench->team);
    control->bench = bench;
    control->ops = bench->options->quick ? 10 : 100;
    for (size_t p = 0; status == EPDX_OK && p < PINGS; p++) {
        status = ping_table[p]->open(bench, &control->pings[p]);
    }
    for (int asleep = 0; status == EPDX_OK && asleep < 2; asleep++) {
        control->asleep = asleep != 0;
        status = run_mode(control);
    }
    for (size_t p = 0; status == EPDX_OK && p < PINGS; p++) {
        control->pings[p]->ops->close(control->pings[p]);
    }
    free(control);
    return status;
}

const epi_subject_t epi_subject_control = {
    .name = "control",
    .about = "what an item waits for beside its own bytes",
    .run = run,
};
