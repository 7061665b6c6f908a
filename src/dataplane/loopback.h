/*
 * loopback.h: a data plane within one process and one thread, for unit tests:
 * planes of one hub reach each other by address. Pulls copy at progress().
 */
#ifndef EPI_DATAPLANE_LOOPBACK_H
#define EPI_DATAPLANE_LOOPBACK_H

#include "dataplane/dataplane.h"

typedef struct epi_loopback_hub epi_loopback_hub_t;

EPDX_MUST_CHECK epdx_status_t epi_loopback_hub_open(epi_loopback_hub_t **hub_p);

/** A plane of the hub; its address is "loopback:N". */
EPDX_MUST_CHECK epdx_status_t epi_dataplane_loopback(epi_loopback_hub_t *hub,
                                                     epi_dataplane_t **dp_p);

/** Faults for tests: hold pulls back (they do not complete until released),
 *  or cut every link of a plane (its peers see EPI_DP_PEER_DOWN, pulls and
 *  offers end with EPDX_ERR_UNREACHABLE). */
void epi_loopback_hold_pulls(epi_dataplane_t *dp, bool hold);
void epi_loopback_cut(epi_dataplane_t *dp);

/** All its planes must be closed. */
void epi_loopback_hub_close(epi_loopback_hub_t *hub);

#endif
