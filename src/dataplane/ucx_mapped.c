/*
 * ucx_mapped.c: within one host, pulls by copying out of the sender's memory.
 * For the plane's thread.
 *
 *     sender                               receiver
 *     offer()  --placed, where it is ----->  opens a view (epi_ucx_attend)
 *              <-----------------confirm---  where it could
 *     offer()  --placed offer------------->  pull(): copied by progress()
 *              <---------------------------  given back: SENT
 *
 * UCX moves no payload then: its shared memory would copy twice, in pieces, and
 * with failure detection on (docs/performance.md). An offer is a rendezvous of
 * UCX all the same, so one that cannot be copied is pulled as any other, and an
 * offer that is given back ends at the sender as if it had been pulled.
 */
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "dataplane/ucx_internal.h"

/** Copied by one step, so that other work of the thread is not held up. */
#define COPY_STEP ((size_t)4 << 20)
/** Copied by the pull itself, where nothing waits: a step of the thread takes
 * as long. */
#define COPY_AT_ONCE ((size_t)64 << 10)

void epi_ucx_share(epi_ucx_plane_t *plane, const epi_dp_region_t *region)
{
    int fd = epi_memory_shared_fd(region->base);

    if (fd < 0 || plane->source.head != NULL) {
        return;
    }
    if (epi_mapped_source_open(region->base, region->bytes, fd,
                               &plane->source) != EPDX_OK) {
        epi_log_info("rows for this host go through UCX, too: %s",
                     epdx_last_error());
        return;
    }
    epi_mapped_announce(&plane->source, plane->announce);
}

void epi_ucx_unshare(epi_ucx_plane_t *plane, const epi_dp_region_t *region)
{
    if (plane->source.rows == region->base) {
        epi_mapped_source_close(&plane->source);
    }
}

static void on_told(void *request, ucs_status_t status, void *user_data)
{
    epi_ucx_plane_t *plane = user_data;

    (void)status; /* a connection that fails says so by itself */
    plane->under_way--;
    ucp_request_free(request);
}

/** One that is lost only costs bytes: offers go on to say it. */
static void confirm(const epi_ucx_conn_t *conn)
{
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                        UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS,
        .cb.send = on_told,
        .user_data = conn->plane,
        .flags = UCP_AM_SEND_FLAG_REPLY,
    };
    ucs_status_ptr_t request;

    conn->plane->under_way++;
    request =
        ucp_am_send_nbx(conn->ep, EPI_UCX_CONFIRM_ID, NULL, 0, NULL, 0, &param);
    if (!UCS_PTR_IS_PTR(request)) {
        conn->plane->under_way--;
    }
}

/** Whether both session ids name one host. */
static bool same_host(const char *ours, const char *theirs)
{
    size_t length = (size_t)(strrchr(ours, ':') - ours);

    return strncmp(ours, theirs, length + 1) == 0;
}

bool epi_ucx_near(const epi_ucx_conn_t *peer)
{
    const epi_ucx_plane_t *plane = peer->plane;

    return plane->source.head != NULL && same_host(plane->address, peer->name);
}

void epi_ucx_hear(epi_ucx_conn_t *link, const void *announce)
{
    if (!link->announced) {
        memcpy(link->announce, announce, sizeof(link->announce));
        link->announced = true;
        link->plane->attention = true;
    }
}

ucs_status_t epi_ucx_on_confirm(void *arg, const void *header,
                                size_t header_bytes, void *data, size_t bytes,
                                const ucp_am_recv_param_t *param)
{
    epi_ucx_conn_t *peer = epi_ucx_conn_of_param(arg, param);

    (void)header;
    (void)header_bytes;
    (void)data;
    (void)bytes;
    if (peer != NULL && !peer->accepted) {
        peer->viewed = peer->near;
    }
    return UCS_OK;
}

void epi_ucx_view(epi_ucx_conn_t *link)
{
    if (!link->announced || link->viewed) {
        return;
    }
    link->viewed = true; /* or not: it is tried once */
    if (epi_mapped_view_open(link->announce, sizeof(link->announce),
                             &link->view) != EPDX_OK) {
        epi_log_info("rows of %s come through UCX: %s", link->name,
                     epdx_last_error());
        return;
    }
    confirm(link);
}

