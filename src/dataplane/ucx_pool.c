/*
 * ucx_pool.c: the transfers of the plane over UCX, in blocks that are freed
 * together. For the files of that plane only.
 */
#include <stdlib.h>

#include "dataplane/ucx_internal.h"

#define BLOCK_FIRST ((size_t)64)

epi_dp_offer_t *epi_ucx_take(epi_ucx_plane_t *plane)
{
    epi_ucx_pool_t *pool = &plane->pool;
    size_t count = BLOCK_FIRST << pool->block_count;
    epi_dp_offer_t *taken;

    if (pool->free == NULL) {
        epi_dp_offer_t *block = NULL;

        if (count <= EPI_DP_EVENTS_MAX) {
            block = calloc(count, sizeof(*block));
        }
        if (block == NULL) {
            return NULL;
        }
        pool->blocks[pool->block_count++] = block;
        for (size_t i = 0; i < count; i++) {
            block[i].next_free = pool->free;
            pool->free = &block[i];
        }
    }
    taken = pool->free;
    pool->free = taken->next_free;
    taken->next_free = NULL;
    taken->plane = plane;
    taken->descriptor = NULL;
    taken->placed = false;
    taken->first = false;
    taken->source = NULL;
    taken->large = false;
    return taken;
}

void epi_ucx_give(epi_dp_offer_t *transfer)
{
    epi_ucx_pool_t *pool = &transfer->plane->pool;

    transfer->descriptor = NULL;
    transfer->next_free = pool->free;
    pool->free = transfer;
}

void epi_ucx_release_parked(epi_ucx_plane_t *plane)
{
    const epi_ucx_pool_t *pool = &plane->pool;

    for (size_t b = 0; b < pool->block_count; b++) {
        for (size_t i = 0; i < BLOCK_FIRST << b; i++) {
            epi_dp_offer_t *transfer = &pool->blocks[b][i];

            if (transfer->descriptor != NULL) {
                ucp_am_data_release(plane->worker, transfer->descriptor);
                transfer->descriptor = NULL;
            }
        }
    }
}

void epi_ucx_pool_fini(epi_ucx_pool_t *pool)
{
    for (size_t b = 0; b < pool->block_count; b++) {
        free(pool->blocks[b]);
    }
    *pool = (epi_ucx_pool_t){0};
}
