/*
 * loopback.c: a data plane within one process and one thread, for tests:
 * planes and connections; loopback_transfer.c has offers and pulls. It keeps
 * the promises of dataplane.h, and the manners of the plane over UCX: an offer
 * without payload gives EPI_DP_SENT at once, a connection to an address that
 * nobody has begins well and ends in EPI_DP_PEER_DOWN, and an event shows only
 * after a progress() of its plane. All lists are walked: it is meant for tens
 * of objects.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "dataplane/loopback_internal.h"

static void take_down(epi_dp_peer_t *peer)
{
    epi_lb_end_transfers(peer);
    peer->receiver = NULL;
    if (!peer->told) {
        peer->told = true;
        epi_lb_push(peer->sender, EPI_DP_PEER_DOWN, EPDX_ERR_UNREACHABLE,
                    peer->cookie, peer);
    }
}

static const char *loopback_address(epi_dataplane_t *dp)
{
    return epi_lb_plane(dp)->address;
}

static epdx_status_t loopback_map(epi_dataplane_t *dp,
                                  const epi_memory_ops_t *memory, void *base,
                                  size_t bytes, epi_dp_region_t **region_p)
{
    epi_dp_region_t *region;

    (void)dp;
    if (memory->kind != EPI_MEMORY_HOST) {
        return epi_fail(EPDX_ERR_UNSUPPORTED,
                        "loopback: %s memory is not supported", memory->name);
    }
    region = malloc(sizeof(*region));
    if (region == NULL) {
        return epi_fail(EPDX_ERR_NO_MEMORY, "loopback: no memory to map");
    }
    region->base = base;
    region->bytes = bytes;
    *region_p = region;
    return EPDX_OK;
}

static void loopback_unmap(epi_dataplane_t *dp, epi_dp_region_t *region)
{
    (void)dp;
    free(region);
}

/** There is one host. */
static void loopback_admit(epi_dataplane_t *dp, const char *host)
{
    (void)dp;
    (void)host;
}

static epi_lb_plane_t *find_plane(epi_loopback_hub_t *hub, const char *address)
{
    epi_lb_plane_t *plane = hub->planes;

    while (plane != NULL && strcmp(plane->address, address) != 0) {
        plane = plane->next;
    }
    return plane;
}

static epdx_status_t loopback_connect(epi_dataplane_t *dp, const char *address,
                                      uint64_t cookie, epi_dp_peer_t **peer_p)
{
    epi_lb_plane_t *plane = epi_lb_plane(dp);
    epi_address_t parsed;
    epi_dp_peer_t *peer;
    epdx_status_t status;

    if (!epi_address_parse(address, &parsed)) {
        return epi_fail(EPDX_ERR_INVALID, "loopback: \"%s\" is no address",
                        address);
    }
    peer = calloc(1, sizeof(*peer));
    if (peer == NULL) {
        return epi_fail(EPDX_ERR_NO_MEMORY, "loopback: no memory to connect");
    }
    status = epi_dp_events_reserve(&plane->events);
    if (status != EPDX_OK) {
        free(peer);
        return status;
    }
    peer->sender = plane;
    peer->receiver = find_plane(plane->hub, address);
    peer->link = ++plane->hub->link_count;
    peer->cookie = cookie;
    peer->next = plane->hub->peers;
    plane->hub->peers = peer;
    if (peer->receiver == NULL) {
        take_down(peer);
    }
    *peer_p = peer;
    return EPDX_OK;
}

static void loopback_disconnect(epi_dataplane_t *dp, epi_dp_peer_t *peer)
{
    epi_lb_plane_t *plane = epi_lb_plane(dp);
    epi_dp_peer_t **at = &plane->hub->peers;

    if (peer == NULL) {
        return;
    }
    epi_lb_end_transfers(peer);
    if (peer->told) {
        (void)epi_dp_events_forget(&plane->events, EPI_DP_PEER_DOWN, peer);
    } else {
        epi_dp_events_unreserve(&plane->events);
    }
    while (*at != peer) {
        at = &(*at)->next;
    }
    *at = peer->next;
    free(peer);
}

static void loopback_drop(epi_dataplane_t *dp, uint64_t link)
{
    epi_lb_plane_t *plane = epi_lb_plane(dp);

    for (epi_dp_peer_t *peer = plane->hub->peers; peer != NULL;
         peer = peer->next) {
        if (peer->link == link && peer->receiver == plane) {
            take_down(peer);
            return;
        }
    }
}

