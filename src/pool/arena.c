/*
 * arena.c: byte ranges of one region. Receiver and sender ring call it.
 *
 *     free range --lease--> leased --release--> free, joined to its neighbours
 *
 * Free ranges stand in one array in the order of their addresses: a lease reads
 * it from the front, a release finds its place by bisection and its neighbours
 * beside it. No two of them touch, so there is at most one more of them than
 * there are leases. A lease is found by its offset in a table.
 */
#include "pool/arena.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/table.h"

typedef struct range {
    uint64_t offset;
    uint64_t bytes;
} range_t;

struct epi_arena {
    range_t *free; /* by address; lease_max + 1 of them at most */
    size_t free_count;
    epi_table_t leases;    /* offset to index in lease_bytes */
    uint64_t *lease_bytes; /* by index */
    uint32_t *unused;      /* stack of indices without a lease */
    size_t lease_max;
    size_t lease_count;
    uint64_t capacity;
    uint64_t leased;
};

static void free_arrays(epi_arena_t *arena)
{
    free(arena->free);
    free(arena->lease_bytes);
    free(arena->unused);
}

/* lease_max fits 32 bits, so no count here overflows a 64-bit size. */
static bool alloc_arrays(epi_arena_t *arena)
{
    size_t count = arena->lease_max;

    arena->free = calloc(count + 1, sizeof(*arena->free));
    arena->lease_bytes = calloc(count, sizeof(*arena->lease_bytes));
    arena->unused = calloc(count, sizeof(*arena->unused));
    return arena->free != NULL && arena->lease_bytes != NULL &&
           arena->unused != NULL;
}

epdx_status_t epi_arena_open(uint64_t bytes, size_t lease_max,
                             epi_arena_t **arena_p)
{
    epi_arena_t *arena;
    epdx_status_t status;

    if (bytes < EPI_ARENA_ALIGN || lease_max == 0 || lease_max >= UINT32_MAX) {
        return epi_fail(EPDX_ERR_INVALID,
                        "an arena of %" PRIu64
                        " bytes for %zu leases: at least %" PRIu64
                        " bytes and 1 lease are needed",
                        bytes, lease_max, EPI_ARENA_ALIGN);
    }
    arena = calloc(1, sizeof(*arena));
    if (arena == NULL) {
        return epi_fail(EPDX_ERR_NO_MEMORY, "out of memory for an arena");
    }
    arena->lease_max = lease_max;
    arena->capacity = bytes & ~(EPI_ARENA_ALIGN - 1);
    if (!alloc_arrays(arena)) {
        status =
            epi_fail(EPDX_ERR_NO_MEMORY,
                     "out of memory for an arena of %zu leases", lease_max);
        goto err_free_arena;
    }
    /* Offsets are our own choice, not a peer's: no secret seed is needed. */
    status = epi_table_init(&arena->leases, lease_max, 0);
    if (status != EPDX_OK) {
        goto err_free_arena;
    }

    for (size_t i = 0; i < lease_max; i++) {
        arena->unused[i] = (uint32_t)(lease_max - 1 - i);
    }
    arena->free[0] = (range_t){.offset = 0, .bytes = arena->capacity};
    arena->free_count = 1;
    *arena_p = arena;
    return EPDX_OK;

err_free_arena:
    free_arrays(arena);
    free(arena);
    return status;
}

static void free_erase(epi_arena_t *arena, size_t index)
{
    arena->free_count--;
    memmove(&arena->free[index], &arena->free[index + 1],
            (arena->free_count - index) * sizeof(*arena->free));
}

static void free_insert(epi_arena_t *arena, size_t index, range_t range)
{
    for (size_t i = arena->free_count; i > index; i--) {
        arena->free[i] = arena->free[i - 1];
    }
    arena->free[index] = range;
    arena->free_count++;
}

