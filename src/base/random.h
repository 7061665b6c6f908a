/* random.h: unpredictable 64-bit numbers, for generations, instance ids and
 * hash seeds. Any thread. */
#ifndef EPI_BASE_RANDOM_H
#define EPI_BASE_RANDOM_H

#include <stdint.h>

/** From getrandom(2); never 0. Aborts only if the kernel has no entropy
 *  source at all. */
uint64_t epi_random_u64(void);

#endif
