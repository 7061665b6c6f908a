/*
 * ring.h: events on their way from the thread where they happen to the one
 * that writes them: one of each, no lock, no allocation once it is open. A full
 * ring drops what comes, and counts it.
 */
#ifndef EPI_TRACE_RING_H
#define EPI_TRACE_RING_H

#include <stdbool.h>
#include <stddef.h>

#include "trace/event.h"

typedef struct epi_ring_of_events epi_trace_ring_t;

/** capacity is rounded up to a power of two. Errors: EPDX_ERR_NO_MEMORY. */
EPDX_MUST_CHECK epdx_status_t epi_trace_ring_open(size_t capacity,
                                                  epi_trace_ring_t **ring_p);

/** The one writer. */
void epi_trace_put(epi_trace_ring_t *ring, const epi_trace_event_t *event);

/** The one reader: the oldest event; false when there is none. */
bool epi_trace_take(epi_trace_ring_t *ring, epi_trace_event_t *event_p);

/** Events dropped so far. Any thread. */
uint64_t epi_trace_dropped(const epi_trace_ring_t *ring);

/** NULL is allowed. No thread may still use it. */
void epi_trace_ring_close(epi_trace_ring_t *ring);

#endif
