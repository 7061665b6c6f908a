/*
 * crowd.h: many senders and receivers in one process and one thread, over a
 * loopback data plane and real control sockets: how far one machine gets in
 * seeing what a large installation costs each of its ranks.
 */
#ifndef EPI_BENCH_CROWD_H
#define EPI_BENCH_CROWD_H

#include "dataplane/loopback.h"
#include "epdx/epdx.h"

#define EPI_CROWD_MAX 512

typedef struct epi_crowd_params {
    size_t receivers;
    uint32_t tp_size; /* receivers of an engine; divides receivers */
    size_t senders;   /* each an encode node of its own */
} epi_crowd_params_t;

typedef struct epi_crowd {
    epi_crowd_params_t params;
    epi_loopback_hub_t *hub;
    epdx_bootstrap_t *bootstraps[EPI_CROWD_MAX];
    epdx_sender_t *senders[EPI_CROWD_MAX];
    epdx_receiver_t *receivers[EPI_CROWD_MAX];
    epdx_job_t *jobs[EPI_CROWD_MAX];
    uint64_t room;
    uint64_t sender_ns;   /* spent in the senders' poll */
    uint64_t receiver_ns; /* in the receivers' */
    uint64_t rounds;      /* polls of each */
} epi_crowd_t;

/** What a process holds, by the kernel and the C library. */
typedef struct epi_holds {
    double sockets;
    double threads;
    double heap; /* bytes in use */
} epi_holds_t;

epi_holds_t epi_crowd_holds(void);

/** EPDX_ERR_IO, _NO_MEMORY; what was opened is closed again. */
EPDX_MUST_CHECK epdx_status_t epi_crowd_open(epi_crowd_t *crowd,
                                             const epi_crowd_params_t *params);

/** Everyone once. */
void epi_crowd_step(epi_crowd_t *crowd);

/** One item from each sender to every receiver of every engine, until all have
 *  landed and all outcomes are there. */
EPDX_MUST_CHECK epdx_status_t epi_crowd_carry(epi_crowd_t *crowd);

/** Every receiver asks the first sender for so many rooms that never come; the
 *  jobs are the receivers', ended by close. */
EPDX_MUST_CHECK epdx_status_t epi_crowd_ask(epi_crowd_t *crowd, size_t rooms);

/** Asks that the senders have taken. */
uint64_t epi_crowd_asks(const epi_crowd_t *crowd);

void epi_crowd_close(epi_crowd_t *crowd);

#endif
