/*
 * offers.c: what encode ranks send to an item: statuses, offers, and the end
 * of its pulls. Nothing here is believed before it found a slot by its
 * generation, which only the encode rank that was asked can know.
 */
#include <inttypes.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/reason.h"
#include "receive/check.h"
#include "receive/intake.h"
#include "receive/watch.h"
#include "wire/control.h"
#include "wire/offer.h"

/* A pull's cookie: its slot and its part. */
#define COOKIE(slot, part)  (((uint64_t)(part) << 32) | (slot))
#define COOKIE_SLOT(cookie) ((uint32_t)(cookie))
#define COOKIE_PART(cookie) ((uint32_t)((cookie) >> 32))

static void count_one(_Atomic uint64_t *counter)
{
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

/* The encode rank's words: "here" in them is there, so they need its name. */
static void fail_by_peer(epi_intake_t *intake, uint32_t slot,
                         const char *reason)
{
    const epi_peer_t *peer =
        &intake->nodes->peers[intake->shared->slots[slot].peer];
    char words[EPDX_REASON_MAX];

    epi_text_format(words, sizeof(words), "encode rank %s:%u: %s",
                    peer->rank.address.host, peer->rank.address.port,
                    reason[0] == '\0' ? "failed to send the embedding"
                                      : epi_reason_why(reason));
    epi_item_fail(intake, slot, EPDX_ERR_PEER, words);
}

void epi_intake_message(epi_intake_t *intake, const epi_message_t *message)
{
    epi_status_t in;
    uint32_t slot;

    if (epi_status_parse(message, &in) != EPDX_OK) {
        count_one(&intake->shared->frames_dropped);
        epi_log_debug("status dropped: %s", epdx_last_error());
        return;
    }
    if (in.status != EPI_ROOM_FAILED) {
        return; /* landing is this rank's own observation */
    }
    if (!epi_table_find(&intake->by_generation, in.generation, &slot) ||
        intake->shared->slots[slot].room != in.room) {
        epi_log_debug("room %" PRIu64 " failed at its encode rank, but was not "
                      "asked for",
                      in.room);
        return;
    }
    const epi_item_slot_t *item = &intake->shared->slots[slot];

    /* Once every part is being pulled, the pulls themselves decide. */
    if (item->phase == EPI_ITEM_ASKED &&
        item->parts_posted !=
            epi_parts_expected(&intake->shared->config, item)) {
        fail_by_peer(intake, slot, in.reason);
    }
}

static void item_part_done(epi_intake_t *intake, uint32_t slot, uint32_t part)
{
    epi_item_slot_t *item = &intake->shared->slots[slot];
    const epi_receive_config_t *config = &intake->shared->config;
    uint64_t bytes = item->share.count * (part == EPI_PART_MAIN
                                              ? config->main_row_bytes
                                              : config->deepstack_row_bytes);

    atomic_fetch_add_explicit(&intake->shared->bytes_landed, bytes,
                              memory_order_relaxed);
    if (item->phase == EPI_ITEM_ASKED &&
        item->parts_done == epi_parts_expected(config, item)) {
        atomic_fetch_add_explicit(&intake->shared->rows_landed,
                                  item->share.count, memory_order_relaxed);
        epi_item_settle(intake, slot, EPI_REPORT_LANDED);
    }
}

/* An accepted offer: pull it, or, for a share without rows, be done. */
static void offer_take(epi_intake_t *intake, uint32_t slot, epi_part_t part,
                       const epi_dp_event_t *event,
                       const epi_landing_t *landing)
{
    epi_item_slot_t *item = &intake->shared->slots[slot];
    uint8_t bit = (uint8_t)(1U << part);
    char words[256];

    item->link = event->link;
    if (item->parts_posted == 0) {
        epi_item_watch(intake, slot, EPI_NAME_PULL);
        epi_item_watch_flow(intake, slot, EPI_TRACE_FLOW_IN);
    }
    if (landing->bytes == 0) {
        intake->dp->ops->refuse(intake->dp, event->offer);
        item->parts_posted |= bit;
        item->parts_done |= bit;
        item_part_done(intake, slot, part);
        return;
    }
    if (intake->dp->ops->pull(
            intake->dp, event->offer,
            &(epi_dp_target_t){.region = intake->region,
                               .at = landing->target,
                               .bytes = landing->bytes,
                               .cookie = COOKIE(slot, part)}) != EPDX_OK) {
        epi_text_format(words, sizeof(words), "cannot pull the rows: %s",
                        epdx_last_error());
        epi_item_cancel(intake, slot, words);
        epi_item_fail(intake, slot, EPDX_ERR_IO, words);
        return;
    }
    item->parts_posted |= bit;
    intake->pulls++;
    epi_item_answered(intake, slot);
}

static void offer_refuse(epi_intake_t *intake, const epi_dp_event_t *event,
                         const char *words)
{
    intake->dp->ops->refuse(intake->dp, event->offer);
    count_one(&intake->shared->offers_refused);
    epi_log_debug("offer refused: %s", words);
}

static void tell_transport(epi_intake_t *intake)
{
    epi_report_t message = {EPI_REPORT_TRANSPORT, EPI_NONE};

    intake->dp->ops->transport(intake->dp, intake->shared->transport,
                               sizeof(intake->shared->transport));
    intake->transport_told =
        intake->shared->transport[0] != '\0' &&
        epi_mailbox_post(intake->shared->reports, &message) == EPDX_OK;
}

static void on_offer(epi_intake_t *intake, const epi_dp_event_t *event)
{
    epi_offer_t offer;
    epi_landing_t landing;
    epdx_status_t status;
    uint32_t slot;

    if (epi_offer_unpack(event->header, event->header_bytes, &offer) !=
        EPDX_OK) {
        offer_refuse(intake, event, epdx_last_error());
        return;
    }
    if (!epi_table_find(&intake->by_generation, offer.generation, &slot) ||
        intake->shared->slots[slot].phase != EPI_ITEM_ASKED) {
        offer_refuse(intake, event, "nothing asks for it (any more)");
        return;
    }
    status =
        epi_offer_check(&intake->shared->config, &intake->shared->slots[slot],
                        &offer, event->payload_bytes, &landing);
    if (status == EPDX_OK) {
        offer_take(intake, slot, offer.part, event, &landing);
        return;
    }
    offer_refuse(intake, event, epdx_last_error());
    if (status == EPDX_ERR_MISMATCH) {
        char words[EPDX_REASON_MAX];

        (void)epi_text_copy(words, sizeof(words), epdx_last_error());
        epi_item_cancel(intake, slot, words);
        epi_item_fail(intake, slot, status, words);
    }
}

static void on_pulled(epi_intake_t *intake, const epi_dp_event_t *event)
{
    uint32_t slot = COOKIE_SLOT(event->cookie);
    uint32_t part = COOKIE_PART(event->cookie);
    epi_item_slot_t *item = &intake->shared->slots[slot];

    intake->pulls--;
    intake->last_pulled_ns = epi_now_ns();
    if (!intake->transport_told && event->status == EPDX_OK) {
        tell_transport(intake);
    }
    item->parts_done |= (uint8_t)(1U << part);
    if (item->phase == EPI_ITEM_ENDING) {
        if (item->parts_posted == item->parts_done) {
            epi_item_settle(intake, slot, EPI_REPORT_QUIET);
        }
        return;
    }
    if (event->status == EPDX_OK) {
        item_part_done(intake, slot, part);
        return;
    }
    char words[256];

    epi_text_format(words, sizeof(words), "the pull of its rows broke off: %s",
                    epdx_status_text(event->status));
    epi_item_cancel(intake, slot, words);
    epi_item_fail(intake, slot, event->status, words);
}

void epi_intake_event(epi_intake_t *intake, const epi_dp_event_t *event)
{
    switch (event->kind) {
    case EPI_DP_OFFER:
        on_offer(intake, event);
        break;
    case EPI_DP_PULLED:
        on_pulled(intake, event);
        break;
    case EPI_DP_SENT:
    case EPI_DP_PEER_DOWN:
        break; /* a receiver offers nothing and connects to nobody */
    }
}
