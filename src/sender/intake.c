/* intake.c: see intake.h. */
#include "sender/intake.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/reason.h"
#include "base/text.h"
#include "sender/watch.h"

/* Who sent a message is not known where it does not parse, so the lines get
 * rarer as there are more of them: the 1st, 2nd, 4th, 8th ... */
static void drop_message(epi_delivery_t *delivery)
{
    uint64_t before = atomic_fetch_add_explicit(
        &delivery->shared->counters.frames_dropped, 1, memory_order_relaxed);

    epi_frame_watch_malformed(delivery);
    if ((before & (before + 1)) == 0) {
        epi_log_warn("control message %" PRIu64 " was dropped: %s", before + 1,
                     epdx_last_error());
    }
}

/* A message that names a rank's session, but not its socket, key or instance:
 * the rank restarted, or somebody else uses its name. One that we are connected
 * to did not restart; when it does, the connection breaks, and its repeated
 * asks find its place free. */
static bool is_forged(const epi_prefill_t *prefill,
                      const epi_prefill_name_t *name)
{
    if (!prefill->connected) {
        return false;
    }
    (void)epi_fail(EPDX_ERR_DUPLICATE,
                   "it names session %s from %s:%u, and that rank is connected "
                   "as %s:%u",
                   name->session, name->endpoint, name->status_port,
                   prefill->endpoint, prefill->status_port);
    return true;
}

/* The rank that a message comes from, made known if it is not. NULL: it is
 * dropped. */
static epi_prefill_t *sender_of(epi_delivery_t *delivery,
                                const epi_prefill_name_t *name)
{
    epi_prefill_t *prefill =
        epi_prefills_find(delivery->prefills, name->session);

    if (prefill != NULL && epi_prefills_changed(prefill, name)) {
        if (is_forged(prefill, name)) {
            drop_message(delivery);
            return NULL;
        }
        epi_delivery_gone(delivery, prefill, "restarted");
        prefill = NULL;
    }
    if (prefill == NULL &&
        epi_prefills_add(delivery->prefills, name, &prefill) != EPDX_OK) {
        drop_message(delivery);
        return NULL;
    }
    if (prefill->instance[0] == '\0') {
        (void)epi_text_copy(prefill->instance, sizeof(prefill->instance),
                            name->instance);
    }
    epi_prefills_touch(delivery->prefills, prefill);
    return prefill;
}

static epi_compat_t compat_here(const epi_send_config_t *config)
{
    return (epi_compat_t){.dtype = config->dtype,
                          .hidden = config->hidden,
                          .levels = config->levels,
                          .tp_size = config->blocks};
}

static void take_register(epi_delivery_t *delivery,
                          const epi_message_t *message, const char *key)
{
    epi_compat_t here = compat_here(&delivery->shared->config);
    epi_compat_t peer = {0};
    epi_prefill_t *prefill;
    epi_register_t from;
    char words[EPDX_REASON_MAX];

    if (epi_register_parse(message, &from) != EPDX_OK ||
        (from.extended && epi_compat_parse(from.compat, &peer) != EPDX_OK)) {
        drop_message(delivery);
        return;
    }
    prefill = sender_of(
        delivery,
        &(epi_prefill_name_t){from.session, from.endpoint, from.status_port,
                              from.extended ? from.instance : "", key});
    if (prefill == NULL) {
        return;
    }
    prefill->has_compat = from.extended;
    prefill->compat = peer;
    if (from.extended &&
        epi_compat_differs(&here, &peer, words, sizeof(words))) {
        epi_log_warn("prefill rank %s registered: %s; its asks are refused",
                     prefill->session, words);
    }
}

