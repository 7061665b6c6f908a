/* wait.h: what both ends of a transfer wait for: control messages, HTTP
 * exchanges, rows, and their timers. */
#ifndef EPI_IO_WAIT_H
#define EPI_IO_WAIT_H

#include "base/clock.h"
#include "control/control.h"
#include "dataplane/dataplane.h"
#include "discovery/http.h"
#include "io/loop.h"

#define EPI_IO_LINGER_NS (250 * EPI_MS)

typedef struct epi_io_parts {
    epi_control_t *control;
    epi_http_t *http;
    epi_dataplane_t *dp;
} epi_io_parts_t;

/** Fill in a loop's wait: the parts' descriptors, and due, the earliest timer.
 *  It is ready where the data plane must be polled or cannot be armed yet. */
void epi_io_wait(const epi_io_parts_t *parts, uint64_t due,
                 epi_loop_wait_t *wait);

/**
 * Before a close: step the rows until EPI_IO_LINGER_NS after the last transfer
 * ended here, at last_ns (0: none has). Its end there may still be on the way,
 * by what is in the sockets, and connections that are forced shut at once would
 * break it. rows does a step, and says whether it did something.
 */
void epi_io_linger(uint64_t last_ns, bool (*rows)(void *self), void *self);

#endif
