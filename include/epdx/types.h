/*
 * types.h: the data that the calls exchange.
 *
 * item     one image (video, audio clip): span rows of hidden elements, plus,
 *          for a model with deepstack levels, span rows of hidden * levels
 * room     64-bit id of one item's transfer, minted by the gateway
 * request  an id and its items, in order
 * share    the rows of an item that one rank pulls: all, or its shard
 */
#ifndef EPDX_TYPES_H
#define EPDX_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "epdx/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Longest request id and longest "host:port", without the closing zero. */
#define EPDX_ID_MAX      127
#define EPDX_ADDRESS_MAX 255
/** Room for a reason in words, with its closing zero. */
#define EPDX_REASON_MAX 512

/** Elements of a row. The values are on the wire. */
typedef enum epdx_dtype {
    EPDX_DTYPE_NONE = 0,
    EPDX_BFLOAT16 = 1,
    EPDX_FLOAT16 = 2,
    EPDX_FLOAT32 = 3,
} epdx_dtype_t;

/** A switch of which zero means "as the setting says". */
typedef enum epdx_switch {
    EPDX_DEFAULT = 0,
    EPDX_ON = 1,
    EPDX_OFF = 2,
} epdx_switch_t;

/** Who runs the I/O loop. */
typedef enum epdx_progress {
    EPDX_PROGRESS_THREAD = 0, /**< a thread of the object's own */
    EPDX_PROGRESS_CALLER = 1, /**< the object's poll call */
} epdx_progress_t;

/** Where rows lie. */
typedef enum epdx_memory {
    EPDX_MEMORY_DEFAULT = 0, /**< as EPDX_MEMORY says */
    EPDX_MEMORY_HOST = 1,
    EPDX_MEMORY_CUDA = 2, /**< of one device, see cuda.h */
} epdx_memory_t;

/** Rows [start, start + count) of an item. */
typedef struct epdx_rows {
    uint64_t start;
    uint64_t count;
} epdx_rows_t;

/** One item to receive. */
typedef struct epdx_item {
    /** Used once: not again within EPDX_ENDED_ROOMS_S of its end. An encode
     *  rank remembers how a room ended, and answers later asks with that. */
    uint64_t room;
    uint64_t span; /**< rows of the whole item */
    /** The encode node's bootstrap server, "host:port" or "[v6]:port", with
     *  "https://" before it where it speaks TLS (see EPDX_CA_FILE); NULL
     *  for an item that no encode node serves: it is skipped. */
    const char *encode;
    /** Already received by an earlier chunk of the same prefill: skipped. */
    bool received;
} epdx_item_t;

/** A request and its items. Read during the call that takes it only. */
typedef struct epdx_request {
    const char *id;
    const epdx_item_t *items;
    size_t item_count;
    uint64_t timeout_ns; /**< from staging; 0: EPDX_WAITING_TIMEOUT_S */
} epdx_request_t;

/** Where a request stands. The order is that of the ranks' vote. */
typedef enum epdx_state {
    EPDX_FAILED = 0,
    EPDX_PENDING = 1,
    EPDX_LANDED = 2,
} epdx_state_t;

/** An item's rows where they landed, in the receive pool. */
typedef struct epdx_landed {
    uint64_t room;
    uint64_t span;
    /** The rows this rank pulled; all of them hold data only unsharded, or
     *  once admission has reassembled the item. */
    epdx_rows_t share;
    void *main;        /**< [span, hidden]; NULL for a skipped item */
    void *deepstack;   /**< [span, hidden * levels]; NULL when levels is 0 */
    size_t main_bytes; /**< of all span rows */
    size_t deepstack_bytes;
} epdx_landed_t;

/**
 * Bytes of one element.
 *
 * Shapes:  none.
 * Units:   bytes.
 * Owns:    nothing.
 * Threads: any.
 * Errors:  none; 0 for a dtype that is none.
 */
EPDX_API size_t epdx_dtype_bytes(epdx_dtype_t dtype);

/**
 * A dtype as it is spelled on the wire, such as "torch.bfloat16".
 *
 * Shapes:  none.
 * Units:   none.
 * Owns:    the text is static.
 * Threads: any.
 * Errors:  none; "none" for a dtype that is none.
 */
EPDX_API const char *epdx_dtype_name(epdx_dtype_t dtype);

/**
 * Read a dtype, with or without the leading "torch.".
 *
 * Shapes:  none.
 * Units:   none.
 * Owns:    text is read during the call only.
 * Threads: any.
 * Errors:  none; EPDX_DTYPE_NONE for any other text or NULL.
 */
EPDX_API epdx_dtype_t epdx_dtype_parse(const char *text);

#ifdef __cplusplus
}
#endif
#endif
