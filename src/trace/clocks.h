/*
 * clocks.h: how far another clock is from this one, from rounds that both took
 * part in. A round is a collective that nobody leaves before all have entered:
 * so each end's leaving comes after the other's entering, which bounds the
 * offset on both sides. No speed of the network is assumed; the bound holds as
 * long as the clocks do not drift during the rounds. Pure.
 */
#ifndef EPI_TRACE_CLOCKS_H
#define EPI_TRACE_CLOCKS_H

#include <stdint.h>

/** The other clock is this one plus between least_ns and most_ns. */
typedef struct epi_clocks {
    int64_t least_ns;
    int64_t most_ns;
} epi_clocks_t;

/** When one rank entered a round, and left it, by its own clock. */
typedef struct epi_round {
    uint64_t entered_ns;
    uint64_t left_ns;
} epi_round_t;

void epi_clocks_init(epi_clocks_t *clocks);

/** Narrow by one round. */
void epi_clocks_add(epi_clocks_t *clocks, const epi_round_t *here,
                    const epi_round_t *there);

int64_t epi_clocks_offset(const epi_clocks_t *clocks);

/** Largest difference of the true offset from that. */
uint64_t epi_clocks_error(const epi_clocks_t *clocks);

#endif
