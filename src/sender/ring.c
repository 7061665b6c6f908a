/*
 * ring.c: the sender's memory for items. A lease holds main, then deepstack on
 * the next 256-byte boundary.
 *
 *     free --lease--> the caller's --send--> a room's --release--> free
 *                           \---return = release--------------------^
 */
#include "sender/ring.h"

#include <inttypes.h>

#include "base/checked.h"
#include "base/error.h"

epdx_status_t epi_ring_init(epi_ring_t *ring, const epi_ring_params_t *params)
{
    epi_ring_t made = {
        .base = params->base,
        .main_row_bytes = params->main_row_bytes,
        .deepstack_row_bytes = params->deepstack_row_bytes,
    };
    uint64_t row_bytes;
    epdx_status_t status;

    if (params->base == NULL ||
        (uintptr_t)params->base % EPI_ARENA_ALIGN != 0) {
        return epi_fail(EPDX_ERR_INVALID,
                        "the ring's memory is not on a boundary of %" PRIu64
                        " bytes",
                        EPI_ARENA_ALIGN);
    }
    if (params->main_row_bytes == 0 ||
        !epi_add_u64(params->main_row_bytes, params->deepstack_row_bytes,
                     &row_bytes)) {
        return epi_fail(EPDX_ERR_INVALID,
                        "a row of %" PRIu64 " main bytes and %" PRIu64
                        " deepstack bytes",
                        params->main_row_bytes, params->deepstack_row_bytes);
    }
    status = epi_arena_open(params->bytes, params->lease_max, &made.arena);
    if (status != EPDX_OK) {
        return status;
    }
    *ring = made;
    return EPDX_OK;
}

/* Where deepstack begins and where the lease of rows ends, from its start. */
static bool layout(const epi_ring_t *ring, uint64_t rows,
                   uint64_t *deepstack_at_p, uint64_t *bytes_p)
{
    uint64_t main_bytes, deepstack_bytes;

    return epi_mul_u64(rows, ring->main_row_bytes, &main_bytes) &&
           epi_mul_u64(rows, ring->deepstack_row_bytes, &deepstack_bytes) &&
           epi_align_u64(main_bytes, EPI_ARENA_ALIGN, deepstack_at_p) &&
           epi_add_u64(*deepstack_at_p, deepstack_bytes, bytes_p);
}

static epdx_status_t too_large(const epi_ring_t *ring, uint64_t rows)
{
    return epi_fail(EPDX_ERR_TOO_LARGE,
                    "an item of %" PRIu64 " rows of %" PRIu64
                    " bytes can never fit the ring of %" PRIu64
                    " bytes: send it from own memory, or raise "
                    "EPDX_ENCODE_RING_MB",
                    rows, ring->main_row_bytes + ring->deepstack_row_bytes,
                    epi_arena_capacity(ring->arena));
}

static epdx_status_t full(const epi_ring_t *ring, uint64_t bytes)
{
    return epi_fail(
        EPDX_ERR_FULL,
        "the ring has no range of %" PRIu64 " bytes now (%" PRIu64
        " of %" PRIu64 " are leased, in %zu leases): poll, or send from own "
        "memory",
        bytes, epi_arena_leased(ring->arena), epi_arena_capacity(ring->arena),
        epi_arena_lease_count(ring->arena));
}

epdx_status_t epi_ring_lease(epi_ring_t *ring, uint64_t rows,
                             epdx_chunk_t *chunk_p)
{
    uint64_t deepstack_at, bytes, offset;
    uint8_t *main;
    epdx_status_t status;

    if (rows == 0) {
        return epi_fail(EPDX_ERR_INVALID, "a lease for an item of 0 rows");
    }
    if (!layout(ring, rows, &deepstack_at, &bytes)) {
        return too_large(ring, rows);
    }
    status = epi_arena_lease(ring->arena, bytes, &offset);
    if (status == EPDX_ERR_TOO_LARGE) {
        return too_large(ring, rows);
    }
    if (status == EPDX_ERR_FULL) {
        return full(ring, bytes);
    }
    if (status != EPDX_OK) {
        return status;
    }
    main = ring->base + offset;
    *chunk_p = (epdx_chunk_t){
        .rows = rows,
        .main = main,
        .deepstack = ring->deepstack_row_bytes > 0 ? main + deepstack_at : NULL,
        .lease = offset + 1,
    };
    return EPDX_OK;
}

bool epi_ring_holds(const epi_ring_t *ring, const epdx_chunk_t *chunk)
{
    uint64_t deepstack_at, bytes, leased;
    const uint8_t *main, *deepstack = NULL;

    if (chunk->lease == 0 || chunk->rows == 0) {
        return false;
    }
    leased = epi_arena_lease_bytes(ring->arena, chunk->lease - 1);
    /* No lease there has 0 bytes, and no row fits it. */
    if (!layout(ring, chunk->rows, &deepstack_at, &bytes) || bytes > leased) {
        return false;
    }
    main = ring->base + (chunk->lease - 1);
    if (ring->deepstack_row_bytes > 0) {
        deepstack = main + deepstack_at;
    }
    return chunk->main == main && chunk->deepstack == deepstack;
}

epdx_status_t epi_ring_release(epi_ring_t *ring, uint64_t lease)
{
    if (lease == 0) {
        return epi_fail(EPDX_ERR_NOT_FOUND,
                        "the caller's own memory is no lease of the ring");
    }
    return epi_arena_release(ring->arena, lease - 1);
}

void epi_ring_fini(epi_ring_t *ring)
{
    epi_arena_close(ring->arena);
    *ring = (epi_ring_t){0};
}
