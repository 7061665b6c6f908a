/*
 * ucx_conn.c: the listener and the connections of the plane over UCX: peers,
 * which we made, and links, which we accepted. For the plane's thread.
 *
 * Both live in one array of slots and are found by endpoint through one table.
 * The error callback only marks: an endpoint is never closed from within a
 * callback of its own, but by epi_ucx_attend() after it.
 */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "base/random.h"
#include "dataplane/ucx_internal.h"

#define SLOTS_FIRST 64U

bool epi_ucx_sockaddr(const char *host, uint16_t port,
                      struct sockaddr_storage *address_p, socklen_t *bytes_p)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6,
                              .sin6_port = htons(port)};

    memset(address_p, 0, sizeof(*address_p));
    if (inet_pton(AF_INET, host, &v4.sin_addr) == 1) {
        memcpy(address_p, &v4, sizeof(v4));
        *bytes_p = sizeof(v4);
        return true;
    }
    if (inet_pton(AF_INET6, host, &v6.sin6_addr) == 1) {
        memcpy(address_p, &v6, sizeof(v6));
        *bytes_p = sizeof(v6);
        return true;
    }
    return false;
}

void epi_ucx_name(const struct sockaddr_storage *address, char *out,
                  size_t size)
{
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    char host[INET6_ADDRSTRLEN] = "";
    uint16_t port = 0;

    if (address->ss_family == AF_INET) {
        memcpy(&v4, address, sizeof(v4));
        (void)inet_ntop(AF_INET, &v4.sin_addr, host, sizeof(host));
        port = ntohs(v4.sin_port);
    } else if (address->ss_family == AF_INET6) {
        memcpy(&v6, address, sizeof(v6));
        (void)inet_ntop(AF_INET6, &v6.sin6_addr, host, sizeof(host));
        port = ntohs(v6.sin6_port);
    }
    if (host[0] == '\0' || !epi_address_format(host, port, out, size)) {
        (void)epi_text_copy(out, size, "?");
    }
}

static epdx_status_t grow_slots(epi_ucx_plane_t *plane)
{
    uint32_t count =
        plane->conn_slots == 0 ? SLOTS_FIRST : plane->conn_slots * 2;
    epi_ucx_conn_t **conns;
    epi_table_t table = {0};
    epdx_status_t status;

    if (count > EPI_UCX_CONN_MAX) {
        return epi_fail(EPDX_ERR_NO_MEMORY,
                        "data plane: more than %d connections",
                        EPI_UCX_CONN_MAX);
    }
    status = epi_table_init(&table, count, epi_random_u64());
    if (status != EPDX_OK) {
        return status;
    }
    conns = realloc(plane->conns, count * sizeof(epi_ucx_conn_t *));
    if (conns == NULL) {
        epi_table_fini(&table);
        return epi_fail(EPDX_ERR_NO_MEMORY,
                        "data plane: no memory for %u connections", count);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (i >= plane->conn_slots) {
            conns[i] = NULL;
        } else if (conns[i] != NULL && conns[i]->ep != NULL) {
            /* The new table has room for all of them. */
            (void)!epi_table_add(&table, (uintptr_t)conns[i]->ep, i);
        }
    }
    epi_table_fini(&plane->by_ep);
    plane->by_ep = table;
    plane->conns = conns;
    plane->conn_slots = count;
    return EPDX_OK;
}

static epdx_status_t find_slot(epi_ucx_plane_t *plane, uint32_t *slot_p)
{
    uint32_t slot = 0;
    epdx_status_t status = EPDX_OK;

    while (slot < plane->conn_slots && plane->conns[slot] != NULL) {
        slot++;
    }
    if (slot == plane->conn_slots) {
        status = grow_slots(plane);
    }
    if (status == EPDX_OK) {
        *slot_p = slot;
    }
    return status;
}

