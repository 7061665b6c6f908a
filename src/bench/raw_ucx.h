/*
 * raw_ucx.h: bare UCX between the ranks of a team, without failure detection:
 * a context, a worker, an endpoint from each rank to each other. UCX's own
 * defaults and the user's UCX_* hold, but that on loopback it stays there, as
 * epdx does.
 */
#ifndef EPI_BENCH_RAW_UCX_H
#define EPI_BENCH_RAW_UCX_H

#include <ucp/api/ucp.h>

#include "bench/bench.h"

typedef struct epi_raw_ucx {
    ucp_context_h context;
    ucp_worker_h worker;
    ucp_ep_h eps[EPI_TEAM_RANKS_MAX]; /* by rank; NULL: this one */
    epi_team_t *team;
    int event_fd;
} epi_raw_ucx_t;

/** Collective. features: of UCP_FEATURE_*. */
EPDX_MUST_CHECK epdx_status_t epi_raw_ucx_open(epi_raw_ucx_t *raw,
                                               epi_team_t *team,
                                               uint64_t features);

/** Be called for active messages of an id. */
EPDX_MUST_CHECK epdx_status_t epi_raw_ucx_handle(epi_raw_ucx_t *raw,
                                                 unsigned id,
                                                 ucp_am_recv_callback_t handler,
                                                 void *arg);

/** Count active messages of an id: *count_p goes up by one for each. */
EPDX_MUST_CHECK epdx_status_t epi_raw_ucx_count(epi_raw_ucx_t *raw, unsigned id,
                                                size_t *count_p);

/** Wait for a request that a call gave, progressing. */
EPDX_MUST_CHECK epdx_status_t epi_raw_ucx_wait(epi_raw_ucx_t *raw,
                                               ucs_status_ptr_t request);

/** Flush, then an empty message of an id to every other rank. */
EPDX_MUST_CHECK epdx_status_t epi_raw_ucx_end(epi_raw_ucx_t *raw, unsigned id);

/** Sleep until there is something to progress. */
void epi_raw_ucx_sleep(epi_raw_ucx_t *raw);

/** What the endpoint to the next rank uses. */
void epi_raw_ucx_transport(const epi_raw_ucx_t *raw, char *out, size_t size);

/** Collective. Zero-filled is allowed. */
void epi_raw_ucx_close(epi_raw_ucx_t *raw);

/** A status of UCX with words. */
epdx_status_t epi_raw_ucx_fail(const char *call, ucs_status_t status);

#endif
