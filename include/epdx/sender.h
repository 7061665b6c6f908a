/*
 * sender.h: one encode rank's sending end.
 *
 *     lease --> fill --> send --> (asks complete, offered, pulled) --> outcome
 *     own memory ------> send -------------------------------------> outcome
 *
 * The receivers pull: a sender offers rows and keeps them until every receiver
 * of the room has them, or the room has failed.
 *
 * A node of several ranks (world_size > 1) has dp_size groups, each of
 * world_size / dp_size ranks in a row. EVERY rank of group room % dp_size sends
 * the whole item; each serves its own block of the prefill ranks, whose number
 * must be a multiple of world_size / dp_size.
 */
#ifndef EPDX_SENDER_H
#define EPDX_SENDER_H

#include "epdx/cuda.h"
#include "epdx/types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct epdx_sender epdx_sender_t;

/** Zero-fill, set struct_size, dtype and hidden; zero elsewhere is the
 *  default, from the environment (EPDX_*) or the table of settings. */
typedef struct epdx_sender_params {
    size_t struct_size; /**< sizeof(epdx_sender_params_t) */
    epdx_dtype_t dtype;
    uint64_t hidden;      /**< elements of a main row */
    uint32_t levels;      /**< deepstack levels; 0: none */
    uint32_t engine_rank; /**< this rank of the encode node */
    uint32_t world_size;  /**< its ranks; 0 means 1 */
    uint32_t dp_size;     /**< its DP groups; 0 means 1 */
    epdx_progress_t progress;
    /** Address to bind and to publish; NULL: EPDX_HOST. Never a wildcard. */
    const char *host;
    /** Bootstrap server to register with, "host:port" or "https://host:port";
     *  NULL: none. */
    const char *bootstrap;
    size_t ring_bytes;           /**< 0: EPDX_ENCODE_RING_MB */
    uint64_t waiting_timeout_ns; /**< of a room; 0: EPDX_WAITING_TIMEOUT_S */
    epdx_memory_t memory; /**< of the ring and of own memory; 0: EPDX_MEMORY */
    /** With EPDX_MEMORY_CUDA; NULL: the calling thread's current device. */
    const epdx_cuda_t *cuda;
} epdx_sender_params_t;

/** An item's rows at the sender. From epdx_sender_lease(), or filled in by the
 *  caller over its own memory with lease 0. */
typedef struct epdx_chunk {
    uint64_t rows;   /**< the whole item: its span */
    void *main;      /**< [rows, hidden] */
    void *deepstack; /**< [rows, hidden * levels]; NULL without */
    uint64_t lease;  /**< 0: the caller's own memory */
    /** cudaEvent_t: the rows are read only once it is done; NULL: now. The
     *  caller's, who keeps it until the room's outcome is polled. Only with
     *  EPDX_MEMORY_CUDA. */
    void *ready;
} epdx_chunk_t;

/** How a room ended. */
typedef struct epdx_outcome {
    uint64_t room;
    /** EPDX_OK: every receiver took its share out of the sender's memory. One
     *  that refused it at the last moment fails the request on its side. */
    epdx_status_t status;
    /** "EmbeddingTransferError(bootstrap_room=..., remote_endpoint=...): ..."
     *  or "" */
    char reason[EPDX_REASON_MAX];
} epdx_outcome_t;

/** Counters since the sender was opened, and gauges of now. */
typedef struct epdx_sender_stats {
    uint64_t rooms_sent; /**< chunks taken */
    uint64_t rooms_done; /**< delivered to every receiver */
    uint64_t rooms_failed;
    uint64_t bytes_offered; /**< of completed offers */
    uint64_t asks;          /**< accepted, repeats included */
    uint64_t asks_late;     /**< for rooms that had ended */
    uint64_t frames_dropped;
    uint64_t handshakes_refused; /**< control connections: without CURVE, or
                                      of a key that is not allowed */
    uint64_t rooms_evicted;   /**< asks forgotten to keep the table bounded */
    size_t rooms_open;        /**< gauge: rooms with a chunk or an ask */
    size_t peers;             /**< gauge: prefill ranks known */
    size_t ring_bytes;        /**< gauge */
    size_t ring_leased_bytes; /**< gauge */
    char transport[64];       /**< what UCX chose; "" before any offer */
    uint64_t bytes_direct;    /**< offered straight from device memory */
    uint64_t bytes_staged;    /**< copied to pinned host memory first */
} epdx_sender_stats_t;

/**
 * Open a sender: map its ring, bind its sockets, start its I/O thread and
 * begin registering with the bootstrap server, which is retried until it
 * answers.
 *
 * Shapes:  the ring is one region of ring_bytes, leased in ranges of any size.
 * Units:   bytes; nanoseconds.
 * Owns:    params is read during the call only; *sender_p is the caller's, who
 *          ends it with epdx_sender_close().
 * Threads: any; from then on all calls on one sender come from one thread.
 * Errors:  EPDX_ERR_INVALID    a parameter or EPDX_* variable is out of range,
 *                              host is a wildcard address, or CUDA memory is
 *                              asked for and this library was built without it;
 *          EPDX_ERR_NO_MEMORY  the ring or the tables could not be allocated;
 *          EPDX_ERR_IO         a socket, the transport or the device could not
 *                              be opened.
 *          On error *sender_p is unchanged.
 */
EPDX_API EPDX_MUST_CHECK epdx_status_t
epdx_sender_open(const epdx_sender_params_t *params, epdx_sender_t **sender_p);

