/* offers.c: a complete room's rows, offered to every rank that asked. */

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "observe/nvtx.h"
#include "sender/delivery.h"
#include "sender/fanout.h"
#include "sender/payload.h"
#include "sender/watch.h"
#include "wire/offer.h"

/* A cookie is the room's index, the ask's index, the part. */
#define ASK_SHIFT  1
#define ROOM_SHIFT 32
#define ASK_MASK   UINT64_C(0x7fffffff)

static uint64_t cookie_of(const epi_delivery_t *delivery,
                          const epi_room_t *room, const epi_room_ask_t *ask,
                          epi_part_t part)
{
    return ((uint64_t)epi_rooms_index(&delivery->rooms, room) << ROOM_SHIFT) |
           ((uint64_t)ask->index << ASK_SHIFT) | (uint64_t)part;
}

/* The first part of an ask, and the one after. A share without rows is told
 * by a header alone, of the main part. */
static bool has_part(const epi_ask_t *ask, epi_part_t part)
{
    return part == EPI_PART_MAIN || (ask->rows > 0 && ask->has_deepstack);
}

static uint64_t part_width(const epi_send_config_t *config, epi_part_t part)
{
    return part == EPI_PART_MAIN ? config->hidden
                                 : config->hidden * config->levels;
}

static epdx_status_t offer_part(epi_delivery_t *delivery, epi_room_t *room,
                                epi_room_ask_t *ask, epi_part_t part)
{
    const epi_send_config_t *config = &delivery->shared->config;
    const epdx_chunk_t *chunk = &delivery->shared->slots[room->slot].chunk;
    epi_array_t array = {
        .base = part == EPI_PART_MAIN ? chunk->main : chunk->deepstack,
        .rows = chunk->rows,
        .width = part_width(config, part),
        .element_bytes = epdx_dtype_bytes(config->dtype),
    };
    epdx_rows_t share = {ask->ask.row_start, ask->ask.rows};
    epi_offer_t offer = {
        .part = part,
        .dtype = config->dtype,
        .room = room->room,
        .generation = ask->ask.generation,
        .row_start = share.start,
        .rows = share.count,
        .span = chunk->rows,
        .width = array.width,
        .encode_rank = config->engine_rank,
    };
    uint8_t header[EPI_OFFER_BYTES];
    epi_payload_t payload;
    epdx_status_t status;

    if (!epi_payload_rows(&array, share, &payload)) {
        return epi_fail(EPDX_ERR_MISMATCH, "the share is not in the chunk");
    }
    epi_offer_pack(&offer, header);
    status = delivery->dp->ops->offer(
        delivery->dp, delivery->prefills->prefills[ask->prefill].rows,
        &(epi_dp_send_t){.header = header,
                         .header_bytes = sizeof(header),
                         .region = chunk->lease != 0 ? delivery->region : NULL,
                         .payload = payload.source,
                         .payload_bytes = (size_t)payload.bytes,
                         .ready = chunk->ready,
                         .cookie = cookie_of(delivery, room, ask, part)});
    if (status != EPDX_OK) {
        return status;
    }
    ask->offers++;
    room->under_way++;
    delivery->under_way++;
    return EPDX_OK;
}

/* A rank that was connected to when it asked may have been connected to anew
 * since; connecting again costs nothing where it is not needed. */
static epdx_status_t offer_share(epi_delivery_t *delivery, epi_room_t *room,
                                 epi_room_ask_t *ask)
{
    epdx_status_t status = epi_prefills_connect(
        delivery->prefills, &delivery->prefills->prefills[ask->prefill]);

    for (int part = EPI_PART_MAIN;
         status == EPDX_OK && part <= EPI_PART_DEEPSTACK; part++) {
        if (has_part(&ask->ask, (epi_part_t)part)) {
            status = offer_part(delivery, room, ask, (epi_part_t)part);
        }
    }
    return status;
}

static void fail_ask(epi_delivery_t *delivery, epi_room_t *room,
                     const epi_room_ask_t *ask, epdx_status_t status,
                     const char *cause)
{
    char session[EPDX_ADDRESS_MAX + 1];
    char words[EPDX_ADDRESS_MAX + EPDX_REASON_MAX];
    epi_failure_t failure = {status, session, words};

    (void)epi_text_copy(session, sizeof(session), ask->ask.session);
    epi_text_format(words, sizeof(words), "the offer to %s failed: %s", session,
                    cause);
    epi_delivery_fail(delivery, room, &failure);
}