/* What an ask says that this sender can never serve; false: nothing. */
static bool contradicts(const epi_send_config_t *config,
                        const epi_prefill_t *prefill, const epi_ask_t *ask,
                        char *words, size_t size)
{
    epi_compat_t here = compat_here(config);
    epi_compat_t peer = here;

    if (prefill->has_compat &&
        epi_compat_differs(&here, &prefill->compat, words, size)) {
        return true;
    }
    peer.hidden = ask->hidden;
    peer.dtype = ask->dtype;
    if (epi_compat_differs(&here, &peer, words, size)) {
        return true;
    }
    if (ask->required > EPI_FANOUT_MAX) {
        epi_text_format(words, size,
                        "asks of %" PRIu32
                        " ranks are required, %d can be served",
                        ask->required, EPI_FANOUT_MAX);
        return true;
    }
    return false;
}

/* An offer without rows is done at this end when it is sent. A repeated ask may
 * overtake it, and must not fail what is on its way; one so much later may. */
#define HEADER_ON_ITS_WAY_NS (2 * EPI_S)

static bool header_on_its_way(const epi_delivery_t *delivery,
                              const epi_ended_room_t *ended,
                              const epi_ask_t *ask, uint64_t now)
{
    uint64_t left = ended->until_ns > now ? ended->until_ns - now : 0;

    return ended->status == EPDX_OK && ask->rows == 0 &&
           delivery->ended.memory_ns - left < HEADER_ON_ITS_WAY_NS;
}

/* Whether the room is over already, and the ask was answered. */
static bool answer_late(epi_delivery_t *delivery, const epi_prefill_t *prefill,
                        const epi_ask_t *ask, uint64_t now)
{
    const epi_ended_room_t *ended =
        epi_ended_find(&delivery->ended, ask->room, now);
    char words[64];

    if (ended == NULL || epi_rooms_find(&delivery->rooms, ask->room) != NULL) {
        return false;
    }
    epi_send_count(&delivery->shared->counters.asks_late, 1);
    if (header_on_its_way(delivery, ended, ask, now)) {
        return true;
    }
    epi_text_format(words, sizeof(words),
                    "room %" PRIu64 " has ended: "
                    "delivered",
                    ask->room);
    epi_delivery_refuse(delivery, prefill, ask,
                        ended->status == EPDX_OK ? words : ended->reason);
    return true;
}

/* The same rank asked for this room before. */
static void ask_again(epi_delivery_t *delivery, epi_room_t *room,
                      epi_room_ask_t *old, const epi_ask_t *ask)
{
    char words[64];

    if (old->ask.generation == ask->generation) {
        epi_send_count(&delivery->shared->counters.asks, 1);
        return;
    }
    if (room->phase == EPI_PHASE_GATHERING) {
        epi_send_count(&delivery->shared->counters.asks, 1);
        old->ask = *ask;
        epi_delivery_check(delivery, room);
        return;
    }
    epi_text_format(words, sizeof(words),
                    "room %" PRIu64 " is being delivered already", ask->room);
    epi_delivery_refuse(delivery, &delivery->prefills->prefills[old->prefill],
                        ask, words);
}

/* A rank that did not ask for this room before. */
static void ask_join(epi_delivery_t *delivery, epi_room_t *room,
                     epi_prefill_t *prefill, const epi_ask_t *ask)
{
    uint32_t index = epi_prefills_index(delivery->prefills, prefill);
    char words[96];

    if (room->phase == EPI_PHASE_DELIVERING) {
        epi_text_format(words, sizeof(words),
                        "room %" PRIu64 " is being delivered to %" PRIu32
                        " other ranks",
                        ask->room, room->ask_count);
        epi_delivery_refuse(delivery, prefill, ask, words);
        return;
    }
    if (room->ask_count == EPI_FANOUT_MAX ||
        epi_rooms_ask_add(&delivery->rooms, room, ask, index) == NULL) {
        epi_delivery_refuse(delivery, prefill, ask,
                            "too many asks wait for rows (EPDX_MAX_ROOMS)");
        if (room->ask_count == 0 && room->slot == EPI_NO_INDEX) {
            epi_rooms_remove(&delivery->rooms, room); /* opened for it */
        }
        return;
    }
    epi_prefills_hold(delivery->prefills, prefill);
    epi_send_count(&delivery->shared->counters.asks, 1);
    epi_ask_watch(delivery, room, ask, EPI_TRACE_FLOW_IN);
    epi_delivery_check(delivery, room);
}

