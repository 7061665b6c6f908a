/*
 * receiver.h: one prefill rank's receiving end.
 *
 *     stage --> (look up, register, lease, ask, pull) --> landed --> release
 *                                                    \--> failed --> release
 *
 * A serving engine of several ranks uses admission.h, which drives a receiver
 * and makes all ranks decide alike; one rank alone may use this header only.
 */
#ifndef EPDX_RECEIVER_H
#define EPDX_RECEIVER_H

#include "epdx/cuda.h"
#include "epdx/types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct epdx_receiver epdx_receiver_t;
/** One staged request. The caller's until epdx_job_release(). */
typedef struct epdx_job epdx_job_t;

/** Zero-fill, set struct_size, dtype and hidden; zero elsewhere is the
 *  default, from the environment (EPDX_*) or the table of settings. */
typedef struct epdx_receiver_params {
    size_t struct_size; /**< sizeof(epdx_receiver_params_t) */
    epdx_dtype_t dtype;
    uint64_t hidden;  /**< elements of a main row */
    uint32_t levels;  /**< deepstack levels; 0: none */
    uint32_t tp_rank; /**< this rank of the prefill engine */
    uint32_t tp_size; /**< its ranks; 0 means 1 */
    epdx_switch_t shard;
    epdx_progress_t progress;
    /** Address to bind and to publish; NULL: EPDX_HOST. Never a wildcard. */
    const char *host;
    size_t pool_bytes; /**< 0: EPDX_RECV_POOL_MB */
    /** pool_bytes of the caller's memory, 256-byte aligned, to be used as the
     *  pool: of the kind and device below. NULL: the receiver allocates it. See
     *  epdx_receiver_close() for when it may be used again. */
    void *pool;
    uint64_t waiting_timeout_ns;   /**< 0: EPDX_WAITING_TIMEOUT_S */
    uint64_t bootstrap_timeout_ns; /**< 0: EPDX_BOOTSTRAP_TIMEOUT_S */
    epdx_memory_t memory;          /**< of the pool; 0: EPDX_MEMORY */
    /** With EPDX_MEMORY_CUDA; NULL: the calling thread's current device. */
    const epdx_cuda_t *cuda;
} epdx_receiver_params_t;

/** Counters since the receiver was opened, and gauges of now. */
typedef struct epdx_receiver_stats {
    uint64_t requests_staged;
    uint64_t requests_landed;
    uint64_t requests_failed;
    uint64_t items_landed;
    uint64_t rows_landed;    /**< of this rank's shares */
    uint64_t bytes_landed;   /**< pulled by this rank, verified complete */
    uint64_t asks_sent;      /**< repeats included */
    uint64_t offers_refused; /**< no lease, or a header that did not match */
    uint64_t frames_dropped; /**< control messages that did not parse */
    uint64_t handshakes_refused; /**< control connections: without CURVE, or
                                      of a key that is not allowed */
    uint64_t bytes_stranded;     /**< gauge: of failed requests, kept out of use
                                      until their receives have ended; and of
                                      released ones, kept for good, whose event
                                      could not be queried */
    uint64_t bytes_held;         /**< gauge: of released requests, kept in place
                                      by their event or by tensors */
    size_t pool_bytes;           /**< gauge */
    size_t pool_leased_bytes;    /**< gauge */
    size_t requests_waiting;     /**< gauge: staged, no lease yet */
    char transport[64];    /**< what UCX chose, e.g. "tcp/lo"; "" before */
    uint64_t bytes_direct; /**< pulled straight into device memory */
    uint64_t bytes_staged; /**< copied there from pinned host memory */
} epdx_receiver_stats_t;

/**
 * Open a receiver: map its pool, bind its sockets, start its I/O thread.
 *
 * Shapes:  the pool is one region of pool_bytes; every request is leased one
 *          range of it that holds its items in order, each [span, hidden] then
 *          [span, hidden * levels], each part 256-byte aligned.
 * Units:   bytes; nanoseconds; rows of hidden elements of dtype.
 * Owns:    params is read during the call only; *receiver_p is the caller's,
 *          who ends it with epdx_receiver_close(). A pool given by the caller
 *          stays the caller's and must outlive the receiver, and see
 *          epdx_receiver_close().
 * Threads: any; from then on all calls on one receiver come from one thread.
 * Errors:  EPDX_ERR_INVALID    a parameter or EPDX_* variable is out of range,
 *                              host is a wildcard address, CUDA memory is asked
 *                              for and this library was built without it, or
 *                              the pool given is not memory of that device;
 *          EPDX_ERR_NO_MEMORY  the pool or the tables could not be allocated;
 *          EPDX_ERR_IO         a socket, the transport or the device could not
 *                              be opened.
 *          On error *receiver_p is unchanged.
 */
EPDX_API EPDX_MUST_CHECK epdx_status_t epdx_receiver_open(
    const epdx_receiver_params_t *params, epdx_receiver_t **receiver_p);

