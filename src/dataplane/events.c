/*
 * events.c: the event queue of plane.h: a ring of notes with reservations.
 */
#include <stdlib.h>

#include "base/error.h"
#include "dataplane/plane.h"

#define CAPACITY_FIRST ((size_t)64)

static size_t slot_of(const epi_dp_events_t *events, size_t index)
{
    return (events->head + index) & (events->capacity - 1);
}

static epdx_status_t grow(epi_dp_events_t *events)
{
    size_t capacity =
        events->capacity == 0 ? CAPACITY_FIRST : events->capacity * 2;
    epi_dp_note_t *notes;

    if (capacity > EPI_DP_EVENTS_MAX) {
        return epi_fail(EPDX_ERR_NO_MEMORY,
                        "data plane: %zu transfers and events are under way, "
                        "which is the limit; take events or offer less at once",
                        events->capacity);
    }
    notes = calloc(capacity, sizeof(*notes));
    if (notes == NULL) {
        return epi_fail(EPDX_ERR_NO_MEMORY,
                        "data plane: no memory for %zu events", capacity);
    }
    for (size_t i = 0; i < events->count; i++) {
        notes[i] = events->notes[slot_of(events, i)];
    }
    free(events->notes);
    events->notes = notes;
    events->capacity = capacity;
    events->head = 0;
    return EPDX_OK;
}

epdx_status_t epi_dp_events_reserve(epi_dp_events_t *events)
{
    if (events->count + events->reserved == events->capacity) {
        epdx_status_t status = grow(events);

        if (status != EPDX_OK) {
            return status;
        }
    }
    events->reserved++;
    return EPDX_OK;
}

void epi_dp_events_unreserve(epi_dp_events_t *events)
{
    events->reserved--;
}

void epi_dp_events_push(epi_dp_events_t *events, const epi_dp_note_t *note)
{
    events->reserved--;
    events->notes[slot_of(events, events->count)] = *note;
    events->count++;
}

bool epi_dp_events_pop(epi_dp_events_t *events, epi_dp_note_t *note_p)
{
    while (events->count > 0) {
        epi_dp_note_t note = events->notes[events->head];

        events->head = slot_of(events, 1);
        events->count--;
        if (note.kind == EPI_DP_PEER_DOWN && note.subject == NULL) {
            continue; /* forgotten */
        }
        *note_p = note;
        return true;
    }
    return false;
}

bool epi_dp_events_forget(epi_dp_events_t *events, epi_dp_event_kind_t kind,
                          const void *subject)
{
    for (size_t i = 0; i < events->count; i++) {
        epi_dp_note_t *note = &events->notes[slot_of(events, i)];

        if (note->kind == kind && note->subject == subject) {
            /* Left in place, as the order of the others counts. */
            note->kind = EPI_DP_PEER_DOWN;
            note->subject = NULL;
            return true;
        }
    }
    return false;
}

void epi_dp_events_fini(epi_dp_events_t *events)
{
    free(events->notes);
    *events = (epi_dp_events_t){0};
}
