/* payload.c: a share of a chunk to source bytes. The sender calls it. */
#include "sender/payload.h"

#include "base/checked.h"

bool epi_payload_rows(const epi_array_t *array, epdx_rows_t share,
                      epi_payload_t *payload_p)
{
    uint64_t end, row_bytes, array_bytes, last;

    if (array->base == NULL || !epi_add_u64(share.start, share.count, &end) ||
        end > array->rows) {
        return false;
    }
    /* The array's own size holds every product below. */
    if (!epi_mul_u64(array->width, array->element_bytes, &row_bytes) ||
        !epi_mul_u64(array->rows, row_bytes, &array_bytes) ||
        !epi_add_u64((uintptr_t)array->base, array_bytes, &last)) {
        return false;
    }
    payload_p->source = (const uint8_t *)array->base + share.start * row_bytes;
    payload_p->bytes = share.count * row_bytes;
    return true;
}
