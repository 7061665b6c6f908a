/* delivery.c: how rooms begin, fail and end; offers.c makes the offers. */
#include "sender/delivery.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/reason.h"
#include "base/text.h"
#include "sender/watch.h"

epdx_status_t epi_delivery_init(epi_delivery_t *delivery)
{
    const epi_send_config_t *config = &delivery->shared->config;
    epdx_status_t status = epi_rooms_init(&delivery->rooms, config->max_rooms);

    if (status != EPDX_OK) {
        return status;
    }
    status = epi_ended_init(&delivery->ended, config->max_rooms,
                            config->ended_memory_ns);
    if (status != EPDX_OK) {
        epi_rooms_fini(&delivery->rooms);
    }
    return status;
}

void epi_delivery_fini(epi_delivery_t *delivery)
{
    epi_ended_fini(&delivery->ended);
    epi_rooms_fini(&delivery->rooms);
}

void epi_delivery_report(epi_delivery_t *delivery, uint32_t slot)
{
    epi_send_ended_t message = {slot};

    /* Sized for one message a slot. */
    epi_expect(epi_mailbox_post(delivery->shared->ended, &message),
               "an outcome of the sender");
}

static void tell(epi_delivery_t *delivery, const epi_prefill_t *prefill,
                 const epi_ask_t *ask, const char *reason)
{
    epi_status_t status = {
        .room = ask->room,
        .status = EPI_ROOM_FAILED,
        .encode_rank = delivery->shared->config.engine_rank,
        .extended = true,
        .generation = ask->generation,
    };

    (void)epi_text_copy(status.reason, sizeof(status.reason), reason);
    epi_prefills_tell(delivery->prefills, prefill, &status);
}

void epi_delivery_refuse(epi_delivery_t *delivery, const epi_prefill_t *prefill,
                         const epi_ask_t *ask, const char *why)
{
    char reason[EPDX_REASON_MAX];

    epi_reason_format(reason, sizeof(reason), ask->room, prefill->session, why);
    tell(delivery, prefill, ask, reason);
}

static epi_prefill_t *asker(const epi_delivery_t *delivery,
                            const epi_room_ask_t *ask)
{
    return ask->prefill != EPI_NO_INDEX
               ? &delivery->prefills->prefills[ask->prefill]
               : NULL;
}

static void tell_all(epi_delivery_t *delivery, const epi_room_t *room,
                     const char *reason)
{
    epi_room_ask_t *ask = NULL;

    while ((ask = epi_rooms_ask_next(&delivery->rooms, room, ask)) != NULL) {
        if (!ask->told && ask->prefill != EPI_NO_INDEX) {
            tell(delivery, asker(delivery, ask), &ask->ask, reason);
        }
        ask->told = true;
    }
}

static void ask_let_go(epi_delivery_t *delivery, epi_room_ask_t *ask)
{
    if (ask->prefill != EPI_NO_INDEX) {
        epi_prefills_release(delivery->prefills, asker(delivery, ask));
        ask->prefill = EPI_NO_INDEX;
    }
}

/* The room is over; nothing uses its rows any more. */
void epi_delivery_end(epi_delivery_t *delivery, epi_room_t *room,
                      epdx_status_t status, const char *reason)
{
    epi_send_counters_t *counters = &delivery->shared->counters;
    epi_room_ask_t *ask = NULL;

    while ((ask = epi_rooms_ask_next(&delivery->rooms, room, ask)) != NULL) {
        ask_let_go(delivery, ask);
    }
    epi_send_count(
        status == EPDX_OK ? &counters->rooms_done : &counters->rooms_failed, 1);
    epi_ended_add(&delivery->ended, room->room, status, reason, epi_now_ns());
    epi_room_watch_ended(delivery, room, status);
    if (room->slot != EPI_NO_INDEX) {
        epi_delivery_report(delivery, room->slot);
    }
    epi_rooms_remove(&delivery->rooms, room);
}

/* Rooms without a chunk are other processes' doing: no loud lines. */
static void log_failure(const epi_room_t *room, const char *reason)
{
    epi_log(room->slot == EPI_NO_INDEX ? EPDX_LOG_INFO : EPDX_LOG_WARN,
            "room %" PRIu64 " failed: %s", room->room, reason);
}

void epi_delivery_fail(epi_delivery_t *delivery, epi_room_t *room,
                       const epi_failure_t *failure)
{
    char reason[EPDX_REASON_MAX];
    epi_send_slot_t *slot;

    epi_reason_format(reason, sizeof(reason), room->room,
                      failure->endpoint != NULL ? failure->endpoint
                                                : delivery->self,
                      failure->why);
    if (room->slot == EPI_NO_INDEX) {
        log_failure(room, reason);
        tell_all(delivery, room, reason);
        epi_delivery_end(delivery, room, failure->status, reason);
        return;
    }
    slot = &delivery->shared->slots[room->slot];
    if (slot->status == EPDX_OK) { /* the first cause is the room's */
        log_failure(room, reason);
        tell_all(delivery, room, reason);
        slot->status = failure->status;
        (void)epi_text_copy(slot->reason, sizeof(slot->reason), reason);
    }
    if (room->under_way == 0) {
        epi_delivery_end(delivery, room, slot->status, slot->reason);
    }
}

/* Forget a room without a chunk. It has not failed: whoever wants it asks
 * again, so that asks for rooms which nobody serves push no real one out. */
