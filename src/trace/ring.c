/* ring.c: see ring.h. */
#include "trace/ring.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/error.h"

#define CACHE_LINE 64

struct epi_ring_of_events {
    epi_trace_event_t *events;
    uint64_t mask;
    /* Events ever put and ever taken: each side writes its own line. */
    alignas(CACHE_LINE) _Atomic uint64_t put;
    _Atomic uint64_t dropped;
    alignas(CACHE_LINE) _Atomic uint64_t taken;
};

epdx_status_t epi_trace_ring_open(size_t capacity, epi_trace_ring_t **ring_p)
{
    size_t size = 1;
    epi_trace_ring_t *ring = aligned_alloc(CACHE_LINE, sizeof(*ring));
    epi_trace_event_t *events;

    while (size < capacity) {
        size *= 2;
    }
    events = calloc(size, sizeof(*events));
    if (ring == NULL || events == NULL) {
        free(events);
        free(ring);
        return epi_fail(EPDX_ERR_NO_MEMORY,
                        "no memory for %zu events of a trace; lower "
                        "EPDX_TRACE_EVENTS",
                        size);
    }
    ring->events = events;
    ring->mask = size - 1;
    atomic_init(&ring->put, 0);
    atomic_init(&ring->dropped, 0);
    atomic_init(&ring->taken, 0);
    *ring_p = ring;
    return EPDX_OK;
}

void epi_trace_put(epi_trace_ring_t *ring, const epi_trace_event_t *event)
{
    uint64_t put = atomic_load_explicit(&ring->put, memory_order_relaxed);
    uint64_t taken = atomic_load_explicit(&ring->taken, memory_order_acquire);

    if (put - taken > ring->mask) {
        atomic_fetch_add_explicit(&ring->dropped, 1, memory_order_relaxed);
        return;
    }
    ring->events[put & ring->mask] = *event;
    atomic_store_explicit(&ring->put, put + 1, memory_order_release);
}

bool epi_trace_take(epi_trace_ring_t *ring, epi_trace_event_t *event_p)
{
    uint64_t taken = atomic_load_explicit(&ring->taken, memory_order_relaxed);

    if (taken == atomic_load_explicit(&ring->put, memory_order_acquire)) {
        return false;
    }
    *event_p = ring->events[taken & ring->mask];
    atomic_store_explicit(&ring->taken, taken + 1, memory_order_release);
    return true;
}

uint64_t epi_trace_dropped(const epi_trace_ring_t *ring)
{
    return atomic_load_explicit((_Atomic uint64_t *)&ring->dropped,
                                memory_order_relaxed);
}

void epi_trace_ring_close(epi_trace_ring_t *ring)
{
    if (ring != NULL) {
        free(ring->events);
        free(ring);
    }
}
