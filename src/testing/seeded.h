/* seeded.h: numbers for property tests, the same in every run. */
#ifndef EPI_TESTING_SEEDED_H
#define EPI_TESTING_SEEDED_H

#include <stdint.h>

typedef struct test_seeded {
    uint64_t state;
} test_seeded_t;

/** A number below limit, which is not 0 (xorshift*, seeded with non-zero). */
static inline uint64_t test_seeded_below(test_seeded_t *seeded, uint64_t limit)
{
    uint64_t x = seeded->state;

    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    seeded->state = x;
    return ((x * UINT64_C(0x2545f4914f6cdd1d)) >> 16) % limit;
}

#endif
