/*
 * ucx_transfer.c: offers and pulls of the plane over UCX. For the plane's
 * thread.
 *
 *     sending:    offer() --> on_sent() --> EPI_DP_SENT
 *     receiving:  on_offer() --> parked --pull()--> on_pulled(), or copied
 *                                     \--refuse()
 *
 * A payload is always offered by rendezvous, whatever its size: a message that
 * UCX sends unasked would have to be buffered here, and back-pressure would be
 * gone. One that comes so is refused.
 */
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "dataplane/ucx_internal.h"

/** What is worth staying with: see progress_on(). */
#define LARGE ((uint64_t)512 << 10)

void epi_ucx_tell(epi_dp_offer_t *transfer, epi_dp_event_kind_t kind,
                  epdx_status_t status)
{
    epi_dp_note_t note = {
        .kind = kind, .status = status, .cookie = transfer->cookie};
    epi_ucx_conn_t *conn = epi_ucx_conn_of_id(transfer->plane, transfer->link);

    if (status == EPDX_OK && transfer->payload_bytes > 0 && conn != NULL) {
        epi_ucx_transport_note(conn, transfer);
    }
    if (kind == EPI_DP_SENT) {
        epi_ucx_unplace(transfer);
    }
    epi_dp_events_push(&transfer->plane->events, &note);
}

void epi_ucx_complete(epi_dp_offer_t *transfer, epi_dp_event_kind_t kind,
                      epdx_status_t status)
{
    epi_ucx_tell(transfer, kind, status);
    epi_ucx_give(transfer);
}

/** UCX has it, and bytes of it to move. */
static void begin(epi_dp_offer_t *transfer, bool moved)
{
    transfer->large = moved && transfer->payload_bytes >= LARGE;
    transfer->plane->under_way++;
    transfer->plane->large += transfer->large;
}

static void end(const epi_dp_offer_t *transfer)
{
    transfer->plane->under_way--;
    transfer->plane->large -= transfer->large;
}

static void on_sent(void *request, ucs_status_t status, void *user_data)
{
    epi_dp_offer_t *transfer = user_data;

    end(transfer);
    epi_ucx_complete(transfer, EPI_DP_SENT, epi_ucx_status(status));
    ucp_request_free(request);
}

static void on_pulled(void *request, ucs_status_t status, size_t length,
                      void *user_data)
{
    epi_dp_offer_t *transfer = user_data;
    epdx_status_t result = epi_ucx_status(status);

    if (result == EPDX_OK && length != transfer->payload_bytes) {
        result = EPDX_ERR_MISMATCH;
    }
    end(transfer);
    epi_ucx_complete(transfer, EPI_DP_PULLED, result);
    ucp_request_free(request);
}

/** A message that no epdx of ours sends: the first of a link is logged, the
 *  others are counted. */
static void complain(epi_ucx_conn_t *conn, const char *what, size_t bytes)
{
    if (++conn->complaints == 1) {
        epi_log_warn("data plane: a message from %s is refused: %s of %zu "
                     "bytes; further ones are counted only",
                     conn->name, what, bytes);
    }
}

/** Room for one more parked offer, or NULL, which is logged once. */
static epi_dp_offer_t *park(epi_ucx_plane_t *plane)
{
    epi_dp_offer_t *offer = NULL;
    const char *why = "the limit of offers that wait is reached";

    if (plane->parked < EPI_UCX_PARKED_MAX) {
        why = "no memory";
        if (epi_dp_events_reserve(&plane->events) == EPDX_OK) {
            offer = epi_ucx_take(plane);
            if (offer == NULL) {
                epi_dp_events_unreserve(&plane->events);
            }
        }
    }
    if (offer == NULL && !plane->parked_full_told) {
        plane->parked_full_told = true;
        epi_log_error("data plane: an offer is refused with %zu waiting: %s",
                      plane->parked, why);
    }
    return offer;
}

/** A message as UCX gives it. */
typedef struct incoming {
    const void *header;
    size_t header_bytes;
    void *data;
    size_t bytes;
    const ucp_am_recv_param_t *param;
} incoming_t;

