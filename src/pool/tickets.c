/*
 * tickets.c: who is next for the pool, a list threaded through arrays by id.
 * The receiver calls it.
 *
 *     idle --push--> waiting --remove (from the front, or anywhere)--> idle
 */
#include "pool/tickets.h"

#include <stdlib.h>

#include "base/error.h"

#define NOBODY UINT32_MAX

epdx_status_t epi_tickets_init(epi_tickets_t *tickets, size_t capacity)
{
    epi_tickets_t made = {.capacity = capacity, .head = NOBODY, .tail = NOBODY};

    if (capacity == 0 || capacity >= NOBODY) {
        return epi_fail(EPDX_ERR_INVALID, "a queue of %zu tickets", capacity);
    }
    made.next = calloc(capacity, sizeof(*made.next));
    made.previous = calloc(capacity, sizeof(*made.previous));
    made.waiting = calloc(capacity, sizeof(*made.waiting));
    if (made.next == NULL || made.previous == NULL || made.waiting == NULL) {
        epi_tickets_fini(&made);
        return epi_fail(EPDX_ERR_NO_MEMORY,
                        "out of memory for a queue of %zu tickets", capacity);
    }
    *tickets = made;
    return EPDX_OK;
}

epdx_status_t epi_tickets_push(epi_tickets_t *tickets, uint32_t id)
{
    if (id >= tickets->capacity) {
        return epi_fail(EPDX_ERR_INVALID, "ticket %u of %zu", id,
                        tickets->capacity);
    }
    if (tickets->waiting[id]) {
        return epi_fail(EPDX_ERR_DUPLICATE, "ticket %u waits already", id);
    }
    tickets->waiting[id] = true;
    tickets->next[id] = NOBODY;
    tickets->previous[id] = tickets->tail;
    if (tickets->count == 0) {
        tickets->head = id;
    } else {
        tickets->next[tickets->tail] = id;
    }
    tickets->tail = id;
    tickets->count++;
    return EPDX_OK;
}

bool epi_tickets_front(const epi_tickets_t *tickets, uint32_t *id_p)
{
    if (tickets->count == 0) {
        return false;
    }
    *id_p = tickets->head;
    return true;
}

bool epi_tickets_remove(epi_tickets_t *tickets, uint32_t id)
{
    uint32_t next, previous;

    if (id >= tickets->capacity || !tickets->waiting[id]) {
        return false;
    }
    next = tickets->next[id];
    previous = tickets->previous[id];
    if (previous == NOBODY) {
        tickets->head = next;
    } else {
        tickets->next[previous] = next;
    }
    if (next == NOBODY) {
        tickets->tail = previous;
    } else {
        tickets->previous[next] = previous;
    }
    tickets->waiting[id] = false;
    tickets->count--;
    return true;
}

size_t epi_tickets_count(const epi_tickets_t *tickets)
{
    return tickets->count;
}

void epi_tickets_fini(epi_tickets_t *tickets)
{
    free(tickets->next);
    free(tickets->previous);
    free(tickets->waiting);
    *tickets = (epi_tickets_t){0};
}