static bool loopback_next(epi_dataplane_t *dp, epi_dp_event_t *event_p)
{
    epi_lb_plane_t *plane = epi_lb_plane(dp);
    size_t count = plane->events.count;
    const epi_dp_offer_t *offer;
    epi_dp_note_t note;

    if (plane->shown == 0 || !epi_dp_events_pop(&plane->events, &note)) {
        return false;
    }
    count -= plane->events.count; /* with those that were forgotten */
    plane->shown -= count < plane->shown ? count : plane->shown;
    *event_p = (epi_dp_event_t){
        .kind = note.kind, .status = note.status, .cookie = note.cookie};
    if (note.kind == EPI_DP_OFFER) {
        offer = note.subject;
        event_p->offer = (epi_dp_offer_t *)offer;
        event_p->link = offer->link;
        event_p->header_bytes = offer->header_bytes;
        memcpy(event_p->header, offer->header, offer->header_bytes);
        event_p->payload_bytes = offer->payload_bytes;
    }
    return true;
}

static int loopback_event_fd(epi_dataplane_t *dp)
{
    (void)dp;
    return -1;
}

static epdx_status_t loopback_arm(epi_dataplane_t *dp)
{
    epi_lb_plane_t *plane = epi_lb_plane(dp);

    for (const epi_dp_offer_t *offer = plane->hub->offers; offer != NULL;
         offer = offer->next) {
        if (epi_lb_ready(plane, offer)) {
            return EPDX_IN_PROGRESS;
        }
    }
    return plane->events.count > 0 ? EPDX_IN_PROGRESS : EPDX_OK;
}

static void loopback_transport(epi_dataplane_t *dp, char *out, size_t size)
{
    (void)dp;
    (void)epi_text_copy(out, size, "loopback");
}

static void unlink_plane(epi_lb_plane_t *plane)
{
    epi_lb_plane_t **at = &plane->hub->planes;

    while (*at != plane) {
        at = &(*at)->next;
    }
    *at = plane->next;
}

static void loopback_close(epi_dataplane_t *dp)
{
    epi_lb_plane_t *plane = epi_lb_plane(dp);
    epi_dp_peer_t *next_peer;
    epi_dp_offer_t *next_offer;

    if (dp == NULL) {
        return;
    }
    epi_loopback_cut(dp);
    for (epi_dp_peer_t *peer = plane->hub->peers; peer != NULL;
         peer = next_peer) {
        next_peer = peer->next;
        if (peer->sender == plane) {
            loopback_disconnect(dp, peer);
        }
    }
    for (epi_dp_offer_t *offer = plane->hub->offers; offer != NULL;
         offer = next_offer) {
        next_offer = offer->next;
        if (offer->receiver == plane) {
            epi_lb_free_offer(offer);
        }
    }
    unlink_plane(plane);
    epi_dp_events_fini(&plane->events);
    free(plane);
}

static const epi_dp_ops_t loopback_ops = {
    .address = loopback_address,
    .admit = loopback_admit,
    .map = loopback_map,
    .unmap = loopback_unmap,
    .connect = loopback_connect,
    .disconnect = loopback_disconnect,
    .offer = epi_lb_offer,
    .pull = epi_lb_pull,
    .refuse = epi_lb_refuse,
    .drop = loopback_drop,
    .progress = epi_lb_progress,
    .next = loopback_next,
    .event_fd = loopback_event_fd,
    .arm = loopback_arm,
    .transport = loopback_transport,
    .close = loopback_close,
};

epdx_status_t epi_loopback_hub_open(epi_loopback_hub_t **hub_p)
{
    epi_loopback_hub_t *hub = calloc(1, sizeof(*hub));

    if (hub == NULL) {
        return epi_fail(EPDX_ERR_NO_MEMORY, "loopback: no memory for a hub");
    }
    *hub_p = hub;
    return EPDX_OK;
}

epdx_status_t epi_dataplane_loopback(epi_loopback_hub_t *hub,
                                     epi_dataplane_t **dp_p)
{
    epi_lb_plane_t *plane = calloc(1, sizeof(*plane));

    if (plane == NULL) {
        return epi_fail(EPDX_ERR_NO_MEMORY, "loopback: no memory for a plane");
    }
    plane->base.ops = &loopback_ops;
    plane->hub = hub;
    (void)snprintf(plane->address, sizeof(plane->address), "loopback:%u",
                   ++hub->plane_count);
    plane->next = hub->planes;
    hub->planes = plane;
    *dp_p = &plane->base;
    return EPDX_OK;
}

void epi_loopback_hold_pulls(epi_dataplane_t *dp, bool hold)
{
    epi_lb_plane(dp)->hold = hold;
}

void epi_loopback_cut(epi_dataplane_t *dp)
{
    epi_lb_plane_t *plane = epi_lb_plane(dp);

    for (epi_dp_peer_t *peer = plane->hub->peers; peer != NULL;
         peer = peer->next) {
        if (peer->receiver != NULL &&
            (peer->sender == plane || peer->receiver == plane)) {
            take_down(peer);
        }
    }
}

void epi_loopback_hub_close(epi_loopback_hub_t *hub)
{
    free(hub);
}