static void ask_place(epi_delivery_t *delivery, epi_prefill_t *prefill,
                      const epi_ask_t *ask, uint64_t now)
{
    epi_room_t *room = epi_delivery_open(delivery, ask->room, now);
    epi_room_ask_t *old;

    if (room == NULL) {
        epi_log_debug("ask for room %" PRIu64 " was dropped: every room has a "
                      "chunk (EPDX_MAX_ROOMS); it will come again",
                      ask->room);
        return;
    }
    old = epi_rooms_ask_of(&delivery->rooms, room,
                           epi_prefills_index(delivery->prefills, prefill));
    if (old != NULL) {
        ask_again(delivery, room, old, ask);
    } else {
        ask_join(delivery, room, prefill, ask);
    }
}

static void take_ask(epi_delivery_t *delivery, const epi_message_t *message,
                     const char *key, uint64_t now)
{
    epi_prefill_t *prefill;
    epi_ask_t ask;
    char words[EPDX_REASON_MAX];

    if (epi_ask_parse(message, &ask) != EPDX_OK) {
        drop_message(delivery);
        return;
    }
    prefill = sender_of(
        delivery,
        &(epi_prefill_name_t){ask.session, ask.endpoint, ask.status_port,
                              ask.extended ? ask.instance : "", key});
    if (prefill == NULL) {
        return;
    }
    if (contradicts(&delivery->shared->config, prefill, &ask, words,
                    sizeof(words))) {
        epi_delivery_refuse(delivery, prefill, &ask, words);
        return;
    }
    if (answer_late(delivery, prefill, &ask, now)) {
        return;
    }
    if (epi_prefills_connect(delivery->prefills, prefill) != EPDX_OK) {
        epi_delivery_refuse(delivery, prefill, &ask, epdx_last_error());
        return;
    }
    ask_place(delivery, prefill, &ask, now);
}

/* A rank gives a room up. The ranks of an engine cancel together, so the room
 * is lost for all of them, and a chunk that comes later ends at once. */
static void cancel_room(epi_delivery_t *delivery, epi_room_t *room,
                        epi_room_ask_t *ask, const epi_cancel_t *cancel)
{
    epi_failure_t failure = {EPDX_ERR_CANCELLED, cancel->session,
                             cancel->reason};

    if (ask != NULL) {
        ask->told = true; /* it wants no word of it */
    }
    epi_delivery_fail(delivery, room, &failure);
}

/* A rank gives up a room of which nothing came yet, or which is over. */
static void cancel_ahead(epi_delivery_t *delivery, const epi_cancel_t *cancel,
                         uint64_t now)
{
    char reason[EPDX_REASON_MAX];

    if (epi_ended_find(&delivery->ended, cancel->room, now) == NULL) {
        epi_reason_format(reason, sizeof(reason), cancel->room, cancel->session,
                          cancel->reason);
        epi_ended_add(&delivery->ended, cancel->room, EPDX_ERR_CANCELLED,
                      reason, now);
    }
}

static void take_cancel(epi_delivery_t *delivery, const epi_message_t *message,
                        const char *key, uint64_t now)
{
    epi_cancel_t cancel;
    epi_room_t *room;
    epi_prefill_t *prefill;
    epi_room_ask_t *ask;

    if (epi_cancel_parse(message, &cancel) != EPDX_OK) {
        drop_message(delivery);
        return;
    }
    prefill = epi_prefills_find(delivery->prefills, cancel.session);
    if (prefill == NULL || strcmp(prefill->curve_key, key) != 0) {
        return; /* of a rank that never registered nor asked, or not its own */
    }
    if (cancel.reason[0] == '\0') {
        (void)epi_text_copy(cancel.reason, sizeof(cancel.reason),
                            "cancelled by the prefill rank");
    }
    room = epi_rooms_find(&delivery->rooms, cancel.room);
    if (room == NULL) {
        cancel_ahead(delivery, &cancel, now);
        return;
    }
    ask = epi_rooms_ask_of(&delivery->rooms, room,
                           epi_prefills_index(delivery->prefills, prefill));
    /* A rank whose ask is lost may cancel, too, but not once others are being
     * delivered to: then it was none of the room's. */
    if (ask == NULL ? room->phase == EPI_PHASE_GATHERING
                    : ask->ask.generation == cancel.generation) {
        cancel_room(delivery, room, ask, &cancel);
    }
}

