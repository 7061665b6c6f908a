/*
 * encode_serve.h: the loop of an encode rank: makes the items of its node in
 * the order of the workload, sends them as the ring has room, and takes their
 * outcomes. The thread of main().
 */
#ifndef EPI_TOOLS_ENCODE_SERVE_H
#define EPI_TOOLS_ENCODE_SERVE_H

#include "epdx/sender.h"
#include "tools/device.h"
#include "tools/encode_options.h"

typedef struct epi_encode_totals {
    uint64_t items;     /* of this node, all there are */
    uint64_t sent;      /* given to the sender */
    uint64_t delivered; /* to every receiver */
    uint64_t failed;
    double seconds; /* from the first item to the end */
    epdx_sender_stats_t sender;
} epi_encode_totals_t;

/** Block SIGINT and SIGTERM, which the loop waits for: before any thread is
 *  started. Ignores SIGPIPE. */
void epi_encode_block_signals(void);

/** What is served, and from where. */
typedef struct epi_encode_serve {
    const epi_encode_options_t *options;
    const epi_source_t *source;
    epi_device_t *device;
} epi_encode_serve_t;

/** Serve until a signal or, with --once, until every item has ended; under
 *  mpirun until that is so on every rank, since a node is there only while all
 *  its ranks are. Takes
 *  sender: it is closed, since only then is own memory free again. Errors:
 *  EPDX_ERR_NO_MEMORY; EPDX_ERR_IO of the device; and what the sender answers
 *  to a chunk that it should have taken. *totals_p is set in any case. */
EPDX_MUST_CHECK epdx_status_t epi_encode_serve(const epi_encode_serve_t *what,
                                               epdx_sender_t *sender,
                                               epi_encode_totals_t *totals_p);

#endif
