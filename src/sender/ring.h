/*
 * ring.h: the sender's memory for items: ranges of one region, each leased to
 * the caller, then busy with a room, then free again. The caller's thread.
 */
#ifndef EPI_SENDER_RING_H
#define EPI_SENDER_RING_H

#include "epdx/sender.h"
#include "pool/arena.h"

typedef struct epi_ring_params {
    void *base; /* 256-byte aligned; stays the caller's */
    uint64_t bytes;
    size_t lease_max;
    uint64_t main_row_bytes;
    uint64_t deepstack_row_bytes; /* 0: no deepstack */
} epi_ring_params_t;

typedef struct epi_ring {
    epi_arena_t *arena;
    uint8_t *base;
    uint64_t main_row_bytes;
    uint64_t deepstack_row_bytes;
} epi_ring_t;

/** Errors: those of epi_arena_open(), and EPDX_ERR_INVALID when base is not
 *  aligned, a main row has no bytes, or a row's size overflows; *ring is then
 *  unchanged. */
EPDX_MUST_CHECK epdx_status_t epi_ring_init(epi_ring_t *ring,
                                            const epi_ring_params_t *params);

/** See epdx_sender_lease(). chunk_p->lease is 1 + the range's offset. */
EPDX_MUST_CHECK epdx_status_t epi_ring_lease(epi_ring_t *ring, uint64_t rows,
                                             epdx_chunk_t *chunk_p);

/** Whether chunk is a lease of this ring that is out and unchanged: main and
 *  deepstack point where the lease put them and rows fit it. */
bool epi_ring_holds(const epi_ring_t *ring, const epdx_chunk_t *chunk);

/** EPDX_ERR_NOT_FOUND when it is not out. */
EPDX_MUST_CHECK epdx_status_t epi_ring_release(epi_ring_t *ring,
                                               uint64_t lease);

void epi_ring_fini(epi_ring_t *ring);

#endif
