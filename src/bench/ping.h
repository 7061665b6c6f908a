/*
 * ping.h: round trips of a small message between rank 0 and rank 1, bare. What
 * a message costs that epdx's own are held against.
 */
#ifndef EPI_BENCH_PING_H
#define EPI_BENCH_PING_H

#include "bench/bench.h"

#define EPI_PING_BYTES 64
/** Before each round trip of two that sleep: both are asleep by then. */
#define EPI_PING_PAUSE_NS ((uint64_t)1000000)

typedef struct epi_ping epi_ping_t;

typedef struct epi_ping_ops {
    const char *name;
    /** Collective, as all that follow. */
    epdx_status_t (*open)(epi_bench_t *bench, epi_ping_t **ping_p);
    /** count round trips; on rank 0 us[i] of each. asleep: who waits sleeps,
     *  and does so before each begins; else both look without end. */
    epdx_status_t (*round)(epi_ping_t *ping, bool asleep, size_t count,
                           double *us);
    void (*transport)(epi_ping_t *ping, char *out, size_t size);
    void (*close)(epi_ping_t *ping);
} epi_ping_ops_t;

struct epi_ping {
    const epi_ping_ops_t *ops;
    epi_bench_t *bench;
};

extern const epi_ping_ops_t epi_ping_ucx;
extern const epi_ping_ops_t epi_ping_zmq;

void epi_ping_pause(void);

#endif
