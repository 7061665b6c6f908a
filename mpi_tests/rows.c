/* rows.c: see rows.h. */
#include "rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GUARD_BYTES 64
#define GUARD       0xee

/** The first byte of a row; the others count on from it in steps of 7. */
static uint8_t row_seed(const rows_region_t *region, uint64_t row)
{
    uint64_t mixed = (region->seed * UINT64_C(0x9e3779b97f4a7c15)) ^ row;

    mixed *= UINT64_C(0xbf58476d1ce4e5b9);
    return (uint8_t)(mixed >> 40);
}

rows_region_t rows_open(uint64_t span, size_t row_bytes, uint64_t seed)
{
    size_t bytes = (size_t)span * row_bytes + 2 * GUARD_BYTES;
    uint8_t *memory = malloc(bytes);

    if (memory == NULL) {
        fprintf(stderr, "rows: no memory for %zu bytes\n", bytes);
        abort();
    }
    memset(memory, GUARD, bytes);
    return (rows_region_t){memory + GUARD_BYTES, span, row_bytes, seed};
}

void rows_fill(const rows_region_t *region, epdx_rows_t share)
{
    uint64_t row;
    size_t i;

    for (row = share.start; row < share.start + share.count; row++) {
        uint8_t *bytes = region->bytes + (size_t)row * region->row_bytes;
        uint8_t value = row_seed(region, row);

        for (i = 0; i < region->row_bytes; i++) {
            bytes[i] = (uint8_t)(value + 7 * i);
        }
    }
}

bool rows_right(const rows_region_t *region, epdx_rows_t share)
{
    uint64_t row;
    size_t i;

    for (row = share.start; row < share.start + share.count; row++) {
        const uint8_t *bytes = region->bytes + (size_t)row * region->row_bytes;
        uint8_t value = row_seed(region, row);

        for (i = 0; i < region->row_bytes; i++) {
            if (bytes[i] != (uint8_t)(value + 7 * i)) {
                fprintf(stderr,
                        "rows: seed %llu, row %llu of %llu, byte %zu of %zu: "
                        "%u, not %u\n",
                        (unsigned long long)region->seed,
                        (unsigned long long)row,
                        (unsigned long long)region->span, i, region->row_bytes,
                        bytes[i], (uint8_t)(value + 7 * i));
                return false;
            }
        }
    }
    return true;
}

bool rows_all_right(const rows_region_t *region)
{
    const uint8_t *before = region->bytes - GUARD_BYTES;
    const uint8_t *after =
        region->bytes + (size_t)region->span * region->row_bytes;
    size_t i;

    for (i = 0; i < GUARD_BYTES; i++) {
        if (before[i] != GUARD || after[i] != GUARD) {
            fprintf(stderr, "rows: seed %llu: a guard was overwritten\n",
                    (unsigned long long)region->seed);
            return false;
        }
    }
    return rows_right(region, (epdx_rows_t){0, region->span});
}

void rows_close(rows_region_t *region)
{
    free(region->bytes - GUARD_BYTES);
    region->bytes = NULL;
}
