/*
 * control.c: control messages over ZeroMQ. The I/O thread's.
 *
 *     PUSH a peer ----> its PULL       sends, without waiting
 *       '- monitor --> epoll set       its connection's ups and downs
 *     PULL <---- all peers' PUSH       what they send
 *       '- access --> epoll set        who may, and who was refused
 *
 * The monitors' descriptors stand in one epoll set, so that waiting and
 * looking cost the same however many peers there are: two descriptors to wait
 * for, and only monitors that have something are read.
 */
#include "control/control.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <zmq.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "control/access.h"
#include "control/control_monitor.h"
#include "control/control_socket.h"

/** Messages in a row after which the monitors are looked at. */
#define MESSAGE_BURST 64
#define READY_MAX     16
#define NO_PEER       UINT32_MAX
/** In the epoll set, beside the peers' numbers. */
#define ACCESS (UINT32_MAX - 1)
#define PULL   (UINT32_MAX - 2)

typedef struct peer {
    void *push; /* NULL: a free slot */
    epi_monitor_t monitor;
    bool up;
    bool ended; /* libzmq will not connect again: connect before a send */
    uint32_t next_free;
    char endpoint[EPI_SOCKET_ENDPOINT_MAX];
} peer_t;

struct epi_control {
    void *context;
    epi_access_t access;
    void *pull;
    bool stirred; /* pull may have a message: a look in vain costs calls */
    int epoll_fd;
    uint16_t port;
    uint64_t heartbeat_ns;
    uint64_t dropped;
    uint64_t serial; /* of monitors */
    unsigned burst;
    uint32_t ready[READY_MAX]; /* peers whose monitor is being read */
    size_t ready_count, ready_at;
    size_t peer_max;
    uint32_t first_free;
    peer_t *peers;
};

static epdx_status_t epoll_watch(const epi_control_t *control, int fd,
                                 uint32_t index)
{
    struct epoll_event wanted = {.events = EPOLLIN, .data.u32 = index};

    if (epoll_ctl(control->epoll_fd, EPOLL_CTL_ADD, fd, &wanted) != 0) {
        return epi_fail(EPDX_ERR_IO, "cannot wait for a control socket: %s",
                        strerror(errno));
    }
    return EPDX_OK;
}

static epdx_status_t access_wait(const epi_control_t *control)
{
    epdx_status_t status =
        epoll_watch(control, control->access.door.fd, ACCESS);

    if (status == EPDX_OK && control->access.zap_fd >= 0) {
        status = epoll_watch(control, control->access.zap_fd, ACCESS);
    }
    return status;
}

static epdx_status_t pull_open(epi_control_t *control, const char *host)
{
    char endpoint[EPI_SOCKET_ENDPOINT_MAX];
    int fd = -1;
    size_t size = sizeof(fd);
    epdx_status_t status;

    if (!epi_socket_endpoint(host, 0, endpoint, sizeof(endpoint))) {
        return epi_fail(EPDX_ERR_INVALID, "control host \"%s\" is too long",
                        host);
    }
    control->pull = zmq_socket(control->context, ZMQ_PULL);
    if (control->pull == NULL ||
        !epi_socket_set_up(control->pull, host, control->heartbeat_ns)) {
        return epi_socket_failed("cannot open the control socket for", host);
    }
    status =
        epi_access_guard(&control->access, control->context, control->pull);
    if (status == EPDX_OK) {
        status = access_wait(control);
    }
    if (status != EPDX_OK) {
        return status;
    }
    if (zmq_bind(control->pull, endpoint) != 0) {
        return epi_socket_failed("cannot bind a control socket to", host);
    }
    if (!epi_socket_port(control->pull, &control->port) ||
        zmq_getsockopt(control->pull, ZMQ_FD, &fd, &size) != 0) {
        return epi_socket_failed("cannot read the control socket's port on",
                                 host);
    }
    control->stirred = true; /* what came before it is watched */
    return epoll_watch(control, fd, PULL);
}

