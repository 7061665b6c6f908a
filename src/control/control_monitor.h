/*
 * control_monitor.h: what ZeroMQ says about one socket's connections. Only
 * control.c and access.c use it.
 *
 * Facts of libzmq 4.3.4 that this relies on:
 * - A monitor is a PAIR socket of libzmq's own, which sends with waiting when
 *   its reader is full; the reader here has no limit, so libzmq's I/O thread
 *   never waits for us (socket_base.cpp, monitor_event).
 * - An event is two frames: u16 event and u32 value in host order, then the
 *   address (zmq_socket_monitor(3)).
 * - ZMQ_FD turns readable when commands wait for the socket; a receive that
 *   ends in EAGAIN has taken them all, after which new ones make it readable
 *   again (mailbox.cpp); a reader that never tried is not told (ypipe.hpp).
 * - A peer that speaks something else than ZMTP ends the session for good:
 *   libzmq does not connect again by itself (session_base.cpp, engine_error).
 */
#ifndef EPI_CONTROL_CONTROL_MONITOR_H
#define EPI_CONTROL_CONTROL_MONITOR_H

#include <stdint.h>

#include "epdx/status.h"

typedef enum epi_monitor_event {
    EPI_MONITOR_NONE,
    EPI_MONITOR_UP,
    EPI_MONITOR_DOWN,
    EPI_MONITOR_ENDED, /* the handshake failed: libzmq gave the connection up
                          for good */
} epi_monitor_event_t;

typedef enum epi_monitor_scope {
    EPI_MONITOR_ALL,
    EPI_MONITOR_FAILURES, /* EPI_MONITOR_ENDED only */
} epi_monitor_scope_t;

typedef struct epi_monitor {
    void *pair;
    int fd;
} epi_monitor_t;

/** Watch socket; serial makes the inner address unique in context. */
EPDX_MUST_CHECK epdx_status_t epi_monitor_open(void *context, void *socket,
                                               epi_monitor_scope_t scope,
                                               uint64_t serial,
                                               epi_monitor_t *monitor_p);

/** Take the next event. After EPI_MONITOR_NONE the descriptor tells of more. */
epi_monitor_event_t epi_monitor_next(epi_monitor_t *monitor);

/** Before socket is closed. */
void epi_monitor_close(epi_monitor_t *monitor, void *socket);

#endif