static void evict(epi_delivery_t *delivery, epi_room_t *room, uint64_t now)
{
    epi_room_ask_t *ask = NULL;

    if (epi_seldom(&delivery->evict_lines, now)) {
        epi_log_warn("room %" PRIu64 " and maybe others made way: asks for "
                     "more than EPDX_MAX_ROOMS rooms wait for rows",
                     room->room);
    }
    while ((ask = epi_rooms_ask_next(&delivery->rooms, room, ask)) != NULL) {
        ask_let_go(delivery, ask);
    }
    epi_send_count(&delivery->shared->counters.rooms_evicted, 1);
    epi_room_watch_evicted(delivery, room);
    epi_rooms_remove(&delivery->rooms, room);
}

epi_room_t *epi_delivery_open(epi_delivery_t *delivery, uint64_t number,
                              uint64_t now)
{
    epi_rooms_t *rooms = &delivery->rooms;
    epi_room_t *room = epi_rooms_find(rooms, number);

    if (room != NULL) {
        return room;
    }
    if (rooms->count == rooms->capacity && epi_rooms_oldest(rooms) != NULL) {
        evict(delivery, epi_rooms_oldest(rooms), now);
    }
    room = epi_rooms_add(
        rooms, number,
        epi_after(now, delivery->shared->config.waiting_timeout_ns));
    if (room != NULL) {
        epi_room_watch_opened(delivery, room);
    }
    return room;
}

/* One room of a rank that is gone. */
static void room_bereave(epi_delivery_t *delivery, epi_room_t *room,
                         epi_prefill_t *prefill, const char *why)
{
    epi_room_ask_t *ask =
        epi_rooms_ask_of(&delivery->rooms, room,
                         epi_prefills_index(delivery->prefills, prefill));
    epi_failure_t failure = {EPDX_ERR_UNREACHABLE, prefill->session, why};

    if (ask != NULL) {
        ask->told = true;
        ask_let_go(delivery, ask);
        epi_delivery_fail(delivery, room, &failure);
    }
}

void epi_delivery_gone(epi_delivery_t *delivery, epi_prefill_t *prefill,
                       const char *why)
{
    epi_rooms_t *rooms = &delivery->rooms;
    char words[EPDX_ADDRESS_MAX + 128];

    epi_text_format(words, sizeof(words), "prefill rank %s %s",
                    prefill->session, why);
    for (size_t i = 0; i < rooms->capacity && prefill->open_asks > 0; i++) {
        if (rooms->rooms[i].phase != EPI_PHASE_FREE) {
            room_bereave(delivery, &rooms->rooms[i], prefill, words);
        }
    }
    epi_log_info("%s", words);
    epi_prefills_drop(delivery->prefills, prefill);
}

void epi_delivery_fail_all(epi_delivery_t *delivery, const char *why)
{
    epi_failure_t failure = {EPDX_ERR_CANCELLED, NULL, why};

    for (size_t i = 0; i < delivery->rooms.capacity; i++) {
        if (delivery->rooms.rooms[i].phase != EPI_PHASE_FREE) {
            epi_delivery_fail(delivery, &delivery->rooms.rooms[i], &failure);
        }
    }
}

/* An ask whose rank has not taken all that it was offered. */
static epi_room_ask_t *untaken(const epi_delivery_t *delivery,
                               epi_rooms_t *rooms, const epi_room_t *room)
{
    epi_room_ask_t *ask = NULL;

    do {
        ask = epi_rooms_ask_next(rooms, room, ask);
    } while (ask != NULL && (ask->offers == 0 || asker(delivery, ask) == NULL));
    return ask;
}

/* Offers that nobody took in time: only shutting the connection ends them. */
static void expire_offers(epi_delivery_t *delivery, epi_room_t *room)
{
    uint64_t number = room->room;
    epi_room_ask_t *ask;

    while (room != NULL &&
           (ask = untaken(delivery, &delivery->rooms, room)) != NULL) {
        epi_delivery_gone(delivery, asker(delivery, ask),
                          "did not take its rows in time "
                          "(EPDX_WAITING_TIMEOUT_S)");
        room = epi_rooms_find(&delivery->rooms, number);
    }
}

static void expire(epi_delivery_t *delivery, epi_room_t *room)
{
    double seconds =
        (double)delivery->shared->config.waiting_timeout_ns / (double)EPI_S;
    const epi_room_ask_t *first =
        epi_rooms_ask_next(&delivery->rooms, room, NULL);
    char words[128];
    epi_failure_t failure = {EPDX_ERR_TIMEOUT, NULL, words};

    if (room->phase == EPI_PHASE_DELIVERING) {
        expire_offers(delivery, room);
        return;
    }
    if (room->slot == EPI_NO_INDEX) {
        epi_text_format(words, sizeof(words), "no rows came within %g s",
                        seconds);
    } else if (first == NULL) {
        epi_text_format(words, sizeof(words), "no asks came within %g s",
                        seconds);
    } else {
        epi_text_format(words, sizeof(words),
                        "%" PRIu32 " of %" PRIu32 " asks came within %g s",
                        room->ask_count, first->ask.required, seconds);
    }
    epi_delivery_fail(delivery, room, &failure);
}

bool epi_delivery_expire(epi_delivery_t *delivery, uint64_t now)
{
    uint32_t index;
    bool done = false;

    while (epi_timers_expired(&delivery->rooms.deadlines, now, &index)) {
        expire(delivery, &delivery->rooms.rooms[index]);
        done = true;
    }
    return done;
}