static void peers_init(epi_control_t *control)
{
    for (size_t i = 0; i < control->peer_max; i++) {
        control->peers[i].next_free =
            i + 1 < control->peer_max ? (uint32_t)(i + 1) : NO_PEER;
    }
    control->first_free = 0;
}

static epdx_status_t parts_open(epi_control_t *control,
                                const epi_control_params_t *params)
{
    epdx_status_t status = epi_access_open(&control->access, params->key_file,
                                           params->allowed_file);

    if (status != EPDX_OK) {
        return status;
    }
    control->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (control->epoll_fd < 0) {
        return epi_fail(EPDX_ERR_IO, "cannot open an epoll set: %s",
                        strerror(errno));
    }
    status = epi_socket_context(control->peer_max, &control->context);
    return status != EPDX_OK ? status : pull_open(control, params->host);
}

epdx_status_t epi_control_open(const epi_control_params_t *params,
                               epi_control_t **control_p)
{
    epi_control_t *control;
    epdx_status_t status;

    if (params->peer_max == 0 || params->peer_max >= ACCESS ||
        params->host == NULL || epi_address_wildcard(params->host) ||
        !epi_socket_host_numeric(params->host)) {
        return epi_fail(EPDX_ERR_INVALID,
                        "control host \"%s\" is not a numeric address of one "
                        "interface, or no peers are allowed",
                        params->host != NULL ? params->host : "");
    }
    control = calloc(1, sizeof(*control));
    if (control == NULL) {
        return epi_fail(EPDX_ERR_NO_MEMORY, "no memory for control sockets");
    }
    control->epoll_fd = -1;
    control->heartbeat_ns = params->heartbeat_ns;
    control->peer_max = params->peer_max;
    control->peers = calloc(params->peer_max, sizeof(*control->peers));
    if (control->peers == NULL) {
        free(control);
        return epi_fail(EPDX_ERR_NO_MEMORY,
                        "no memory for %zu control peers (EPDX_MAX_PEERS)",
                        params->peer_max);
    }
    peers_init(control);
    status = parts_open(control, params);
    if (status != EPDX_OK) {
        epi_control_close(control);
        return status;
    }
    epi_access_tell(&control->access, params->host);
    *control_p = control;
    return EPDX_OK;
}

uint16_t epi_control_port(const epi_control_t *control)
{
    return control->port;
}

const char *epi_control_key(const epi_control_t *control)
{
    return control->access.pair.public_key;
}

void epi_control_close(epi_control_t *control)
{
    if (control == NULL) {
        return;
    }
    for (size_t i = 0; i < control->peer_max; i++) {
        if (control->peers[i].push != NULL) {
            epi_control_disconnect(control, (uint32_t)i);
        }
    }
    epi_access_close(&control->access);
    if (control->pull != NULL) {
        (void)zmq_close(control->pull);
    }
    if (control->context != NULL) {
        while (zmq_ctx_term(control->context) != 0 && zmq_errno() == EINTR) {
        }
    }
    if (control->epoll_fd >= 0) {
        (void)close(control->epoll_fd);
    }
    free(control->peers);
    free(control);
}

static epdx_status_t watch(epi_control_t *control, uint32_t index)
{
    peer_t *peer = &control->peers[index];
    epdx_status_t status =
        epi_monitor_open(control->context, peer->push, EPI_MONITOR_ALL,
                         control->serial++, &peer->monitor);

    if (status != EPDX_OK) {
        return status;
    }
    status = epoll_watch(control, peer->monitor.fd, index);
    if (status != EPDX_OK) {
        epi_monitor_close(&peer->monitor, peer->push);
    }
    return status;
}

static void unwatch(epi_control_t *control, uint32_t index)
{
    peer_t *peer = &control->peers[index];

    for (size_t i = control->ready_at; i < control->ready_count; i++) {
        if (control->ready[i] == index) {
            control->ready[i] = NO_PEER;
        }
    }
    (void)epoll_ctl(control->epoll_fd, EPOLL_CTL_DEL, peer->monitor.fd, NULL);
    epi_monitor_close(&peer->monitor, peer->push);
}

