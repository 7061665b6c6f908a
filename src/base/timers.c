/* timers.c: an indexed binary heap of deadlines. */
#include "base/timers.h"

#include <assert.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"

epdx_status_t epi_timers_init(epi_timers_t *timers, size_t capacity)
{
    epi_timers_t made = {.capacity = capacity};

    /* position holds 1 + a place, in 32 bits. */
    if (capacity == 0 || capacity >= UINT32_MAX) {
        return epi_fail(EPDX_ERR_INVALID, "timers for %zu ids", capacity);
    }
    made.due = calloc(capacity, sizeof(*made.due));
    made.heap = calloc(capacity, sizeof(*made.heap));
    made.position = calloc(capacity, sizeof(*made.position));
    if (made.due == NULL || made.heap == NULL || made.position == NULL) {
        epi_timers_fini(&made);
        return epi_fail(EPDX_ERR_NO_MEMORY, "no memory for timers of %zu ids",
                        capacity);
    }
    *timers = made;
    return EPDX_OK;
}

static uint64_t due_at(const epi_timers_t *timers, size_t place)
{
    return timers->due[timers->heap[place]];
}

static void put(epi_timers_t *timers, size_t place, uint32_t id)
{
    timers->heap[place] = id;
    timers->position[id] = (uint32_t)place + 1;
}

static void swap(epi_timers_t *timers, size_t a, size_t b)
{
    uint32_t id = timers->heap[a];

    put(timers, a, timers->heap[b]);
    put(timers, b, id);
}

static size_t sift_up(epi_timers_t *timers, size_t place)
{
    while (place > 0) {
        size_t parent = (place - 1) / 2;

        if (due_at(timers, parent) <= due_at(timers, place)) {
            break;
        }
        swap(timers, parent, place);
        place = parent;
    }
    return place;
}

static void sift_down(epi_timers_t *timers, size_t place)
{
    for (;;) {
        size_t least = place;

        for (size_t child = 2 * place + 1; child <= 2 * place + 2; child++) {
            if (child < timers->count &&
                due_at(timers, child) < due_at(timers, least)) {
                least = child;
            }
        }
        if (least == place) {
            return;
        }
        swap(timers, place, least);
        place = least;
    }
}

void epi_timers_set(epi_timers_t *timers, uint32_t id, uint64_t due)
{
    size_t place;

    assert(id < timers->capacity);
    if (due == EPI_NEVER) {
        epi_timers_clear(timers, id);
        return;
    }
    timers->due[id] = due;
    if (timers->position[id] == 0) {
        place = timers->count++;
        put(timers, place, id);
    } else {
        place = timers->position[id] - 1;
    }
    sift_down(timers, sift_up(timers, place));
}

void epi_timers_clear(epi_timers_t *timers, uint32_t id)
{
    size_t place;
    uint32_t last;

    assert(id < timers->capacity);
    if (timers->position[id] == 0) {
        return;
    }
    place = timers->position[id] - 1;
    timers->position[id] = 0;
    timers->count--;
    last = timers->heap[timers->count];
    if (last != id) {
        put(timers, place, last);
        sift_down(timers, sift_up(timers, place));
    }
}

uint64_t epi_timers_next(const epi_timers_t *timers)
{
    return timers->count == 0 ? EPI_NEVER : due_at(timers, 0);
}

bool epi_timers_expired(epi_timers_t *timers, uint64_t now, uint32_t *id_p)
{
    uint32_t id;

    if (timers->count == 0 || due_at(timers, 0) > now) {
        return false;
    }
    id = timers->heap[0];
    epi_timers_clear(timers, id);
    *id_p = id;
    return true;
}

void epi_timers_fini(epi_timers_t *timers)
{
    free(timers->due);
    free(timers->heap);
    free(timers->position);
    *timers = (epi_timers_t){0};
}