static epi_ucx_conn_t *accept_message(epi_ucx_plane_t *plane,
                                      const incoming_t *in)
{
    bool rendezvous = (in->param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0;
    epi_ucx_conn_t *conn = epi_ucx_conn_of_param(plane, in->param);

    if (conn == NULL || !conn->accepted) {
        return NULL; /* names no connection that it could have come by */
    }
    if (in->header_bytes > EPI_DP_HEADER_MAX) {
        complain(conn, "a header", in->header_bytes);
        return NULL;
    }
    if (!rendezvous && in->bytes > 0) {
        complain(conn, "a payload sent unasked", in->bytes);
        return NULL;
    }
    return conn;
}

/** Park an offer; NULL: it is refused. */
static epi_dp_offer_t *take_offer(epi_ucx_plane_t *plane, const incoming_t *in)
{
    epi_ucx_conn_t *conn = accept_message(plane, in);
    epi_dp_offer_t *offer = conn == NULL ? NULL : park(plane);
    epi_dp_note_t note = {.kind = EPI_DP_OFFER, .subject = offer};

    if (offer == NULL) {
        return NULL;
    }
    offer->link = conn->link;
    offer->payload_bytes = in->bytes;
    offer->header_bytes = in->header_bytes;
    if (in->header_bytes > 0) {
        memcpy(offer->header, in->header, in->header_bytes);
    }
    offer->descriptor = in->bytes > 0 ? in->data : NULL;
    plane->parked++;
    epi_dp_events_push(&plane->events, &note);
    return offer;
}

/** What is not parked is refused by the answer UCS_OK. */
static ucs_status_t answer(const epi_dp_offer_t *offer)
{
    return offer != NULL && offer->descriptor != NULL ? UCS_INPROGRESS : UCS_OK;
}

ucs_status_t epi_ucx_on_offer(void *arg, const void *header,
                              size_t header_bytes, void *data, size_t bytes,
                              const ucp_am_recv_param_t *param)
{
    return answer(take_offer(
        arg, &(incoming_t){header, header_bytes, data, bytes, param}));
}

ucs_status_t epi_ucx_on_placed(void *arg, const void *header,
                               size_t header_bytes, void *data, size_t bytes,
                               const ucp_am_recv_param_t *param)
{
    epi_mapped_place_t place;
    epi_dp_offer_t *offer;

    if (header_bytes < sizeof(place)) {
        return UCS_OK;
    }
    header_bytes -= sizeof(place);
    memcpy(&place, (const uint8_t *)header + header_bytes, sizeof(place));
    offer = take_offer(arg,
                       &(incoming_t){header, header_bytes, data, bytes, param});
    if (offer != NULL) {
        offer->placed = true;
        offer->place = place;
    }
    return answer(offer);
}

ucs_status_t epi_ucx_on_first(void *arg, const void *header,
                              size_t header_bytes, void *data, size_t bytes,
                              const ucp_am_recv_param_t *param)
{
    epi_ucx_conn_t *link = epi_ucx_conn_of_param(arg, param);

    if (link == NULL || !link->accepted ||
        header_bytes < EPI_MAPPED_ANNOUNCE_BYTES) {
        return UCS_OK;
    }
    header_bytes -= EPI_MAPPED_ANNOUNCE_BYTES;
    epi_ucx_hear(link, (const uint8_t *)header + header_bytes);
    return epi_ucx_on_placed(arg, header, header_bytes, data, bytes, param);
}

/** What UCX is told of a buffer, so that it looks nothing up. */
static void describe(ucp_request_param_t *param, const epi_dp_region_t *region)
{
    param->op_attr_mask |= UCP_OP_ATTR_FIELD_MEMORY_TYPE;
    param->memory_type = region == NULL ? UCS_MEMORY_TYPE_HOST : region->type;
    if (region != NULL) {
        param->op_attr_mask |= UCP_OP_ATTR_FIELD_MEMH;
        param->memh = region->memh;
    }
}

static epdx_status_t check_offer(const epi_dp_peer_t *peer,
                                 const epi_dp_send_t *send)
{
    const epi_dp_region_t *region = send->region;

    if (send->header_bytes > EPI_DP_HEADER_MAX) {
        return epi_fail(EPDX_ERR_INVALID,
                        "data plane: a header of %zu bytes; at most %d fit",
                        send->header_bytes, EPI_DP_HEADER_MAX);
    }
    if (region != NULL && send->payload_bytes > 0 &&
        !epi_dp_inside(region->base, region->bytes, send->payload,
                       send->payload_bytes)) {
        return epi_fail(EPDX_ERR_INVALID,
                        "data plane: an offer of %zu bytes outside its region",
                        send->payload_bytes);
    }
    if (peer->ep == NULL || peer->failed) {
        return epi_fail(EPDX_ERR_UNREACHABLE, "data plane: %s is down: %s",
                        peer->name, ucs_status_string(peer->cause));
    }
    return EPDX_OK;
}

static unsigned id_of(const epi_dp_offer_t *transfer)
{
    if (!transfer->placed) {
        return EPI_UCX_OFFER_ID;
    }
    return transfer->first ? EPI_UCX_FIRST_ID : EPI_UCX_PLACED_ID;
}

/** Bytes of what stands behind the header. */
static size_t tail_bytes(const epi_dp_offer_t *transfer)
{
    return (transfer->placed ? sizeof(transfer->place) : 0) +
           (transfer->first ? EPI_MAPPED_ANNOUNCE_BYTES : 0);
}

/** Hand a prepared transfer to UCX. */
static epdx_status_t send_offer(epi_dp_peer_t *peer, epi_dp_offer_t *transfer,
                                const epi_dp_region_t *region,
                                const void *payload)
{
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                        UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS,
        .cb.send = on_sent,
        .user_data = transfer,
        .flags = UCP_AM_SEND_FLAG_REPLY, /* tells the link it comes by */
    };
    ucs_status_ptr_t request;

    if (transfer->payload_bytes > 0) {
        param.flags |= UCP_AM_SEND_FLAG_RNDV;
        describe(&param, region);
    } else {
        payload = NULL;
    }
    begin(transfer, !transfer->placed);
    request = ucp_am_send_nbx(peer->ep, id_of(transfer), transfer->header,
                              transfer->header_bytes + tail_bytes(transfer),
                              payload, transfer->payload_bytes, &param);
    if (UCS_PTR_IS_PTR(request)) {
        return EPDX_OK; /* on_sent() comes, or has come */
    }
    end(transfer);
    if (UCS_PTR_IS_ERR(request)) {
        return epi_fail(epi_ucx_status(UCS_PTR_STATUS(request)),
                        "data plane: cannot offer %zu bytes to %s: %s",
                        (size_t)transfer->payload_bytes, peer->name,
                        ucs_status_string(UCS_PTR_STATUS(request)));
    }
    epi_ucx_complete(transfer, EPI_DP_SENT, EPDX_OK);
    return EPDX_OK;
}

