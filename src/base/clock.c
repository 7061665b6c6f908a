/* clock.c: the only file that asks what time it is. */
#include "base/clock.h"

#include <stdio.h>
#include <time.h>

static uint64_t read_clock(clockid_t clock_id)
{
    struct timespec now = {0, 0};

    /* Cannot fail: both clocks exist on every Linux and now is ours. */
    (void)clock_gettime(clock_id, &now);
    return (uint64_t)now.tv_sec * EPI_S + (uint64_t)now.tv_nsec;
}

uint64_t epi_now_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

uint64_t epi_wall_ns(void)
{
    return read_clock(CLOCK_REALTIME);
}

void epi_wall_text(uint64_t wall_ns, char out[EPI_WALL_TEXT])
{
    time_t seconds = (time_t)(wall_ns / EPI_S);
    struct tm parts = {0};
    size_t used;

    (void)gmtime_r(&seconds, &parts);
    used = strftime(out, EPI_WALL_TEXT, "%Y-%m-%dT%H:%M:%S", &parts);
    (void)snprintf(out + used, EPI_WALL_TEXT - used, ".%06uZ",
                   (unsigned)(wall_ns % EPI_S / EPI_US));
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
