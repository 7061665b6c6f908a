/*
 * transfer.c: bandwidth from one encode rank to each prefill rank, beside the
 * bare loops of UCX, a TCP socket and one copy through shared memory.
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "bench/bench.h"
#include "bench/stats.h"

#define KIB          ((size_t)1 << 10)
#define MIB          ((size_t)1 << 20)
#define COUNT_MAX    ((size_t)2000)
#define WAYS_MAX     8
#define COLD_SIZE    MIB
#define QUICK_WINDOW 4

static const epi_way_ops_t *const way_table[] = {
    &epi_way_epdx,         &epi_way_epdx_caller, &epi_way_ucx_am,
    &epi_way_ucx_am_event, &epi_way_ucx_put,     &epi_way_tcp,
    &epi_way_shm,
};

#define WAYS (sizeof(way_table) / sizeof(way_table[0]))

typedef struct transfer {
    epi_bench_t *bench;
    epi_way_t *ways[WAYS];
    size_t way_count;
    double rates[WAYS][EPI_ROUNDS_MAX]; /* MB/s by round */
    size_t rounds;
} transfer_t;

static epdx_status_t open_ways(transfer_t *transfer)
{
    for (size_t i = 0; i < WAYS; i++) {
        epdx_status_t status = way_table[i]->open(
            transfer->bench, &transfer->ways[transfer->way_count]);

        if (status == EPDX_OK) {
            transfer->way_count++;
        } else if (status == EPDX_ERR_UNSUPPORTED) {
            if (transfer->bench->team->rank == 0) {
                printf("# without %s: %s\n", way_table[i]->name,
                       epdx_last_error());
            }
        } else {
            return status;
        }
    }
    return EPDX_OK;
}

static epdx_status_t measure(transfer_t *transfer, const epi_round_t *round,
                             size_t way, double *rate_p)
{
    epi_team_t *team = transfer->bench->team;
    double seconds = 0;
    epdx_status_t status = epi_team_meet(team);

    if (status == EPDX_OK) {
        status = transfer->ways[way]->ops->round(transfer->ways[way], round,
                                                 &seconds);
    }
    if (status != EPDX_OK) {
        /* The others may take their time to come here. */
        fprintf(stderr, "rank %u, %s: %s\n", team->rank,
                transfer->ways[way]->ops->name, epdx_last_error());
    }
    status = epi_team_agree(team, status);
    if (status == EPDX_OK) {
        status = epi_team_max(team, &seconds);
    }
    if (status == EPDX_OK) {
        *rate_p = (double)round->size * (double)round->count *
                  (double)(team->size - 1) / seconds / 1e6;
    }
    return status;
}

static bool starts_with(const epi_way_t *way, const char *prefix)
{
    return strncmp(way->ops->name, prefix, strlen(prefix)) == 0;
}

/* The fastest of the bare loops of UCX is what epdx is held against. */
static size_t best_ucx(const transfer_t *transfer)
{
    double scratch[EPI_ROUNDS_MAX];
    double best = 0;
    size_t found = 0;

    for (size_t w = 1; w < transfer->way_count; w++) {
        size_t bytes = transfer->rounds * sizeof(double);
        double median;

        if (!starts_with(transfer->ways[w], "ucx_")) {
            continue;
        }
        memcpy(scratch, transfer->rates[w], bytes);
        median = epi_stats_median(scratch, transfer->rounds);
        if (median > best) {
            best = median;
            found = w;
        }
    }
    return found;
}

static void add_ratio(const transfer_t *transfer, size_t way, size_t to,
                      epi_result_t *result)
{
    double scratch[EPI_ROUNDS_MAX];

    (void)epi_text_copy(result->baseline, sizeof(result->baseline),
                        transfer->ways[to]->ops->name);
    result->ratio = epi_stats_ratio(transfer->rates[way], transfer->rates[to],
                                    transfer->rounds, scratch);
}

