/*
 * synthetic.h: rows that are a function of (room, row, column, part), so that
 * any receiver can check any byte without the sender. Pure.
 *
 * A row is a row of 64-bit words of a mixing function over the row's seed; the
 * elements are its bytes in order, whatever their size.
 */
#ifndef EPI_TOOLS_SYNTHETIC_H
#define EPI_TOOLS_SYNTHETIC_H

#include "epdx/types.h"

#define EPI_PART_MAIN      0
#define EPI_PART_DEEPSTACK 1

typedef struct epi_synthetic {
    uint64_t room;
    uint32_t part; /* EPI_PART_MAIN or EPI_PART_DEEPSTACK */
    uint64_t columns;
    size_t element_bytes;
} epi_synthetic_t;

/** Bytes that are not what they should be, and where the first one is. Zero
 *  it before the first use; further checks add to it. */
typedef struct epi_wrong {
    uint64_t bytes;
    uint64_t first_row; /* of the item, where bytes > 0 */
    uint64_t first_column;
} epi_wrong_t;

/** Write the rows to out, [rows.count, columns]. */
void epi_synthetic_fill(const epi_synthetic_t *synthetic, epdx_rows_t rows,
                        void *out);

/** Check rows at in, [rows.count, columns]: the number of wrong bytes, which
 *  is also added to *wrong_p. */
uint64_t epi_synthetic_verify(const epi_synthetic_t *synthetic,
                              epdx_rows_t rows, const void *in,
                              epi_wrong_t *wrong_p);

/** The same against expected bytes; room and part do not matter. */
uint64_t epi_bytes_verify(const epi_synthetic_t *shape, epdx_rows_t rows,
                          const void *expected, const void *in,
                          epi_wrong_t *wrong_p);

#endif
