/*
 * cudaplane_internal.h: what the files of this folder share. The plane's thread
 * only, but for the counters.
 *
 *   cudaplane.c  the operations, regions, progress and events
 *   pulls.c      pulls: inner plane, then copy
 *   offers.c     offers: event, copy, then inner plane
 *   lane.c       staging memory of one direction, and its copies
 *   transfers.c  the records of transfers, and their lists
 */
#ifndef EPI_CUDAPLANE_CUDAPLANE_INTERNAL_H
#define EPI_CUDAPLANE_CUDAPLANE_INTERNAL_H

#include <stdatomic.h>

#include "cudaplane/cudaplane.h"
#include "pool/arena.h"

/** Payloads that may be in the staging memory of one direction at once. */
#define EPI_CP_SLOTS 1024

typedef struct epi_cp_plane epi_cp_plane_t;
typedef struct epi_cp_list epi_cp_list_t;

/** A region as this plane's owner knows it. */
typedef struct epi_cp_region {
    void *base;
    size_t bytes;
    epi_dp_region_t *inner; /* NULL: staged */
    bool device;
} epi_cp_region_t;

/**
 * One transfer, which is in one list, and stands in that list's state; an offer
 * that came in and was given out is in none.
 */
typedef struct epi_cp_transfer {
    struct epi_cp_transfer *next, *previous;
    epi_cp_list_t *list;
    uint64_t cookie; /* the owner's */
    size_t bytes;
    bool pull;
    bool staged;
    bool flushes; /* a direct pull into device memory */
    epdx_status_t status;
    uint32_t slot; /* of its lane, where it has one */
    void *at;      /* on the device: the pull's target, the offer's payload */
    epi_dp_region_t *region; /* of a direct one: the inner plane's */
    /* Of a pull. */
    epi_dp_offer_t *offer; /* the inner plane's; gone once that took it */
    uint64_t link;
    /* Of an offer. */
    epi_dp_peer_t *peer; /* NULL: disconnected */
    void *ready;
    size_t header_bytes;
    uint8_t header[EPI_DP_HEADER_MAX];
} epi_cp_transfer_t;

struct epi_cp_list {
    epi_cp_transfer_t *first, *last;
};

typedef struct epi_cp_slab epi_cp_slab_t;

typedef struct epi_cp_slot {
    uint64_t offset; /* in the staging memory */
    void *event;     /* of its copy */
} epi_cp_slot_t;

/** Staging memory of one direction. */
typedef struct epi_cp_lane {
    bool open;
    bool freed; /* room was given back since feed() looked */
    uint8_t *base;
    epi_dp_region_t *region; /* base, known to the inner plane */
    epi_arena_t *arena;
    void *stream;
    epi_cp_slot_t slots[EPI_CP_SLOTS];
    uint32_t free_slots[EPI_CP_SLOTS];
    uint32_t free_count;
    epi_cp_list_t waiting; /* for room, in order */
    epi_cp_list_t copying; /* in the stream's order */
} epi_cp_lane_t;

struct epi_cp_plane {
    epi_dataplane_t base;
    epi_dataplane_t *inner;
    epi_cudaplane_params_t params;
    epi_flush_t flush_mode;
    bool flushed; /* since the inner plane could last land something */
    epi_cp_lane_t in, out;
    epi_cp_list_t unready; /* offers whose event is not done */
    epi_cp_list_t inside;  /* the inner plane has them */
    epi_cp_list_t ended;   /* their events are for next() to give */
    epi_cp_list_t free;
    epi_cp_slab_t *slabs;
    size_t transfer_count;
    _Atomic uint64_t direct_bytes, staged_bytes;
    epi_cp_plane_t *abandoned_before;
};

static inline epi_cp_plane_t *epi_cp_plane(epi_dataplane_t *dp)
{
    return (epi_cp_plane_t *)dp;
}

static inline const epi_copy_ops_t *epi_cp_copies(const epi_cp_plane_t *plane)
{
    return plane->params.memory.ops->copies;
}

/* --- transfers.c --- */

