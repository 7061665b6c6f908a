/* clock.c: the only file that asks what time it is. */
#include "base/clock.h"

#include <time.h>

uint64_t epi_now_ns(void)
{
    struct timespec now = {0, 0};

    /* Cannot fail: the clock exists on every Linux and now is ours. */
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * EPI_S + (uint64_t)now.tv_nsec;
}

int epi_poll_ms(uint64_t now, uint64_t deadline, int max_ms)
{
    uint64_t left_ns;
    uint64_t left_ms;

    if (deadline <= now) {
        return 0;
    }
    left_ns = deadline - now;
    left_ms = left_ns / EPI_MS + (left_ns % EPI_MS != 0);
    return left_ms < (uint64_t)max_ms ? (int)left_ms : max_ms;
}
