/*
 * soak.h: a whole system under random faults for as long as one likes, every
 * landed byte checked on every rank, and everything empty again at the end.
 *
 *     soak_plan.c    what request k is, and what goes wrong with it: a pure
 *                    function of the seed, so all ranks know it
 *     soak_encode.c  rank 0: encode nodes behind proxies, their chunks, and
 *                    what goes wrong there
 *     soak.c         every rank: stage, drain, check, release; the report
 */
#ifndef EPDX_MPI_TESTS_SOAK_H
#define EPDX_MPI_TESTS_SOAK_H

#include "epdx/epdx.h"
#include "testing/seeded.h"

#define SOAK_NODES    2
#define SOAK_TP_MAX   2
#define SOAK_ITEM_MAX 4
#define SOAK_HIDDEN   128
#define SOAK_LEVELS   1
#define SOAK_WINDOW   48 /* requests in flight */

/** What becomes of an item at its encode node. */
typedef enum soak_act {
    SOAK_SEND,
    SOAK_SEND_LATE,
    SOAK_FAIL,
    SOAK_WRONG_SPAN,
    SOAK_NEVER,
} soak_act_t;

typedef struct soak_item {
    uint64_t room;
    uint64_t span;
    uint32_t node;
    soak_act_t act;
    uint32_t delay; /* drains before it is sent late */
} soak_item_t;

typedef struct soak_request {
    soak_item_t items[SOAK_ITEM_MAX];
    size_t item_count;
    uint32_t cancel_rank;  /* UINT32_MAX: nobody cancels it */
    uint32_t cancel_after; /* drains */
} soak_request_t;

/** Request number `number` of a seed, over ranks prefill ranks. */
void soak_plan(uint64_t seed, uint64_t number, uint32_t ranks,
               soak_request_t *request_p);

/** A generator that depends on all of these. */
test_seeded_t soak_seeded(uint64_t seed, uint64_t number, uint64_t purpose);

/** What was done to the system, and what is left. Rank 0's. */
typedef struct soak_faults {
    uint64_t frames[8]; /* by proxy_act_t */
    uint64_t forged_statuses, forged_cancels, forged_asks;
    uint64_t failed_items, wrong_spans, missing_chunks, late_chunks;
    uint64_t encode_restarts, cut_connections;
} soak_faults_t;

typedef struct soak_left {
    uint64_t rooms;      /* open at encode ranks */
    uint64_t ring_slots; /* chunks whose outcome never came */
} soak_left_t;

/** Rank 0: open the nodes; addresses[] is what prefill ranks are told. */
void soak_encode_open(uint64_t seed, uint32_t encode_tp,
                      char addresses[SOAK_NODES][EPDX_ADDRESS_MAX + 1]);
/** A request was staged: its chunks come, or do not. */
void soak_encode_request(const soak_request_t *request);
/** Between drains: outcomes, late chunks, forged frames, restarts. */
void soak_encode_step(void);
/** Let faults end, wait until all is empty, at most 30 s; count what is not. */
void soak_encode_finish(soak_faults_t *faults_p, soak_left_t *left_p);
void soak_encode_close(void);

#endif
