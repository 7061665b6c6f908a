/* row_bytes.c: see row_bytes.h. */
#include "shard/row_bytes.h"

#include <inttypes.h>

#include "base/checked.h"
#include "base/error.h"

epdx_status_t epi_row_bytes(const char *who, epdx_dtype_t dtype,
                            uint64_t hidden, uint32_t levels,
                            epi_row_bytes_t *bytes_p)
{
    epi_row_bytes_t bytes;

    if (epdx_dtype_bytes(dtype) == 0) {
        return epi_fail(EPDX_ERR_INVALID, "%s: dtype %d is none", who,
                        (int)dtype);
    }
    if (hidden == 0 ||
        !epi_mul_u64(hidden, epdx_dtype_bytes(dtype), &bytes.main) ||
        !epi_mul_u64(bytes.main, levels, &bytes.deepstack) ||
        bytes.main > INT32_MAX || bytes.deepstack > INT32_MAX) {
        return epi_fail(EPDX_ERR_INVALID,
                        "%s: hidden %" PRIu64 " with %" PRIu32
                        " levels gives no row of 1 ... %d bytes",
                        who, hidden, levels, INT32_MAX);
    }
    *bytes_p = bytes;
    return EPDX_OK;
}
