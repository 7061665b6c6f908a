/*
 * trace.c: the requests of a trace at its rate, at twice that, and so on, until
 * the 99th percentile of the time from a request's arrival to its admission
 * passes a second: the highest rate held, how much of the pool it took, and how
 * long the first row of all took, look-ups and connections included. Rows are
 * ready when their request arrives.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "bench/engine.h"
#include "bench/stats.h"
#include "group/group.h"
#include "tools/rooms.h"
#include "tools/workload.h"

#define HIDDEN     3584
#define NAP_NS     (50 * EPI_US)
#define HELD_S     1.0
#define RATE_MAX   4096
#define OVERRUN_NS (60 * EPI_S)
#define MIB        ((size_t)1 << 20)
#define PRESET     "workloads/mm-image-2000.jsonl"

typedef struct trace {
    epi_bench_t *bench;
    epi_engine_t engine;
    epi_workload_t workload;
    uint64_t pass;   /* rates tried, so that no room is used twice */
    double *seconds; /* latencies of the rate under way */
    size_t count;    /* of its requests */
    uint64_t bytes;  /* of their rows */
    double elapsed;
    double first;       /* seconds to the first landed row */
    uint64_t pool_high; /* bytes */
} trace_t;

static void nap(void)
{
    const struct timespec time = {0, NAP_NS};

    (void)nanosleep(&time, NULL);
}

static uint64_t due(const trace_t *trace, size_t index, double rate)
{
    return (uint64_t)((double)trace->workload.requests[index].due_ns / rate);
}

/* Requests that arrive within the time that a rate is tried for. */
static size_t requests_within(const trace_t *trace, double rate)
{
    uint64_t time_ns = (trace->bench->options->quick ? 2 : 8) * EPI_S;
    size_t count = 0;

    while (count < trace->workload.count && due(trace, count, rate) < time_ns) {
        count++;
    }
    return count;
}

static uint64_t room_of(const trace_t *trace, size_t request, size_t item)
{
    return epi_room(trace->pass * trace->workload.count + request, item);
}

static epdx_status_t drain_outcomes(trace_t *trace, size_t *ended_p)
{
    size_t count = 0;
    epdx_status_t status = epi_engine_outcomes(&trace->engine, &count);

    *ended_p += count;
    return status;
}

/* One item goes out as soon as the ring has room for it. */
static epdx_status_t serve_item(trace_t *trace, size_t request, size_t item,
                                size_t *ended_p)
{
    const epi_workload_request_t *at = &trace->workload.requests[request];
    uint64_t rows = trace->workload.rows[at->first + item];
    epdx_status_t status = EPDX_ERR_FULL;

    while (status == EPDX_ERR_FULL) {
        epdx_status_t outcome;

        status = epi_engine_send(&trace->engine, room_of(trace, request, item),
                                 rows);
        outcome = drain_outcomes(trace, ended_p);
        if (outcome != EPDX_OK) {
            return outcome;
        }
        if (status == EPDX_ERR_FULL) {
            nap();
        }
    }
    return status;
}

static epdx_status_t serve(trace_t *trace, double rate)
{
    uint64_t start = epi_now_ns();
    size_t sent = 0, ended = 0;
    epdx_status_t status = EPDX_OK;

    for (size_t i = 0; status == EPDX_OK && i < trace->count; i++) {
        while (status == EPDX_OK &&
               epi_now_ns() - start < due(trace, i, rate)) {
            status = drain_outcomes(trace, &ended);
            nap();
        }
        for (size_t j = 0;
             status == EPDX_OK && j < trace->workload.requests[i].count; j++) {
            status = serve_item(trace, i, j, &ended);
            sent++;
        }
    }
    while (status == EPDX_OK && ended < sent) {
        status = drain_outcomes(trace, &ended);
        nap();
        if (epi_now_ns() - start > OVERRUN_NS) {
            return epi_fail(EPDX_ERR_TIMEOUT, "%zu of %zu items went out",
                            ended, sent);
        }
    }
    return status;
}

static epdx_status_t stage(trace_t *trace, size_t index)
{
    const epi_workload_request_t *at = &trace->workload.requests[index];
    epdx_item_t items[EPI_WORKLOAD_ITEMS_MAX / 8];
    char id[24];
    epdx_request_t request = {
        .id = id, .items = items, .item_count = at->count};

    if (at->count > sizeof(items) / sizeof(items[0])) {
        return epi_fail(EPDX_ERR_TOO_LARGE, "a request of %zu items",
                        at->count);
    }
    for (size_t j = 0; j < at->count; j++) {
        items[j] = (epdx_item_t){.room = room_of(trace, index, j),
                                 .span = trace->workload.rows[at->first + j],
                                 .encode = trace->engine.encode};
    }
    (void)snprintf(id, sizeof(id), "%zu", index);
    return epdx_admission_stage(trace->engine.admission, &request);
}

