/*
 * rooms.h: the I/O thread's table of open rooms, and the asks of each. A room
 * is open while it has a chunk or an ask.
 *
 *              chunk, ask                all asks in
 *     (free) ------------> GATHERING ------------------> DELIVERING
 *        ^                     | fails, cancelled, makes way | last SENT
 *        '---------------------'-----------------------------'
 *
 * Rooms and asks come from the network: both are bounded. Asks are kept in
 * blocks that are allocated when they are first needed, and then kept.
 */
#ifndef EPI_SENDER_ROOMS_H
#define EPI_SENDER_ROOMS_H

#include "base/table.h"
#include "base/timers.h"
#include "sender/shared.h"

typedef enum epi_room_phase {
    EPI_PHASE_FREE = 0,
    EPI_PHASE_GATHERING,
    EPI_PHASE_DELIVERING,
} epi_room_phase_t;

typedef struct epi_room_ask {
    epi_ask_t ask;
    uint32_t index;   /* its own */
    uint32_t prefill; /* EPI_NO_INDEX once that rank is gone */
    uint32_t next;    /* of the room, or of the free asks */
    uint32_t offers;  /* made and not yet SENT */
    bool told;        /* it knows that the room failed, or wants no word */
} epi_room_ask_t;

typedef struct epi_room {
    uint64_t room;
    epi_room_phase_t phase;
    uint32_t slot; /* of its chunk, EPI_NO_INDEX without */
    uint32_t first_ask;
    uint32_t ask_count;
    uint32_t under_way;    /* offers of all its asks */
    uint32_t older, newer; /* rooms without a chunk; newer: the next free */
    /* When it came so far, where it is watched; 0: not yet. */
    uint64_t opened_ns, seated_ns, offered_ns;
} epi_room_t;

typedef struct epi_rooms {
    epi_room_t *rooms;
    size_t capacity;
    size_t count;
    epi_table_t by_number;
    epi_timers_t deadlines; /* by index of the room */
    uint32_t first_free;
    uint32_t oldest, newest; /* rooms without a chunk */
    epi_room_ask_t **blocks; /* of asks */
    size_t block_max, block_count;
    uint32_t free_ask;
} epi_rooms_t;

EPDX_MUST_CHECK epdx_status_t epi_rooms_init(epi_rooms_t *rooms,
                                             size_t capacity);
void epi_rooms_fini(epi_rooms_t *rooms);

/** NULL when the room is not open. */
epi_room_t *epi_rooms_find(epi_rooms_t *rooms, uint64_t number);

/** A new room without a chunk; NULL when all are in use. */
epi_room_t *epi_rooms_add(epi_rooms_t *rooms, uint64_t number, uint64_t due);

/** The room and its asks. */
void epi_rooms_remove(epi_rooms_t *rooms, epi_room_t *room);

/** The oldest room without a chunk, NULL when there is none. */
epi_room_t *epi_rooms_oldest(epi_rooms_t *rooms);

/** Give a room its chunk. */
void epi_rooms_seat(epi_rooms_t *rooms, epi_room_t *room, uint32_t slot);

uint32_t epi_rooms_index(const epi_rooms_t *rooms, const epi_room_t *room);

/** Append an ask; NULL when no more can be kept. */
epi_room_ask_t *epi_rooms_ask_add(epi_rooms_t *rooms, epi_room_t *room,
                                  const epi_ask_t *ask, uint32_t prefill);
void epi_rooms_ask_remove(epi_rooms_t *rooms, epi_room_t *room,
                          epi_room_ask_t *ask);

/** The ask with that index, which was given out. */
epi_room_ask_t *epi_rooms_ask_at(const epi_rooms_t *rooms, uint32_t index);

/** Walk a room's asks: NULL gives the first, NULL ends. */
epi_room_ask_t *epi_rooms_ask_next(epi_rooms_t *rooms, const epi_room_t *room,
                                   const epi_room_ask_t *ask);

/** The ask of a prefill rank in a room, NULL when it has none. */
epi_room_ask_t *epi_rooms_ask_of(epi_rooms_t *rooms, const epi_room_t *room,
                                 uint32_t prefill);

#endif
