/* wait.h: what both ends of a transfer wait for: control messages, HTTP
 * exchanges, rows, and their timers. */
#ifndef EPI_IO_WAIT_H
#define EPI_IO_WAIT_H

#include "control/control.h"
#include "dataplane/dataplane.h"
#include "discovery/http.h"
#include "io/loop.h"

typedef struct epi_io_parts {
    epi_control_t *control;
    epi_http_t *http;
    epi_dataplane_t *dp;
} epi_io_parts_t;

/** Fill in a loop's wait: the parts' descriptors, and due, the earliest timer.
 *  It is ready where the data plane must be polled or cannot be armed yet. */
void epi_io_wait(const epi_io_parts_t *parts, uint64_t due,
                 epi_loop_wait_t *wait);

#endif