/**
 * Lease a range of the ring for an item of rows rows.
 *
 * Shapes:  chunk_p->main is [rows, hidden], chunk_p->deepstack
 *          [rows, hidden * levels], both 256-byte aligned and not cleared; with
 *          EPDX_MEMORY_CUDA both are device memory.
 * Units:   rows.
 * Owns:    the memory is the caller's until it is sent or returned.
 * Threads: the sender's thread. Never blocks.
 * Errors:  EPDX_ERR_INVALID    rows is 0, or an argument is NULL;
 *          EPDX_ERR_TOO_LARGE  the ring can never hold it: send from own
 *                              memory, or raise EPDX_ENCODE_RING_MB;
 *          EPDX_ERR_FULL       the ring is full now: poll, or send from own
 *                              memory.
 *          On error *chunk_p is unchanged.
 */
EPDX_API EPDX_MUST_CHECK epdx_status_t epdx_sender_lease(epdx_sender_t *sender,
                                                         uint64_t rows,
                                                         epdx_chunk_t *chunk_p);

/**
 * Give a leased chunk back unsent.
 *
 * Shapes:  none.
 * Units:   none.
 * Owns:    takes the lease; a chunk of own memory is left alone.
 * Threads: the sender's thread.
 * Errors:  none; a lease that is not out is ignored and logged. NULL is
 *          ignored.
 */
EPDX_API void epdx_sender_return(epdx_sender_t *sender,
                                 const epdx_chunk_t *chunk);

/**
 * Send a room's rows to every prefill rank that asks for them. A room is used
 * once: see epdx_item_t.
 *
 * Shapes:  chunk as epdx_sender_lease() gives it, filled, or, with
 *          chunk->ready, being filled.
 * Units:   rows.
 * Owns:    a leased chunk is the sender's from here on; own memory and the
 *          event ready must stay valid and unchanged until the room's outcome
 *          is polled.
 * Threads: the sender's thread. Never blocks, never does I/O.
 * Errors:  EPDX_ERR_INVALID    the chunk has no rows, no main rows, or more
 *                              bytes than there can be; it lacks deepstack rows
 *                              with levels over 0, or has some with levels 0;
 *                              its lease is not out, or was sent before, or the
 *                              leased chunk was changed; with EPDX_MEMORY_CUDA
 *                              own memory is not of the sender's device; with
 *                              EPDX_MEMORY_HOST there is a ready; or an
 *                              argument is NULL;
 *          EPDX_ERR_DUPLICATE  the room has a chunk already, whose outcome was
 *                              not polled yet: it is untouched;
 *          EPDX_ERR_FULL       EPDX_MAX_ROOMS rooms are open: poll outcomes.
 *          On error the chunk is still the caller's.
 */
EPDX_API EPDX_MUST_CHECK epdx_status_t epdx_sender_send(
    epdx_sender_t *sender, uint64_t room, const epdx_chunk_t *chunk);

/**
 * Say that a room's rows will not come: whoever asks for them is told why.
 *
 * Shapes:  none.
 * Units:   none.
 * Owns:    reason is read during the call only, and cut at EPDX_REASON_MAX.
 * Threads: the sender's thread. Never blocks.
 * Errors:  EPDX_ERR_INVALID    the sender is NULL;
 *          EPDX_ERR_DUPLICATE  the room has a chunk or has failed already;
 *          EPDX_ERR_FULL       EPDX_MAX_ROOMS rooms are open: poll outcomes.
 */
EPDX_API EPDX_MUST_CHECK epdx_status_t epdx_sender_fail(epdx_sender_t *sender,
                                                        uint64_t room,
                                                        const char *reason);

/**
 * Take the outcomes of rooms that ended. With EPDX_PROGRESS_CALLER it also
 * runs one step of the I/O loop. There is no descriptor to wait on: call it at
 * your own pace.
 *
 * Shapes:  at most outcome_max outcomes, in the order the rooms ended; that of
 *          a room that failed comes only once its chunk's ready event is done.
 * Units:   none.
 * Owns:    outcomes is the caller's. Ring ranges of ended rooms are free again.
 * Threads: the sender's thread. Never blocks.
 * Errors:  none; the number of outcomes written, 0 when there are none, or no
 *          place for them.
 */
EPDX_API size_t epdx_sender_poll(epdx_sender_t *sender,
                                 epdx_outcome_t *outcomes, size_t outcome_max);

/**
 * Whether the bootstrap server has taken this rank's registration.
 *
 * Shapes:  none.
 * Units:   none.
 * Owns:    nothing.
 * Threads: the sender's thread; as of the last epdx_sender_poll().
 * Errors:  none; true for a sender without a bootstrap server.
 */
EPDX_API bool epdx_sender_registered(const epdx_sender_t *sender);

/**
 * Copy the sender's counters.
 *
 * Shapes:  none.
 * Units:   bytes, counts.
 * Owns:    *stats_p is the caller's.
 * Threads: the sender's thread.
 * Errors:  none; with NULL nothing is copied.
 */
EPDX_API void epdx_sender_stats(const epdx_sender_t *sender,
                                epdx_sender_stats_t *stats_p);

/**
 * End the sender. Receivers of open rooms are told; the bootstrap server is
 * told that this rank is gone, so close the sender before its server.
 *
 * Shapes:  none.
 * Units:   none.
 * Owns:    takes sender; NULL is allowed. Own memory sent is the caller's
 *          again, unless an offer did not end within 2 s: then this error is
 *          logged, "... offers did not end in 2 s: the ring is left allocated",
 *          and own memory of rooms without an outcome may still be read until
 *          the process ends: neither free nor reuse it.
 * Threads: the sender's thread; blocks while the I/O thread ends.
 * Errors:  none.
 */
EPDX_API void epdx_sender_close(epdx_sender_t *sender);

#ifdef __cplusplus
}
#endif
#endif