epdx_status_t epi_ucx_offer(epi_dataplane_t *dp, epi_dp_peer_t *peer,
                            const epi_dp_send_t *send)
{
    epi_ucx_plane_t *plane = epi_ucx_plane(dp);
    epi_dp_offer_t *transfer;
    epdx_status_t status = check_offer(peer, send);

    if (status == EPDX_OK) {
        status = epi_dp_events_reserve(&plane->events);
    }
    if (status != EPDX_OK) {
        return status;
    }
    transfer = epi_ucx_take(plane);
    if (transfer == NULL) {
        epi_dp_events_unreserve(&plane->events);
        return epi_fail(EPDX_ERR_NO_MEMORY, "data plane: no memory to offer");
    }
    transfer->cookie = send->cookie;
    transfer->link = peer->link;
    transfer->payload_bytes = send->payload_bytes;
    transfer->header_bytes = send->header_bytes;
    if (send->header_bytes > 0) {
        memcpy(transfer->header, send->header, send->header_bytes);
    }
    epi_ucx_place(peer, send, transfer);
    status = send_offer(peer, transfer, send->region, send->payload);
    if (status != EPDX_OK) {
        epi_ucx_unplace(transfer);
        epi_ucx_give(transfer);
        epi_dp_events_unreserve(&plane->events);
    }
    return status;
}

