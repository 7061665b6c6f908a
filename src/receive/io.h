/*
 * io.h: the I/O side of a receiver: one loop source over its control socket,
 * its HTTP exchanges, its data plane and its items. Opened and closed by the
 * caller's thread while the loop does not run.
 */
#ifndef EPI_RECEIVE_IO_H
#define EPI_RECEIVE_IO_H

#include "receive/intake.h"

typedef struct epi_receive_io {
    epi_receive_shared_t *shared;
    epi_loop_t *loop;
    epi_control_t *control;
    epi_http_t *http;
    epi_dataplane_t *dp;
    epi_dp_region_t *region;
    bool unbound; /* its thread has yet to make the memory's device its own */
    epi_nodes_t nodes;
    epi_intake_t intake;
} epi_receive_io_t;

/** Takes dp on success only (then io closes it); pool is the caller's. Errors:
 * those of the parts, with words. The loop is not started. */
EPDX_MUST_CHECK epdx_status_t epi_receive_io_open(epi_receive_io_t *io,
                                                  epi_receive_shared_t *shared,
                                                  epi_dataplane_t *dp,
                                                  void *pool, uint64_t spin_ns);

/** Withdraw all items, wait at most 2 s for pulls to end, close everything.
 *  False: a pull did not end, and the pool must never be freed. */
bool epi_receive_io_close(epi_receive_io_t *io);

#endif
