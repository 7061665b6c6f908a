/*
 * loop.c: see loop.h.
 *
 * A waker sets `woken` and writes to the eventfd only if the loop said that it
 * may sleep. The loop says so before its last look at the sources, so a wake
 * between that look and poll(2) is either seen by the look or makes poll(2)
 * return at once.
 */
#include "io/loop.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"

/* However long a source is content to wait, the loop looks again. */
#define LOOP_SLEEP_MAX_MS 1000

struct epi_loop {
    epi_loop_source_t sources[EPI_LOOP_SOURCE_MAX];
    size_t source_count;
    uint64_t spin_ns;
    int wake_fd;
    atomic_bool sleepy; /* a waker must write to wake_fd */
    atomic_bool stop;
    bool running;
    pthread_t thread;
    struct pollfd fds[EPI_LOOP_FD_MAX];
};

epdx_status_t epi_loop_open(uint64_t spin_ns, epi_loop_t **loop_p)
{
    epi_loop_t *loop = calloc(1, sizeof(*loop));

    if (loop == NULL) {
        return epi_fail(EPDX_ERR_NO_MEMORY, "no memory for an i/o loop");
    }
    loop->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (loop->wake_fd < 0) {
        int cause = errno;

        free(loop);
        return epi_fail(EPDX_ERR_IO, "eventfd: %s; see ulimit -n",
                        strerror(cause));
    }
    loop->spin_ns = spin_ns;
    *loop_p = loop;
    return EPDX_OK;
}

epdx_status_t epi_loop_add(epi_loop_t *loop, const epi_loop_source_t *source)
{
    if (loop->source_count == EPI_LOOP_SOURCE_MAX) {
        return epi_fail(EPDX_ERR_FULL, "an i/o loop takes %d sources",
                        EPI_LOOP_SOURCE_MAX);
    }
    loop->sources[loop->source_count++] = *source;
    return EPDX_OK;
}

bool epi_loop_step(epi_loop_t *loop)
{
    uint64_t now = epi_now_ns();
    bool done = false;

    for (size_t i = 0; i < loop->source_count; i++) {
        done |= loop->sources[i].step(loop->sources[i].self, now);
    }
    return done;
}

void epi_loop_wake(epi_loop_t *loop)
{
    uint64_t one = 1;

    if (!atomic_exchange(&loop->sleepy, false)) {
        return;
    }
    /* Only a full counter fails, and then the loop wakes anyway. */
    if (write(loop->wake_fd, &one, sizeof(one)) < 0 && errno != EAGAIN) {
        epi_log_error("cannot wake the i/o loop: %s", strerror(errno));
    }
}

static void loop_drain_wake(epi_loop_t *loop)
{
    uint64_t count;

    if (read(loop->wake_fd, &count, sizeof(count)) < 0 && errno != EAGAIN) {
        epi_log_error("cannot read the i/o loop's wake-up: %s",
                      strerror(errno));
    }
}

/* What the sources want, plus the wake-up. */
static void loop_prepare(epi_loop_t *loop, uint64_t due, epi_loop_wait_t *wait)
{
    *wait = (epi_loop_wait_t){
        .fds = loop->fds, .fd_max = EPI_LOOP_FD_MAX, .due = due};
    wait->fds[wait->fd_count++] =
        (struct pollfd){.fd = loop->wake_fd, .events = POLLIN};
    for (size_t i = 0; i < loop->source_count; i++) {
        if (loop->sources[i].prepare != NULL) {
            loop->sources[i].prepare(loop->sources[i].self, wait);
        }
    }
}

/* In poll(2), unless there is something to do; true: a waker ended it. */
static bool loop_wait(epi_loop_t *loop, uint64_t due)
{
    epi_loop_wait_t wait;

    if (epi_loop_step(loop)) {
        return false;
    }
    loop_prepare(loop, due, &wait);
    return !wait.ready && !atomic_load(&loop->stop) &&
           poll(wait.fds, wait.fd_count,
                epi_poll_ms(epi_now_ns(), wait.due, LOOP_SLEEP_MAX_MS)) > 0 &&
           wait.fds[0].revents != 0;
}

void epi_loop_sleep(epi_loop_t *loop, uint64_t due)
{
    bool woken;

    atomic_store(&loop->sleepy, true);
    woken = loop_wait(loop, due);
    atomic_store(&loop->sleepy, false);
    /* A wake-up that came otherwise is found by the next poll(2). */
    if (woken) {
        loop_drain_wake(loop);
    }
}

/* Steps until nothing was done for the time that the settings allow. */
static void loop_spin(epi_loop_t *loop)
{
    uint64_t idle_since = epi_now_ns();

    do {
        if (epi_loop_step(loop)) {
            idle_since = epi_now_ns();
        } else if (loop->spin_ns > 0) {
            sched_yield();
        }
    } while (!atomic_load(&loop->stop) &&
             epi_now_ns() < epi_after(idle_since, loop->spin_ns));
}

static void *loop_main(void *self)
{
    epi_loop_t *loop = self;

    while (!atomic_load(&loop->stop)) {
        loop_spin(loop);
        epi_loop_sleep(loop, EPI_NEVER);
    }
    return NULL;
}

epdx_status_t epi_loop_start(epi_loop_t *loop, const char *name)
{
    sigset_t all;
    sigset_t before;
    int cause;

    /* The thread inherits the mask: signals are the program's own threads'. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    cause = pthread_create(&loop->thread, NULL, loop_main, loop);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (cause != 0) {
        return epi_fail(EPDX_ERR_IO, "cannot start the i/o thread: %s",
                        strerror(cause));
    }
    loop->running = true;
    pthread_setname_np(loop->thread, name);
    return EPDX_OK;
}

void epi_loop_stop(epi_loop_t *loop)
{
    if (!loop->running) {
        return;
    }
    atomic_store(&loop->stop, true);
    /* Not epi_loop_wake(): the loop may be between steps, not yet sleepy. */
    if (write(loop->wake_fd, &(uint64_t){1}, sizeof(uint64_t)) < 0) {
        epi_log_error("cannot stop the i/o loop: %s", strerror(errno));
    }
    pthread_join(loop->thread, NULL);
    loop->running = false;
    atomic_store(&loop->stop, false);
}

void epi_loop_close(epi_loop_t *loop)
{
    if (loop == NULL) {
        return;
    }
    epi_loop_stop(loop);
    close(loop->wake_fd);
    free(loop);
}
