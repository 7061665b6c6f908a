/*
 * tickets.h: who is next for the pool: ids in the order they came, taken from
 * the front, or removed anywhere (a request that ended while it waited). Pure.
 * Nothing is allocated after init. One thread.
 */
#ifndef EPI_POOL_TICKETS_H
#define EPI_POOL_TICKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "epdx/status.h"

typedef struct epi_tickets {
    uint32_t *next; /* by id */
    uint32_t *previous;
    bool *waiting;
    size_t capacity;
    size_t count;
    uint32_t head, tail;
} epi_tickets_t;

/** ids are 0 ... capacity - 1. Errors: EPDX_ERR_INVALID, EPDX_ERR_NO_MEMORY. */
EPDX_MUST_CHECK epdx_status_t epi_tickets_init(epi_tickets_t *tickets,
                                               size_t capacity);
/** Queue an id at the end. EPDX_ERR_DUPLICATE when it waits already,
 *  EPDX_ERR_INVALID when it is out of range. */
EPDX_MUST_CHECK epdx_status_t epi_tickets_push(epi_tickets_t *tickets,
                                               uint32_t id);
/** The id at the front; false when nobody waits. */
bool epi_tickets_front(const epi_tickets_t *tickets, uint32_t *id_p);
/** Take an id out, wherever it stands; false when it does not wait. */
bool epi_tickets_remove(epi_tickets_t *tickets, uint32_t id);
size_t epi_tickets_count(const epi_tickets_t *tickets);
void epi_tickets_fini(epi_tickets_t *tickets);

#endif
