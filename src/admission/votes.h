/*
 * votes.h: this rank's states of the pending requests, by their place in stage
 * order, kept as they change: a drain in which nothing changed looks at none of
 * them. Pure.
 */
#ifndef EPI_ADMISSION_VOTES_H
#define EPI_ADMISSION_VOTES_H

#include "epdx/types.h"

typedef struct epi_votes {
    uint8_t *codes;  /* epdx_state_t by place */
    uint64_t *terms; /* what each place adds to hash */
    size_t count;
    size_t max;
    uint64_t added;    /* places ever: the same on ranks that stage alike */
    uint64_t hash;     /* of the pending requests and their order */
    size_t failed_end; /* behind the last that failed here; 0: none */
    size_t landed_end; /* behind the last that landed here; 0: none */
} epi_votes_t;

/** For at most max pending requests. EPDX_ERR_NO_MEMORY. */
EPDX_MUST_CHECK epdx_status_t epi_votes_init(epi_votes_t *votes, size_t max);

/** The next place, for a request whose id and items hash to hash. There must be
 *  room. */
void epi_votes_add(epi_votes_t *votes, uint64_t hash, epdx_state_t state);

/** A state only goes from PENDING to another. */
void epi_votes_set(epi_votes_t *votes, size_t place, epdx_state_t state);

/** Take places out: each is either kept, at a place of at most its own, or
 *  dropped, in ascending order; then the list ends after kept ones. */
void epi_votes_keep(epi_votes_t *votes, size_t from, size_t to);
void epi_votes_drop(epi_votes_t *votes, size_t place);
void epi_votes_end(epi_votes_t *votes, size_t kept);

/** Zeroed votes are allowed. */
void epi_votes_fini(epi_votes_t *votes);

#endif
