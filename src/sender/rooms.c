/* rooms.c: see rooms.h. */
#include "sender/rooms.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/random.h"

#define BLOCK_ASKS 256
/** Asks that may be kept for each room that may be open. */
#define ASKS_A_ROOM 4

epi_room_ask_t *epi_rooms_ask_at(const epi_rooms_t *rooms, uint32_t index)
{
    return &rooms->blocks[index / BLOCK_ASKS][index % BLOCK_ASKS];
}

static void link_free_rooms(epi_rooms_t *rooms)
{
    for (size_t i = 0; i < rooms->capacity; i++) {
        rooms->rooms[i].newer =
            i + 1 < rooms->capacity ? (uint32_t)(i + 1) : EPI_NO_INDEX;
    }
    rooms->first_free = 0;
}

epdx_status_t epi_rooms_init(epi_rooms_t *rooms, size_t capacity)
{
    epdx_status_t status;

    *rooms = (epi_rooms_t){
        .capacity = capacity,
        .oldest = EPI_NO_INDEX,
        .newest = EPI_NO_INDEX,
        .free_ask = EPI_NO_INDEX,
        .block_max = (capacity * ASKS_A_ROOM + EPI_FANOUT_MAX) / BLOCK_ASKS + 1,
    };
    rooms->rooms = calloc(capacity, sizeof(*rooms->rooms));
    rooms->blocks = calloc(rooms->block_max, sizeof(epi_room_ask_t *));
    if (rooms->rooms == NULL || rooms->blocks == NULL) {
        free(rooms->blocks);
        free(rooms->rooms);
        return epi_fail(EPDX_ERR_NO_MEMORY,
                        "no memory for %zu rooms (EPDX_MAX_ROOMS)", capacity);
    }
    link_free_rooms(rooms);
    status = epi_table_init(&rooms->by_number, capacity, epi_random_u64());
    if (status == EPDX_OK) {
        status = epi_timers_init(&rooms->deadlines, capacity);
    }
    if (status != EPDX_OK) {
        epi_rooms_fini(rooms);
    }
    return status;
}

void epi_rooms_fini(epi_rooms_t *rooms)
{
    for (size_t i = 0; i < rooms->block_count; i++) {
        free(rooms->blocks[i]);
    }
    free(rooms->blocks);
    free(rooms->rooms);
    epi_timers_fini(&rooms->deadlines);
    epi_table_fini(&rooms->by_number);
    *rooms = (epi_rooms_t){0};
}

uint32_t epi_rooms_index(const epi_rooms_t *rooms, const epi_room_t *room)
{
    return (uint32_t)(room - rooms->rooms);
}

epi_room_t *epi_rooms_find(epi_rooms_t *rooms, uint64_t number)
{
    uint32_t index;

    return epi_table_find(&rooms->by_number, number, &index)
               ? &rooms->rooms[index]
               : NULL;
}

/* The rooms without a chunk stand in a list, in the order they came. */
static void waiting_append(epi_rooms_t *rooms, epi_room_t *room)
{
    uint32_t index = epi_rooms_index(rooms, room);

    room->newer = EPI_NO_INDEX;
    room->older = rooms->newest;
    if (rooms->newest != EPI_NO_INDEX) {
        rooms->rooms[rooms->newest].newer = index;
    } else {
        rooms->oldest = index;
    }
    rooms->newest = index;
}

static void waiting_remove(epi_rooms_t *rooms, epi_room_t *room)
{
    if (room->older != EPI_NO_INDEX) {
        rooms->rooms[room->older].newer = room->newer;
    } else {
        rooms->oldest = room->newer;
    }
    if (room->newer != EPI_NO_INDEX) {
        rooms->rooms[room->newer].older = room->older;
    } else {
        rooms->newest = room->older;
    }
}

