/*
 * registry.h: which encode ranks have registered. Pure: no I/O, one thread.
 */
#ifndef EPI_BOOTSTRAP_REGISTRY_H
#define EPI_BOOTSTRAP_REGISTRY_H

#include "discovery/route.h"

#define EPI_REGISTRY_RANK_MAX 4096

typedef struct epi_registry epi_registry_t;

EPDX_MUST_CHECK epdx_status_t epi_registry_open(epi_registry_t **registry_p);

/** Take a registration. A rank that registers again replaces its entry (it
 *  restarted). One whose world_size or dp_size differs from the ranks already
 *  in starts the table anew when it carries another instance of a rank that
 *  is in, else EPDX_ERR_MISMATCH with words. EPDX_ERR_TOO_LARGE: world_size
 *  over EPI_REGISTRY_RANK_MAX. */
EPDX_MUST_CHECK epdx_status_t epi_registry_put(
    epi_registry_t *registry, const epi_route_registration_t *entry);

/** Forget a rank. EPDX_ERR_NOT_FOUND: not in, or another instance than the
 *  one given ("" matches any). */
EPDX_MUST_CHECK epdx_status_t epi_registry_remove(epi_registry_t *registry,
                                                  uint32_t engine_rank,
                                                  const char *instance);

/** EPDX_OK; EPDX_IN_PROGRESS with words ("2 of 4 encode ranks have
 *  registered") until all are in. */
EPDX_MUST_CHECK epdx_status_t epi_registry_world(const epi_registry_t *registry,
                                                 epi_route_world_t *world_p);

/** Rank `rank` of DP group `group`: engine rank group * (W / D) + rank.
 *  EPDX_OK; EPDX_IN_PROGRESS as above; EPDX_ERR_NOT_FOUND with words: there is
 *  no such rank or group. */
EPDX_MUST_CHECK epdx_status_t epi_registry_rank(const epi_registry_t *registry,
                                                uint32_t rank, uint32_t group,
                                                epi_route_rank_t *rank_p);

void epi_registry_close(epi_registry_t *registry);

#endif
