/*
 * withdraw.c: telling an encode rank that an item is no longer wanted, so that
 * it does not keep the rows until its own deadline.
 *
 * An item that was never asked for is withdrawn, too: its rows may be there
 * already. Where its encode rank is not reached, or was lost, and where the
 * item was never staged (unstaged.c), the withdrawal has a slot past those of
 * the items. It is looked up like an item, and ends when it was sent or at its
 * deadline.
 *
 *     free --take--> the taker's --open--> waits --sent, late--> free
 */
#include "receive/withdraw.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "receive/intake.h"
#include "wire/control.h"

/* Of a cancel that could not be sent. */
#define CANCEL_RETRY_NS (100 * EPI_MS)

static void give_slot(epi_receive_shared_t *shared, uint32_t slot)
{
    /* Sized for all of them. */
    epi_expect(epi_mailbox_post(shared->withdrawn, &slot),
               "the slot of a withdrawal");
}

epdx_status_t epi_withdrawn_init(epi_receive_shared_t *shared)
{
    uint32_t first = (uint32_t)shared->config.max_items;
    epdx_status_t status = epi_mailbox_open(EPI_WITHDRAWN_MAX, sizeof(uint32_t),
                                            &shared->withdrawn);

    for (uint32_t i = 0; status == EPDX_OK && i < EPI_WITHDRAWN_MAX; i++) {
        give_slot(shared, first + i);
    }
    return status;
}

void epi_withdrawn_fini(epi_receive_shared_t *shared)
{
    epi_mailbox_close(shared->withdrawn);
}

bool epi_withdrawn_take(epi_receive_shared_t *shared,
                        const epi_withdrawal_t *withdrawal, uint32_t *slot_p)
{
    uint32_t index;
    epi_item_slot_t *slot;

    if (!epi_mailbox_take(shared->withdrawn, &index)) {
        return false;
    }
    slot = &shared->slots[index];
    *slot = (epi_item_slot_t){.room = withdrawal->room,
                              .generation = withdrawal->generation,
                              .deadline_ns = withdrawal->deadline_ns,
                              .phase = EPI_ITEM_FINDING,
                              .node = EPI_NONE,
                              .peer = EPI_NONE};
    (void)epi_text_copy(slot->encode, sizeof(slot->encode), withdrawal->encode);
    (void)epi_text_copy(slot->reason, sizeof(slot->reason), withdrawal->words);
    *slot_p = index;
    return true;
}

bool epi_withdrawn(const epi_intake_t *intake, uint32_t slot)
{
    return slot >= intake->shared->config.max_items;
}

static epdx_status_t send_cancel(epi_intake_t *intake, uint32_t slot,
                                 const char *words)
{
    const epi_item_slot_t *item = &intake->shared->slots[slot];
    epi_cancel_t cancel = {.room = item->room, .generation = item->generation};
    epi_message_t message;
    epdx_status_t status = EPDX_OK;

    if (item->asks == 0) {
        /* A cancel without an ask is believed of a rank that is known. */
        status = epi_nodes_register(intake->nodes, item->peer);
    }
    if (status != EPDX_OK) {
        return status;
    }
    (void)epi_text_copy(cancel.session, sizeof(cancel.session),
                        intake->nodes->session);
    (void)epi_text_copy(cancel.reason, sizeof(cancel.reason), words);
    status = epi_cancel_format(&cancel, &message);
    return status != EPDX_OK
               ? status
               : epi_control_send(intake->control,
                                  intake->nodes->peers[item->peer].control,
                                  &message);
}

void epi_withdrawn_open(epi_intake_t *intake, uint32_t slot, uint64_t now)
{
    epi_timers_set(&intake->timers, slot,
                   intake->shared->slots[slot].deadline_ns);
    if (!epi_nodes_join(intake->nodes, slot, now)) {
        epi_withdrawn_end(intake, slot);
    }
}

void epi_withdrawn_end(epi_intake_t *intake, uint32_t slot)
{
    epi_nodes_leave(intake->nodes, slot);
    epi_timers_clear(&intake->timers, slot);
    intake->shared->slots[slot].phase = EPI_ITEM_FREE;
    give_slot(intake->shared, slot); /* from here on it is another's */
}

void epi_withdrawn_up(epi_intake_t *intake, uint32_t slot)
{
    const epi_item_slot_t *item = &intake->shared->slots[slot];
    uint64_t again;

    if (send_cancel(intake, slot, item->reason) == EPDX_OK) {
        epi_withdrawn_end(intake, slot);
        return;
    }
    /* Its queue is full: a request of many items may have filled it. */
    again = epi_after(epi_now_ns(), CANCEL_RETRY_NS);
    epi_timers_set(&intake->timers, slot,
                   again < item->deadline_ns ? again : item->deadline_ns);
}

void epi_withdrawn_due(epi_intake_t *intake, uint32_t slot, uint64_t now)
{
    uint64_t deadline = intake->shared->slots[slot].deadline_ns;

    if (now >= deadline) {
        epi_withdrawn_end(intake, slot);
    } else if (epi_nodes_up(intake->nodes, slot)) {
        epi_withdrawn_up(intake, slot);
    } else {
        epi_timers_set(&intake->timers, slot, deadline); /* lost meanwhile */
    }
}

/* Keep an item's withdrawal until its encode rank is reached: the item's own
 * slot goes back to the caller. */
static void keep(epi_intake_t *intake, uint32_t slot, const char *words)
{
    const epi_item_slot_t *item = &intake->shared->slots[slot];
    epi_withdrawal_t withdrawal = {.room = item->room,
                                   .generation = item->generation,
                                   .deadline_ns = item->deadline_ns,
                                   .encode = item->encode,
                                   .words = words};
    uint64_t now = epi_now_ns();
    uint32_t kept;

    /* Else the encode rank's deadline has to do. */
    if (item->deadline_ns > now &&
        epi_withdrawn_take(intake->shared, &withdrawal, &kept)) {
        epi_withdrawn_open(intake, kept, now);
    }
}

void epi_item_cancel(epi_intake_t *intake, uint32_t slot, const char *words)
{
    if (!epi_nodes_up(intake->nodes, slot)) {
        keep(intake, slot, words);
    } else if (send_cancel(intake, slot, words) != EPDX_OK &&
               epi_seldom(&intake->unsent_lines, epi_now_ns())) {
        epi_log_warn("cancel of room %" PRIu64
                     " was not sent, maybe as others: %s",
                     intake->shared->slots[slot].room, epdx_last_error());
    }
}
