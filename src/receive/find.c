/*
 * find.c: look-ups and connections of nodes.h: what begins them, what ends
 * them, and when they are tried again.
 *
 * A cookie of an HTTP exchange is the id of its timer: a node's index, or max
 * plus a peer's. An exchange is under way exactly while its node or peer is in
 * state ASKING, so an answer always finds who asked.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "receive/nodes.h"
#include "wire/control.h"

#define RETRY_FIRST_NS   (50 * EPI_MS)
#define RETRY_LAST_NS    (2 * EPI_S)
#define CONNECT_FIRST_NS (500 * EPI_MS)

/* The n-th try waits twice as long as the one before, 2 s at most. */
static uint64_t retry_delay(uint32_t tries)
{
    uint64_t delay = RETRY_FIRST_NS;

    for (uint32_t i = 1; i < tries && delay < RETRY_LAST_NS; i++) {
        delay *= 2;
    }
    return delay < RETRY_LAST_NS ? delay : RETRY_LAST_NS;
}

/* How long a connection may take to stand: at first not long, since a rank that
 * restarted is looked up at its old port until it has registered again. */
static uint64_t connect_limit(const epi_nodes_t *nodes, const epi_find_t *find)
{
    uint64_t most = nodes->shared->config.lookup_timeout_ns;
    uint64_t limit = CONNECT_FIRST_NS;

    for (uint32_t i = 0; i < find->tries && limit < most; i++) {
        limit *= 2;
    }
    return limit < most ? limit : most;
}

/* A try failed: note why, and set the timer of the next. */
static void find_failed(epi_nodes_t *nodes, epi_find_t *find, uint32_t timer,
                        uint64_t now)
{
    find->state = EPI_FIND_IDLE;
    find->tries++;
    if (find->tries == 1) {
        find->failing_ns = now;
        epi_log_warn("%s; it is tried again", find->error);
    }
    epi_timers_set(&nodes->timers, timer,
                   epi_after(now, retry_delay(find->tries)));
}

static bool exchange_start(epi_nodes_t *nodes, const char *bootstrap,
                           int64_t rank, int64_t group, uint32_t timer)
{
    char url[EPI_HTTP_URL_MAX];
    epi_http_request_t request = {
        .method = "GET",
        .url = url,
        .timeout_ns = nodes->shared->config.lookup_timeout_ns,
        .cookie = timer,
    };

    return epi_route_query_url(bootstrap, rank, group, url, sizeof(url)) ==
               EPDX_OK &&
           epi_http_start(nodes->http, &request) == EPDX_OK;
}

void epi_find_node(epi_nodes_t *nodes, uint32_t index, uint64_t now)
{
    epi_node_t *node = &nodes->nodes[index];

    if (node->find.state != EPI_FIND_IDLE ||
        epi_timers_is_set(&nodes->timers, index)) {
        return; /* under way, or its next try has a time */
    }
    if (exchange_start(nodes, node->address, -1, -1, index)) {
        node->find.state = EPI_FIND_ASKING;
        return;
    }
    epi_text_format(node->find.error, sizeof(node->find.error),
                    "look-up at %s: %s", node->address, epdx_last_error());
    find_failed(nodes, &node->find, index, now);
}

void epi_find_peer(epi_nodes_t *nodes, uint32_t index, uint64_t now)
{
    epi_peer_t *peer = &nodes->peers[index];
    uint32_t timer = nodes->max + index;
    uint32_t rank = nodes->shared->config.tp_rank / peer->fanout;

    if (peer->find.state != EPI_FIND_IDLE ||
        epi_timers_is_set(&nodes->timers, timer)) {
        return;
    }
    if (exchange_start(nodes, nodes->nodes[peer->node].address, rank,
                       peer->group, timer)) {
        peer->find.state = EPI_FIND_ASKING;
        return;
    }
    epi_text_format(peer->find.error, sizeof(peer->find.error),
                    "look-up of encode rank %" PRIu32 ": %s", rank,
                    epdx_last_error());
    find_failed(nodes, &peer->find, timer, now);
}

