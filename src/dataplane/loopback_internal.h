/*
 * loopback_internal.h: what loopback.c (planes and connections) and
 * loopback_transfer.c (offers and pulls) share.
 */
#ifndef EPI_DATAPLANE_LOOPBACK_INTERNAL_H
#define EPI_DATAPLANE_LOOPBACK_INTERNAL_H

#include "dataplane/loopback.h"
#include "dataplane/plane.h"

typedef struct epi_lb_plane epi_lb_plane_t;

struct epi_dp_region {
    void *base;
    size_t bytes;
};

/** A connection; it belongs to the sending plane. */
struct epi_dp_peer {
    epi_dp_peer_t *next;
    epi_lb_plane_t *sender;
    epi_lb_plane_t *receiver; /* NULL: down */
    uint64_t link;
    uint64_t cookie;
    bool told; /* EPI_DP_PEER_DOWN was queued */
};

/** One transfer, from offer() until both ends had their events. */
struct epi_dp_offer {
    epi_dp_offer_t *next;
    epi_dp_peer_t *peer; /* NULL: its link is dead */
    epi_lb_plane_t *receiver;
    uint64_t link;
    size_t header_bytes;
    uint8_t header[EPI_DP_HEADER_MAX];
    const void *payload;
    size_t payload_bytes;
    uint64_t send_cookie;
    bool sent; /* EPI_DP_SENT was queued */
    bool pulling;
    void *target;
    uint64_t pull_cookie;
};

struct epi_lb_plane {
    epi_dataplane_t base;
    epi_loopback_hub_t *hub;
    epi_lb_plane_t *next;
    char address[32];
    epi_dp_events_t events;
    size_t shown; /* events that next() may give */
    bool hold;
};

struct epi_loopback_hub {
    epi_lb_plane_t *planes;
    epi_dp_peer_t *peers;
    epi_dp_offer_t *offers;
    unsigned plane_count;
    uint64_t link_count;
};

static inline epi_lb_plane_t *epi_lb_plane(epi_dataplane_t *dp)
{
    return (epi_lb_plane_t *)dp;
}

/** Queue an event into a reservation. */
void epi_lb_push(epi_lb_plane_t *plane, epi_dp_event_kind_t kind,
                 epdx_status_t status, uint64_t cookie, const void *subject);

/** End what is under way on a connection. Offers that nobody pulled yet stay,
 *  dead, until the receiving end pulls or refuses them. */
void epi_lb_end_transfers(epi_dp_peer_t *peer);

void epi_lb_free_offer(epi_dp_offer_t *offer);

/** Whether progress() of plane would copy this offer. */
bool epi_lb_ready(const epi_lb_plane_t *plane, const epi_dp_offer_t *offer);

/* Operations of epi_dp_ops_t. */
epdx_status_t epi_lb_offer(epi_dataplane_t *dp, epi_dp_peer_t *peer,
                           const epi_dp_send_t *send);
epdx_status_t epi_lb_pull(epi_dataplane_t *dp, epi_dp_offer_t *offer,
                          const epi_dp_target_t *target);
void epi_lb_refuse(epi_dataplane_t *dp, epi_dp_offer_t *offer);
bool epi_lb_progress(epi_dataplane_t *dp);

#endif