static epdx_status_t new_conn(epi_ucx_plane_t *plane, epi_ucx_conn_t **conn_p)
{
    epi_ucx_conn_t *conn;
    uint32_t slot;
    epdx_status_t status = find_slot(plane, &slot);

    if (status != EPDX_OK) {
        return status;
    }
    conn = calloc(1, sizeof(*conn));
    if (conn == NULL) {
        return epi_fail(EPDX_ERR_NO_MEMORY,
                        "data plane: no memory for a connection");
    }
    conn->plane = plane;
    conn->slot = slot;
    conn->link = ++plane->link_count * EPI_UCX_CONN_MAX + slot;
    plane->conns[slot] = conn;
    *conn_p = conn;
    return EPDX_OK;
}

static void free_conn(epi_ucx_conn_t *conn)
{
    epi_ucx_unview(conn);
    conn->plane->conns[conn->slot] = NULL;
    free(conn);
}

epi_ucx_conn_t *epi_ucx_conn_of_ep(const epi_ucx_plane_t *plane, ucp_ep_h ep)
{
    uint32_t slot;

    if (plane->conn_slots == 0 ||
        !epi_table_find(&plane->by_ep, (uintptr_t)ep, &slot)) {
        return NULL;
    }
    return plane->conns[slot];
}

epi_ucx_conn_t *epi_ucx_conn_of_param(const epi_ucx_plane_t *plane,
                                      const ucp_am_recv_param_t *param)
{
    if ((param->recv_attr & UCP_AM_RECV_ATTR_FIELD_REPLY_EP) == 0) {
        return NULL;
    }
    return epi_ucx_conn_of_ep(plane, param->reply_ep);
}

/* An id tells its slot, and how many connections there were before it. */
epi_ucx_conn_t *epi_ucx_conn_of_id(const epi_ucx_plane_t *plane, uint64_t id)
{
    uint64_t slot = id % EPI_UCX_CONN_MAX;
    epi_ucx_conn_t *conn = slot < plane->conn_slots ? plane->conns[slot] : NULL;

    return conn != NULL && conn->link == id ? conn : NULL;
}

epi_ucx_conn_t *epi_ucx_conn_of_link(const epi_ucx_plane_t *plane,
                                     uint64_t link)
{
    epi_ucx_conn_t *conn = epi_ucx_conn_of_id(plane, link);

    return conn != NULL && conn->accepted ? conn : NULL;
}

static void on_error(void *arg, ucp_ep_h ep, ucs_status_t status)
{
    epi_ucx_plane_t *plane = arg;
    epi_ucx_conn_t *conn = epi_ucx_conn_of_ep(plane, ep);

    if (conn != NULL && !conn->failed) {
        conn->failed = true;
        conn->cause = status;
        plane->attention = true;
    }
}

/** Create the endpoint that params, but for its error handling, describe. */
static ucs_status_t open_ep(epi_ucx_conn_t *conn, ucp_ep_params_t *params)
{
    epi_ucx_plane_t *plane = conn->plane;
    ucs_status_t status;

    params->field_mask |=
        UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
    params->err_mode = UCP_ERR_HANDLING_MODE_PEER;
    params->err_handler.cb = on_error;
    params->err_handler.arg = plane;
    status = ucp_ep_create(plane->worker, params, &conn->ep);
    if (status != UCS_OK) {
        conn->ep = NULL;
        return status;
    }
    /* Cannot fail: the table has room for every slot, and an endpoint that
     * lives has an address of its own. */
    (void)!epi_table_add(&plane->by_ep, (uintptr_t)conn->ep, conn->slot);
    return UCS_OK;
}

/** Force the endpoint shut. What was under way completes from progress. */
static void shut(epi_ucx_conn_t *conn)
{
    ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS,
                                 .flags = UCP_EP_CLOSE_FLAG_FORCE};
    ucp_ep_h ep = conn->ep;
    ucs_status_ptr_t request;

    if (ep == NULL) {
        return;
    }
    conn->ep = NULL;
    (void)epi_table_remove(&conn->plane->by_ep, (uintptr_t)ep);
    request = ucp_ep_close_nbx(ep, &param);
    if (UCS_PTR_IS_ERR(request)) {
        epi_log_error("data plane: cannot close the connection with %s: %s",
                      conn->name, ucs_status_string(UCS_PTR_STATUS(request)));
    } else if (request != NULL) {
        /* Its end is seen by what was under way; UCX frees it after that. */
        ucp_request_free(request);
    }
    if (conn->complaints > 1) {
        epi_log_warn("data plane: %s sent %llu messages that were refused",
                     conn->name, (unsigned long long)conn->complaints);
    }
}

