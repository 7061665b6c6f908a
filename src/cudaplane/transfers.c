/*
 * transfers.c: the records of transfers, see cudaplane_internal.h. They come
 * in slabs that are kept, so a steady state allocates nothing.
 */
#include <stdlib.h>

#include "base/error.h"
#include "cudaplane/cudaplane_internal.h"

#define SLAB_TRANSFERS 128
/* As many as a plane of this library has events for. */
#define TRANSFERS_MAX ((size_t)1 << 18)

struct epi_cp_slab {
    epi_cp_slab_t *next;
    epi_cp_transfer_t transfers[SLAB_TRANSFERS];
};

static void unlink_transfer(epi_cp_transfer_t *transfer)
{
    epi_cp_list_t *list = transfer->list;

    if (list == NULL) {
        return;
    }
    if (transfer->previous != NULL) {
        transfer->previous->next = transfer->next;
    } else {
        list->first = transfer->next;
    }
    if (transfer->next != NULL) {
        transfer->next->previous = transfer->previous;
    } else {
        list->last = transfer->previous;
    }
    transfer->next = NULL;
    transfer->previous = NULL;
    transfer->list = NULL;
}

void epi_cp_move(epi_cp_transfer_t *transfer, epi_cp_list_t *to)
{
    unlink_transfer(transfer);
    transfer->list = to;
    transfer->previous = to->last;
    if (to->last != NULL) {
        to->last->next = transfer;
    } else {
        to->first = transfer;
    }
    to->last = transfer;
}

epdx_status_t epi_cp_reserve(epi_cp_plane_t *plane)
{
    epi_cp_slab_t *slab;

    if (plane->free.first != NULL) {
        return EPDX_OK;
    }
    if (plane->transfer_count >= TRANSFERS_MAX) {
        return epi_fail(EPDX_ERR_NO_MEMORY,
                        "data plane: %zu transfers are under way, which is the "
                        "limit",
                        plane->transfer_count);
    }
    slab = calloc(1, sizeof(*slab));
    if (slab == NULL) {
        return epi_fail(EPDX_ERR_NO_MEMORY,
                        "data plane: no memory for %d transfers",
                        SLAB_TRANSFERS);
    }
    slab->next = plane->slabs;
    plane->slabs = slab;
    plane->transfer_count += SLAB_TRANSFERS;
    for (size_t i = 0; i < SLAB_TRANSFERS; i++) {
        epi_cp_move(&slab->transfers[i], &plane->free);
    }
    return EPDX_OK;
}

epi_cp_transfer_t *epi_cp_take(epi_cp_plane_t *plane)
{
    epi_cp_transfer_t *transfer = plane->free.first;

    unlink_transfer(transfer);
    *transfer = (epi_cp_transfer_t){.slot = EPI_CP_SLOTS};
    return transfer;
}

static void drop_slot(epi_cp_plane_t *plane, epi_cp_transfer_t *transfer)
{
    if (transfer->slot < EPI_CP_SLOTS) {
        epi_cp_lane_release(transfer->pull ? &plane->in : &plane->out,
                            transfer);
        transfer->slot = EPI_CP_SLOTS;
    }
}

void epi_cp_give_back(epi_cp_plane_t *plane, epi_cp_transfer_t *transfer)
{
    drop_slot(plane, transfer);
    epi_cp_move(transfer, &plane->free);
}

void epi_cp_end(epi_cp_plane_t *plane, epi_cp_transfer_t *transfer,
                epdx_status_t status)
{
    drop_slot(plane, transfer);
    transfer->status = status;
    epi_cp_move(transfer, &plane->ended);
}

void epi_cp_event(epi_cp_plane_t *plane, epi_cp_transfer_t *transfer,
                  epi_dp_event_t *event_p)
{
    *event_p = (epi_dp_event_t){
        .kind = transfer->pull ? EPI_DP_PULLED : EPI_DP_SENT,
        .status = transfer->status,
        .cookie = transfer->cookie,
    };
    if (transfer->status == EPDX_OK) {
        atomic_fetch_add_explicit(transfer->staged ? &plane->staged_bytes
                                                   : &plane->direct_bytes,
                                  transfer->bytes, memory_order_relaxed);
    }
    epi_cp_give_back(plane, transfer);
}

void epi_cp_transfers_fini(epi_cp_plane_t *plane)
{
    while (plane->slabs != NULL) {
        epi_cp_slab_t *slab = plane->slabs;

        plane->slabs = slab->next;
        free(slab);
    }
}
