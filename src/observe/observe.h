/*
 * observe.h: how a receiver, a sender or an admission is watched: a watch has
 * its metrics, and where a trace is written the ring of its events. All watches
 * of the process stand in one list (registry.c), which is read by whoever asks
 * for metrics and by a thread of its own (worker.c), which writes files.
 *
 * The owner writes into its watch without a lock; the list has one, taken only
 * to open and close a watch, by that thread, and while metrics are read. Where
 * neither metrics nor a trace is asked for a watch is not on, and costs its
 * owner the look at that.
 */
#ifndef EPI_OBSERVE_OBSERVE_H
#define EPI_OBSERVE_OBSERVE_H

#include "base/options.h"
#include "metrics/metrics.h"
#include "trace/ring.h"

typedef struct epi_watch {
    bool on;                 /* one of the two: phases are worth timing */
    bool counted;            /* its metrics are shown */
    epi_trace_ring_t *trace; /* of one thread; NULL: no trace */
    uint32_t track;          /* in the trace */
    epi_metrics_t metrics;
    /* The registry's. */
    void (*refresh)(void *self, epi_metrics_t *metrics);
    void *self;
    struct epi_watch *next;
    uint8_t *named_lanes; /* bit a lane of the track */
    uint32_t lane_max;
    bool owns_lanes;    /* they are not those of another watch */
    uint64_t unwritten; /* events that the file had no room for */
    bool listed;
} epi_watch_t;

typedef struct epi_watch_params {
    const epi_options_t *options;
    epi_owner_t owner;
    uint32_t rank;
    uint32_t lane_max; /* lanes of its track, drains included */
    epi_watch_t *same; /* the watch whose track it shares; NULL: its own */
    /** Bring values up to date that are kept elsewhere, reading atomics alone:
     *  it runs on any thread until the watch is closed. May be NULL. */
    void (*refresh)(void *self, epi_metrics_t *metrics);
    void *self;
} epi_watch_params_t;

/** Begin to watch, as the settings say; watch is zeroed memory that stays where
 *  it is. Errors: EPDX_ERR_INVALID (EPDX_METRICS does not parse),
 *  EPDX_ERR_NO_MEMORY. What cannot be bound or written is logged, and fails
 *  nothing. */
EPDX_MUST_CHECK epdx_status_t epi_watch_open(epi_watch_t *watch,
                                             const epi_watch_params_t *params);

/** Write what is left, and end. A watch that was never opened is allowed. The
 *  owner's threads are done with it. */
void epi_watch_close(epi_watch_t *watch);

static inline void epi_watch_put(epi_watch_t *watch,
                                 const epi_trace_event_t *event)
{
    if (watch->trace != NULL) {
        epi_trace_put(watch->trace, event);
    }
}

#endif
