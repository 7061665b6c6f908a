/*
 * loopback_transfer.c: offers and pulls of the loopback plane.
 *
 *     PARKED --pull()--> PULLING --progress()--> gone
 *         \--refuse()--> gone
 *
 * The link may die at any point: the offer's peer is then NULL, and what was
 * under way has ended.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "dataplane/loopback_internal.h"

void epi_lb_push(epi_lb_plane_t *plane, epi_dp_event_kind_t kind,
                 epdx_status_t status, uint64_t cookie, const void *subject)
{
    epi_dp_note_t note = {
        .kind = kind, .status = status, .cookie = cookie, .subject = subject};

    epi_dp_events_push(&plane->events, &note);
}

static void tell_sent(epi_dp_offer_t *offer, epdx_status_t status)
{
    if (!offer->sent && offer->peer != NULL) {
        offer->sent = true;
        epi_lb_push(offer->peer->sender, EPI_DP_SENT, status,
                    offer->send_cookie, NULL);
    }
}

static void unlink_offer(epi_loopback_hub_t *hub, epi_dp_offer_t *offer)
{
    epi_dp_offer_t **at = &hub->offers;

    while (*at != offer) {
        at = &(*at)->next;
    }
    *at = offer->next;
    offer->next = NULL;
}

static void append_offer(epi_loopback_hub_t *hub, epi_dp_offer_t *offer)
{
    epi_dp_offer_t **at = &hub->offers;

    while (*at != NULL) {
        at = &(*at)->next;
    }
    *at = offer;
}

void epi_lb_free_offer(epi_dp_offer_t *offer)
{
    unlink_offer(offer->receiver->hub, offer);
    free(offer);
}

void epi_lb_end_transfers(epi_dp_peer_t *peer)
{
    epi_dp_offer_t *next;

    for (epi_dp_offer_t *offer = peer->sender->hub->offers; offer != NULL;
         offer = next) {
        next = offer->next;
        if (offer->peer != peer) {
            continue;
        }
        tell_sent(offer, EPDX_ERR_UNREACHABLE);
        offer->peer = NULL;
        if (offer->pulling) {
            epi_lb_push(offer->receiver, EPI_DP_PULLED, EPDX_ERR_UNREACHABLE,
                        offer->pull_cookie, NULL);
            epi_lb_free_offer(offer);
        }
    }
}

/** Room for the events of one offer: at its sender and at its receiver. */
static epdx_status_t reserve_both(epi_dp_peer_t *peer)
{
    epdx_status_t status = epi_dp_events_reserve(&peer->sender->events);

    if (status != EPDX_OK) {
        return status;
    }
    status = epi_dp_events_reserve(&peer->receiver->events);
    if (status != EPDX_OK) {
        epi_dp_events_unreserve(&peer->sender->events);
    }
    return status;
}

epdx_status_t epi_lb_offer(epi_dataplane_t *dp, epi_dp_peer_t *peer,
                           const epi_dp_send_t *send)
{
    epi_dp_offer_t *offer;
    epdx_status_t status;

    if (send->header_bytes > EPI_DP_HEADER_MAX) {
        return epi_fail(EPDX_ERR_INVALID, "loopback: a header of %zu bytes",
                        send->header_bytes);
    }
    if (peer->receiver == NULL) {
        return epi_fail(EPDX_ERR_UNREACHABLE, "loopback: the peer is down");
    }
    offer = calloc(1, sizeof(*offer));
    if (offer == NULL) {
        return epi_fail(EPDX_ERR_NO_MEMORY, "loopback: no memory to offer");
    }
    status = reserve_both(peer);
    if (status != EPDX_OK) {
        free(offer);
        return status;
    }
    offer->peer = peer;
    offer->receiver = peer->receiver;
    offer->link = peer->link;
    offer->header_bytes = send->header_bytes;
    if (send->header_bytes > 0) {
        memcpy(offer->header, send->header, send->header_bytes);
    }
    offer->payload = send->payload;
    offer->payload_bytes = send->payload_bytes;
    offer->send_cookie = send->cookie;
    append_offer(epi_lb_plane(dp)->hub, offer);
    if (send->payload_bytes == 0) {
        tell_sent(offer, EPDX_OK);
    }
    epi_lb_push(offer->receiver, EPI_DP_OFFER, EPDX_OK, 0, offer);
    return EPDX_OK;
}

void epi_lb_refuse(epi_dataplane_t *dp, epi_dp_offer_t *offer)
{
    (void)dp;
    tell_sent(offer, EPDX_OK);
    epi_lb_free_offer(offer);
}

static epdx_status_t check_pull(const epi_dp_offer_t *offer,
                                const epi_dp_target_t *target)
{
    const epi_dp_region_t *region = target->region;
    size_t bytes = target->bytes;

    if (bytes != offer->payload_bytes) {
        return epi_fail(EPDX_ERR_INVALID,
                        "loopback: a pull of %zu bytes of an offer of %zu",
                        bytes, offer->payload_bytes);
    }
    if (bytes > 0 &&
        (region == NULL ||
         !epi_dp_inside(region->base, region->bytes, target->at, bytes))) {
        return epi_fail(EPDX_ERR_INVALID,
                        "loopback: a pull of %zu bytes outside its region",
                        bytes);
    }
    if (offer->peer == NULL) {
        return epi_fail(EPDX_ERR_UNREACHABLE, "loopback: the link is down");
    }
    return EPDX_OK;
}

epdx_status_t epi_lb_pull(epi_dataplane_t *dp, epi_dp_offer_t *offer,
                          const epi_dp_target_t *target)
{
    epi_lb_plane_t *plane = epi_lb_plane(dp);
    epdx_status_t status = check_pull(offer, target);

    if (status == EPDX_OK) {
        status = epi_dp_events_reserve(&plane->events);
    }
    if (status != EPDX_OK) {
        epi_lb_refuse(dp, offer);
        return status;
    }
    offer->pulling = true;
    offer->target = target->at;
    offer->pull_cookie = target->cookie;
    unlink_offer(plane->hub, offer); /* pulls end in the order they began */
    append_offer(plane->hub, offer);
    return EPDX_OK;
}

bool epi_lb_ready(const epi_lb_plane_t *plane, const epi_dp_offer_t *offer)
{
    return offer->receiver == plane && offer->pulling && !plane->hold;
}

bool epi_lb_progress(epi_dataplane_t *dp)
{
    epi_lb_plane_t *plane = epi_lb_plane(dp);
    bool done = false;
    epi_dp_offer_t *next;

    for (epi_dp_offer_t *offer = plane->hub->offers; offer != NULL;
         offer = next) {
        next = offer->next;
        if (!epi_lb_ready(plane, offer)) {
            continue;
        }
        if (offer->payload_bytes > 0) {
            memcpy(offer->target, offer->payload, offer->payload_bytes);
        }
        epi_lb_push(plane, EPI_DP_PULLED, EPDX_OK, offer->pull_cookie, NULL);
        tell_sent(offer, EPDX_OK);
        epi_lb_free_offer(offer);
        done = true;
    }
    done = done || plane->shown < plane->events.count;
    plane->shown = plane->events.count;
    return done;
}