static void end_failed(epi_ucx_conn_t *conn)
{
    epi_dp_note_t note = {.kind = EPI_DP_PEER_DOWN,
                          .status = EPDX_ERR_UNREACHABLE,
                          .cookie = conn->cookie,
                          .subject = conn};

    epi_log_info("data plane: connection %s %s ended: %s",
                 conn->accepted ? "from" : "to", conn->name,
                 ucs_status_string(conn->cause));
    shut(conn);
    if (conn->accepted) {
        free_conn(conn);
    } else {
        epi_dp_events_push(&conn->plane->events, &note);
    }
}

bool epi_ucx_attend(epi_ucx_plane_t *plane)
{
    if (!plane->attention) {
        return false;
    }
    plane->attention = false;
    for (uint32_t i = 0; i < plane->conn_slots; i++) {
        epi_ucx_conn_t *conn = plane->conns[i];

        if (conn == NULL || conn->ep == NULL) {
            continue;
        }
        if (conn->failed) {
            end_failed(conn);
        } else if (conn->accepted) {
            epi_ucx_view(conn);
        }
    }
    return true;
}

void epi_ucx_shut_all(epi_ucx_plane_t *plane)
{
    for (uint32_t i = 0; i < plane->conn_slots; i++) {
        if (plane->conns[i] != NULL) {
            epi_ucx_unview(plane->conns[i]);
            shut(plane->conns[i]);
        }
    }
}

void epi_ucx_conns_fini(epi_ucx_plane_t *plane)
{
    for (uint32_t i = 0; i < plane->conn_slots; i++) {
        free(plane->conns[i]);
    }
    free(plane->conns);
    epi_table_fini(&plane->by_ep);
}

static void name_request(ucp_conn_request_h request, char *out, size_t size)
{
    ucp_conn_request_attr_t attr = {
        .field_mask = UCP_CONN_REQUEST_ATTR_FIELD_CLIENT_ADDR};

    if (ucp_conn_request_query(request, &attr) == UCS_OK) {
        epi_ucx_name(&attr.client_address, out, size);
    } else {
        (void)epi_text_copy(out, size, "?");
    }
}

static void on_request(ucp_conn_request_h request, void *arg)
{
    epi_ucx_plane_t *plane = arg;
    ucp_ep_params_t params = {.field_mask = UCP_EP_PARAM_FIELD_CONN_REQUEST,
                              .conn_request = request};
    char name[EPI_UCX_ADDRESS_MAX];
    epi_ucx_conn_t *conn;
    ucs_status_t status;

    name_request(request, name, sizeof(name));
    if (plane->closing || new_conn(plane, &conn) != EPDX_OK) {
        epi_log_warn("data plane: a connection from %s is rejected: %s", name,
                     plane->closing ? "closing" : epdx_last_error());
        (void)ucp_listener_reject(plane->listener, request);
        return;
    }
    conn->accepted = true;
    memcpy(conn->name, name, sizeof(name));
    status = open_ep(conn, &params);
    if (status != UCS_OK) {
        epi_log_info("data plane: a connection from %s came to nothing: %s",
                     name, ucs_status_string(status));
        free_conn(conn);
    }
}

