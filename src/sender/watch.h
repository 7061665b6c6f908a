/*
 * watch.h: what is counted, timed and traced of a sender. Each call is a look
 * at whether it is watched, where it is not.
 *
 *     first ask or rows --> rows --> all asks, offers --> last offer done
 *           '--- chunk -----'-- fan-out wait --'----- deliver -----'
 */
#ifndef EPI_SENDER_WATCH_H
#define EPI_SENDER_WATCH_H

#include "sender/delivery.h"
#include "sender/ring.h"

/** A room at the I/O side: opened, given its rows, offered, ended. */
void epi_room_watch_opened(epi_delivery_t *delivery, epi_room_t *room);
void epi_room_watch_seated(epi_delivery_t *delivery, epi_room_t *room);
void epi_room_watch_offered(epi_delivery_t *delivery, epi_room_t *room);
void epi_room_watch_ended(epi_delivery_t *delivery, const epi_room_t *room,
                          epdx_status_t status);

/** A room without rows makes way: it is over, and has not failed. */
void epi_room_watch_evicted(epi_delivery_t *delivery, const epi_room_t *room);

/** A room that never was at the I/O side's table has failed. */
void epi_room_watch_failed(epi_delivery_t *delivery, epdx_status_t status);

/** An ask came in, or its rows were offered. */
void epi_ask_watch(epi_delivery_t *delivery, const epi_room_t *room,
                   const epi_ask_t *ask, epi_trace_kind_t kind);

/** A control message was dropped: it did not parse, or did not fit. */
void epi_frame_watch_malformed(epi_delivery_t *delivery);
void epi_frame_watch_unfit(epi_delivery_t *delivery, uint64_t more);

/** Show what only the caller's thread knows, every now and then. */
void epi_sender_watch_poll(epi_send_shared_t *shared, const epi_ring_t *ring,
                           const epi_dataplane_t *dp, uint64_t rooms_sent);

/** Begin to watch a sender, before its I/O side is there; errors of
 *  epi_watch_open(). */
EPDX_MUST_CHECK epdx_status_t epi_sender_watch(epi_send_shared_t *shared,
                                               const epi_options_t *options);

#endif