/* How many have arrived by the lowest rank's clock, alike on all ranks. */
static epdx_status_t arrived(trace_t *trace, double rate, uint64_t start,
                             uint64_t *count_p)
{
    epdx_group_t *group = trace->engine.group;
    uint64_t count = *count_p;

    while (count < trace->count &&
           due(trace, count, rate) <= epi_now_ns() - start) {
        count++;
    }
    *count_p = count;
    return group->size == 1
               ? EPDX_OK
               : group->ops->broadcast(group, count_p, sizeof(*count_p), 0);
}

static void note_pool(trace_t *trace)
{
    epdx_receiver_stats_t stats;

    epdx_admission_stats(trace->engine.admission, NULL, &stats);
    if (stats.pool_leased_bytes > trace->pool_high) {
        trace->pool_high = stats.pool_leased_bytes;
    }
}

static epdx_status_t take(trace_t *trace, double rate, uint64_t start,
                          size_t *ended_p)
{
    epdx_decisions_t decisions;
    epdx_status_t status =
        epdx_admission_drain(trace->engine.admission, &decisions);
    uint64_t now = epi_now_ns() - start;

    if (status == EPDX_OK && decisions.failed_count > 0) {
        return epi_fail(decisions.failed[0].status, "%s",
                        decisions.failed[0].reason);
    }
    note_pool(trace);
    for (size_t i = 0; status == EPDX_OK && i < decisions.admitted_count; i++) {
        uint64_t index;

        if (!epi_text_number(decisions.admitted[i].id, trace->count, &index)) {
            return epi_fail(EPDX_ERR_MISMATCH, "a request that is not ours");
        }
        if (trace->first <= 0) {
            trace->first = (double)(now - due(trace, index, rate)) / 1e9;
        }
        trace->seconds[(*ended_p)++] =
            (double)(now - due(trace, index, rate)) / 1e9;
        epi_engine_release(&trace->engine, decisions.admitted[i].id);
    }
    if (status == EPDX_OK && decisions.admitted_count == 0) {
        nap();
    }
    return status;
}

static epdx_status_t receive(trace_t *trace, double rate)
{
    uint64_t start = epi_now_ns();
    uint64_t due_count = 0;
    size_t staged = 0, ended = 0;
    epdx_status_t status = EPDX_OK;

    while (status == EPDX_OK && ended < trace->count) {
        status = arrived(trace, rate, start, &due_count);
        while (status == EPDX_OK && staged < due_count) {
            status = stage(trace, staged);
            staged += status == EPDX_OK;
        }
        if (status == EPDX_ERR_FULL) {
            status = EPDX_OK; /* on every rank alike: they wait */
        }
        if (status == EPDX_OK) {
            status = take(trace, rate, start, &ended);
        }
        if (status == EPDX_OK && epi_now_ns() - start > OVERRUN_NS) {
            return epi_fail(EPDX_ERR_TIMEOUT, "%zu of %zu requests ended",
                            ended, trace->count);
        }
    }
    trace->elapsed = (double)(epi_now_ns() - start) / 1e9;
    return status;
}

typedef struct figures {
    double p50, p99, elapsed, first, pool;
} figures_t;

static epdx_status_t report(trace_t *trace, double rate,
                            const figures_t *figures)
{
    epi_result_t result = {.what = "trace",
                           .way = "epdx",
                           .unit = "s",
                           .ready = (uint64_t)rate,
                           .ranks = trace->bench->team->size - 1,
                           .value = figures->p99,
                           .low = figures->p50,
                           .high = figures->p99,
                           .p50 = figures->p50,
                           .p99 = figures->p99};
    epdx_sender_stats_t stats;

    epdx_sender_stats(trace->engine.sender, &stats);
    (void)epi_text_copy(result.transport, sizeof(result.transport),
                        stats.transport);
    result.size = trace->bytes;
    result.pending = trace->count;
    epi_text_format(result.note, sizeof(result.note),
                    "%.0f MB/s, pool %.0f MiB",
                    (double)trace->bytes / figures->elapsed / 1e6,
                    figures->pool / (double)MIB);
    return epi_results_add(&trace->bench->results, &result);
}

