/* row_bytes.h: the bytes of a row, checked once at open. Pure. */
#ifndef EPI_SHARD_ROW_BYTES_H
#define EPI_SHARD_ROW_BYTES_H

#include "epdx/types.h"

typedef struct epi_row_bytes {
    uint64_t main;
    uint64_t deepstack; /* 0: no deepstack */
} epi_row_bytes_t;

/** EPDX_ERR_INVALID with words: no dtype, no elements, or a row of over
 *  INT32_MAX bytes: MPI counts them in an int. who names the object. */
EPDX_MUST_CHECK epdx_status_t epi_row_bytes(const char *who, epdx_dtype_t dtype,
                                            uint64_t hidden, uint32_t levels,
                                            epi_row_bytes_t *bytes_p);

#endif