/** Make sure that a transfer can be taken. EPDX_ERR_NO_MEMORY, with words. */
EPDX_MUST_CHECK epdx_status_t epi_cp_reserve(epi_cp_plane_t *plane);
/** A zeroed one, in no list; after a reserve(). */
epi_cp_transfer_t *epi_cp_take(epi_cp_plane_t *plane);
void epi_cp_give_back(epi_cp_plane_t *plane, epi_cp_transfer_t *transfer);
/** Append to a list, out of that in which it is. */
void epi_cp_move(epi_cp_transfer_t *transfer, epi_cp_list_t *to);
/** The transfer is over: next() will tell. Gives its slot back. */
void epi_cp_end(epi_cp_plane_t *plane, epi_cp_transfer_t *transfer,
                epdx_status_t status);
/** The event of a transfer that is over, which is given back. */
void epi_cp_event(epi_cp_plane_t *plane, epi_cp_transfer_t *transfer,
                  epi_dp_event_t *event_p);
void epi_cp_transfers_fini(epi_cp_plane_t *plane);

/* --- lane.c --- */

/** Make a lane ready, once. EPDX_ERR_NO_MEMORY, _IO, with words. */
EPDX_MUST_CHECK epdx_status_t epi_cp_lane_open(epi_cp_plane_t *plane,
                                               epi_cp_lane_t *lane);
/** No transfer uses it any more. */
void epi_cp_lane_close(epi_cp_plane_t *plane, epi_cp_lane_t *lane);
/** Whether a payload can ever be staged; opens the lane.
 *  EPDX_ERR_TOO_LARGE, and those of epi_cp_lane_open(). */
EPDX_MUST_CHECK epdx_status_t epi_cp_lane_fits(epi_cp_plane_t *plane,
                                               epi_cp_lane_t *lane,
                                               size_t bytes);
/** Room for a transfer: its slot. False: not now. */
bool epi_cp_lane_lease(epi_cp_lane_t *lane, epi_cp_transfer_t *transfer);
void epi_cp_lane_release(epi_cp_lane_t *lane,
                         const epi_cp_transfer_t *transfer);
void *epi_cp_lane_at(const epi_cp_lane_t *lane,
                     const epi_cp_transfer_t *transfer);
/** Begin a transfer's copy, in its direction, and list it as copying. An error:
 *  nothing was begun. */
EPDX_MUST_CHECK epdx_status_t epi_cp_lane_copy(epi_cp_plane_t *plane,
                                               epi_cp_lane_t *lane,
                                               epi_cp_transfer_t *transfer);
/** The oldest copy, once it is over: out of the list, its status set. NULL:
 *  none is. */
epi_cp_transfer_t *epi_cp_lane_copied(epi_cp_plane_t *plane,
                                      epi_cp_lane_t *lane);
/** Whether copies are under way, or room for who waits may be there. */
bool epi_cp_lane_busy(const epi_cp_lane_t *lane);

/* --- pulls.c --- */

/** An offer of the inner plane's comes in: it is wrapped. */
void epi_cp_offer_in(epi_cp_plane_t *plane, epi_dp_event_t *event);
epdx_status_t epi_cp_pull(epi_dataplane_t *dp, epi_dp_offer_t *offer,
                          const epi_dp_target_t *target);
void epi_cp_refuse(epi_dataplane_t *dp, epi_dp_offer_t *offer);
/** The inner plane's PULLED. True: it is the transfer's end. */
bool epi_cp_pulled(epi_cp_plane_t *plane, epi_cp_transfer_t *transfer,
                   epdx_status_t status);
/** Go on with what can; true when something was done. */
bool epi_cp_pulls_progress(epi_cp_plane_t *plane);
/** Pulls of a link that wait for room end. */
void epi_cp_pulls_drop(epi_cp_plane_t *plane, uint64_t link);

/* --- offers.c --- */

epdx_status_t epi_cp_offer(epi_dataplane_t *dp, epi_dp_peer_t *peer,
                           const epi_dp_send_t *send);
bool epi_cp_offers_progress(epi_cp_plane_t *plane);
/** The peer is gone: what was not offered to it yet ends. */
void epi_cp_offers_disconnect(epi_cp_plane_t *plane, const epi_dp_peer_t *peer);

#endif