static epdx_status_t report(transfer_t *transfer, const epi_round_t *round)
{
    epdx_status_t status = EPDX_OK;
    size_t best = best_ucx(transfer);

    for (size_t w = 0; status == EPDX_OK && w < transfer->way_count; w++) {
        double sorted[EPI_ROUNDS_MAX];
        epi_result_t result = {.size = round->size,
                               .window = round->window,
                               .ranks = transfer->bench->team->size - 1,
                               .unit = "MB/s"};

        memcpy(sorted, transfer->rates[w], sizeof(sorted));
        result.value = epi_stats_median(sorted, transfer->rounds);
        result.low = sorted[0];
        result.high = sorted[transfer->rounds - 1];
        (void)epi_text_copy(result.what, sizeof(result.what),
                            round->walk ? "cold" : "bandwidth");
        (void)epi_text_copy(result.way, sizeof(result.way),
                            transfer->ways[w]->ops->name);
        transfer->ways[w]->ops->transport(transfer->ways[w], result.transport,
                                          sizeof(result.transport));
        if (starts_with(transfer->ways[w], "epdx")) {
            add_ratio(transfer, w, best, &result);
        }
        status = epi_results_add(&transfer->bench->results, &result);
    }
    return status;
}

/* Enough bytes that a round is long beside its begin. */
static epi_round_t make_round(const epi_bench_t *bench, size_t size,
                              size_t window)
{
    bool quick = bench->options->quick;
    size_t count = (quick ? 32 * MIB : 128 * MIB) / size;
    size_t least = quick ? (window + 1) / 2 : 2 * window;

    count = count < least ? least : count;
    count = count > COUNT_MAX ? COUNT_MAX : count;
    return (epi_round_t){size, window, count, false};
}

static epdx_status_t run_case(transfer_t *transfer, const epi_round_t *round)
{
    size_t rounds = (size_t)transfer->bench->options->rounds;
    double rate;
    epdx_status_t status = EPDX_OK;

    transfer->rounds = 0;
    /* Once before: endpoints connect, pages and routes become known. */
    for (size_t w = 0; status == EPDX_OK && w < transfer->way_count; w++) {
        status = measure(transfer, round, w, &rate);
    }
    for (size_t r = 0; status == EPDX_OK && r < rounds; r++) {
        for (size_t w = 0; status == EPDX_OK && w < transfer->way_count; w++) {
            status = measure(transfer, round, w, &transfer->rates[w][r]);
        }
        transfer->rounds++;
    }
    if (status == EPDX_OK && transfer->bench->team->rank == 0) {
        status = report(transfer, round);
    }
    return status;
}

/* Whether a case is one of those asked for, and fits. */
static bool wanted(const epi_bench_options_t *options, size_t size,
                   size_t window)
{
    size_t memory = (size_t)options->memory_mb * MIB;

    if (options->quick && options->window == 0 && window != QUICK_WINDOW) {
        return false;
    }
    if (options->quick && options->size == 0 &&
        (size < 64 * KIB || size > 64 * MIB)) {
        return false;
    }
    return (options->size == 0 || options->size == size) &&
           (options->window == 0 || options->window == window) &&
           size * (window < 2 ? 1 : 2) <= memory;
}

static epdx_status_t run_cases(transfer_t *transfer)
{
    static const size_t sizes[] = {4 * KIB,  64 * KIB, MIB,      4 * MIB,
                                   16 * MIB, 64 * MIB, 256 * MIB};
    static const size_t windows[] = {1, 4, 16};
    const epi_bench_options_t *options = transfer->bench->options;
    size_t memory = (size_t)options->memory_mb * MIB;
    epdx_status_t status = EPDX_OK;

    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        for (size_t w = 0; w < 3 && status == EPDX_OK; w++) {
            epi_round_t round =
                make_round(transfer->bench, sizes[s], windows[w]);

            if (wanted(options, sizes[s], windows[w])) {
                status = run_case(transfer, &round);
            }
        }
    }
    if (status == EPDX_OK && options->size == 0) {
        epi_round_t walk = {COLD_SIZE, 4, memory / COLD_SIZE, true};

        walk.count /= options->quick ? 4 : 1;

        status = run_case(transfer, &walk);
    }
    return status;
}

static epdx_status_t run(epi_bench_t *bench)
{
    static transfer_t transfer;
    epdx_status_t status;

    transfer = (transfer_t){.bench = bench};
    status = open_ways(&transfer);
    if (status == EPDX_OK) {
        status = run_cases(&transfer);
    }
    /* Closing is collective: after a failure there is only the end. */
    for (size_t i = 0; status == EPDX_OK && i < transfer.way_count; i++) {
        transfer.ways[i]->ops->close(transfer.ways[i]);
    }
    return status;
}

const epi_subject_t epi_subject_transfer = {
    .name = "transfer",
    .about = "bandwidth from an encode rank to prefill ranks, by size and "
             "window",
    .run = run,
};
