/*
 * ucx_worker.c: the data plane over UCX as a whole: opened, progressed, waited
 * for and closed. One thread; map and unmap also before it starts and after it
 * ended. One context and one worker, both private: MPI may use UCX as well.
 */
#include <arpa/inet.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "dataplane/ucx_internal.h"

/** What was under way ends within this, or is given up. */
#define CLOSE_LIMIT_NS (2 * EPI_S)
#define PROGRESS_BURST 16
#define STAY_CALLS     256 /* some 80 us */

static const char *ucx_address(epi_dataplane_t *dp)
{
    return epi_ucx_plane(dp)->address;
}

/** What UCX calls a kind of memory; EPDX_ERR_IO where this UCX cannot reach it:
 *  then it is not built for it. */
static epdx_status_t memory_type(const epi_ucx_plane_t *plane,
                                 const epi_memory_ops_t *memory,
                                 ucs_memory_type_t *type_p)
{
    ucp_context_attr_t attr = {.field_mask = UCP_ATTR_FIELD_MEMORY_TYPES};
    ucs_memory_type_t type = memory->kind == EPI_MEMORY_CUDA
                                 ? UCS_MEMORY_TYPE_CUDA
                                 : UCS_MEMORY_TYPE_HOST;

    if (type != UCS_MEMORY_TYPE_HOST &&
        (ucp_context_query(plane->context, &attr) != UCS_OK ||
         (attr.memory_types & UCS_BIT(type)) == 0)) {
        return epi_fail(EPDX_ERR_IO,
                        "data plane: this UCX does not reach %s memory",
                        memory->name);
    }
    *type_p = type;
    return EPDX_OK;
}

/** Whether UCX took the memory for what it was told that it is. */
static bool is_of_type(ucp_mem_h memh, ucs_memory_type_t type)
{
    ucp_mem_attr_t attr = {.field_mask = UCP_MEM_ATTR_FIELD_MEM_TYPE};

    return ucp_mem_query(memh, &attr) == UCS_OK && attr.mem_type == type;
}

static epdx_status_t map_memory(epi_ucx_plane_t *plane, epi_dp_region_t *region)
{
    ucp_mem_map_params_t params = {
        .field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS |
                      UCP_MEM_MAP_PARAM_FIELD_LENGTH |
                      UCP_MEM_MAP_PARAM_FIELD_MEMORY_TYPE,
        .address = region->base,
        .length = region->bytes,
        .memory_type = region->type,
    };
    ucs_status_t status = ucp_mem_map(plane->context, &params, &region->memh);

    if (status != UCS_OK) {
        return epi_fail(epi_ucx_status(status) == EPDX_ERR_NO_MEMORY
                            ? EPDX_ERR_NO_MEMORY
                            : EPDX_ERR_IO,
                        "data plane: cannot map %zu bytes: %s; is the limit of "
                        "locked memory (ulimit -l) large enough?",
                        region->bytes, ucs_status_string(status));
    }
    if (!is_of_type(region->memh, region->type)) {
        (void)ucp_mem_unmap(plane->context, region->memh);
        return epi_fail(EPDX_ERR_IO,
                        "data plane: UCX takes %zu bytes for memory of another "
                        "kind",
                        region->bytes);
    }
    return EPDX_OK;
}

static epdx_status_t ucx_map(epi_dataplane_t *dp,
                             const epi_memory_ops_t *memory, void *base,
                             size_t bytes, epi_dp_region_t **region_p)
{
    epi_ucx_plane_t *plane = epi_ucx_plane(dp);
    epi_dp_region_t *region = calloc(1, sizeof(*region));
    epdx_status_t status;

    if (region == NULL) {
        return epi_fail(EPDX_ERR_NO_MEMORY,
                        "data plane: no memory to map a region");
    }
    region->base = base;
    region->bytes = bytes;
    status = memory_type(plane, memory, &region->type);
    if (status == EPDX_OK) {
        status = map_memory(plane, region);
    }
    if (status != EPDX_OK) {
        free(region);
        return status;
    }
    plane->regions++;
    epi_ucx_share(plane, region);
    *region_p = region;
    return EPDX_OK;
}

static void ucx_unmap(epi_dataplane_t *dp, epi_dp_region_t *region)
{
    ucs_status_t status;

    if (region == NULL) {
        return;
    }
    epi_ucx_unshare(epi_ucx_plane(dp), region);
    epi_ucx_plane(dp)->regions--;
    status = ucp_mem_unmap(epi_ucx_plane(dp)->context, region->memh);
    if (status != UCS_OK) {
        epi_log_error("data plane: cannot unmap %zu bytes: %s", region->bytes,
                      ucs_status_string(status));
    }
    free(region);
}

/**
 * One call of UCX's moves little, so what stands around it would cost as much;
 * and the next bytes of a large payload come before a thread could sleep: with
 * it, 1 MiB over TCP went at 0.93 of a bare loop's speed, without at 0.85. What
 * is to be told is told first.
 */
