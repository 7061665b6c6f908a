/* checked.h: sizes whose overflow is seen. Results are set only on success. */
#ifndef EPI_BASE_CHECKED_H
#define EPI_BASE_CHECKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool epi_mul_u64(uint64_t a, uint64_t b, uint64_t *out_p)
{
    uint64_t out;

    if (__builtin_mul_overflow(a, b, &out)) {
        return false;
    }
    *out_p = out;
    return true;
}

static inline bool epi_add_u64(uint64_t a, uint64_t b, uint64_t *out_p)
{
    uint64_t out;

    if (__builtin_add_overflow(a, b, &out)) {
        return false;
    }
    *out_p = out;
    return true;
}

/** Round up to a power of two alignment. */
static inline bool epi_align_u64(uint64_t value, uint64_t alignment,
                                 uint64_t *out_p)
{
    uint64_t sum;

    if (!epi_add_u64(value, alignment - 1, &sum)) {
        return false;
    }
    *out_p = sum & ~(alignment - 1);
    return true;
}

#endif
