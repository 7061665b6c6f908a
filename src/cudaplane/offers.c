/*
 * offers.c: offers, see cudaplane_internal.h.
 *
 *     offer() --> unready --event done--> waiting --room--> copying --> inside
 *                                 |       (staged)                        ^ |
 *                                 '--(direct)-----------------------------' |
 *                                                                 end <-----'
 *
 * A staged offer keeps its slot until the inner plane's SENT. What cannot be
 * handed on ends, but for a copy under way, which is waited for first.
 */
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "cudaplane/cudaplane_internal.h"
#include "memory/event.h"

static bool is_staged(const epi_dp_send_t *send)
{
    const epi_cp_region_t *region = (const void *)send->region;

    return send->payload_bytes > 0 && (region == NULL || region->inner == NULL);
}

static epdx_status_t check(epi_cp_plane_t *plane, const epi_dp_send_t *send)
{
    const epi_cp_region_t *region = (const void *)send->region;

    if (send->header_bytes > EPI_DP_HEADER_MAX) {
        return epi_fail(EPDX_ERR_INVALID, "data plane: a header of %zu bytes",
                        send->header_bytes);
    }
    if (region != NULL && send->payload_bytes > 0 &&
        !epi_dp_inside(region->base, region->bytes, send->payload,
                       send->payload_bytes)) {
        return epi_fail(EPDX_ERR_INVALID,
                        "data plane: an offer of %zu bytes outside its region",
                        send->payload_bytes);
    }
    return is_staged(send)
               ? epi_cp_lane_fits(plane, &plane->out, send->payload_bytes)
               : EPDX_OK;
}

static epdx_status_t offer_inside(epi_cp_plane_t *plane,
                                  epi_cp_transfer_t *transfer)
{
    epi_dp_send_t send = {
        .header = transfer->header,
        .header_bytes = transfer->header_bytes,
        .region = transfer->staged ? plane->out.region : transfer->region,
        .payload = transfer->staged ? epi_cp_lane_at(&plane->out, transfer)
                                    : transfer->at,
        .payload_bytes = transfer->bytes,
        .cookie = (uint64_t)(uintptr_t)transfer,
    };
    epdx_status_t status =
        plane->inner->ops->offer(plane->inner, transfer->peer, &send);

    if (status == EPDX_OK) {
        epi_cp_move(transfer, &plane->inside);
    }
    return status;
}

/* Its rows are there: copy or offer them, or let them wait for room. */
static epdx_status_t go_on(epi_cp_plane_t *plane, epi_cp_transfer_t *transfer)
{
    if (!transfer->staged) {
        return offer_inside(plane, transfer);
    }
    if (plane->out.waiting.first != NULL ||
        !epi_cp_lane_lease(&plane->out, transfer)) {
        epi_cp_move(transfer, &plane->out.waiting);
        return EPDX_OK;
    }
    return epi_cp_lane_copy(plane, &plane->out, transfer);
}

static epi_cp_transfer_t *transfer_for(epi_cp_plane_t *plane,
                                       epi_dp_peer_t *peer,
                                       const epi_dp_send_t *send)
{
    epi_cp_transfer_t *transfer = epi_cp_take(plane);
    const epi_cp_region_t *region = (const void *)send->region;

    transfer->cookie = send->cookie;
    transfer->bytes = send->payload_bytes;
    transfer->staged = is_staged(send);
    transfer->at = (void *)(uintptr_t)send->payload;
    transfer->region = region != NULL ? region->inner : NULL;
    transfer->peer = peer;
    transfer->ready = send->payload_bytes > 0 ? send->ready : NULL;
    transfer->header_bytes = send->header_bytes;
    if (send->header_bytes > 0) {
        memcpy(transfer->header, send->header, send->header_bytes);
    }
    return transfer;
}

