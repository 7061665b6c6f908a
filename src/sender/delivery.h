/*
 * delivery.h: from a room whose chunk and asks are all there to its end: the
 * asks are validated, every prefill rank is offered its share, and the room
 * ends when the last offer is done; or it fails, and all who asked are told
 * why. The I/O thread's. delivery.c has how rooms begin, fail and end; offers.c
 * has the offers.
 *
 * The first failure of a room is its cause. A room that fails while its rows
 * are offered ends only when no offer uses them any more.
 */
#ifndef EPI_SENDER_DELIVERY_H
#define EPI_SENDER_DELIVERY_H

#include "base/seldom.h"
#include "sender/ended.h"
#include "sender/prefills.h"
#include "sender/rooms.h"

typedef struct epi_delivery {
    epi_send_shared_t *shared;
    epi_prefills_t *prefills;
    epi_dataplane_t *dp;
    epi_dp_region_t *region;         /* the ring's memory */
    char self[EPDX_ADDRESS_MAX + 8]; /* who we are, in reasons */
    epi_rooms_t rooms;
    epi_ended_t ended;
    size_t under_way;                      /* offers of all rooms */
    const epi_ask_t *asks[EPI_FANOUT_MAX]; /* scratch */
    epi_seldom_t evict_lines;
} epi_delivery_t;

/** Why a room failed. */
typedef struct epi_failure {
    epdx_status_t status;
    const char *endpoint; /* whose fault, NULL: nobody's */
    const char *why;
} epi_failure_t;

/** Fills rooms and ended; the other fields are the caller's to set first. */
EPDX_MUST_CHECK epdx_status_t epi_delivery_init(epi_delivery_t *delivery);
void epi_delivery_fini(epi_delivery_t *delivery);

/** The room of a number, opened if it is not; the oldest room without a chunk
 *  makes way: it is forgotten, and its asks come again. NULL: every room has a
 * chunk. */
epi_room_t *epi_delivery_open(epi_delivery_t *delivery, uint64_t number,
                              uint64_t now);

/** Something came to a room: deliver it if it is complete now. */
void epi_delivery_check(epi_delivery_t *delivery, epi_room_t *room);

/** End a room that fails; room may be gone afterwards. */
void epi_delivery_fail(epi_delivery_t *delivery, epi_room_t *room,
                       const epi_failure_t *failure);

/** End a room that no offer is under way for. */
void epi_delivery_end(epi_delivery_t *delivery, epi_room_t *room,
                      epdx_status_t status, const char *reason);

/** A prefill rank is gone, because of why: rooms that it asked for fail, and
 *  it is forgotten. */
void epi_delivery_gone(epi_delivery_t *delivery, epi_prefill_t *prefill,
                       const char *why);

/** An offer is done. */
void epi_delivery_sent(epi_delivery_t *delivery, uint64_t cookie,
                       epdx_status_t status);

/** Fail rooms whose deadline has passed; true when there were some. */
bool epi_delivery_expire(epi_delivery_t *delivery, uint64_t now);

/** Fail every room, because of why. */
void epi_delivery_fail_all(epi_delivery_t *delivery, const char *why);

/** Tell a rank at once that a room fails for its ask. */
void epi_delivery_refuse(epi_delivery_t *delivery, const epi_prefill_t *prefill,
                         const epi_ask_t *ask, const char *why);

/** The outcome of a slot goes to the caller. */
void epi_delivery_report(epi_delivery_t *delivery, uint32_t slot);

#endif