/** The monitor stands before the connection begins, so that it misses none. */
static epdx_status_t peer_connect(epi_control_t *control, uint32_t index,
                                  const char *host, const char *server_key)
{
    peer_t *peer = &control->peers[index];
    epdx_status_t status;

    peer->push = zmq_socket(control->context, ZMQ_PUSH);
    if (peer->push == NULL) {
        return epi_socket_failed("cannot open a control socket for",
                                 peer->endpoint);
    }
    if (!epi_socket_set_up(peer->push, host, control->heartbeat_ns)) {
        status =
            epi_socket_failed("cannot set up a socket for", peer->endpoint);
        goto err_close_push;
    }
    status = epi_access_join(&control->access, peer->push, server_key);
    if (status == EPDX_OK) {
        status = watch(control, index);
    }
    if (status != EPDX_OK) {
        goto err_close_push;
    }
    if (zmq_connect(peer->push, peer->endpoint) == 0) {
        return EPDX_OK;
    }
    status = epi_fail(zmq_errno() == EINVAL ? EPDX_ERR_INVALID : EPDX_ERR_IO,
                      "cannot connect to %s: %s", peer->endpoint,
                      zmq_strerror(zmq_errno()));
    unwatch(control, index);

err_close_push:
    (void)zmq_close(peer->push);
    peer->push = NULL;
    return status;
}

epdx_status_t epi_control_connect(epi_control_t *control, const char *host,
                                  uint16_t port, uint32_t *peer_p)
{
    return epi_control_connect_key(control, host, port, "", peer_p);
}

epdx_status_t epi_control_connect_key(epi_control_t *control, const char *host,
                                      uint16_t port, const char *server_key,
                                      uint32_t *peer_p)
{
    uint32_t index = control->first_free;
    epdx_status_t status;
    peer_t *peer;

    if (port == 0 || !epi_socket_host_plain(host) ||
        strlen(host) > EPDX_ADDRESS_MAX) {
        return epi_fail(EPDX_ERR_INVALID,
                        "control address \"%.64s\" port %u is not one host's",
                        host, (unsigned)port);
    }
    if (index == NO_PEER) {
        return epi_fail(EPDX_ERR_FULL,
                        "%zu control peers are connected (EPDX_MAX_PEERS)",
                        control->peer_max);
    }
    peer = &control->peers[index];
    if (!epi_socket_endpoint(host, port, peer->endpoint,
                             sizeof(peer->endpoint))) {
        return epi_fail(EPDX_ERR_INVALID, "control host \"%.64s\" is too long",
                        host);
    }
    status = peer_connect(control, index, host, server_key);
    if (status != EPDX_OK) {
        return status;
    }
    peer->up = false;
    peer->ended = false;
    control->first_free = peer->next_free;
    *peer_p = index;
    return EPDX_OK;
}

static peer_t *peer_find(epi_control_t *control, uint32_t peer)
{
    if (peer >= control->peer_max || control->peers[peer].push == NULL) {
        return NULL;
    }
    return &control->peers[peer];
}

void epi_control_disconnect(epi_control_t *control, uint32_t peer)
{
    peer_t *gone = peer_find(control, peer);

    if (gone == NULL) {
        return;
    }
    unwatch(control, peer);
    (void)zmq_close(gone->push);
    gone->push = NULL;
    gone->next_free = control->first_free;
    control->first_free = peer;
}