/* Why an answer is of no use; false when it is one to parse. */
static bool reply_useless(const epi_http_reply_t *reply, const char *address,
                          char *error, size_t size)
{
    if (reply->error[0] != '\0') {
        epi_text_format(error, size, "bootstrap server %s: %s", address,
                        reply->error);
        return true;
    }
    if (reply->code != 200) {
        epi_text_format(error, size, "bootstrap server %s answered HTTP %d%s",
                        address, reply->code,
                        reply->code == 503 ? ", not all encode ranks are in"
                                           : "");
        return true;
    }
    return false;
}

/* Why an answer did not parse, or that it means "not ready". */
static void reply_unread(epdx_status_t status, const char *address, char *error,
                         size_t size)
{
    epi_text_format(error, size, "bootstrap server %s %s%s", address,
                    status == EPDX_IN_PROGRESS ? "is not ready"
                                               : "answered nonsense: ",
                    status == EPDX_IN_PROGRESS ? "" : epdx_last_error());
}

static void node_reply(epi_nodes_t *nodes, uint32_t index,
                       const epi_http_reply_t *reply, uint64_t now)
{
    epi_node_t *node = &nodes->nodes[index];
    epi_find_t *find = &node->find;
    epdx_status_t status;

    if (!reply_useless(reply, node->address, find->error,
                       sizeof(find->error))) {
        status =
            epi_route_world_parse(reply->body, reply->body_bytes, &node->world);
        if (status == EPDX_OK) {
            find->state = EPI_FIND_DONE;
            find->tries = 0;
            epi_nodes_seat(nodes, index, now);
            return;
        }
        reply_unread(status, node->address, find->error, sizeof(find->error));
    }
    find_failed(nodes, find, index, now);
}

static bool peer_connect(epi_nodes_t *nodes, epi_peer_t *peer)
{
    if (epi_control_connect_key(nodes->control, peer->rank.address.host,
                                peer->rank.address.port, peer->rank.curve_key,
                                &peer->control) != EPDX_OK) {
        peer->control = EPI_NONE;
        epi_text_format(peer->find.error, sizeof(peer->find.error),
                        "encode rank %s: %s", peer->rank.address.host,
                        epdx_last_error());
        return false;
    }
    if (nodes->dp != NULL) {
        nodes->dp->ops->admit(nodes->dp, peer->rank.address.host);
    }
    return true;
}

static void peer_reply(epi_nodes_t *nodes, uint32_t index,
                       const epi_http_reply_t *reply, uint64_t now)
{
    epi_peer_t *peer = &nodes->peers[index];
    epi_find_t *find = &peer->find;
    const char *address = nodes->nodes[peer->node].address;
    epdx_status_t status;

    if (!reply_useless(reply, address, find->error, sizeof(find->error))) {
        status =
            epi_route_rank_parse(reply->body, reply->body_bytes, &peer->rank);
        if (status != EPDX_OK) {
            reply_unread(status, address, find->error, sizeof(find->error));
        } else if (peer_connect(nodes, peer)) {
            find->state = EPI_FIND_CONNECTING;
            nodes->peer_by_control[peer->control] = index;
            epi_timers_set(&nodes->timers, nodes->max + index,
                           epi_after(now, connect_limit(nodes, find)));
            return;
        }
    }
    find_failed(nodes, find, nodes->max + index, now);
    epi_nodes_unseat(nodes, index, now);
}

void epi_nodes_reply(epi_nodes_t *nodes, const epi_http_reply_t *reply,
                     uint64_t now)
{
    if (reply->cookie < nodes->max) {
        node_reply(nodes, (uint32_t)reply->cookie, reply, now);
    } else {
        peer_reply(nodes, (uint32_t)(reply->cookie - nodes->max), reply, now);
    }
}

/* Tell an encode rank who will ask, and of what kind the rows must be. */
epdx_status_t epi_nodes_register(const epi_nodes_t *nodes, uint32_t index)
{
    const epi_peer_t *peer = &nodes->peers[index];
    const epi_receive_config_t *config = &nodes->shared->config;
    epi_compat_t compat = {config->dtype, config->hidden, config->levels,
                           config->tp_size};
    epi_register_t in = {.status_port = epi_control_port(nodes->control),
                         .extended = true};
    epi_message_t message;
    epdx_status_t status;

    (void)epi_text_copy(in.endpoint, sizeof(in.endpoint), config->host);
    (void)epi_text_copy(in.session, sizeof(in.session), nodes->session);
    (void)epi_text_copy(in.instance, sizeof(in.instance), nodes->instance);
    epi_compat_format(&compat, in.compat, sizeof(in.compat));
    status = epi_register_format(&in, &message);
    return status != EPDX_OK
               ? status
               : epi_control_send(nodes->control, peer->control, &message);
}