epi_room_t *epi_rooms_add(epi_rooms_t *rooms, uint64_t number, uint64_t due)
{
    uint32_t index = rooms->first_free;
    epi_room_t *room;

    if (index == EPI_NO_INDEX ||
        epi_table_add(&rooms->by_number, number, index) != EPDX_OK) {
        return NULL;
    }
    room = &rooms->rooms[index];
    rooms->first_free = room->newer;
    *room = (epi_room_t){
        .room = number,
        .phase = EPI_PHASE_GATHERING,
        .slot = EPI_NO_INDEX,
        .first_ask = EPI_NO_INDEX,
    };
    waiting_append(rooms, room);
    epi_timers_set(&rooms->deadlines, index, due);
    rooms->count++;
    return room;
}

void epi_rooms_remove(epi_rooms_t *rooms, epi_room_t *room)
{
    uint32_t index = epi_rooms_index(rooms, room);

    while (room->first_ask != EPI_NO_INDEX) {
        epi_rooms_ask_remove(rooms, room,
                             epi_rooms_ask_at(rooms, room->first_ask));
    }
    if (room->slot == EPI_NO_INDEX) {
        waiting_remove(rooms, room);
    }
    epi_timers_clear(&rooms->deadlines, index);
    (void)epi_table_remove(&rooms->by_number, room->room);
    room->phase = EPI_PHASE_FREE;
    room->newer = rooms->first_free;
    rooms->first_free = index;
    rooms->count--;
}

epi_room_t *epi_rooms_oldest(epi_rooms_t *rooms)
{
    return rooms->oldest != EPI_NO_INDEX ? &rooms->rooms[rooms->oldest] : NULL;
}

void epi_rooms_seat(epi_rooms_t *rooms, epi_room_t *room, uint32_t slot)
{
    waiting_remove(rooms, room);
    room->slot = slot;
}

/* One more block of free asks; false when there is none to be had. */
static bool block_add(epi_rooms_t *rooms)
{
    uint32_t first = (uint32_t)(rooms->block_count * BLOCK_ASKS);
    epi_room_ask_t *block;

    if (rooms->block_count == rooms->block_max) {
        return false;
    }
    block = calloc(BLOCK_ASKS, sizeof(*block));
    if (block == NULL) {
        return false;
    }
    rooms->blocks[rooms->block_count++] = block;
    for (uint32_t i = 0; i < BLOCK_ASKS; i++) {
        block[i].next = i + 1 < BLOCK_ASKS ? first + i + 1 : rooms->free_ask;
    }
    rooms->free_ask = first;
    return true;
}

epi_room_ask_t *epi_rooms_ask_add(epi_rooms_t *rooms, epi_room_t *room,
                                  const epi_ask_t *ask, uint32_t prefill)
{
    uint32_t index;
    epi_room_ask_t *added;

    if (rooms->free_ask == EPI_NO_INDEX && !block_add(rooms)) {
        return NULL;
    }
    index = rooms->free_ask;
    added = epi_rooms_ask_at(rooms, index);
    rooms->free_ask = added->next;
    *added = (epi_room_ask_t){.ask = *ask,
                              .index = index,
                              .prefill = prefill,
                              .next = room->first_ask};
    room->first_ask = index;
    room->ask_count++;
    return added;
}

void epi_rooms_ask_remove(epi_rooms_t *rooms, epi_room_t *room,
                          epi_room_ask_t *ask)
{
    uint32_t *link = &room->first_ask;
    uint32_t index;

    while (epi_rooms_ask_at(rooms, *link) != ask) {
        link = &epi_rooms_ask_at(rooms, *link)->next;
    }
    index = *link;
    *link = ask->next;
    ask->next = rooms->free_ask;
    rooms->free_ask = index;
    room->ask_count--;
}

epi_room_ask_t *epi_rooms_ask_next(epi_rooms_t *rooms, const epi_room_t *room,
                                   const epi_room_ask_t *ask)
{
    uint32_t index = ask != NULL ? ask->next : room->first_ask;

    return index != EPI_NO_INDEX ? epi_rooms_ask_at(rooms, index) : NULL;
}

epi_room_ask_t *epi_rooms_ask_of(epi_rooms_t *rooms, const epi_room_t *room,
                                 uint32_t prefill)
{
    epi_room_ask_t *ask = epi_rooms_ask_next(rooms, room, NULL);

    while (ask != NULL && ask->prefill != prefill) {
        ask = epi_rooms_ask_next(rooms, room, ask);
    }
    return ask;
}
