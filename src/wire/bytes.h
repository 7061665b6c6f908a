/* bytes.h: whole numbers as little-endian bytes, for the files of this part. */
#ifndef EPI_WIRE_BYTES_H
#define EPI_WIRE_BYTES_H

#include <stddef.h>
#include <stdint.h>

static inline void epi_bytes_put(uint8_t *out, uint64_t value, size_t length)
{
    size_t i;

    for (i = 0; i < length; i++) {
        out[i] = (uint8_t)(value >> (8 * i));
    }
}

static inline uint64_t epi_bytes_get(const uint8_t *bytes, size_t length)
{
    uint64_t value = 0;
    size_t i;

    for (i = 0; i < length; i++) {
        value |= (uint64_t)bytes[i] << (8 * i);
    }
    return value;
}

#endif
