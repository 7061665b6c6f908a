/*
 * io.h: the I/O side of a sender: one loop source over its control socket, its
 * HTTP exchange, its data plane, its rooms and their deadlines. Opened and
 * closed by the caller's thread while the loop does not run.
 */
#ifndef EPI_SENDER_IO_H
#define EPI_SENDER_IO_H

#include "base/seldom.h"
#include "io/loop.h"
#include "sender/announce.h"
#include "sender/delivery.h"

typedef struct epi_send_io {
    epi_send_shared_t *shared;
    epi_loop_t *loop;
    epi_control_t *control;
    epi_http_t *http;
    epi_dataplane_t *dp;
    epi_dp_region_t *region;
    bool unbound; /* its thread has yet to make the memory's device its own */
    epi_prefills_t prefills;
    epi_delivery_t delivery;
    epi_announce_t announce;
    uint64_t last_sent_ns;   /* when an offer last came to its end */
    uint64_t dropped_before; /* of control's own count, told already */
    epi_seldom_t refused_lines;
} epi_send_io_t;

/** Takes dp on success only (then io closes it); ring is the caller's. Errors:
 *  those of the parts, with words. The loop is not started. */
EPDX_MUST_CHECK epdx_status_t epi_send_io_open(epi_send_io_t *io,
                                               epi_send_shared_t *shared,
                                               epi_dataplane_t *dp, void *ring);

/** Fail all rooms and tell their askers, wait at most 2 s for offers to end,
 *  unregister, close everything. False: an offer did not end, and the rows must
 *  never be freed. */
bool epi_send_io_close(epi_send_io_t *io);

#endif
