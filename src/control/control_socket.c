/* control_socket.c: see control_socket.h. */
#include "control/control_socket.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <zmq.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "wire/frame.h"

#define QUEUE_MAX 4096
/** PUSH and the two ends of its monitor; PULL, its monitor and REP, and some
 *  that are closed and still send for LINGER_MS. */
#define SOCKETS_A_PEER 3
#define SOCKETS_BESIDE 64
/** Frames up to this are dropped and counted; a longer one ends the peer's
 *  connection before it is read. */
#define WIRE_FRAME_MAX  (4 * EPI_MESSAGE_MAX)
#define LINGER_MS       100
#define HANDSHAKE_MS    3000
#define RECONNECT_MS    50
#define RECONNECT_LATER 1000

epdx_status_t epi_socket_failed(const char *what, const char *where)
{
    return epi_fail(EPDX_ERR_IO, "%s %s: %s", what, where,
                    zmq_strerror(zmq_errno()));
}

static bool set_int(void *socket, int option, int value)
{
    return zmq_setsockopt(socket, option, &value, sizeof(value)) == 0;
}

/** A silent peer gets a ping within a third of the limit, and two thirds to
 *  answer it. */
static bool set_heartbeat(void *socket, uint64_t heartbeat_ns)
{
    uint64_t ms = heartbeat_ns / EPI_MS;
    int third;

    if (ms == 0) {
        return true;
    }
    third = ms > 3000000 ? 1000000 : (int)(ms / 3);
    third = third > 0 ? third : 1;
    return set_int(socket, ZMQ_HEARTBEAT_IVL, third) &&
           set_int(socket, ZMQ_HEARTBEAT_TIMEOUT, 2 * third) &&
           set_int(socket, ZMQ_HEARTBEAT_TTL, 3 * third);
}

bool epi_socket_set_up(void *socket, const char *host, uint64_t heartbeat_ns)
{
    int64_t frame_max = (int64_t)WIRE_FRAME_MAX;

    return set_int(socket, ZMQ_LINGER, LINGER_MS) &&
           set_int(socket, ZMQ_SNDHWM, QUEUE_MAX) &&
           set_int(socket, ZMQ_RCVHWM, QUEUE_MAX) &&
           set_int(socket, ZMQ_HANDSHAKE_IVL, HANDSHAKE_MS) &&
           set_int(socket, ZMQ_RECONNECT_IVL, RECONNECT_MS) &&
           set_int(socket, ZMQ_RECONNECT_IVL_MAX, RECONNECT_LATER) &&
           set_int(socket, ZMQ_IMMEDIATE, 0) &&
           set_int(socket, ZMQ_IPV6, strchr(host, ':') != NULL) &&
           zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &frame_max,
                          sizeof(frame_max)) == 0 &&
           set_heartbeat(socket, heartbeat_ns);
}

/** ZeroMQ reads more into an address than a host: "source;target", "*",
 *  interface names with marks. Only what a host is made of goes through. */
bool epi_socket_host_plain(const char *host)
{
    if (epi_address_wildcard(host)) {
        return false;
    }
    for (const char *at = host; *at != '\0'; at++) {
        if (!isalnum((unsigned char)*at) && strchr(".-_:", *at) == NULL) {
            return false;
        }
    }
    return true;
}

bool epi_socket_host_numeric(const char *host)
{
    unsigned char binary[sizeof(struct in6_addr)];

    return inet_pton(AF_INET, host, binary) == 1 ||
           inet_pton(AF_INET6, host, binary) == 1;
}

bool epi_socket_endpoint(const char *host, uint16_t port, char *out,
                         size_t size)
{
    int length = snprintf(out, size, "tcp://");

    return epi_address_format(host, port, out + length, size - (size_t)length);
}

bool epi_socket_port(void *pull, uint16_t *port_p)
{
    char endpoint[EPI_SOCKET_ENDPOINT_MAX];
    size_t size = sizeof(endpoint);
    const char *colon;
    uint64_t port;

    if (zmq_getsockopt(pull, ZMQ_LAST_ENDPOINT, endpoint, &size) != 0) {
        return false;
    }
    colon = strrchr(endpoint, ':');
    if (colon == NULL || !epi_text_number(colon + 1, UINT16_MAX, &port)) {
        return false;
    }
    *port_p = (uint16_t)port;
    return true;
}

epdx_status_t epi_socket_context(size_t peer_max, void **context_p)
{
    size_t wanted = SOCKETS_A_PEER * peer_max + SOCKETS_BESIDE;
    void *context = zmq_ctx_new();
    int limit;

    if (context == NULL) {
        return epi_fail(EPDX_ERR_NO_MEMORY, "no memory for a ZeroMQ context");
    }
    limit = zmq_ctx_get(context, ZMQ_SOCKET_LIMIT);
    if (limit > 0 && wanted > (size_t)limit) {
        wanted = (size_t)limit;
    }
    if (zmq_ctx_set(context, ZMQ_IO_THREADS, 1) != 0 ||
        zmq_ctx_set(context, ZMQ_MAX_SOCKETS, (int)wanted) != 0) {
        epdx_status_t status =
            epi_socket_failed("cannot set up", "a ZeroMQ context");

        (void)zmq_ctx_term(context);
        return status;
    }
    *context_p = context;
    return EPDX_OK;
}

bool epi_socket_frame(void *socket, void *part)
{
    int rc;

    do {
        rc = zmq_msg_recv(part, socket, ZMQ_DONTWAIT);
    } while (rc < 0 && zmq_errno() == EINTR);
    return rc >= 0;
}

static bool send_frame(void *socket, const void *bytes, size_t length, int more)
{
    int rc;

    do {
        rc = zmq_send(socket, bytes, length, ZMQ_DONTWAIT | more);
    } while (rc < 0 && zmq_errno() == EINTR);
    return rc >= 0;
}

static void take_user(zmq_msg_t *part, char user[EPI_SOCKET_USER_MAX])
{
    const char *text = zmq_msg_gets(part, "User-Id");

    (void)epi_text_copy(user, EPI_SOCKET_USER_MAX, text != NULL ? text : "");
}

bool epi_socket_take(void *socket, epi_message_t *message_p,
                     char user[EPI_SOCKET_USER_MAX], bool *fits_p)
{
    zmq_msg_t part;
    bool more = true;

    epi_message_clear(message_p);
    *fits_p = true;
    while (more) {
        (void)zmq_msg_init(&part);
        if (!epi_socket_frame(socket, &part)) {
            /* All frames of a message come together, so this is the first. */
            (void)zmq_msg_close(&part);
            return false;
        }
        if (*fits_p && !epi_message_add(message_p, zmq_msg_data(&part),
                                        zmq_msg_size(&part))) {
            *fits_p = false;
        }
        more = zmq_msg_more(&part) != 0;
        if (user != NULL && !more) {
            take_user(&part, user);
        }
        (void)zmq_msg_close(&part);
    }
    return true;
}

bool epi_socket_send(void *socket, const epi_message_t *message)
{
    bool lost = false;

    for (size_t i = 0; i < message->count; i++) {
        int more = i + 1 < message->count ? ZMQ_SNDMORE : 0;

        if (send_frame(socket, message->bytes + message->start[i],
                       message->length[i], more)) {
            continue;
        }
        lost = true;
        if (i == 0) {
            break;
        }
        /* A connection that ends between two frames makes libzmq swallow the
         * rest of the message, which it must be given to be done with it. */
    }
    return !lost;
}
