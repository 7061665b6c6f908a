/*
 * metrics.h: what epdx counts and times, for Prometheus and for programs.
 *
 * Metrics are collected of the receivers, senders and admissions of this
 * process that are opened while EPDX_METRICS or EPDX_METRICS_FILE is set, or
 * after epdx_metrics_collect(). docs/metrics.md lists them. Every one has the
 * labels rank (of its engine or node) and object (which one of its kind in this
 * process, from 0), but epdx_build_info. A log sink must make none of these
 * calls.
 */
#ifndef EPDX_METRICS_H
#define EPDX_METRICS_H

#include <stdio.h>

#include "epdx/types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum epdx_metric_type {
    EPDX_METRIC_COUNTER = 0,
    EPDX_METRIC_GAUGE = 1,
    EPDX_METRIC_HISTOGRAM = 2,
} epdx_metric_type_t;

/** One metric's value now. Later versions may add fields at the end. */
typedef struct epdx_metric {
    const char *name; /**< such as "epdx_receiver_pull_seconds" */
    const char *help; /**< one sentence */
    epdx_metric_type_t type;
    /** In Prometheus' form without braces: rank="0",object="0" and, of some,
     *  one more, such as reason="timeout". */
    const char *labels;
    double value; /**< of a counter or gauge; the sum of a histogram */
    /** Of a histogram: bound_count upper bounds, ascending, and for each of
     *  them how many values were not above it; one more is the count of all.
     *  Else NULL and 0. */
    const double *bounds;
    const uint64_t *counts;
    size_t bound_count;
} epdx_metric_t;

/** Takes one metric; metric and its texts are valid during the call only. No
 *  call of this library may be made from it. */
typedef void (*epdx_metric_visit_t)(void *context, const epdx_metric_t *metric);

/**
 * Collect metrics of what is opened from now on, also where neither
 * EPDX_METRICS nor EPDX_METRICS_FILE is set.
 *
 * Shapes:  none.
 * Units:   none.
 * Owns:    nothing.
 * Threads: any.
 * Errors:  none.
 */
EPDX_API void epdx_metrics_collect(void);

/**
 * Give every metric of every open object to visit: those of one name one after
 * another, objects in the order of their opening.
 *
 * Shapes:  none.
 * Units:   seconds and bytes, as the names say.
 * Owns:    context is the caller's.
 * Threads: any. Objects are neither opened nor closed meanwhile: those calls
 *          wait. Counters may go on while they are read.
 * Errors:  none.
 */
EPDX_API void epdx_metrics_each(epdx_metric_visit_t visit, void *context);

/**
 * Write all metrics in Prometheus' text format (version 0.0.4) into a buffer.
 *
 * Shapes:  out has size bytes; the text is closed by a zero, and cut where it
 *          does not fit. out may be NULL when size is 0.
 * Units:   bytes.
 * Owns:    out is the caller's.
 * Threads: as epdx_metrics_each().
 * Errors:  none; the bytes of the whole text, without the closing zero: it was
 *          cut where that is not under size.
 */
EPDX_API size_t epdx_metrics_text(char *out, size_t size);

/**
 * Write the same text to a file.
 *
 * Shapes:  none.
 * Units:   none.
 * Owns:    file stays the caller's; it is flushed, not closed.
 * Threads: as epdx_metrics_each().
 * Errors:  EPDX_ERR_INVALID    file is NULL;
 *          EPDX_ERR_NO_MEMORY  the text could not be held;
 *          EPDX_ERR_IO         the file could not be written.
 */
EPDX_API EPDX_MUST_CHECK epdx_status_t epdx_metrics_print(FILE *file);

/**
 * Where this process answers Prometheus, "host:port": GET /metrics.
 *
 * Shapes:  out has size bytes; "" where EPDX_METRICS is off, nothing is open,
 *          or the address could not be bound.
 * Units:   bytes.
 * Owns:    out is the caller's.
 * Threads: any.
 * Errors:  none.
 */
EPDX_API void epdx_metrics_address(char *out, size_t size);

#ifdef __cplusplus
}
#endif
#endif