/**
 * Begin receiving a request's items; epdx_receiver_poll() carries it on.
 * Requests are leased pool memory strictly in the order they were staged.
 *
 * Shapes:  item i lands as [span_i, hidden], of which this rank pulls its
 *          share, and [span_i, hidden * levels]. Items that are already
 *          received, or that no encode node serves, are skipped; a request
 *          that has no others lands at once.
 * Units:   span in rows; timeout_ns in nanoseconds from this call.
 * Owns:    request is read during the call only. *job_p is the caller's, who
 *          ends it with epdx_job_release().
 * Threads: the receiver's thread. Never blocks, never does I/O.
 * Errors:  EPDX_ERR_INVALID    an id or address is empty or too long, an item
 *                              has no rows, item_count is 0, or an argument is
 *                              NULL;
 *          EPDX_ERR_TOO_LARGE  the request can never fit the pool, has more
 *                              than EPDX_MAX_ITEMS items, or an item of over
 *                              2^31 - 1 rows;
 *          EPDX_ERR_DUPLICATE  a room is in use by this or another request;
 *          EPDX_ERR_FULL       EPDX_MAX_REQUESTS or EPDX_MAX_ITEMS is reached
 *                              by what is pending, not yet released, or still
 *                              in place for events or tensors.
 *          On error *job_p is unchanged and nothing was asked for;
 *          epdx_last_error() names the item and the setting. Whoever gives the
 *          request up then calls epdx_receiver_withdraw().
 */
EPDX_API EPDX_MUST_CHECK epdx_status_t
epdx_receiver_stage(epdx_receiver_t *receiver, const epdx_request_t *request,
                    epdx_job_t **job_p);

/**
 * Give up a request that was not staged, since it was refused or its caller no
 * longer wants it: its encode ranks are told, so that they end its rooms at
 * once and do not keep their rows until the rooms' deadlines.
 *
 * An encode rank is told when it is reached, unless the request's deadline or
 * the receiver's end comes first; nothing tells whether it was. Items that
 * staging would skip are left alone, and so are those whose room is in use by a
 * request that is staged and not released. A room that was withdrawn was used,
 * see epdx_item_t: it must not be staged any more.
 *
 * Shapes:  the request may be one that can never fit; span is not looked at.
 * Units:   timeout_ns of the request in nanoseconds from this call.
 * Owns:    request and reason are read during the call only. reason is what the
 *          encode ranks tell of it, cut at EPDX_REASON_MAX; NULL: none in
 *          particular. The id may be any, or NULL.
 * Threads: the receiver's thread. Never blocks, never does I/O.
 * Errors:  EPDX_ERR_INVALID  an address is none, item_count is 0, or an
 *                            argument but reason is NULL;
 *          EPDX_ERR_FULL     1024 withdrawals are under way: from the item on
 *                            that epdx_last_error() names, rows stay until
 *                            their rooms' deadlines, or until they are
 *                            withdrawn by another call.
 *          On an error of an item those before it, and with EPDX_ERR_INVALID
 *          those after it, are withdrawn all the same.
 */
EPDX_API EPDX_MUST_CHECK epdx_status_t
epdx_receiver_withdraw(epdx_receiver_t *receiver, const epdx_request_t *request,
                       const char *reason);

/**
 * Act on what the I/O side reported since the last call: states change, rows
 * whose events are done and whose tensors were deleted go back, waiting
 * requests get their leases, deadlines pass. With EPDX_PROGRESS_CALLER it also
 * runs one step of the I/O loop. There is no descriptor to wait on: call it at
 * your own pace, such as once a scheduling cycle.
 *
 * Shapes:  none.
 * Units:   none.
 * Owns:    nothing.
 * Threads: the receiver's thread. Never blocks; does I/O only with
 *          EPDX_PROGRESS_CALLER.
 * Errors:  none; failures are the jobs'.
 */
EPDX_API void epdx_receiver_poll(epdx_receiver_t *receiver);

/**
 * Where a job stands, as of the last epdx_receiver_poll().
 *
 * Shapes:  none.
 * Units:   none.
 * Owns:    nothing.
 * Threads: the receiver's thread.
 * Errors:  none; EPDX_FAILED for NULL.
 */
EPDX_API epdx_state_t epdx_job_state(const epdx_job_t *job);

/**
 * Why a job failed: its status, and the reason in words.
 *
 * Shapes:  none.
 * Units:   none.
 * Owns:    *reason_p (when reason_p is not NULL) is the job's, valid until its
 *          release.
 * Threads: the receiver's thread.
 * Errors:  none; EPDX_OK and "" for a job that has not failed;
 *          EPDX_ERR_INVALID for NULL.
 */
EPDX_API epdx_status_t epdx_job_failure(const epdx_job_t *job,
                                        const char **reason_p);

/**
 * The items of a landed job, in the order of its request.
 *
 * Shapes:  *count_p items, see epdx_landed_t.
 * Units:   rows and bytes.
 * Owns:    the array and the rows are the job's, valid until its release.
 * Threads: the receiver's thread; the rows may then be read by any.
 * Errors:  none; NULL and 0 unless the job has landed. count_p may be NULL.
 */
