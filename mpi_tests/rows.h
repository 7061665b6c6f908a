/* rows.h: regions of rows whose every byte is known, for tests over ranks. */
#ifndef EPDX_MPI_TESTS_ROWS_H
#define EPDX_MPI_TESTS_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "epdx/types.h"

/** A region with a guard before and after it. */
typedef struct rows_region {
    uint8_t *bytes;
    uint64_t span;
    size_t row_bytes;
    uint64_t seed; /* regions of different seeds hold different rows */
} rows_region_t;

/** Memory for span rows, none of them right yet. Aborts without memory. */
rows_region_t rows_open(uint64_t span, size_t row_bytes, uint64_t seed);

/** Write the rows of share as they ought to be. */
void rows_fill(const rows_region_t *region, epdx_rows_t share);

/** Whether every byte of share is as it ought to be. Says which is not. */
bool rows_right(const rows_region_t *region, epdx_rows_t share);

/** Whether all rows are right and the guards untouched. */
bool rows_all_right(const rows_region_t *region);

void rows_close(rows_region_t *region);

#endif
