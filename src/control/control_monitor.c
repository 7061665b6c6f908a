/*
 * control_monitor.c: a socket's connection events. The I/O thread's.
 *
 * A connection that is tried again and again in vain gives no event here: only
 * a handshake that was completed, and what ends one.
 */
#include "control/control_monitor.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <zmq.h>

#include "base/error.h"
#include "control/control_socket.h"

#define FAILURES                                                               \
    (ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH)
#define TURNS (ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED)

/** A reader that never looked is not told of what comes: look once. */
static bool pair_look(void *pair)
{
    int events = 0;
    size_t size = sizeof(events);
    int rc;

    do {
        rc = zmq_getsockopt(pair, ZMQ_EVENTS, &events, &size);
    } while (rc != 0 && zmq_errno() == EINTR);
    return rc == 0;
}

static bool pair_connect(void *pair, const char *address)
{
    int none = 0;

    return zmq_setsockopt(pair, ZMQ_LINGER, &none, sizeof(none)) == 0 &&
           zmq_setsockopt(pair, ZMQ_RCVHWM, &none, sizeof(none)) == 0 &&
           zmq_connect(pair, address) == 0 && pair_look(pair);
}

epdx_status_t epi_monitor_open(void *context, void *socket,
                               epi_monitor_scope_t scope, uint64_t serial,
                               epi_monitor_t *monitor_p)
{
    int wanted = scope == EPI_MONITOR_ALL ? FAILURES | TURNS : FAILURES;
    char address[64];
    size_t size = sizeof(int);
    void *pair;
    int fd = -1;

    (void)snprintf(address, sizeof(address), "inproc://monitor-%" PRIu64,
                   serial);
    if (zmq_socket_monitor(socket, address, wanted) != 0) {
        return epi_fail(EPDX_ERR_IO, "cannot watch a control socket: %s",
                        zmq_strerror(zmq_errno()));
    }
    pair = zmq_socket(context, ZMQ_PAIR);
    if (pair == NULL || !pair_connect(pair, address) ||
        zmq_getsockopt(pair, ZMQ_FD, &fd, &size) != 0) {
        epdx_status_t status =
            epi_fail(EPDX_ERR_IO, "cannot watch a control socket: %s",
                     zmq_strerror(zmq_errno()));
        (void)zmq_socket_monitor(socket, NULL, 0);
        if (pair != NULL) {
            (void)zmq_close(pair);
        }
        return status;
    }
    monitor_p->pair = pair;
    monitor_p->fd = fd;
    return EPDX_OK;
}

/** The event number of a first frame, 0 when there is none. */
static uint16_t take_number(void *pair)
{
    uint16_t number = 0;
    zmq_msg_t part;
    bool more = true;
    bool first = true;

    while (more) {
        (void)zmq_msg_init(&part);
        if (!epi_socket_frame(pair, &part)) {
            (void)zmq_msg_close(&part);
            return number;
        }
        if (first && zmq_msg_size(&part) >= sizeof(number)) {
            memcpy(&number, zmq_msg_data(&part), sizeof(number));
        }
        first = false;
        more = zmq_msg_more(&part) != 0;
        (void)zmq_msg_close(&part);
    }
    return number;
}

epi_monitor_event_t epi_monitor_next(epi_monitor_t *monitor)
{
    for (;;) {
        switch (take_number(monitor->pair)) {
        case 0:
            return EPI_MONITOR_NONE;
        case ZMQ_EVENT_HANDSHAKE_SUCCEEDED:
            return EPI_MONITOR_UP;
        case ZMQ_EVENT_DISCONNECTED:
            return EPI_MONITOR_DOWN;
        case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
        case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
            return EPI_MONITOR_ENDED;
        default:
            break; /* an event that was not asked for */
        }
    }
}

void epi_monitor_close(epi_monitor_t *monitor, void *socket)
{
    (void)zmq_socket_monitor(socket, NULL, 0);
    (void)zmq_close(monitor->pair);
    monitor->pair = NULL;
    monitor->fd = -1;
}