static bool progress_on(epi_ucx_plane_t *plane)
{
    int moved = 0, in_vain = 0;

    do {
        if (ucp_worker_progress(plane->worker) > 0) {
            moved++;
            in_vain = 0;
        } else if (plane->large == 0 || ++in_vain == STAY_CALLS) {
            break;
        }
    } while (moved < PROGRESS_BURST && plane->events.count == 0);
    return moved > 0;
}

static bool ucx_progress(epi_dataplane_t *dp)
{
    epi_ucx_plane_t *plane = epi_ucx_plane(dp);
    bool done = progress_on(plane);

    done = epi_ucx_attend(plane) || done;
    return epi_ucx_copy(plane) || done;
}

static bool ucx_next(epi_dataplane_t *dp, epi_dp_event_t *event_p)
{
    const epi_dp_offer_t *offer;
    epi_dp_note_t note;

    if (!epi_dp_events_pop(&epi_ucx_plane(dp)->events, &note)) {
        epi_ucx_give_back(epi_ucx_plane(dp));
        return false;
    }
    event_p->kind = note.kind;
    event_p->status = note.status;
    event_p->cookie = note.cookie;
    event_p->offer = NULL;
    event_p->link = 0;
    event_p->header_bytes = 0;
    event_p->payload_bytes = 0;
    if (note.kind == EPI_DP_OFFER) {
        offer = note.subject;
        event_p->offer = (epi_dp_offer_t *)offer;
        event_p->link = offer->link;
        event_p->header_bytes = offer->header_bytes;
        memcpy(event_p->header, offer->header, offer->header_bytes);
        event_p->payload_bytes = offer->payload_bytes;
    }
    return true;
}

static int ucx_event_fd(epi_dataplane_t *dp)
{
    return epi_ucx_plane(dp)->event_fd;
}

static epdx_status_t ucx_arm(epi_dataplane_t *dp)
{
    epi_ucx_plane_t *plane = epi_ucx_plane(dp);
    ucs_status_t status;

    if (plane->events.count > 0 || plane->attention || plane->copies != NULL ||
        plane->given != NULL) {
        return EPDX_IN_PROGRESS;
    }
    status = ucp_worker_arm(plane->worker);
    if (status == UCS_ERR_BUSY) {
        return EPDX_IN_PROGRESS;
    }
    if (status != UCS_OK) {
        return epi_fail(EPDX_ERR_IO, "ucx: cannot arm its wake-up: %s",
                        ucs_status_string(status));
    }
    return EPDX_OK;
}

/** End all that is under way; what outlasts the limit ends with the worker. */
static void drain(epi_ucx_plane_t *plane)
{
    uint64_t limit = epi_after(epi_now_ns(), CLOSE_LIMIT_NS);

    epi_ucx_shut_all(plane);
    epi_ucx_give_back(plane);
    while (plane->under_way > 0 && epi_now_ns() < limit) {
        if (ucp_worker_progress(plane->worker) == 0) {
            (void)sched_yield();
        }
    }
}

static void ucx_close(epi_dataplane_t *dp)
{
    epi_ucx_plane_t *plane = epi_ucx_plane(dp);

    if (dp == NULL) {
        return;
    }
    plane->closing = true;
    if (plane->worker != NULL) {
        drain(plane);
        epi_ucx_release_parked(plane);
        if (plane->listener != NULL) {
            ucp_listener_destroy(plane->listener);
        }
        ucp_worker_destroy(plane->worker);
    }
    if (plane->regions > 0 || plane->under_way > 0) {
        /* UCX would abort the process. */
        epi_log_error("data plane: closed with %zu regions mapped and %zu "
                      "transfers under way; its context is left behind",
                      plane->regions, plane->under_way);
    } else if (plane->context != NULL) {
        ucp_cleanup(plane->context);
    }
    epi_ucx_conns_fini(plane);
    epi_mapped_source_close(&plane->source);
    epi_dp_events_fini(&plane->events);
    epi_ucx_pool_fini(&plane->pool);
    free(plane);
}

static const epi_dp_ops_t ucx_ops = {
    .address = ucx_address,
    .admit = epi_ucx_admit,
    .map = ucx_map,
    .unmap = ucx_unmap,
    .connect = epi_ucx_connect,
    .disconnect = epi_ucx_disconnect,
    .offer = epi_ucx_offer,
    .pull = epi_ucx_pull,
    .refuse = epi_ucx_refuse,
    .drop = epi_ucx_drop,
    .progress = ucx_progress,
    .next = ucx_next,
    .event_fd = ucx_event_fd,
    .arm = ucx_arm,
    .transport = epi_ucx_transport,
    .close = ucx_close,
};

