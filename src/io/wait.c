/* wait.c: see wait.h. */
#include "io/wait.h"

#include <sched.h>

/* However long the timers would wait: libcurl counts in an int. */
#define WAIT_MAX_MS 1000

void epi_io_wait(const epi_io_parts_t *parts, uint64_t due,
                 epi_loop_wait_t *wait)
{
    uint64_t now = epi_now_ns();
    int event_fd = parts->dp->ops->event_fd(parts->dp);
    int http_ms =
        epi_poll_ms(now, due < wait->due ? due : wait->due, WAIT_MAX_MS);

    wait->fds[wait->fd_count++] =
        (struct pollfd){.fd = epi_control_wait_fd(parts->control, &wait->ready),
                        .events = POLLIN};
    wait->fd_count +=
        epi_http_wait_fds(parts->http, wait->fds + wait->fd_count,
                          wait->fd_max - wait->fd_count, &http_ms);
    wait->due = epi_after(now, (uint64_t)http_ms * EPI_MS);
    if (event_fd < 0 || wait->fd_count == wait->fd_max ||
        parts->dp->ops->arm(parts->dp) != EPDX_OK) {
        wait->ready = true;
        return;
    }
    wait->fds[wait->fd_count++] =
        (struct pollfd){.fd = event_fd, .events = POLLIN};
}

void epi_io_linger(uint64_t last_ns, bool (*rows)(void *self), void *self)
{
    uint64_t limit = epi_after(last_ns, EPI_IO_LINGER_NS);

    while (last_ns != 0 && epi_now_ns() < limit) {
        if (!rows(self)) {
            (void)sched_yield();
        }
    }
}
