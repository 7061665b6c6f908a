/*
 * unstaged.c: giving up a request that was never staged. Its rows may lie at
 * its encode ranks all the same. The caller's thread takes a slot for each
 * item's withdrawal (withdraw.c), and hands it to the I/O thread.
 */
#include "base/error.h"
#include "base/params.h"
#include "receive/receiver_internal.h"
#include "receive/withdraw.h"

static epdx_status_t hand_over(epdx_receiver_t *receiver,
                               const epdx_request_t *request, size_t index,
                               const char *words)
{
    epi_withdrawal_t withdrawal = {
        .room = request->items[index].room,
        .deadline_ns = epi_request_deadline(receiver, request),
        .encode = request->items[index].encode,
        .words = words,
    };
    epi_order_t order = {.kind = EPI_ORDER_WITHDRAW, .count = 1};

    if (!epi_withdrawn_take(&receiver->shared, &withdrawal, &order.first)) {
        return epi_fail(EPDX_ERR_FULL,
                        "request %s: %d withdrawals are under way: from item "
                        "%zu on its rows stay at their encode ranks until the "
                        "rooms' deadlines",
                        request->id, EPI_WITHDRAWN_MAX, index);
    }
    epi_expect(epi_mailbox_post(receiver->shared.orders, &order),
               "an order of the receiver");
    return EPDX_OK;
}

/* An item that is wrong does not keep the others. */
static epdx_status_t withdraw_items(epdx_receiver_t *receiver,
                                    const epdx_request_t *request,
                                    const char *words)
{
    epdx_status_t status = EPDX_OK;

    for (size_t i = 0; i < request->item_count && status != EPDX_ERR_FULL;
         i++) {
        const epdx_item_t *item = &request->items[i];
        epdx_status_t one;
        uint32_t slot;

        if (!epi_item_live(item) ||
            epi_table_find(&receiver->rooms, item->room, &slot)) {
            continue;
        }
        one = epi_request_check_address(request, i);
        if (one == EPDX_OK) {
            one = hand_over(receiver, request, i, words);
        }
        status = one != EPDX_OK ? one : status;
    }
    return status;
}

epdx_status_t epdx_receiver_withdraw(epdx_receiver_t *receiver,
                                     const epdx_request_t *request,
                                     const char *reason)
{
    epdx_status_t status = epi_given(receiver, request);
    epdx_request_t named;

    if (status != EPDX_OK) {
        return status;
    }
    named = *request;
    if (epi_request_check_id(request) != EPDX_OK) {
        named.id = "without an id"; /* what it was refused for, maybe */
    }
    status = epi_request_check_items(&named);
    if (status == EPDX_OK) {
        status = withdraw_items(receiver, &named,
                                reason != NULL ? reason
                                               : "the prefill rank gave the "
                                                 "request up");
        epi_loop_wake(receiver->io.loop);
    }
    return status;
}
