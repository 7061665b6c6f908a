/*
 * arena.h: byte ranges of one region: leased first-fit by address, given back
 * in any order, neighbours coalesce. Pure: it deals in offsets. Nothing is
 * allocated after init. One thread.
 */
#ifndef EPI_POOL_ARENA_H
#define EPI_POOL_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "epdx/status.h"

#define EPI_ARENA_ALIGN UINT64_C(256)

typedef struct epi_arena epi_arena_t;

/** bytes (a multiple of 256 is used of it) and at most lease_max leases at a
 *  time. Errors: EPDX_ERR_INVALID (bytes < 256, lease_max 0),
 *  EPDX_ERR_NO_MEMORY. */
EPDX_MUST_CHECK epdx_status_t epi_arena_open(uint64_t bytes, size_t lease_max,
                                             epi_arena_t **arena_p);

/** Lease bytes, rounded up to 256. *offset_p is a multiple of 256. Errors:
 *  EPDX_ERR_INVALID (0), EPDX_ERR_TOO_LARGE (more than the arena ever has),
 *  EPDX_ERR_FULL (no range is large enough now, or lease_max). */
EPDX_MUST_CHECK epdx_status_t epi_arena_lease(epi_arena_t *arena,
                                              uint64_t bytes,
                                              uint64_t *offset_p);

/** Give the lease at offset back. EPDX_ERR_NOT_FOUND: no lease starts there,
 *  nothing changes. */
EPDX_MUST_CHECK epdx_status_t epi_arena_release(epi_arena_t *arena,
                                                uint64_t offset);

/** The length of the lease that starts at offset, 0 when none does. */
uint64_t epi_arena_lease_bytes(const epi_arena_t *arena, uint64_t offset);

uint64_t epi_arena_capacity(const epi_arena_t *arena);
uint64_t epi_arena_leased(const epi_arena_t *arena);
size_t epi_arena_lease_count(const epi_arena_t *arena);

void epi_arena_close(epi_arena_t *arena);

#endif