epdx_status_t epi_control_send(epi_control_t *control, uint32_t peer,
                               const epi_message_t *message)
{
    peer_t *to = peer_find(control, peer);

    if (to == NULL || message->count == 0) {
        return epi_fail(EPDX_ERR_INVALID, "no control peer %u, or no frames",
                        (unsigned)peer);
    }
    if (to->ended) {
        /* Else libzmq keeps a note of each connection that ended so. */
        (void)zmq_disconnect(to->push, to->endpoint);
        to->ended = zmq_connect(to->push, to->endpoint) != 0;
    }
    if (!epi_socket_send(to->push, message)) {
        return epi_fail(EPDX_ERR_FULL, "control queue to %s is full",
                        to->endpoint);
    }
    return EPDX_OK;
}

static bool next_message(epi_control_t *control, epi_control_event_t *event_p)
{
    bool fits;

    while (control->stirred) {
        if (!epi_socket_take(control->pull, &event_p->message, event_p->key,
                             &fits)) {
            control->stirred = false;
        } else if (fits && epi_access_holds(&control->access, event_p->key,
                                            epi_now_ns())) {
            event_p->kind = EPI_CONTROL_MESSAGE;
            event_p->peer = NO_PEER;
            return true;
        } else {
            control->dropped++;
        }
    }
    return false;
}

/** Look what has something; false when no monitor has. */
static bool monitors_ready(epi_control_t *control)
{
    struct epoll_event events[READY_MAX];
    int count = epoll_wait(control->epoll_fd, events, READY_MAX, 0);

    control->ready_at = 0;
    control->ready_count = 0;
    for (int i = 0; i < count; i++) {
        if (events[i].data.u32 == PULL) {
            control->stirred = true;
        } else {
            control->ready[control->ready_count++] = events[i].data.u32;
        }
    }
    return control->ready_count > 0;
}

/** What a monitor's event means to the peer's owner; false: nothing. */
static bool peer_turned(peer_t *peer, epi_monitor_event_t what,
                        epi_control_event_kind_t *kind_p)
{
    bool was_up = peer->up;

    peer->up = what == EPI_MONITOR_UP;
    *kind_p = peer->up ? EPI_CONTROL_PEER_UP : EPI_CONTROL_PEER_DOWN;
    if (what == EPI_MONITOR_ENDED) {
        peer->ended = true;
        if (!was_up) {
            *kind_p = EPI_CONTROL_PEER_REFUSED;
            return true;
        }
    }
    return peer->up != was_up;
}

static bool next_turn(epi_control_t *control, epi_control_event_t *event_p)
{
    while (control->ready_at < control->ready_count ||
           monitors_ready(control)) {
        uint32_t index = control->ready[control->ready_at];
        peer_t *peer = peer_find(control, index);
        epi_monitor_event_t what = EPI_MONITOR_NONE;

        if (index == ACCESS) {
            epi_access_work(&control->access, epi_now_ns());
        }
        if (peer != NULL) {
            what = epi_monitor_next(&peer->monitor);
        }
        if (what == EPI_MONITOR_NONE) {
            control->ready_at++;
            continue;
        }
        if (peer_turned(peer, what, &event_p->kind)) {
            event_p->peer = index;
            return true;
        }
    }
    return false;
}

bool epi_control_next(epi_control_t *control, epi_control_event_t *event_p)
{
    if (control->burst < MESSAGE_BURST && next_message(control, event_p)) {
        control->burst++;
        return true;
    }
    control->burst = 0;
    if (next_turn(control, event_p)) {
        return true;
    }
    return next_message(control, event_p);
}

uint64_t epi_control_dropped(const epi_control_t *control)
{
    return control->dropped;
}

uint64_t epi_control_refused(const epi_control_t *control)
{
    return control->access.refused;
}

int epi_control_wait_fd(epi_control_t *control, bool *ready_p)
{
    int events = 0;
    size_t size = sizeof(events);

    /* Reading the events also takes the commands that made the descriptor
     * readable: only now does it tell of what comes later. */
    control->stirred =
        zmq_getsockopt(control->pull, ZMQ_EVENTS, &events, &size) != 0 ||
        (events & ZMQ_POLLIN) != 0;
    if (control->stirred || control->ready_at < control->ready_count) {
        *ready_p = true;
    }
    return control->epoll_fd;
}
