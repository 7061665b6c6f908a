/*
 * engine.h: an encode rank on rank 0 of the team, and a prefill engine that
 * decides together on its ranks from `first` on; with first 0 rank 0 is both.
 */
#ifndef EPI_BENCH_ENGINE_H
#define EPI_BENCH_ENGINE_H

#include "bench/bench.h"
#include "epdx/epdx.h"

typedef struct epi_engine_params {
    uint32_t first;
    uint64_t hidden; /* of bfloat16 */
    bool shard;
    bool tap; /* see tap.h; rank 0 then must not be both */
    epdx_progress_t progress;
    size_t pool_bytes;
    size_t ring_bytes;
} epi_engine_params_t;

typedef struct epi_engine {
    epi_bench_t *bench;
    epi_engine_params_t params;
    char encode[EPDX_ADDRESS_MAX + 1];
    epdx_bootstrap_t *bootstrap; /* rank 0 */
    epdx_sender_t *sender;       /* rank 0 */
    void *own;                   /* rank 0, with --own: rows of all rooms */
    size_t own_bytes;
    epdx_group_t *group; /* prefill ranks, and so below */
    epdx_admission_t *admission;
} epi_engine_t;

/** Collective over the team. On error nothing is open. */
EPDX_MUST_CHECK epdx_status_t
epi_engine_open(epi_engine_t *engine, epi_bench_t *bench,
                const epi_engine_params_t *params);

/** Stage a request of one item, whose id is its room. */
EPDX_MUST_CHECK epdx_status_t epi_engine_stage(epi_engine_t *engine,
                                               uint64_t room, uint64_t rows);

/** Send a room's rows, from the ring or with --own from memory beside it, as
 *  they happen to lie there. Rank 0. */
EPDX_MUST_CHECK epdx_status_t epi_engine_send(epi_engine_t *engine,
                                              uint64_t room, uint64_t rows);

void epi_engine_release(epi_engine_t *engine, const char *id);

/** Take outcomes; one that failed is an error. Rank 0. */
EPDX_MUST_CHECK epdx_status_t epi_engine_outcomes(epi_engine_t *engine,
                                                  size_t *count_p);

/** Asks that the sender has taken so far. Rank 0. */
uint64_t epi_engine_asks(const epi_engine_t *engine);

/** Collective. Receivers end before the sender that they ask. */
void epi_engine_close(epi_engine_t *engine);

#endif
