/* payload.h: a share of a chunk to source bytes. Pure. */
#ifndef EPI_SENDER_PAYLOAD_H
#define EPI_SENDER_PAYLOAD_H

#include "epdx/types.h"

/** An array of [rows, width] elements: main or deepstack of a chunk. */
typedef struct epi_array {
    const void *base;
    uint64_t rows;
    uint64_t width;
    size_t element_bytes;
} epi_array_t;

/** One part of a share, in the sender's memory. */
typedef struct epi_payload {
    const void *source;
    uint64_t bytes;
} epi_payload_t;

/** The rows of share in array. False when base is NULL, the range does not lie
 *  in the array or a size overflows; *payload_p is then unchanged. A share of
 *  0 rows has 0 bytes. */
bool epi_payload_rows(const epi_array_t *array, epdx_rows_t share,
                      epi_payload_t *payload_p);

#endif
