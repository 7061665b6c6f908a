/*
 * event.h: whether the work before a caller's CUDA event is done, whatever
 * memory is in use.
 *
 * The event may be of any device, whichever is current, and nothing waits for
 * its work (CUDA programming guide, "Multi-Device System", on streams and
 * events). An event that was never recorded is done.
 */
#ifndef EPI_MEMORY_EVENT_H
#define EPI_MEMORY_EVENT_H

#include <stdbool.h>

#include "epdx/status.h"

/** event is a cudaEvent_t; NULL is done. Any thread. EPDX_ERR_IO: it cannot be
 *  queried, in CUDA's words; EPDX_ERR_INVALID: CUDA is left out of this build.
 *  On error *done_p is unchanged. */
EPDX_MUST_CHECK epdx_status_t epi_event_done(void *event, bool *done_p);

#endif
