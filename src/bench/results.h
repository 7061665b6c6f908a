/*
 * results.h: what was measured, a line a result for people while it runs, and
 * all of it as one JSON object at the end. Rank 0's.
 */
#ifndef EPI_BENCH_RESULTS_H
#define EPI_BENCH_RESULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "epdx/status.h"

#define EPI_RESULT_TEXT 40

/** One figure. Numbers that say nothing here are 0 and are not shown. */
typedef struct epi_result {
    char what[EPI_RESULT_TEXT]; /* "bandwidth", "drain", ... */
    char way[EPI_RESULT_TEXT];  /* "epdx", "ucx_am", ... */
    char unit[EPI_RESULT_TEXT];
    char transport[64]; /* what UCX chose */
    uint64_t size, window, pending, ranks, ready;
    double value; /* median of the rounds */
    double low, high;
    double p50, p99;
    char baseline[EPI_RESULT_TEXT]; /* what ratio is to */
    double ratio;                   /* median of the rounds' ratios */
    char note[EPI_RESULT_TEXT];
} epi_result_t;

typedef struct epi_results {
    const char *subject;
    bool json;
    epi_result_t *list;
    size_t count;
    size_t capacity;
} epi_results_t;

/** Print and keep. EPDX_ERR_NO_MEMORY. */
EPDX_MUST_CHECK epdx_status_t epi_results_add(epi_results_t *results,
                                              const epi_result_t *result);

/** With json: the one line. */
void epi_results_end(epi_results_t *results);

#endif
