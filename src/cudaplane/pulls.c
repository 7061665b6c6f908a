/*
 * pulls.c: offers that come in, and their pulls, see cudaplane_internal.h.
 *
 *     given out --pull()--> waiting --room--> inside --PULLED--> copying -->
 * end |                 (staged)            ^ '--(direct)--------------> end
 *         |--pull()-----------------------------'
 *         '--refuse()--> gone
 *
 * A staged pull keeps its slot until its copy is over.
 */
#include "base/error.h"
#include "base/log.h"
#include "cudaplane/cudaplane_internal.h"

/* A transfer was reserved before the event was taken. */
void epi_cp_offer_in(epi_cp_plane_t *plane, epi_dp_event_t *event)
{
    epi_cp_transfer_t *transfer = epi_cp_take(plane);

    transfer->pull = true;
    transfer->offer = event->offer;
    transfer->link = event->link;
    transfer->bytes = (size_t)event->payload_bytes;
    event->offer = (epi_dp_offer_t *)(void *)transfer;
}

static epi_cp_transfer_t *transfer_of(epi_dp_offer_t *offer)
{
    return (epi_cp_transfer_t *)(void *)offer;
}

void epi_cp_refuse(epi_dataplane_t *dp, epi_dp_offer_t *offer)
{
    epi_cp_plane_t *plane = epi_cp_plane(dp);
    epi_cp_transfer_t *transfer = transfer_of(offer);

    plane->inner->ops->refuse(plane->inner, transfer->offer);
    epi_cp_give_back(plane, transfer);
}

static epdx_status_t check(epi_cp_plane_t *plane,
                           const epi_cp_transfer_t *transfer,
                           const epi_dp_target_t *target)
{
    const epi_cp_region_t *region = (const void *)target->region;

    if (target->bytes != transfer->bytes) {
        return epi_fail(EPDX_ERR_INVALID,
                        "data plane: a pull of %zu bytes of an offer of %zu",
                        target->bytes, transfer->bytes);
    }
    if (target->bytes == 0) {
        return EPDX_OK;
    }
    if (region == NULL || !epi_dp_inside(region->base, region->bytes,
                                         target->at, target->bytes)) {
        return epi_fail(EPDX_ERR_INVALID,
                        "data plane: a pull of %zu bytes outside its region",
                        target->bytes);
    }
    return region->inner != NULL
               ? EPDX_OK
               : epi_cp_lane_fits(plane, &plane->in, target->bytes);
}

/* Hand the pull on: into the region or into its slot. The offer is gone. */
static epdx_status_t pull_inside(epi_cp_plane_t *plane,
                                 epi_cp_transfer_t *transfer)
{
    epi_dp_target_t target = {
        .region = transfer->staged ? plane->in.region : transfer->region,
        .at = transfer->staged ? epi_cp_lane_at(&plane->in, transfer)
                               : transfer->at,
        .bytes = transfer->bytes,
        .cookie = (uint64_t)(uintptr_t)transfer,
    };
    epi_dp_offer_t *offer = transfer->offer;
    epdx_status_t status;

    transfer->offer = NULL;
    plane->flushed = false;
    status = plane->inner->ops->pull(plane->inner, offer, &target);
    if (status == EPDX_OK) {
        epi_cp_move(transfer, &plane->inside);
    }
    return status;
}

epdx_status_t epi_cp_pull(epi_dataplane_t *dp, epi_dp_offer_t *offer,
                          const epi_dp_target_t *target)
{
    epi_cp_plane_t *plane = epi_cp_plane(dp);
    epi_cp_transfer_t *transfer = transfer_of(offer);
    const epi_cp_region_t *region = (const void *)target->region;
    epdx_status_t status = check(plane, transfer, target);

    if (status != EPDX_OK) {
        epi_cp_refuse(dp, offer);
        return status;
    }
    transfer->cookie = target->cookie;
    transfer->at = target->at;
    if (transfer->bytes > 0) {
        transfer->staged = region->inner == NULL;
        transfer->region = region->inner;
        transfer->flushes =
            region->device && plane->flush_mode == EPI_FLUSH_NEEDED;
    }
    if (transfer->staged && (plane->in.waiting.first != NULL ||
                             !epi_cp_lane_lease(&plane->in, transfer))) {
        epi_cp_move(transfer, &plane->in.waiting);
        return EPDX_OK;
    }
    status = pull_inside(plane, transfer);
    if (status != EPDX_OK) {
        epi_cp_give_back(plane, transfer);
    }
    return status;
}

/* Rows that came over the bus become visible to the device: once for all that
 * the inner plane has landed so far. */
static epdx_status_t flush(epi_cp_plane_t *plane)
{
    epdx_status_t status = EPDX_OK;

    if (!plane->flushed) {
        status = epi_cp_copies(plane)->flush(plane->params.memory.device);
        plane->flushed = status == EPDX_OK;
    }
    if (status != EPDX_OK) {
        epi_log_error("data plane: %s", epdx_last_error());
    }
    return status;
}

bool epi_cp_pulled(epi_cp_plane_t *plane, epi_cp_transfer_t *transfer,
                   epdx_status_t status)
{
    transfer->status = status;
    if (status != EPDX_OK) {
        return true;
    }
    if (!transfer->staged) {
        transfer->status = transfer->flushes ? flush(plane) : EPDX_OK;
        return true;
    }
    status = epi_cp_lane_copy(plane, &plane->in, transfer);
    if (status != EPDX_OK) {
        epi_log_error("data plane: %s", epdx_last_error());
        transfer->status = status;
        return true;
    }
    return false;
}

bool epi_cp_pulls_progress(epi_cp_plane_t *plane)
{
    epi_cp_lane_t *lane = &plane->in;
    epi_cp_transfer_t *transfer;
    bool done = false;

    while ((transfer = epi_cp_lane_copied(plane, lane)) != NULL) {
        epi_cp_end(plane, transfer, transfer->status);
        done = true;
    }
    lane->freed = false;
    while ((transfer = lane->waiting.first) != NULL &&
           epi_cp_lane_lease(lane, transfer)) {
        epdx_status_t status = pull_inside(plane, transfer);

        if (status != EPDX_OK) {
            epi_log_debug("data plane: a pull that waited for room: %s",
                          epdx_last_error());
            epi_cp_end(plane, transfer, status);
        }
        done = true;
    }
    return done;
}

void epi_cp_pulls_drop(epi_cp_plane_t *plane, uint64_t link)
{
    epi_cp_transfer_t *next;

    for (epi_cp_transfer_t *transfer = plane->in.waiting.first;
         transfer != NULL; transfer = next) {
        next = transfer->next;
        if (transfer->link == link) {
            plane->inner->ops->refuse(plane->inner, transfer->offer);
            epi_cp_end(plane, transfer, EPDX_ERR_UNREACHABLE);
        }
    }
}