void epi_sender_message(epi_delivery_t *delivery, const epi_message_t *message,
                        const char *key, uint64_t now)
{
    epi_control_kind_t kind;

    if (epi_control_peek(message, &kind) != EPDX_OK) {
        drop_message(delivery);
        return;
    }
    switch (kind) {
    case EPI_CONTROL_REGISTER:
        take_register(delivery, message, key);
        break;
    case EPI_CONTROL_ASK:
        take_ask(delivery, message, key, now);
        break;
    case EPI_CONTROL_CANCEL:
        take_cancel(delivery, message, key, now);
        break;
    }
}

/* There is no room for what the caller said: it ends at once. */
static void unplaced(epi_delivery_t *delivery, uint32_t index,
                     epdx_status_t status, const char *why)
{
    epi_send_slot_t *slot = &delivery->shared->slots[index];

    slot->status = status;
    epi_reason_format(slot->reason, sizeof(slot->reason), slot->room,
                      delivery->shared->config.bootstrap, why);
    epi_send_count(&delivery->shared->counters.rooms_failed, 1);
    epi_room_watch_failed(delivery, status);
    epi_delivery_report(delivery, index);
}

static void take_chunk(epi_delivery_t *delivery, uint32_t index, uint64_t now)
{
    epi_send_slot_t *slot = &delivery->shared->slots[index];
    const epi_ended_room_t *ended =
        epi_ended_find(&delivery->ended, slot->room, now);
    epi_room_t *room;

    if (ended != NULL && ended->status != EPDX_OK &&
        epi_rooms_find(&delivery->rooms, slot->room) == NULL) {
        slot->status = ended->status;
        (void)epi_text_copy(slot->reason, sizeof(slot->reason), ended->reason);
        epi_send_count(&delivery->shared->counters.rooms_failed, 1);
        epi_room_watch_failed(delivery, ended->status);
        epi_delivery_report(delivery, index);
        return;
    }
    room = epi_delivery_open(delivery, slot->room, now);
    if (room == NULL) {
        unplaced(delivery, index, EPDX_ERR_FULL,
                 "every room has a chunk (EPDX_MAX_ROOMS)");
        return;
    }
    epi_rooms_seat(&delivery->rooms, room, index);
    epi_room_watch_seated(delivery, room);
    epi_delivery_check(delivery, room);
}

/* The caller has no rows for a room. Nobody may have asked for it yet. */
static void take_fail(epi_delivery_t *delivery, uint32_t index, uint64_t now)
{
    epi_send_slot_t *slot = &delivery->shared->slots[index];
    epi_room_t *room = epi_delivery_open(delivery, slot->room, now);
    char why[EPDX_REASON_MAX];
    epi_failure_t failure = {EPDX_ERR_CANCELLED, NULL, why};

    (void)epi_text_copy(why, sizeof(why), slot->reason);
    slot->reason[0] = '\0';
    if (room == NULL) {
        unplaced(delivery, index, EPDX_ERR_CANCELLED, why);
        return;
    }
    epi_rooms_seat(&delivery->rooms, room, index);
    epi_delivery_fail(delivery, room, &failure);
}

void epi_sender_order(epi_delivery_t *delivery, const epi_send_order_t *order,
                      uint64_t now)
{
    switch (order->kind) {
    case EPI_SEND_CHUNK:
        take_chunk(delivery, order->slot, now);
        break;
    case EPI_SEND_FAIL:
        take_fail(delivery, order->slot, now);
        break;
    }
}