/* Tell each item of a peer that it is up, or lost for the cause in words. An
 * item may leave the list while it is told. */
static void each_item(epi_nodes_t *nodes, const epi_peer_t *peer,
                      const char *words)
{
    uint32_t slot = peer->find.first_item;

    while (slot != EPI_NONE) {
        uint32_t next = nodes->shared->slots[slot].next;

        if (words == NULL) {
            nodes->events.item_up(nodes->events.self, slot);
        } else {
            nodes->events.item_lost(nodes->events.self, slot, words);
        }
        slot = next;
    }
}

void epi_nodes_control_up(epi_nodes_t *nodes, uint32_t control)
{
    uint32_t index = nodes->peer_by_control[control];
    epi_peer_t *peer = &nodes->peers[index];

    if (peer->find.state == EPI_FIND_CONNECTING) {
        epi_timers_clear(&nodes->timers, nodes->max + index);
        peer->find.state = EPI_FIND_DONE;
        peer->find.tries = 0;
        epi_log_info("encode rank %s:%u (instance %s) of %s is up",
                     peer->rank.address.host, peer->rank.address.port,
                     peer->rank.instance, nodes->nodes[peer->node].address);
        if (epi_nodes_register(nodes, index) != EPDX_OK) {
            /* Asks carry all that matters; they are checked on their own. */
            epi_log_warn("registration with %s:%u was not sent: %s",
                         peer->rank.address.host, peer->rank.address.port,
                         epdx_last_error());
        }
        each_item(nodes, peer, NULL);
    }
}

/* The connection is lost, or never stood: forget it, fail what was asked. */
static void peer_drop(epi_nodes_t *nodes, uint32_t index, uint64_t now)
{
    epi_peer_t *peer = &nodes->peers[index];
    bool was_up = peer->find.state == EPI_FIND_DONE;

    epi_control_disconnect(nodes->control, peer->control);
    peer->control = EPI_NONE;
    find_failed(nodes, &peer->find, nodes->max + index, now);
    if (was_up) {
        each_item(nodes, peer, peer->find.error);
    }
    epi_nodes_unseat(nodes, index, now);
}

static void control_lost(epi_nodes_t *nodes, uint32_t control,
                         const char *words, uint64_t now)
{
    uint32_t index = nodes->peer_by_control[control];
    epi_peer_t *peer = &nodes->peers[index];

    if (peer->control != control) {
        return;
    }
    epi_text_format(peer->find.error, sizeof(peer->find.error),
                    "encode rank %s:%u %s", peer->rank.address.host,
                    peer->rank.address.port, words);
    peer_drop(nodes, index, now);
}

void epi_nodes_control_down(epi_nodes_t *nodes, uint32_t control, uint64_t now)
{
    control_lost(nodes, control, "went away", now);
}

void epi_nodes_control_refused(epi_nodes_t *nodes, uint32_t control,
                               uint64_t now)
{
    control_lost(nodes, control,
                 "refused the connection: is this key in its "
                 "EPDX_CURVE_ALLOWED_FILE?",
                 now);
}

static void peer_due(epi_nodes_t *nodes, uint32_t index, uint64_t now)
{
    epi_peer_t *peer = &nodes->peers[index];

    if (peer->find.state == EPI_FIND_CONNECTING) {
        epi_text_format(peer->find.error, sizeof(peer->find.error),
                        "no connection to encode rank %s:%u in time",
                        peer->rank.address.host, peer->rank.address.port);
        peer_drop(nodes, index, now);
    } else if (peer->find.first_item != EPI_NONE) {
        epi_find_peer(nodes, index, now);
    }
}

bool epi_nodes_tick(epi_nodes_t *nodes, uint64_t now)
{
    uint32_t timer;
    bool done = false;

    while (epi_timers_expired(&nodes->timers, now, &timer)) {
        done = true;
        if (timer >= nodes->max) {
            peer_due(nodes, timer - nodes->max, now);
        } else if (nodes->nodes[timer].find.first_item != EPI_NONE) {
            epi_find_node(nodes, timer, now);
        }
    }
    return done;
}
