/*
 * timers.h: one deadline for each of a fixed number of ids, earliest first: an
 * indexed binary heap. Pure: the caller says what time it is. Nothing is
 * allocated after init. One thread.
 */
#ifndef EPI_BASE_TIMERS_H
#define EPI_BASE_TIMERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "epdx/status.h"

typedef struct epi_timers {
    uint64_t *due;      /* by id */
    uint32_t *heap;     /* ids, earliest first */
    uint32_t *position; /* by id: 1 + its place in heap, 0 when not set */
    size_t capacity;
    size_t count;
} epi_timers_t;

/** ids are 0 ... capacity - 1. Errors: EPDX_ERR_INVALID, EPDX_ERR_NO_MEMORY. */
EPDX_MUST_CHECK epdx_status_t epi_timers_init(epi_timers_t *timers,
                                              size_t capacity);

/** Set or move an id's deadline; EPI_NEVER clears it. */
void epi_timers_set(epi_timers_t *timers, uint32_t id, uint64_t due);

/** Whether an id has a deadline. */
static inline bool epi_timers_is_set(const epi_timers_t *timers, uint32_t id)
{
    return timers->position[id] != 0;
}

void epi_timers_clear(epi_timers_t *timers, uint32_t id);

/** The earliest deadline, EPI_NEVER when none is set. */
uint64_t epi_timers_next(const epi_timers_t *timers);

/** Take the earliest id whose deadline is <= now and clear it; false when
 *  there is none. Equal deadlines come in any order. */
bool epi_timers_expired(epi_timers_t *timers, uint64_t now, uint32_t *id_p);

void epi_timers_fini(epi_timers_t *timers);

#endif
