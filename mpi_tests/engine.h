/*
 * engine.h: a whole system in one mpirun, for tests over ranks: every rank is
 * a prefill rank with admission over all of them; rank 0 also hosts the encode
 * nodes, each with its bootstrap server and its encode ranks, on threads of
 * their own, over real sockets.
 */
#ifndef EPDX_MPI_TESTS_ENGINE_H
#define EPDX_MPI_TESTS_ENGINE_H

#include "epdx/epdx.h"
#include "tools/device.h"

#define ENGINE_NODE_MAX    4
#define ENGINE_REQUEST_MAX 64
#define ENGINE_ITEM_MAX    64

typedef struct engine_params {
    uint32_t nodes;     /* encode nodes */
    uint32_t encode_tp; /* ranks of each; divides the prefill ranks */
    epdx_dtype_t dtype;
    uint64_t hidden;
    uint32_t levels;
    bool shard;
    size_t pool_bytes;
    size_t ring_bytes;
    uint64_t timeout_ns;        /* of a request, and of a room */
    uint64_t sender_timeout_ns; /* of a room; 0: timeout_ns */
    epdx_memory_t memory;       /* of pools and rings; 0: host */
    /* The encode ranks register at hidden[], not at addresses[], where a test
     * puts proxies in their place. */
    bool fronted;
    /* What was admitted waits for engine_release_one(). */
    bool release_late;
} engine_params_t;

/** One request of the test: items spread over the nodes, item j at node
 *  j % nodes; rooms follow from the request's number. */
typedef struct engine_request {
    uint64_t spans[ENGINE_ITEM_MAX];
    size_t item_count;
    uint64_t timeout_ns; /* of this rank's request; 0: the engine's */
} engine_request_t;

typedef struct engine {
    engine_params_t params;
    epdx_group_t *group;
    epdx_admission_t *admission;
    epi_device_t device; /* this rank's; rank 0's encode ranks have it, too */
    char addresses[ENGINE_NODE_MAX][EPDX_ADDRESS_MAX + 1];
    char hidden[ENGINE_NODE_MAX][EPDX_ADDRESS_MAX + 1];
    /* Rank 0 alone. */
    epdx_bootstrap_t *fronts[ENGINE_NODE_MAX]; /* where fronted */
    epdx_bootstrap_t *bootstraps[ENGINE_NODE_MAX];
    epdx_sender_t *senders[ENGINE_NODE_MAX][8];
    void *own[1024]; /* chunks sent from own memory, until close */
    size_t own_bytes[1024];
    size_t own_count;
    void *ready[1024]; /* events of chunks in device memory, until close */
    size_t ready_count;
    size_t outcomes;           /* polled */
    size_t outcomes_failed;    /* of them */
    epdx_status_t last_status; /* of the last that failed */
    char last_reason[EPDX_REASON_MAX];
    /* What the drains decided so far, by request number. */
    size_t admitted, failed;
    size_t order[ENGINE_REQUEST_MAX]; /* of those admitted */
    bool landed_right[ENGINE_REQUEST_MAX];
    epdx_status_t failed_status[ENGINE_REQUEST_MAX];
    char failed_reason[ENGINE_REQUEST_MAX][EPDX_REASON_MAX];
    uint32_t failed_rank[ENGINE_REQUEST_MAX];
    size_t unreleased[ENGINE_REQUEST_MAX]; /* with release_late */
    size_t unreleased_count;
} engine_t;

/** All ranks; ends the program on failure. */
void engine_open(engine_t *engine, const engine_params_t *params);

uint64_t engine_room(size_t request, size_t item);

/** Stage request number `number` on this rank. */
epdx_status_t engine_stage(engine_t *engine, size_t number,
                           const engine_request_t *request);

/** Rank 0: send every item of a request, from the ring, or from own memory
 *  where the ring is full; nothing on other ranks. */
void engine_send(engine_t *engine, size_t number,
                 const engine_request_t *request);

/** Send or fail one item, on rank 0. rows may be wrong on purpose. */
void engine_send_item(engine_t *engine, size_t number, size_t item,
                      uint64_t rows);
void engine_fail_item(engine_t *engine, size_t number, size_t item,
                      const char *reason);

/** Drain until `ended` requests were admitted or failed since open. Every byte
 *  of every admitted item is checked, then it is released. */
void engine_drain(engine_t *engine, size_t ended);

/** The same, and stop after `drains` of them. */
void engine_drain_times(engine_t *engine, size_t drains);

/** Give back the index-th of the unreleased requests. */
void engine_release_one(engine_t *engine, size_t index);

/** Rank 0: poll until `count` outcomes have come since open. */
void engine_await_outcomes(engine_t *engine, size_t count);

epdx_receiver_stats_t engine_receiver(const engine_t *engine);
epdx_admission_stats_t engine_admission(const engine_t *engine);

/** Rank 0: wait until nothing is open at any encode rank and its ring is
 *  empty; true on other ranks. False when that takes 20 s. */
bool engine_encode_quiet(engine_t *engine);

/** All ranks. Checks that ring and pool are empty again. */
void engine_close(engine_t *engine);

#endif