/* Index of the first free range after offset, free_count when there is none. */
static size_t free_after(const epi_arena_t *arena, uint64_t offset)
{
    size_t low = 0, high = arena->free_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (arena->free[middle].offset > offset) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

/* The lowest range of at least bytes; false when there is none. */
static bool free_fit(const epi_arena_t *arena, uint64_t bytes, size_t *index_p)
{
    if (bytes > arena->capacity - arena->leased) {
        return false;
    }
    for (size_t i = 0; i < arena->free_count; i++) {
        if (arena->free[i].bytes >= bytes) {
            *index_p = i;
            return true;
        }
    }
    return false;
}

static void free_take(epi_arena_t *arena, size_t index, uint64_t bytes)
{
    range_t *range = &arena->free[index];

    range->offset += bytes;
    range->bytes -= bytes;
    if (range->bytes == 0) {
        free_erase(arena, index);
    }
}

static void free_give(epi_arena_t *arena, range_t range)
{
    size_t next = free_after(arena, range.offset);
    range_t *after = next < arena->free_count ? &arena->free[next] : NULL;
    range_t *before = next > 0 ? &arena->free[next - 1] : NULL;

    if (after != NULL && range.offset + range.bytes == after->offset) {
        after->offset = range.offset;
        after->bytes += range.bytes;
        if (before != NULL && before->offset + before->bytes == range.offset) {
            before->bytes += after->bytes;
            free_erase(arena, next);
        }
    } else if (before != NULL &&
               before->offset + before->bytes == range.offset) {
        before->bytes += range.bytes;
    } else {
        free_insert(arena, next, range);
    }
}

static epdx_status_t full(const epi_arena_t *arena, uint64_t bytes)
{
    return epi_fail(EPDX_ERR_FULL,
                    "no range of %" PRIu64 " bytes is free now: %" PRIu64
                    " of %" PRIu64
                    " bytes are leased, in %zu of at most %zu leases",
                    bytes, arena->leased, arena->capacity, arena->lease_count,
                    arena->lease_max);
}

epdx_status_t epi_arena_lease(epi_arena_t *arena, uint64_t bytes,
                              uint64_t *offset_p)
{
    uint64_t rounded, offset;
    size_t index;
    uint32_t lease;
    epdx_status_t status;

    if (bytes == 0) {
        return epi_fail(EPDX_ERR_INVALID, "a lease of 0 bytes");
    }
    if (!epi_align_u64(bytes, EPI_ARENA_ALIGN, &rounded) ||
        rounded > arena->capacity) {
        return epi_fail(EPDX_ERR_TOO_LARGE,
                        "%" PRIu64 " bytes can never fit an arena of %" PRIu64,
                        bytes, arena->capacity);
    }
    if (arena->lease_count == arena->lease_max ||
        !free_fit(arena, rounded, &index)) {
        return full(arena, rounded);
    }
    offset = arena->free[index].offset;
    lease = arena->unused[arena->lease_max - arena->lease_count - 1];
    status = epi_table_add(&arena->leases, offset, lease);
    if (status != EPDX_OK) {
        return status;
    }

    free_take(arena, index, rounded);
    arena->lease_bytes[lease] = rounded;
    arena->lease_count++;
    arena->leased += rounded;
    *offset_p = offset;
    return EPDX_OK;
}

epdx_status_t epi_arena_release(epi_arena_t *arena, uint64_t offset)
{
    uint32_t lease;
    uint64_t bytes;

    if (!epi_table_find(&arena->leases, offset, &lease)) {
        return epi_fail(EPDX_ERR_NOT_FOUND,
                        "no lease starts at offset %" PRIu64, offset);
    }
    (void)epi_table_remove(&arena->leases, offset);
    bytes = arena->lease_bytes[lease];
    arena->lease_count--;
    arena->unused[arena->lease_max - arena->lease_count - 1] = lease;
    arena->leased -= bytes;
    free_give(arena, (range_t){.offset = offset, .bytes = bytes});
    return EPDX_OK;
}

uint64_t epi_arena_lease_bytes(const epi_arena_t *arena, uint64_t offset)
{
    uint32_t lease;

    if (!epi_table_find(&arena->leases, offset, &lease)) {
        return 0;
    }
    return arena->lease_bytes[lease];
}

uint64_t epi_arena_capacity(const epi_arena_t *arena)
{
    return arena->capacity;
}

uint64_t epi_arena_leased(const epi_arena_t *arena)
{
    return arena->leased;
}

size_t epi_arena_lease_count(const epi_arena_t *arena)
{
    return arena->lease_count;
}

void epi_arena_close(epi_arena_t *arena)
{
    if (arena == NULL) {
        return;
    }
    epi_table_fini(&arena->leases);
    free_arrays(arena);
    free(arena);
}
