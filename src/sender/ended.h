/*
 * ended.h: how rooms ended, remembered for a bounded time and a bounded number
 * of them, so that a late ask or chunk gets its answer at once. The I/O
 * thread's; pure: the caller says what time it is.
 */
#ifndef EPI_SENDER_ENDED_H
#define EPI_SENDER_ENDED_H

#include "base/table.h"
#include "epdx/types.h"

typedef struct epi_ended_room {
    uint64_t room;
    uint64_t until_ns;
    bool known;           /* false: forgotten before its time */
    epdx_status_t status; /* EPDX_OK: delivered */
    char reason[EPDX_REASON_MAX];
} epi_ended_room_t;

typedef struct epi_ended {
    epi_ended_room_t *rooms; /* a ring, oldest first */
    size_t capacity, first, count;
    uint64_t memory_ns;
    epi_table_t by_number;
} epi_ended_t;

EPDX_MUST_CHECK epdx_status_t epi_ended_init(epi_ended_t *ended,
                                             size_t capacity,
                                             uint64_t memory_ns);
void epi_ended_fini(epi_ended_t *ended);

/** Remember a room, in place of what was known of it. */
void epi_ended_add(epi_ended_t *ended, uint64_t room, epdx_status_t status,
                   const char *reason, uint64_t now);

/** NULL when nothing is known any more. */
const epi_ended_room_t *epi_ended_find(epi_ended_t *ended, uint64_t room,
                                       uint64_t now);

#endif
