/*
 * proxy.h: a control-frame proxy between prefill ranks and one encode rank, on
 * a thread of its own, which does to the frames what the test says.
 *
 *     prefill rank --register, ask, cancel--> proxy --> encode rank
 *     prefill rank <--status----------------- proxy <--
 *
 * It publishes itself as the encode rank at a bootstrap server; the real one
 * registers at another, hidden one. Registers and asks go on with the proxy's
 * own host and a status port, one a prefill rank, so that statuses come back
 * through it. Rows do not: the session id stays the prefill rank's.
 *
 * A fault strikes the n-th frame of its kind that comes after it was set, and
 * is counted by what it did. All calls may come from any thread.
 */
#ifndef EPDX_MPI_TESTS_PROXY_H
#define EPDX_MPI_TESTS_PROXY_H

#include "wire/control.h"

typedef struct proxy proxy_t;

typedef enum proxy_kind {
    PROXY_REGISTER,
    PROXY_ASK,
    PROXY_CANCEL,
    PROXY_STATUS,
    PROXY_KINDS
} proxy_kind_t;

typedef enum proxy_act {
    PROXY_DROP,
    PROXY_HOLD,   /* until proxy_let_go(), or, at random, for some ms */
    PROXY_TWICE,  /* sent two times */
    PROXY_SWAP,   /* sent after the frame of any kind that follows it */
    PROXY_GARBLE, /* one byte is another */
    PROXY_ACTS
} proxy_act_t;

typedef struct proxy_fault {
    proxy_kind_t kind;
    proxy_act_t act;
    uint64_t nth;   /* the first is 0 */
    uint64_t count; /* so many in a row; 0 means 1 */
} proxy_fault_t;

typedef struct proxy_params {
    const char *bootstrap; /* where it publishes itself */
    const char *hidden;    /* where the real encode rank registers */
    uint32_t engine_rank;
    uint32_t world_size;
} proxy_params_t;

const char *proxy_kind_name(proxy_kind_t kind);
const char *proxy_act_name(proxy_act_t act);

/** Waits until the real encode rank is registered, and published in its place.
 *  Ends the program when that does not come about in 20 s. */
proxy_t *proxy_open(const proxy_params_t *params);

/** NULL is allowed. Frames that it holds are lost. */
void proxy_close(proxy_t *proxy);

/** Set a fault, 16 at most that have not struck yet. */
void proxy_fault(proxy_t *proxy, const proxy_fault_t *fault);

/** Let faults of all acts strike at random, so many in 1000 frames; 0: none. */
void proxy_random(proxy_t *proxy, uint64_t seed, uint32_t per_mille);

/** Send what is held, in the order it came. */
void proxy_let_go(proxy_t *proxy);

/** How often an act has struck a kind of frame. */
uint64_t proxy_struck(proxy_t *proxy, proxy_kind_t kind, proxy_act_t act);

/** Frames of a kind that came to it. */
uint64_t proxy_seen(proxy_t *proxy, proxy_kind_t kind);

/** Prefill ranks that it has met. */
size_t proxy_sessions(proxy_t *proxy);

/** The last ask that the index-th prefill rank made for a room; false: none
 *  among its last 256. */
bool proxy_ask_of(proxy_t *proxy, size_t index, uint64_t room,
                  epi_ask_t *ask_p);

/** Forge: a frame of the caller's, to the encode rank or a prefill rank. */
bool proxy_to_encode(proxy_t *proxy, const epi_message_t *message);
bool proxy_to_prefill(proxy_t *proxy, size_t index,
                      const epi_message_t *message);

/** Where the encode rank tells the index-th prefill rank: the proxy's own. */
uint16_t proxy_status_port(proxy_t *proxy, size_t index);

/** Where the real encode rank's control socket is. */
uint16_t proxy_encode_port(proxy_t *proxy);

#endif
