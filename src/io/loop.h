/*
 * loop.h: the one wait, used by both ends: a loop over sources (ZeroMQ's,
 * libcurl's and the data plane's descriptors, timers, mailboxes), run by a
 * thread of its own or, a step at a time, by the caller.
 *
 *     step: every source does what it can --> nothing done? spin, then sleep
 *           in one poll(2) over all descriptors and the wake-up
 */
#ifndef EPI_IO_LOOP_H
#define EPI_IO_LOOP_H

#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "epdx/status.h"

#define EPI_LOOP_SOURCE_MAX 8
#define EPI_LOOP_FD_MAX     1024

/** What a source wants waited for. */
typedef struct epi_loop_wait {
    struct pollfd *fds;
    size_t fd_count;
    size_t fd_max;
    uint64_t due; /* sleep no longer than this; EPI_NEVER comes in */
    bool ready;   /* something can be done now: do not sleep */
} epi_loop_wait_t;

typedef struct epi_loop_source {
    /** Do what can be done now; true when something was done. Never waits. */
    bool (*step)(void *self, uint64_t now);
    /** Add descriptors, lower due, or set ready. May be NULL. */
    void (*prepare)(void *self, epi_loop_wait_t *wait);
    void *self;
} epi_loop_source_t;

typedef struct epi_loop epi_loop_t;

/** EPDX_ERR_NO_MEMORY, _IO (no descriptor for the wake-up). */
EPDX_MUST_CHECK epdx_status_t epi_loop_open(uint64_t spin_ns,
                                            epi_loop_t **loop_p);

/** Before the loop starts. EPDX_ERR_FULL: EPI_LOOP_SOURCE_MAX. */
EPDX_MUST_CHECK epdx_status_t epi_loop_add(epi_loop_t *loop,
                                           const epi_loop_source_t *source);

/** Run the loop on a thread called name (15 characters). Signals are blocked
 *  in it. EPDX_ERR_IO. */
EPDX_MUST_CHECK epdx_status_t epi_loop_start(epi_loop_t *loop,
                                             const char *name);

/** Make a sleeping loop look again. Any thread; costs a system call only when
 *  the loop may be asleep. */
void epi_loop_wake(epi_loop_t *loop);

/** One step of a loop without a thread; true when something was done. */
bool epi_loop_step(epi_loop_t *loop);

/** Sleep until there is something to do, at most until due: for callers that
 *  run the loop themselves and have nothing else to do. */
void epi_loop_sleep(epi_loop_t *loop, uint64_t due);

/** Ends the thread, if any, after its step. The sources' owners close them
 *  afterwards. */
void epi_loop_stop(epi_loop_t *loop);

/** Stops and frees. NULL is allowed. */
void epi_loop_close(epi_loop_t *loop);

#endif
