/* clock.h: monotonic time. clock.c is the only file that asks for it. */
#ifndef EPI_BASE_CLOCK_H
#define EPI_BASE_CLOCK_H

#include <stdint.h>

#define EPI_US UINT64_C(1000)
#define EPI_MS UINT64_C(1000000)
#define EPI_S  UINT64_C(1000000000)
/** A deadline that never comes. */
#define EPI_NEVER UINT64_MAX

/** Nanoseconds of CLOCK_MONOTONIC. Any thread. */
uint64_t epi_now_ns(void);

/** Nanoseconds of CLOCK_REALTIME since 1970: for people and for clocks that
 *  are compared, never for waiting. Any thread. */
uint64_t epi_wall_ns(void);

/** Room for a time of epi_wall_text(). */
#define EPI_WALL_TEXT 32

/** wall_ns as people write it, in UTC: "2026-01-02T03:04:05.000006Z". */
void epi_wall_text(uint64_t wall_ns, char out[EPI_WALL_TEXT]);

/** now + delay, or EPI_NEVER where the sum does not fit. */
static inline uint64_t epi_after(uint64_t now, uint64_t delay)
{
    return delay > UINT64_MAX - now ? EPI_NEVER : now + delay;
}

/** Milliseconds until deadline for poll(2): 0 when it has passed, rounded up,
 *  at most max_ms. */
int epi_poll_ms(uint64_t now, uint64_t deadline, int max_ms);

#endif