EPDX_API const epdx_landed_t *epdx_job_items(const epdx_job_t *job,
                                             size_t *count_p);

/**
 * The id the request was staged with.
 *
 * Shapes:  none.
 * Units:   none.
 * Owns:    the text is the job's, valid until its release.
 * Threads: the receiver's thread.
 * Errors:  none; "" for NULL.
 */
EPDX_API const char *epdx_job_id(const epdx_job_t *job);

/**
 * End a job and give its memory back. Rows of a landed job may be overwritten
 * from now on, unless tensors still hold them (dlpack.h); a pending job is
 * cancelled and its encode ranks are told; the memory of a job that did not
 * land is reused only once no receive can write to it.
 *
 * Shapes:  none.
 * Units:   none.
 * Owns:    takes job; NULL is allowed.
 * Threads: the receiver's thread. Never blocks.
 * Errors:  none; a job that was released before is left alone, and that is
 *          logged. That cannot be told once its place was given to a job
 *          staged since: then that one is released.
 */
EPDX_API void epdx_job_release(epdx_job_t *job);

/**
 * As epdx_job_release(), but the rows stay in place until an event is done:
 * for rows that work on a CUDA stream still reads. epdx_receiver_poll() asks
 * for it; nothing waits. Any kind of pool may be read by such work.
 *
 * Until then the request counts for EPDX_MAX_REQUESTS and EPDX_MAX_ITEMS; its
 * rooms are free at once. An event that cannot be queried later on, as after an
 * error of the device, frees nothing: the rows stay out of use until the
 * receiver is closed, see bytes_stranded, and the log says so.
 *
 * Shapes:  none.
 * Units:   none.
 * Owns:    takes job on success; NULL is allowed. event is a cudaEvent_t, which
 *          was recorded before this call, or NULL: as epdx_job_release(). It
 *          stays the caller's, who neither destroys it nor records it again
 *          before an epdx_receiver_poll() that began after it was done, or the
 *          receiver's end.
 * Threads: the receiver's thread. Never blocks.
 * Errors:  EPDX_ERR_INVALID  an event, and this library was built without CUDA;
 *                            or the job was released before, as far as
 *                            epdx_job_release() can tell;
 *          EPDX_ERR_IO       CUDA cannot query the event.
 *          On error nothing changed: the job is still the caller's, or is
 *          released already.
 */
EPDX_API EPDX_MUST_CHECK epdx_status_t epdx_job_release_after(epdx_job_t *job,
                                                              void *event);

/**
 * Stage a request and wait until it has landed or failed: a convenience for
 * programs that have nothing else to do.
 *
 * Shapes:  as epdx_receiver_stage().
 * Units:   timeout_ns of the request in nanoseconds; the wait ends with it.
 * Owns:    as epdx_receiver_stage(); on error there is no job to release.
 * Threads: the receiver's thread, which blocks.
 * Errors:  those of epdx_receiver_stage(), and the failure of the request:
 *          EPDX_ERR_TIMEOUT, _UNREACHABLE, _PEER, _MISMATCH; its reason is
 *          epdx_last_error().
 */
EPDX_API EPDX_MUST_CHECK epdx_status_t
epdx_receiver_receive(epdx_receiver_t *receiver, const epdx_request_t *request,
                      epdx_job_t **job_p);

/**
 * Copy the receiver's counters.
 *
 * Shapes:  none.
 * Units:   bytes, rows, counts.
 * Owns:    *stats_p is the caller's.
 * Threads: the receiver's thread.
 * Errors:  none; with NULL nothing is copied.
 */
EPDX_API void epdx_receiver_stats(const epdx_receiver_t *receiver,
                                  epdx_receiver_stats_t *stats_p);

/**
 * End the receiver: its thread, its sockets, its jobs and its pool. Encode
 * ranks are told that pending requests are no longer wanted.
 *
 * Shapes:  none.
 * Units:   none.
 * Owns:    takes receiver and every job of it; NULL is allowed. Tensors that
 *          are out stay valid (dlpack.h): the pool is freed by the last one's
 *          deleter. Events of releases are given 2 s; where one is not done
 *          then, or cannot be queried, the pool is left allocated, and the log
 *          says so. A pool of the caller's may be used again once those events
 *          are done and no tensor is out, unless a receive did not end within
 *          2 s: then this error is logged, "... receives did not end in 2 s:
 *          the receive pool is left allocated", and the pool may still be
 *          written to until the process ends: neither free nor reuse it.
 * Threads: the receiver's thread; blocks while the I/O thread ends, until
 *          0.25 s after the last receive, so that its sender learns of it, and,
 *          with a pool of the receiver's own, for those 2 s.
 * Errors:  none.
 */
EPDX_API void epdx_receiver_close(epdx_receiver_t *receiver);

#ifdef __cplusplus
}
#endif
#endif