/* One rate, on all ranks; *held_p alike on all. */
static epdx_status_t try_rate(trace_t *trace, double rate, bool *held_p)
{
    figures_t all[EPI_TEAM_RANKS_MAX];
    figures_t mine = {0};
    epi_team_t *team = trace->bench->team;
    epdx_status_t status;

    trace->count = requests_within(trace, rate);
    trace->bytes = 0;
    trace->pool_high = 0;
    for (size_t i = 0; i < trace->count; i++) {
        for (size_t j = 0; j < trace->workload.requests[i].count; j++) {
            trace->bytes +=
                trace->workload.rows[trace->workload.requests[i].first + j] *
                HIDDEN * 2;
        }
    }
    status = epi_team_meet(team);
    if (status == EPDX_OK) {
        status = team->rank == 0 ? serve(trace, rate) : receive(trace, rate);
    }
    status = epi_team_agree(team, status);
    if (status != EPDX_OK) {
        return status;
    }
    if (team->rank > 0) {
        mine = (figures_t){
            .p50 = epi_stats_percentile(trace->seconds, trace->count, 50),
            .p99 = epi_stats_percentile(trace->seconds, trace->count, 99),
            .elapsed = trace->elapsed,
            .first = trace->first,
            .pool = (double)trace->pool_high};
    }
    status = team->ops->share(team, &mine, sizeof(mine), all);
    if (status != EPDX_OK) {
        return status;
    }
    trace->pass++;
    trace->first = all[1].first;
    *held_p = all[1].p99 <= HELD_S;
    return team->rank == 0 ? report(trace, rate, &all[1]) : EPDX_OK;
}

static epdx_status_t summary(trace_t *trace, const char *what, double value,
                             const char *unit)
{
    epi_result_t result = {.way = "epdx",
                           .ranks = trace->bench->team->size - 1,
                           .value = value,
                           .low = value,
                           .high = value};

    (void)epi_text_copy(result.what, sizeof(result.what), what);
    (void)epi_text_copy(result.unit, sizeof(result.unit), unit);
    return trace->bench->team->rank == 0
               ? epi_results_add(&trace->bench->results, &result)
               : EPDX_OK;
}

static epdx_status_t run_rates(trace_t *trace)
{
    double highest = 0;
    bool held = true;
    epdx_status_t status = EPDX_OK;

    for (uint64_t rate = 1; status == EPDX_OK && held && rate <= RATE_MAX;
         rate *= trace->bench->options->quick ? 4 : 2) {
        status = try_rate(trace, (double)rate, &held);
        highest = held ? (double)rate : highest;
    }
    if (status == EPDX_OK) {
        status = summary(trace, "rate_held", highest, "times the trace");
    }
    if (status == EPDX_OK) {
        status = summary(trace, "first_row", trace->first * 1e3, "ms");
    }
    return status;
}

static epdx_status_t run(epi_bench_t *bench)
{
    static trace_t trace;
    size_t bytes = (size_t)bench->options->memory_mb * 2 * MIB;
    epi_engine_params_t params = {.first = 1,
                                  .hidden = HIDDEN,
                                  .shard = bench->team->size > 2,
                                  .pool_bytes = bytes,
                                  .ring_bytes = bytes};
    const char *path =
        bench->options->workload == NULL ? PRESET : bench->options->workload;
    epdx_status_t status;

    trace = (trace_t){.bench = bench};
    status = epi_team_agree(bench->team,
                            epi_workload_load(path, 0, &trace.workload));
    if (status != EPDX_OK) {
        return status;
    }
    trace.seconds = calloc(trace.workload.count + 1, sizeof(double));
    status = trace.seconds == NULL
                 ? epi_fail(EPDX_ERR_NO_MEMORY, "no memory for the latencies")
                 : EPDX_OK;
    status = epi_team_agree(bench->team, status);
    if (status == EPDX_OK) {
        status = epi_engine_open(&trace.engine, bench, &params);
    }
    if (status == EPDX_OK) {
        status = run_rates(&trace);
    }
    if (status == EPDX_OK) {
        epi_engine_close(&trace.engine);
    }
    free(trace.seconds);
    epi_workload_fini(&trace.workload);
    return status;
}

const epi_subject_t epi_subject_trace = {
    .name = "trace",
    .about = "the requests of a trace, ever faster",
    .run = run,
};
