/*
 * lane.c: staging memory of one direction, and the copies through it, see
 * cudaplane_internal.h.
 *
 * All copies of a lane are in one stream, so they end in the order they began,
 * and only the oldest is asked for.
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/log.h"
#include "cudaplane/cudaplane_internal.h"
#include "memory/event.h"

static epdx_status_t open_events(epi_cp_plane_t *plane, epi_cp_lane_t *lane)
{
    int device = plane->params.memory.device;
    epdx_status_t status =
        epi_cp_copies(plane)->stream_open(device, &lane->stream);

    for (uint32_t i = 0; status == EPDX_OK && i < EPI_CP_SLOTS; i++) {
        status =
            epi_cp_copies(plane)->event_open(device, &lane->slots[i].event);
        lane->free_slots[i] = EPI_CP_SLOTS - 1 - i;
    }
    lane->free_count = EPI_CP_SLOTS;
    return status;
}

epdx_status_t epi_cp_lane_open(epi_cp_plane_t *plane, epi_cp_lane_t *lane)
{
    size_t bytes = plane->params.staging_bytes;
    void *base = NULL;
    epdx_status_t status;

    if (lane->open) {
        return EPDX_OK;
    }
    lane->open = true;
    status = epi_arena_open(bytes, EPI_CP_SLOTS, &lane->arena);
    if (status == EPDX_OK) {
        status = epi_cp_copies(plane)->pin(plane->params.memory.device, bytes,
                                           &base);
    }
    if (status == EPDX_OK) {
        lane->base = base;
        status = plane->inner->ops->map(plane->inner, epi_memory_host(), base,
                                        bytes, &lane->region);
    }
    if (status == EPDX_OK) {
        status = open_events(plane, lane);
    }
    if (status != EPDX_OK) {
        status = epi_fail(status,
                          "staging memory of %zu bytes (EPDX_CUDA_STAGING_MB): "
                          "%s",
                          bytes, epdx_last_error());
        epi_cp_lane_close(plane, lane);
    }
    return status;
}

/* Halfway open is allowed. */
void epi_cp_lane_close(epi_cp_plane_t *plane, epi_cp_lane_t *lane)
{
    int device = plane->params.memory.device;

    if (!lane->open) {
        return;
    }
    for (uint32_t i = 0; i < EPI_CP_SLOTS; i++) {
        epi_cp_copies(plane)->event_close(device, lane->slots[i].event);
        lane->slots[i].event = NULL;
    }
    epi_cp_copies(plane)->stream_close(device, lane->stream);
    if (lane->region != NULL) {
        plane->inner->ops->unmap(plane->inner, lane->region);
    }
    epi_cp_copies(plane)->unpin(device, lane->base);
    epi_arena_close(lane->arena);
    *lane = (epi_cp_lane_t){.waiting = lane->waiting, .copying = lane->copying};
}

epdx_status_t epi_cp_lane_fits(epi_cp_plane_t *plane, epi_cp_lane_t *lane,
                               size_t bytes)
{
    epdx_status_t status = epi_cp_lane_open(plane, lane);

    if (status == EPDX_OK && bytes > epi_arena_capacity(lane->arena)) {
        status = epi_fail(EPDX_ERR_TOO_LARGE,
                          "rows of %zu bytes do not fit the staging memory of "
                          "%zu: raise EPDX_CUDA_STAGING_MB",
                          bytes, (size_t)epi_arena_capacity(lane->arena));
    }
    return status;
}

bool epi_cp_lane_lease(epi_cp_lane_t *lane, epi_cp_transfer_t *transfer)
{
    uint64_t offset;
    uint32_t slot;

    if (lane->free_count == 0 ||
        epi_arena_lease(lane->arena, transfer->bytes, &offset) != EPDX_OK) {
        return false;
    }
    slot = lane->free_slots[--lane->free_count];
    lane->slots[slot].offset = offset;
    transfer->slot = slot;
    return true;
}

void epi_cp_lane_release(epi_cp_lane_t *lane, const epi_cp_transfer_t *transfer)
{
    epi_expect(
        epi_arena_release(lane->arena, lane->slots[transfer->slot].offset),
        "a range of staging memory");
    lane->free_slots[lane->free_count++] = transfer->slot;
    lane->freed = true;
}

void *epi_cp_lane_at(const epi_cp_lane_t *lane,
                     const epi_cp_transfer_t *transfer)
{
    return lane->base + lane->slots[transfer->slot].offset;
}

epdx_status_t epi_cp_lane_copy(epi_cp_plane_t *plane, epi_cp_lane_t *lane,
                               epi_cp_transfer_t *transfer)
{
    void *staging = epi_cp_lane_at(lane, transfer);
    epdx_status_t status = epi_cp_copies(plane)->copy(
        lane->stream, transfer->pull ? transfer->at : staging,
        transfer->pull ? staging : transfer->at, transfer->bytes);

    if (status != EPDX_OK) {
        return status;
    }
    /* Without its event the copy still runs: copied() asks the stream then. */
    transfer->status = epi_cp_copies(plane)->record(
        lane->stream, lane->slots[transfer->slot].event);
    if (transfer->status != EPDX_OK) {
        epi_log_error("data plane: %s", epdx_last_error());
    }
    epi_cp_move(transfer, &lane->copying);
    return EPDX_OK;
}

/* Whether the copy is over: done, or never to be done any more. */
static bool is_over(epi_cp_plane_t *plane, const epi_cp_lane_t *lane,
                    epi_cp_transfer_t *transfer)
{
    bool done = false;

    if (transfer->status == EPDX_OK) {
        transfer->status =
            epi_event_done(lane->slots[transfer->slot].event, &done);
        if (transfer->status == EPDX_OK) {
            return done;
        }
        epi_log_error("data plane: a copy of %zu bytes failed: %s",
                      transfer->bytes, epdx_last_error());
    }
    /* The event tells nothing, so it is over when the whole stream is. */
    return epi_cp_copies(plane)->stream_done(lane->stream) != EPDX_IN_PROGRESS;
}

epi_cp_transfer_t *epi_cp_lane_copied(epi_cp_plane_t *plane,
                                      epi_cp_lane_t *lane)
{
    epi_cp_transfer_t *transfer = lane->copying.first;

    if (transfer == NULL || !is_over(plane, lane, transfer)) {
        return NULL;
    }
    epi_cp_move(transfer, &plane->inside);
    return transfer;
}

bool epi_cp_lane_busy(const epi_cp_lane_t *lane)
{
    return lane->copying.first != NULL ||
           (lane->waiting.first != NULL && lane->freed);
}
