/*
 * scale.c: how what one rank pays grows with ranks, engines, encode nodes and
 * rooms: measured in one process up to what fits, with the law of the growth,
 * and carried on by that law.
 *
 * Both ends are in one process, so counts are of both; a connection has a
 * socket at each end. Times are of each end alone.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "bench/bench.h"
#include "bench/crowd.h"
#include "bench/stats.h"
#include "bench/tap.h"

#define POINTS_MAX 16
#define ITEMS      8
#define IDLE_STEPS 200

enum { SOCKETS, THREADS, HEAP, FRAMES, ASKS, ENCODE_US, PREFILL_US, FIGURES };

static const struct {
    const char *name;
    const char *unit;
} figures[FIGURES] = {
    {"sockets", "sockets"},
    {"threads", "threads"},
    {"heap", "KiB"},
    {"asks_an_item", "frames"},
    {"asks_a_second", "asks/s"},
    {"encode_item", "us"},
    {"prefill_item", "us"},
};

/* What grows, what of it is carried on, and how far one process goes. */
typedef struct series {
    const char *name;
    size_t most, most_quick;
    double far; /* carried on to */
    epi_crowd_params_t (*make)(size_t n);
} series_t;

static epi_crowd_params_t make_ranks(size_t n)
{
    return (epi_crowd_params_t){n, (uint32_t)n, 1};
}

static epi_crowd_params_t make_engines(size_t n)
{
    return (epi_crowd_params_t){2 * n, 2, 1};
}

static epi_crowd_params_t make_encoders(size_t n)
{
    return (epi_crowd_params_t){1, 1, n};
}

static const series_t series_table[] = {
    {"ranks", 256, 32, 1024, make_ranks},
    {"engines", 64, 8, 100, make_engines},
    {"encoders", 64, 8, 128, make_encoders},
};

typedef struct curve {
    double n[POINTS_MAX];
    double y[FIGURES][POINTS_MAX];
    size_t count;
} curve_t;

static epdx_status_t measure(epi_crowd_t *crowd, const series_t *series,
                             size_t n, curve_t *curve)
{
    epi_crowd_params_t params = series->make(n);
    epi_holds_t before = epi_crowd_holds();
    epi_holds_t holds;
    uint64_t asks, start, ns;
    double items = ITEMS * (double)params.senders * (double)params.receivers /
                   params.tp_size;
    size_t at = curve->count;
    epdx_status_t status = epi_crowd_open(crowd, &params);

    if (status == EPDX_OK) {
        status = epi_crowd_carry(crowd); /* all know each other */
    }
    if (status != EPDX_OK) {
        return status;
    }
    holds = epi_crowd_holds();
    asks = epi_crowd_asks(crowd);
    crowd->sender_ns = crowd->receiver_ns = 0;
    start = epi_now_ns();
    for (size_t i = 0; status == EPDX_OK && i < ITEMS; i++) {
        status = epi_crowd_carry(crowd);
    }
    ns = epi_now_ns() - start;
    asks = epi_crowd_asks(crowd) - asks;
    curve->n[at] = (double)n;
    curve->y[SOCKETS][at] = holds.sockets - before.sockets;
    curve->y[THREADS][at] = holds.threads - before.threads;
    curve->y[HEAP][at] = (holds.heap - before.heap) / 1024;
    curve->y[FRAMES][at] = (double)asks / items;
    curve->y[ASKS][at] = (double)asks / ((double)ns / 1e9);
    curve->y[ENCODE_US][at] = (double)crowd->sender_ns / 1e3 / items;
    curve->y[PREFILL_US][at] =
        (double)crowd->receiver_ns / 1e3 / ITEMS / (double)params.receivers;
    curve->count++;
    return status;
}

static epdx_status_t add(epi_bench_t *bench, const char *what, size_t figure,
                         uint64_t n, double value)
{
    epi_result_t result = {.ranks = n,
                           .value = value,
                           .low = value,
                           .high = value,
                           .transport = "loopback"};

    epi_text_format(result.what, sizeof(result.what), "scale_%s", what);
    epi_text_format(result.way, sizeof(result.way), "%s", figures[figure].name);
    epi_text_format(result.unit, sizeof(result.unit), "%s",
                    figures[figure].unit);
    return epi_results_add(&bench->results, &result);
}

