/* ended.c: see ended.h. All rooms are remembered equally long, so the oldest
 * is also the first to be forgotten. */
#include "sender/ended.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/random.h"
#include "base/text.h"

epdx_status_t epi_ended_init(epi_ended_t *ended, size_t capacity,
                             uint64_t memory_ns)
{
    epdx_status_t status;

    *ended = (epi_ended_t){.capacity = capacity, .memory_ns = memory_ns};
    ended->rooms = calloc(capacity, sizeof(*ended->rooms));
    if (ended->rooms == NULL) {
        return epi_fail(EPDX_ERR_NO_MEMORY,
                        "no memory for %zu ended rooms (EPDX_MAX_ROOMS)",
                        capacity);
    }
    status = epi_table_init(&ended->by_number, capacity, epi_random_u64());
    if (status != EPDX_OK) {
        epi_ended_fini(ended);
    }
    return status;
}

void epi_ended_fini(epi_ended_t *ended)
{
    free(ended->rooms);
    epi_table_fini(&ended->by_number);
    *ended = (epi_ended_t){0};
}

static void forget(epi_ended_t *ended, uint64_t room)
{
    uint32_t index;

    if (epi_table_find(&ended->by_number, room, &index)) {
        (void)epi_table_remove(&ended->by_number, room);
        ended->rooms[index].known = false;
    }
}

static void drop_first(epi_ended_t *ended)
{
    if (ended->rooms[ended->first].known) {
        forget(ended, ended->rooms[ended->first].room);
    }
    ended->first = (ended->first + 1) % ended->capacity;
    ended->count--;
}

static void drop_old(epi_ended_t *ended, uint64_t now)
{
    while (ended->count > 0 && (!ended->rooms[ended->first].known ||
                                ended->rooms[ended->first].until_ns <= now)) {
        drop_first(ended);
    }
}

void epi_ended_add(epi_ended_t *ended, uint64_t room, epdx_status_t status,
                   const char *reason, uint64_t now)
{
    size_t index;
    epi_ended_room_t *added;

    forget(ended, room);
    drop_old(ended, now);
    if (ended->count == ended->capacity) {
        drop_first(ended);
    }
    index = (ended->first + ended->count) % ended->capacity;
    added = &ended->rooms[index];
    added->room = room;
    added->until_ns = epi_after(now, ended->memory_ns);
    added->known = true;
    added->status = status;
    (void)epi_text_copy(added->reason, sizeof(added->reason), reason);
    ended->count++;
    epi_expect(epi_table_add(&ended->by_number, room, (uint32_t)index),
               "the memory of an ended room");
}

const epi_ended_room_t *epi_ended_find(epi_ended_t *ended, uint64_t room,
                                       uint64_t now)
{
    uint32_t index;

    drop_old(ended, now);
    return epi_table_find(&ended->by_number, room, &index)
               ? &ended->rooms[index]
               : NULL;
}
