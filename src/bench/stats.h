/*
 * stats.h: what a series of measurements says: median, percentiles, ratios of
 * runs that were interleaved, and the law by which a cost grows. Pure.
 */
#ifndef EPI_BENCH_STATS_H
#define EPI_BENCH_STATS_H

#include <stddef.h>
#include <stdint.h>

/** The middle value, or the mean of the two in the middle; 0 of none. Sorts. */
double epi_stats_median(double *values, size_t count);

/** The smallest value that at least percent of 100 of all do not exceed; 0 of
 *  none. Sorts. */
double epi_stats_percentile(double *values, size_t count, unsigned percent);

/** The median of ours[i] / theirs[i]: what the machine does to both halves of a
 *  pair cancels. Pairs whose theirs is 0 are left out; 0 of none. scratch has
 *  room for count values. */
double epi_stats_ratio(const double *ours, const double *theirs, size_t count,
                       double *scratch);

typedef enum epi_law {
    EPI_LAW_CONSTANT, /* a */
    EPI_LAW_LINEAR,   /* a + b n */
    EPI_LAW_N_LOG_N,  /* a + b n log2 n */
    EPI_LAW_SQUARE,   /* a + b n^2 */
} epi_law_t;

/** cost(n) = a + b f(n), by least squares. */
typedef struct epi_fit {
    epi_law_t law;
    double a;
    double b;
    double r2; /* 1: the points lie on it */
} epi_fit_t;

/** The law that leaves the least, over points whose n differ. A steeper one is
 *  taken only where it leaves less than a fifth of what a flatter one leaves,
 * so that noise is not called growth. count is at least 2. */
epi_fit_t epi_stats_fit(const double *n, const double *cost, size_t count);

/** The cost at n by a fit. */
double epi_stats_at(const epi_fit_t *fit, double n);

/** "constant", "a + b n", ... */
const char *epi_stats_law(epi_law_t law);

#endif
