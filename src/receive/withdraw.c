/*
 * withdraw.c: telling an encode rank that an item is no longer wanted, so that
 * it does not keep the rows until its own deadline.
 *
 * An item that was never asked for is withdrawn, too: its rows may be there
 * already. Where its encode rank is not reached, or was lost, the withdrawal
 * waits in a slot past those of the items (the item's own goes back to the
 * caller), is looked up like an item, and ends when it was sent or at the
 * item's deadline.
 */
#include <inttypes.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "receive/intake.h"
#include "wire/control.h"

static void send_cancel(epi_intake_t *intake, uint32_t slot, const char *words)
{
    const epi_item_slot_t *item = &intake->shared->slots[slot];
    epi_cancel_t cancel = {.room = item->room, .generation = item->generation};
    epi_message_t message;

    if (item->asks == 0) {
        /* A cancel without an ask is believed of a rank that is known. */
        epi_nodes_register(intake->nodes, item->peer);
    }
    (void)epi_text_copy(cancel.session, sizeof(cancel.session),
                        intake->nodes->session);
    (void)epi_text_copy(cancel.reason, sizeof(cancel.reason), words);
    if ((epi_cancel_format(&cancel, &message) != EPDX_OK ||
         epi_control_send(intake->control,
                          intake->nodes->peers[item->peer].control,
                          &message) != EPDX_OK) &&
        epi_seldom(&intake->unsent_lines, epi_now_ns())) {
        epi_log_warn("cancel of room %" PRIu64
                     " was not sent, maybe as others: %s",
                     item->room, epdx_last_error());
    }
}

void epi_withdrawn_init(epi_intake_t *intake)
{
    uint32_t first = (uint32_t)intake->shared->config.max_items;

    intake->free_withdrawn = EPI_NONE;
    for (uint32_t i = EPI_WITHDRAWN_MAX; i > 0; i--) {
        intake->shared->slots[first + i - 1].next = intake->free_withdrawn;
        intake->free_withdrawn = first + i - 1;
    }
}

bool epi_withdrawn(const epi_intake_t *intake, uint32_t slot)
{
    return slot >= intake->shared->config.max_items;
}

void epi_withdrawn_end(epi_intake_t *intake, uint32_t slot)
{
    epi_nodes_leave(intake->nodes, slot);
    epi_timers_clear(&intake->timers, slot);
    intake->shared->slots[slot].phase = EPI_ITEM_FREE;
    intake->shared->slots[slot].next = intake->free_withdrawn;
    intake->free_withdrawn = slot;
}

void epi_withdrawn_up(epi_intake_t *intake, uint32_t slot)
{
    send_cancel(intake, slot, intake->shared->slots[slot].reason);
    epi_withdrawn_end(intake, slot);
}

/* Keep a withdrawal until its encode rank is reached. */
static void keep(epi_intake_t *intake, uint32_t slot, const char *words)
{
    const epi_item_slot_t *item = &intake->shared->slots[slot];
    uint32_t index = intake->free_withdrawn;
    uint64_t now = epi_now_ns();
    epi_item_slot_t *kept;

    if (index == EPI_NONE || item->deadline_ns <= now) {
        return; /* the encode rank's deadline has to do */
    }
    kept = &intake->shared->slots[index];
    intake->free_withdrawn = kept->next;
    *kept = (epi_item_slot_t){.room = item->room,
                              .deadline_ns = item->deadline_ns,
                              .generation = item->generation,
                              .phase = EPI_ITEM_FINDING,
                              .node = EPI_NONE,
                              .peer = EPI_NONE};
    (void)epi_text_copy(kept->encode, sizeof(kept->encode), item->encode);
    (void)epi_text_copy(kept->reason, sizeof(kept->reason), words);
    epi_timers_set(&intake->timers, index, kept->deadline_ns);
    if (!epi_nodes_join(intake->nodes, index, now)) {
        epi_withdrawn_end(intake, index);
    }
}

void epi_item_cancel(epi_intake_t *intake, uint32_t slot, const char *words)
{
    if (epi_nodes_up(intake->nodes, slot)) {
        send_cancel(intake, slot, words);
    } else {
        keep(intake, slot, words);
    }
}