static void deliver(epi_delivery_t *delivery, epi_room_t *room)
{
    uint64_t timeout_ns = delivery->shared->config.waiting_timeout_ns;
    epi_room_ask_t *ask = NULL;

    room->phase = EPI_PHASE_DELIVERING;
    epi_room_watch_offered(delivery, room);
    epi_timers_set(&delivery->rooms.deadlines,
                   epi_rooms_index(&delivery->rooms, room),
                   epi_after(epi_now_ns(), timeout_ns));
    epi_nvtx_push("epdx offers");
    while ((ask = epi_rooms_ask_next(&delivery->rooms, room, ask)) != NULL) {
        epdx_status_t status;

        epi_ask_watch(delivery, room, &ask->ask, EPI_TRACE_FLOW_OUT);
        status = offer_share(delivery, room, ask);
        if (status != EPDX_OK) {
            fail_ask(delivery, room, ask, status, epdx_last_error());
            break; /* the room may be gone */
        }
    }
    epi_nvtx_pop();
}

static epdx_status_t validate(epi_delivery_t *delivery, const epi_room_t *room,
                              char *words, size_t size)
{
    const epi_send_config_t *config = &delivery->shared->config;
    const epdx_chunk_t *chunk = &delivery->shared->slots[room->slot].chunk;
    epi_chunk_shape_t shape = {
        .rows = chunk->rows,
        .hidden = config->hidden,
        .dtype = config->dtype,
        .has_deepstack = chunk->deepstack != NULL,
    };
    epi_fanout_t fanout = {
        .asks = delivery->asks,
        .block = config->block,
        .blocks = config->blocks,
    };
    const epi_room_ask_t *ask = NULL;

    while ((ask = epi_rooms_ask_next(&delivery->rooms, room, ask)) != NULL) {
        delivery->asks[fanout.count++] = &ask->ask;
    }
    return epi_fanout_validate(&fanout, &shape, words, size);
}

void epi_delivery_check(epi_delivery_t *delivery, epi_room_t *room)
{
    const epi_room_ask_t *first =
        epi_rooms_ask_next(&delivery->rooms, room, NULL);
    char words[EPDX_REASON_MAX];
    epi_failure_t failure = {EPDX_ERR_MISMATCH, NULL, words};

    if (room->phase != EPI_PHASE_GATHERING || room->slot == EPI_NO_INDEX ||
        first == NULL || room->ask_count < first->ask.required) {
        return;
    }
    if (validate(delivery, room, words, sizeof(words)) != EPDX_OK) {
        epi_delivery_fail(delivery, room, &failure);
        return;
    }
    deliver(delivery, room);
}

/* What the transfers use, once it can be said. */
static void note_transport(epi_delivery_t *delivery)
{
    epi_send_counters_t *counters = &delivery->shared->counters;

    if (atomic_load_explicit(&counters->transport_known,
                             memory_order_relaxed)) {
        return;
    }
    delivery->dp->ops->transport(delivery->dp, counters->transport,
                                 sizeof(counters->transport));
    if (counters->transport[0] != '\0') {
        atomic_store_explicit(&counters->transport_known, true,
                              memory_order_release);
    }
}

void epi_delivery_sent(epi_delivery_t *delivery, uint64_t cookie,
                       epdx_status_t status)
{
    const epi_send_config_t *config = &delivery->shared->config;
    epi_room_t *room = &delivery->rooms.rooms[cookie >> ROOM_SHIFT];
    epi_room_ask_t *ask = epi_rooms_ask_at(
        &delivery->rooms, (uint32_t)((cookie >> ASK_SHIFT) & ASK_MASK));
    epi_send_slot_t *slot = &delivery->shared->slots[room->slot];
    epi_part_t part = (epi_part_t)(cookie & 1);

    ask->offers--;
    room->under_way--;
    delivery->under_way--;
    if (status != EPDX_OK) {
        fail_ask(delivery, room, ask, status, epdx_status_text(status));
        return;
    }
    epi_send_count(&delivery->shared->counters.bytes_offered,
                   ask->ask.rows * part_width(config, part) *
                       epdx_dtype_bytes(config->dtype));
    note_transport(delivery);
    if (room->under_way > 0) {
        return;
    }
    epi_delivery_end(delivery, room, slot->status, slot->reason);
}