void epi_ucx_place(epi_ucx_conn_t *peer, const epi_dp_send_t *send,
                   epi_dp_offer_t *transfer)
{
    const epi_ucx_plane_t *plane = peer->plane;
    uint8_t *tail = transfer->header + transfer->header_bytes;

    transfer->placed = peer->near && send->payload_bytes > 0 &&
                       epi_mapped_begin(&peer->plane->source, send->payload,
                                        send->payload_bytes, &transfer->place);
    transfer->first = transfer->placed && !peer->viewed;
    if (transfer->placed) {
        memcpy(tail, &transfer->place, sizeof(transfer->place));
    }
    if (transfer->first) {
        memcpy(tail + sizeof(transfer->place), plane->announce,
               sizeof(plane->announce));
    }
}

void epi_ucx_unplace(epi_dp_offer_t *transfer)
{
    /* A source that was closed had its memory taken with it. */
    if (transfer->placed && transfer->plane->source.head != NULL) {
        epi_mapped_end(&transfer->plane->source, transfer->place.slot);
    }
    transfer->placed = false;
}

static void copy_end(epi_dp_offer_t *offer, epdx_status_t status)
{
    epi_ucx_plane_t *plane = offer->plane;

    epi_ucx_tell(offer, EPI_DP_PULLED, status);
    offer->next_copy = plane->given;
    plane->given = offer;
}

void epi_ucx_give_back(epi_ucx_plane_t *plane)
{
    if (plane->given == NULL) {
        return;
    }
    while (plane->given != NULL) {
        epi_dp_offer_t *offer = plane->given;

        plane->given = offer->next_copy;
        ucp_am_data_release(plane->worker, offer->descriptor);
        epi_ucx_give(offer);
    }
    /* Else the last may wait for the next step, which may be long in coming. */
    (void)ucp_worker_progress(plane->worker);
}

/** A step; true: it was the last. */
static bool copy_on(epi_dp_offer_t *offer)
{
    const epi_ucx_conn_t *link;
    size_t step = (size_t)offer->payload_bytes - offer->copied;

    step = step < COPY_STEP ? step : COPY_STEP;
    memcpy((uint8_t *)offer->target + offer->copied,
           (const uint8_t *)offer->source + offer->copied, step);
    offer->copied += step;
    if (offer->copied < offer->payload_bytes) {
        return false;
    }
    link = epi_ucx_conn_of_link(offer->plane, offer->link);
    copy_end(offer, link != NULL && epi_mapped_holds(&link->view, &offer->place)
                        ? EPDX_OK
                        : EPDX_ERR_UNREACHABLE);
    return true;
}

bool epi_ucx_copy_begin(epi_dp_offer_t *offer, const epi_dp_target_t *target)
{
    epi_ucx_plane_t *plane = offer->plane;
    const epi_ucx_conn_t *link = epi_ucx_conn_of_link(plane, offer->link);

    if (!offer->placed || link == NULL || link->view.head == NULL ||
        target->region->type != UCS_MEMORY_TYPE_HOST) {
        return false;
    }
    offer->source =
        epi_mapped_at(&link->view, &offer->place, offer->payload_bytes);
    if (offer->source == NULL) {
        return false;
    }
    offer->target = target->at;
    offer->copied = 0;
    offer->next_copy = NULL;
    if (plane->copies == NULL && offer->payload_bytes <= COPY_AT_ONCE) {
        (void)copy_on(offer);
        return true;
    }
    *plane->copies_end = offer;
    plane->copies_end = &offer->next_copy;
    return true;
}

bool epi_ucx_copy(epi_ucx_plane_t *plane)
{
    epi_dp_offer_t *offer = plane->copies;
    epi_dp_offer_t *next;

    if (offer == NULL) {
        return false;
    }
    next = offer->next_copy;
    if (copy_on(offer)) {
        plane->copies = next;
        if (next == NULL) {
            plane->copies_end = &plane->copies;
        }
    }
    return true;
}

void epi_ucx_unview(epi_ucx_conn_t *link)
{
    epi_ucx_plane_t *plane = link->plane;
    epi_dp_offer_t **at = &plane->copies;

    while (*at != NULL) {
        epi_dp_offer_t *offer = *at;

        if (offer->link == link->link) {
            *at = offer->next_copy;
            copy_end(offer, EPDX_ERR_UNREACHABLE);
        } else {
            at = &offer->next_copy;
        }
    }
    plane->copies_end = at;
    epi_mapped_view_close(&link->view);
}