epdx_status_t epi_ucx_listen(epi_ucx_plane_t *plane)
{
    ucp_listener_params_t params = {
        .field_mask = UCP_LISTENER_PARAM_FIELD_SOCK_ADDR |
                      UCP_LISTENER_PARAM_FIELD_CONN_HANDLER,
        .sockaddr = {.addr = (const struct sockaddr *)&plane->host,
                     .addrlen = plane->host_bytes},
        .conn_handler = {.cb = on_request, .arg = plane},
    };
    ucp_listener_attr_t attr = {.field_mask = UCP_LISTENER_ATTR_FIELD_SOCKADDR};
    ucs_status_t status =
        ucp_listener_create(plane->worker, &params, &plane->listener);

    if (status != UCS_OK) {
        plane->listener = NULL;
        return epi_fail(EPDX_ERR_IO,
                        "data plane: cannot listen: %s; EPDX_HOST must be an "
                        "address of this host",
                        ucs_status_string(status));
    }
    status = ucp_listener_query(plane->listener, &attr);
    if (status != UCS_OK) {
        return epi_fail(EPDX_ERR_IO, "data plane: cannot tell its port: %s",
                        ucs_status_string(status));
    }
    epi_ucx_name(&attr.sockaddr, plane->address, sizeof(plane->address));
    epi_ucx_gate(plane);
    return EPDX_OK;
}

epdx_status_t epi_ucx_connect(epi_dataplane_t *dp, const char *address,
                              uint64_t cookie, epi_dp_peer_t **peer_p)
{
    epi_ucx_plane_t *plane = epi_ucx_plane(dp);
    ucp_ep_params_t params = {
        .field_mask = UCP_EP_PARAM_FIELD_FLAGS | UCP_EP_PARAM_FIELD_SOCK_ADDR |
                      UCP_EP_PARAM_FIELD_LOCAL_SOCK_ADDR,
        .flags = UCP_EP_PARAMS_FLAGS_CLIENT_SERVER,
        /* Not what the route would choose: the peer's gate knows this one. */
        .local_sockaddr = {.addr = (const struct sockaddr *)&plane->host,
                           .addrlen = plane->host_bytes},
    };
    struct sockaddr_storage to;
    epi_address_t parsed;
    epi_ucx_conn_t *conn;
    epdx_status_t result;
    ucs_status_t status;

    if (!epi_address_parse(address, &parsed) || parsed.port == 0 ||
        !epi_ucx_sockaddr(parsed.host, parsed.port, &to,
                          &params.sockaddr.addrlen)) {
        return epi_fail(EPDX_ERR_INVALID,
                        "data plane: \"%s\" is not a numeric host:port",
                        address);
    }
    if (to.ss_family != plane->family) {
        return epi_fail(EPDX_ERR_INVALID,
                        "data plane: %s and our %s are not of one family; "
                        "EPDX_HOST must be IPv6 at both ends or at none",
                        address, plane->address);
    }
    result = epi_dp_events_reserve(&plane->events);
    if (result != EPDX_OK) {
        return result;
    }
    result = new_conn(plane, &conn);
    if (result != EPDX_OK) {
        goto err_unreserve;
    }
    conn->cookie = cookie;
    (void)epi_text_copy(conn->name, sizeof(conn->name), address);
    params.sockaddr.addr = (const struct sockaddr *)&to;
    status = open_ep(conn, &params);
    if (status != UCS_OK) {
        result = epi_fail(epi_ucx_status(status),
                          "data plane: cannot connect to %s: %s; does the "
                          "host of EPDX_HOST (ours: %s) reach it?",
                          address, ucs_status_string(status), plane->address);
        goto err_free_conn;
    }
    conn->near = epi_ucx_near(conn);
    *peer_p = conn;
    return EPDX_OK;

err_free_conn:
    free_conn(conn);
err_unreserve:
    epi_dp_events_unreserve(&plane->events);
    return result;
}

void epi_ucx_disconnect(epi_dataplane_t *dp, epi_dp_peer_t *peer)
{
    epi_ucx_plane_t *plane = epi_ucx_plane(dp);

    if (peer == NULL) {
        return;
    }
    if (peer->ep != NULL) {
        epi_dp_events_unreserve(&plane->events); /* of EPI_DP_PEER_DOWN */
    } else {
        (void)epi_dp_events_forget(&plane->events, EPI_DP_PEER_DOWN, peer);
    }
    shut(peer);
    free_conn(peer);
}

void epi_ucx_drop(epi_dataplane_t *dp, uint64_t link)
{
    epi_ucx_conn_t *conn = epi_ucx_conn_of_link(epi_ucx_plane(dp), link);

    if (conn != NULL) {
        shut(conn);
        free_conn(conn);
    }
}