epdx_status_t epi_cp_offer(epi_dataplane_t *dp, epi_dp_peer_t *peer,
                           const epi_dp_send_t *send)
{
    epi_cp_plane_t *plane = epi_cp_plane(dp);
    epi_cp_transfer_t *transfer;
    bool ready = false;
    epdx_status_t status = check(plane, send);

    if (status == EPDX_OK) {
        status = epi_cp_reserve(plane);
    }
    if (status != EPDX_OK) {
        return status;
    }
    transfer = transfer_for(plane, peer, send);
    status = epi_event_done(transfer->ready, &ready);
    if (status == EPDX_OK && !ready) {
        epi_cp_move(transfer, &plane->unready);
        return EPDX_OK;
    }
    if (status == EPDX_OK) {
        status = go_on(plane, transfer);
    }
    if (status != EPDX_OK) {
        epi_cp_give_back(plane, transfer);
    }
    return status;
}

/* An offer that had been taken cannot be carried out. */
static void fail(epi_cp_plane_t *plane, epi_cp_transfer_t *transfer,
                 epdx_status_t status)
{
    epi_log_warn("data plane: an offer of %zu bytes failed: %s",
                 transfer->bytes, epdx_last_error());
    epi_cp_end(plane, transfer, status);
}

/* The shares of a chunk have one event: it is asked for once. */
static bool progress_unready(epi_cp_plane_t *plane)
{
    const void *asked = NULL;
    bool ready = false, done = false;
    epdx_status_t status = EPDX_OK;
    epi_cp_transfer_t *next;

    for (epi_cp_transfer_t *transfer = plane->unready.first; transfer != NULL;
         transfer = next) {
        next = transfer->next;
        if (transfer->ready != asked) {
            asked = transfer->ready;
            ready = false;
            status = epi_event_done(transfer->ready, &ready);
        }
        if (status == EPDX_OK && !ready) {
            continue;
        }
        done = true;
        if (status != EPDX_OK) {
            fail(plane, transfer, status);
            continue;
        }
        epdx_status_t gone_on = go_on(plane, transfer);

        if (gone_on != EPDX_OK) {
            fail(plane, transfer, gone_on);
        }
    }
    return done;
}

/* A copy is over: nothing reads the payload any more. */
static void copied(epi_cp_plane_t *plane, epi_cp_transfer_t *transfer)
{
    epdx_status_t status = transfer->status;

    if (transfer->peer == NULL) {
        epi_cp_end(plane, transfer, EPDX_ERR_UNREACHABLE);
        return;
    }
    if (status == EPDX_OK) {
        status = offer_inside(plane, transfer);
    }
    if (status != EPDX_OK) {
        fail(plane, transfer, status);
    }
}

bool epi_cp_offers_progress(epi_cp_plane_t *plane)
{
    epi_cp_lane_t *lane = &plane->out;
    epi_cp_transfer_t *transfer;
    bool done = false;

    while ((transfer = epi_cp_lane_copied(plane, lane)) != NULL) {
        copied(plane, transfer);
        done = true;
    }
    lane->freed = false;
    while ((transfer = lane->waiting.first) != NULL &&
           epi_cp_lane_lease(lane, transfer)) {
        epdx_status_t status = epi_cp_lane_copy(plane, lane, transfer);

        if (status != EPDX_OK) {
            fail(plane, transfer, status);
        }
        done = true;
    }
    return progress_unready(plane) || done;
}

static void end_of(epi_cp_plane_t *plane, epi_cp_list_t *list,
                   const epi_dp_peer_t *peer)
{
    epi_cp_transfer_t *next;

    for (epi_cp_transfer_t *transfer = list->first; transfer != NULL;
         transfer = next) {
        next = transfer->next;
        if (transfer->peer == peer) {
            epi_cp_end(plane, transfer, EPDX_ERR_UNREACHABLE);
        }
    }
}

static void forget_peer(epi_cp_list_t *list, const epi_dp_peer_t *peer)
{
    for (epi_cp_transfer_t *transfer = list->first; transfer != NULL;
         transfer = transfer->next) {
        if (transfer->peer == peer) {
            transfer->peer = NULL;
        }
    }
}

void epi_cp_offers_disconnect(epi_cp_plane_t *plane, const epi_dp_peer_t *peer)
{
    end_of(plane, &plane->unready, peer);
    end_of(plane, &plane->out.waiting, peer);
    forget_peer(&plane->out.copying, peer);
    forget_peer(&plane->inside, peer);
}