static epdx_status_t open_worker(epi_ucx_plane_t *plane)
{
    ucp_worker_params_t params = {
        .field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
        /* One thread at a time: opened by one, progressed by another. */
        .thread_mode = UCS_THREAD_MODE_SERIALIZED,
    };
    ucs_status_t status =
        ucp_worker_create(plane->context, &params, &plane->worker);

    if (status != UCS_OK) {
        plane->worker = NULL;
        return epi_fail(epi_ucx_status(status), "ucx: cannot make a worker: %s",
                        ucs_status_string(status));
    }
    status = ucp_worker_get_efd(plane->worker, &plane->event_fd);
    if (status != UCS_OK) {
        return epi_fail(EPDX_ERR_IO, "ucx: no descriptor to wait on: %s",
                        ucs_status_string(status));
    }
    return EPDX_OK;
}

/** Be called for messages of one kind. */
static epdx_status_t set_handler(epi_ucx_plane_t *plane, unsigned id,
                                 ucp_am_recv_callback_t handler)
{
    ucp_am_handler_param_t param = {
        .field_mask =
            UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
            UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG,
        .id = id,
        .flags = UCP_AM_FLAG_WHOLE_MSG,
        .cb = handler,
        .arg = plane,
    };
    ucs_status_t status = ucp_worker_set_am_recv_handler(plane->worker, &param);

    if (status != UCS_OK) {
        return epi_fail(epi_ucx_status(status),
                        "ucx: cannot set a message handler: %s",
                        ucs_status_string(status));
    }
    return EPDX_OK;
}

static epdx_status_t set_handlers(epi_ucx_plane_t *plane)
{
    static const struct {
        unsigned id;
        ucp_am_recv_callback_t handler;
    } handlers[] = {
        {EPI_UCX_OFFER_ID, epi_ucx_on_offer},
        {EPI_UCX_PLACED_ID, epi_ucx_on_placed},
        {EPI_UCX_FIRST_ID, epi_ucx_on_first},
        {EPI_UCX_CONFIRM_ID, epi_ucx_on_confirm},
    };
    epdx_status_t status = EPDX_OK;

    for (size_t i = 0;
         status == EPDX_OK && i < sizeof(handlers) / sizeof(handlers[0]); i++) {
        status = set_handler(plane, handlers[i].id, handlers[i].handler);
    }
    return status;
}

/** Whether this UCX has TCP over ::1: since 1.14. */
static bool has_ipv6_loopback(void)
{
    unsigned major, minor, release;

    ucp_get_version(&major, &minor, &release);
    return major > 1 || (major == 1 && minor >= 14);
}

/** Whether UCX can be bound there, and what it has to be told. */
static epdx_status_t classify(const char *host,
                              const struct sockaddr_storage *address,
                              epi_ucx_host_t *host_p)
{
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    bool loopback;

    if (address->ss_family == AF_INET) {
        memcpy(&v4, address, sizeof(v4));
        host_p->ipv6 = false;
        host_p->loopback = ntohl(v4.sin_addr.s_addr) >> 24 == 127;
        return EPDX_OK;
    }
    memcpy(&v6, address, sizeof(v6));
    loopback = IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr);
    if (IN6_IS_ADDR_LINKLOCAL(&v6.sin6_addr) ||
        (loopback && !has_ipv6_loopback())) {
        return epi_fail(EPDX_ERR_INVALID,
                        "data plane: this UCX has no transport over %s; use a "
                        "global IPv6 address, or 127.0.0.1 within one host",
                        host);
    }
    host_p->ipv6 = true;
    host_p->loopback = loopback;
    return EPDX_OK;
}

static epdx_status_t open_plane(epi_ucx_plane_t *plane, epi_ucx_host_t host)
{
    epdx_status_t status = epi_ucx_context(host, &plane->context);

    if (status != EPDX_OK) {
        plane->context = NULL;
        return status;
    }
    status = open_worker(plane);
    if (status == EPDX_OK) {
        status = set_handlers(plane);
    }
    if (status == EPDX_OK) {
        status = epi_ucx_listen(plane);
    }
    return status;
}

epdx_status_t epi_dataplane_ucx(const char *host, epi_dataplane_t **dp_p)
{
    struct sockaddr_storage address;
    socklen_t address_bytes;
    epi_ucx_host_t class;
    epi_ucx_plane_t *plane;
    epdx_status_t status;

    if (epi_address_wildcard(host) ||
        !epi_ucx_sockaddr(host, 0, &address, &address_bytes)) {
        return epi_fail(EPDX_ERR_INVALID,
                        "data plane: host \"%s\" is not one numeric address",
                        host);
    }
    status = classify(host, &address, &class);
    if (status != EPDX_OK) {
        return status;
    }
    plane = calloc(1, sizeof(*plane));
    if (plane == NULL) {
        return epi_fail(EPDX_ERR_NO_MEMORY, "data plane: no memory");
    }
    plane->base.ops = &ucx_ops;
    plane->gate.fd = -1;
    plane->copies_end = &plane->copies;
    plane->family = address.ss_family;
    plane->host = address;
    plane->host_bytes = address_bytes;
    status = open_plane(plane, class);
    if (status != EPDX_OK) {
        ucx_close(&plane->base);
        return status;
    }
    *dp_p = &plane->base;
    return EPDX_OK;
}