void epi_ucx_refuse(epi_dataplane_t *dp, epi_dp_offer_t *offer)
{
    epi_ucx_plane_t *plane = epi_ucx_plane(dp);

    if (offer->descriptor != NULL) {
        ucp_am_data_release(plane->worker, offer->descriptor);
    }
    plane->parked--;
    epi_ucx_give(offer);
}

static epdx_status_t check_pull(const epi_dp_offer_t *offer,
                                const epi_dp_target_t *target)
{
    const epi_dp_region_t *region = target->region;
    size_t bytes = target->bytes;

    if (bytes != offer->payload_bytes) {
        return epi_fail(EPDX_ERR_INVALID,
                        "data plane: a pull of %zu bytes of an offer of %zu",
                        bytes, (size_t)offer->payload_bytes);
    }
    if (bytes > 0 &&
        (region == NULL ||
         !epi_dp_inside(region->base, region->bytes, target->at, bytes))) {
        return epi_fail(EPDX_ERR_INVALID,
                        "data plane: a pull of %zu bytes outside its region",
                        bytes);
    }
    if (epi_ucx_conn_of_link(offer->plane, offer->link) == NULL) {
        return epi_fail(EPDX_ERR_UNREACHABLE,
                        "data plane: the connection an offer came by is gone");
    }
    return EPDX_OK;
}

/** Hand a checked pull to UCX. */
static epdx_status_t receive_offer(epi_dp_offer_t *offer,
                                   const epi_dp_region_t *region, void *target)
{
    ucp_request_param_t param = {
        .op_attr_mask =
            UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
        .cb.recv_am = on_pulled,
        .user_data = offer,
    };
    epi_ucx_plane_t *plane = offer->plane;
    void *descriptor = offer->descriptor;
    ucs_status_ptr_t request;

    describe(&param, region);
    offer->descriptor = NULL; /* UCX's now, also on error */
    begin(offer, true);
    request = ucp_am_recv_data_nbx(plane->worker, descriptor, target,
                                   offer->payload_bytes, &param);
    if (UCS_PTR_IS_PTR(request)) {
        return EPDX_OK; /* on_pulled() comes, or has come */
    }
    end(offer);
    if (UCS_PTR_IS_ERR(request)) {
        ucs_status_t status = UCS_PTR_STATUS(request);

        /* Else the sender would wait for ever: see ucx_internal.h. */
        epi_log_error("data plane: a pull cannot start: %s; its connection is "
                      "dropped",
                      ucs_status_string(status));
        epi_ucx_drop(&plane->base, offer->link);
        return epi_fail(epi_ucx_status(status), "data plane: cannot pull: %s",
                        ucs_status_string(status));
    }
    epi_ucx_complete(offer, EPI_DP_PULLED, EPDX_OK);
    return EPDX_OK;
}

epdx_status_t epi_ucx_pull(epi_dataplane_t *dp, epi_dp_offer_t *offer,
                           const epi_dp_target_t *target)
{
    epi_ucx_plane_t *plane = epi_ucx_plane(dp);
    epdx_status_t status = check_pull(offer, target);

    if (status == EPDX_OK) {
        status = epi_dp_events_reserve(&plane->events);
    }
    if (status != EPDX_OK) {
        epi_ucx_refuse(dp, offer);
        return status;
    }
    plane->parked--;
    offer->cookie = target->cookie;
    if (target->bytes == 0) {
        epi_ucx_complete(offer, EPI_DP_PULLED, EPDX_OK);
        return EPDX_OK;
    }
    if (epi_ucx_copy_begin(offer, target)) {
        return EPDX_OK; /* epi_ucx_copy() goes on with it */
    }
    status = receive_offer(offer, target->region, target->at);
    if (status != EPDX_OK) {
        epi_dp_events_unreserve(&plane->events);
        epi_ucx_give(offer);
    }
    return status;
}