/* The law, and what it says far out. */
static epdx_status_t add_law(epi_bench_t *bench, const series_t *series,
                             const curve_t *curve, size_t figure)
{
    epi_fit_t fit = epi_stats_fit(curve->n, curve->y[figure], curve->count);
    epi_result_t result = {.ranks = (uint64_t)series->far,
                           .value = epi_stats_at(&fit, series->far),
                           .low = fit.a,
                           .high = fit.b};

    epi_text_format(result.what, sizeof(result.what), "law_%s", series->name);
    epi_text_format(result.way, sizeof(result.way), "%s", figures[figure].name);
    epi_text_format(result.unit, sizeof(result.unit), "%s",
                    figures[figure].unit);
    epi_text_format(result.note, sizeof(result.note), "%s, r2 %.3f",
                    epi_stats_law(fit.law), fit.r2);
    return epi_results_add(&bench->results, &result);
}

static epdx_status_t run_series(epi_bench_t *bench, epi_crowd_t *crowd,
                                const series_t *series)
{
    static curve_t curve;
    size_t most = bench->options->quick ? series->most_quick : series->most;
    epdx_status_t status = EPDX_OK;

    curve.count = 0;
    for (size_t n = 1; status == EPDX_OK && n <= most; n *= 2) {
        status = measure(crowd, series, n, &curve);
        epi_crowd_close(crowd);
        for (size_t f = 0; status == EPDX_OK && f < FIGURES; f++) {
            status =
                add(bench, series->name, f, n, curve.y[f][curve.count - 1]);
        }
    }
    for (size_t f = 0; status == EPDX_OK && f < FIGURES; f++) {
        if (f != ASKS) {
            status = add_law(bench, series, &curve, f);
        }
    }
    return status;
}

/* What so many rooms that wait cost: memory, and a look at them. */
static epdx_status_t run_rooms(epi_bench_t *bench, epi_crowd_t *crowd)
{
    static const size_t rooms[] = {16, 256, 1024, 4000};
    epi_crowd_params_t params = {4, 4, 1};
    size_t asked = 0;
    epi_holds_t before;
    epdx_status_t status = epi_crowd_open(crowd, &params);

    if (status == EPDX_OK) {
        status = epi_crowd_carry(crowd);
    }
    before = epi_crowd_holds();
    for (size_t i = 0;
         status == EPDX_OK && i < (bench->options->quick ? 3U : 4U); i++) {
        double steps = IDLE_STEPS;

        status = epi_crowd_ask(crowd, rooms[i] - asked);
        asked = rooms[i];
        crowd->sender_ns = crowd->receiver_ns = 0;
        for (size_t s = 0; s < IDLE_STEPS; s++) {
            epi_crowd_step(crowd);
        }
        if (status == EPDX_OK) {
            status = add(bench, "rooms", HEAP, rooms[i],
                         (epi_crowd_holds().heap - before.heap) / 1024);
        }
        if (status == EPDX_OK) {
            status = add(bench, "rooms", ENCODE_US, rooms[i],
                         (double)crowd->sender_ns / 1e3 / steps);
        }
        if (status == EPDX_OK) {
            status = add(bench, "rooms", PREFILL_US, rooms[i],
                         (double)crowd->receiver_ns / 1e3 / steps / 4);
        }
    }
    epi_crowd_close(crowd);
    return status;
}

static epdx_status_t run(epi_bench_t *bench)
{
    epi_crowd_t *crowd = calloc(1, sizeof(*crowd));
    epdx_status_t status = EPDX_OK;

    if (crowd == NULL) {
        return epi_fail(EPDX_ERR_NO_MEMORY, "no memory for a crowd");
    }
    for (size_t i = 0; status == EPDX_OK &&
                       i < sizeof(series_table) / sizeof(series_table[0]);
         i++) {
        status = run_series(bench, crowd, &series_table[i]);
    }
    if (status == EPDX_OK) {
        status = run_rooms(bench, crowd);
    }
    free(crowd);
    return status;
}

const epi_subject_t epi_subject_scale = {
    .name = "scale",
    .about = "how what one rank pays grows",
    .alone = true,
    .run = run,
};
