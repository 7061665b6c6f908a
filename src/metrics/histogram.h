/*
 * histogram.h: how often something took how long: fixed buckets, relaxed
 * atomics, no allocation. Written by any thread, read by any other. Pure.
 */
#ifndef EPI_METRICS_HISTOGRAM_H
#define EPI_METRICS_HISTOGRAM_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/** Upper bounds, in nanoseconds: 50 us ... 300 s. */
#define EPI_BOUNDS 21

typedef struct epi_histogram {
    _Atomic uint64_t buckets[EPI_BOUNDS + 1]; /* the last: above all bounds */
    _Atomic uint64_t sum_ns;
} epi_histogram_t;

/** What was in it at one moment, each bucket with those before it. */
typedef struct epi_histogram_view {
    uint64_t counts[EPI_BOUNDS + 1];
    double sum_s;
} epi_histogram_view_t;

/** The bounds in nanoseconds, and the same in seconds. */
extern const uint64_t epi_bounds_ns[EPI_BOUNDS];
extern const double epi_bounds_s[EPI_BOUNDS];

/** The bucket of a value: the first whose bound is not below it. */
size_t epi_histogram_bucket(uint64_t value_ns);

void epi_histogram_add(epi_histogram_t *histogram, uint64_t value_ns);

void epi_histogram_read(const epi_histogram_t *histogram,
                        epi_histogram_view_t *view_p);

#endif
