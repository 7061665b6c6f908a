/*
 * plane.h: what every plane needs, for the files of this folder only: the
 * event queue. One thread.
 *
 * Room for an event is reserved when what will end in it begins, so that a
 * completion always finds room and a caller learns of a full queue while
 * nothing is under way yet. The queue grows in powers of two and never
 * shrinks: a steady state allocates nothing.
 */
#ifndef EPI_DATAPLANE_PLANE_H
#define EPI_DATAPLANE_PLANE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dataplane/dataplane.h"

/** Events that may be queued or reserved: 65536 parked offers, and three times
 *  as many offers made and pulls. */
#define EPI_DP_EVENTS_MAX ((size_t)1 << 18)

/** An event as it is queued: an offer's header waits in the offer. */
typedef struct epi_dp_note {
    epi_dp_event_kind_t kind;
    epdx_status_t status;
    uint64_t cookie;
    const void *subject; /* the offer that came in, or the peer that is down;
                            NULL in a note that was forgotten */
} epi_dp_note_t;

typedef struct epi_dp_events {
    epi_dp_note_t *notes; /* a ring of capacity notes */
    size_t capacity;      /* 0, or a power of two */
    size_t head;
    size_t count;
    size_t reserved;
} epi_dp_events_t;

/** Make sure of room for one event more. EPDX_ERR_NO_MEMORY, with words. */
EPDX_MUST_CHECK epdx_status_t epi_dp_events_reserve(epi_dp_events_t *events);

/** Give back a reservation whose event will not come. */
void epi_dp_events_unreserve(epi_dp_events_t *events);

/** Queue an event into a reservation. */
void epi_dp_events_push(epi_dp_events_t *events, const epi_dp_note_t *note);

/** Take the oldest; false when there is none. */
bool epi_dp_events_pop(epi_dp_events_t *events, epi_dp_note_t *note_p);

/** Whether there was a queued event of this kind about subject, which will
 *  now not come. */
bool epi_dp_events_forget(epi_dp_events_t *events, epi_dp_event_kind_t kind,
                          const void *subject);

/** Frees the ring; zeroed events are allowed. */
void epi_dp_events_fini(epi_dp_events_t *events);

#endif
