/*
 * item.h: what the two threads of a receiver share: a fixed array of item
 * slots, and the small messages that pass them back and forth.
 *
 *     caller                           I/O thread
 *       OPEN     {first, count}  --->    look up, connect
 *       LEASED   {first, count}  --->    ask, pull
 *       CLOSE    {first, count}  --->    withdraw
 *       WITHDRAW {slot}          --->    look up, connect, withdraw
 *                                <---  FAILED {slot}  status and reason are set
 *                                <---  LANDED {slot}  } one of these is the
 *                                <---  QUIET  {slot}  } last of a slot's
 *
 * Each opened slot gets exactly one LANDED or QUIET, after which no receive
 * can write to its lease and the I/O thread has forgotten it; a CLOSE that
 * crosses it is ignored. Fields belong to the thread named beside them; what
 * one writes it writes before the message that tells of it.
 *
 * A withdrawal has a slot past those of the items. All of that slot belongs to
 * whoever took it from the mailbox of free ones: the I/O thread for an item
 * that it gave up, the caller until its WITHDRAW for one that it never staged.
 */
#ifndef EPI_RECEIVE_ITEM_H
#define EPI_RECEIVE_ITEM_H

#include <stdatomic.h>

#include "base/mailbox.h"
#include "base/options.h"
#include "dataplane/dataplane.h"
#include "epdx/receiver.h"
#include "io/loop.h"
#include "observe/observe.h"

/** No slot, no peer. */
#define EPI_NONE UINT32_MAX

/** Withdrawals under way at a time, also those whose encode rank is not reached
 *  yet. */
#define EPI_WITHDRAWN_MAX 1024

typedef enum epi_item_phase {
    EPI_ITEM_FREE = 0,
    EPI_ITEM_FINDING, /* its encode rank is looked up and connected to */
    EPI_ITEM_LEASING, /* the encode rank is there, the lease is not */
    EPI_ITEM_ASKED,
    EPI_ITEM_ENDING, /* failed; a pull into its lease is still under way */
} epi_item_phase_t;

typedef struct epi_item_slot {
    /* The caller's before OPEN, then read by both. */
    uint64_t room;
    uint64_t span;
    epdx_rows_t share;
    uint64_t opened_ns;
    uint64_t deadline_ns;
    char encode[EPDX_ADDRESS_MAX + 1]; /* "": a skipped item, never opened */
    /* The caller's before LEASED. */
    uint8_t *main;
    uint8_t *deepstack;
    /* The caller's alone. */
    uint32_t job;
    /* The I/O thread's, the caller's after FAILED. */
    epdx_status_t status;
    char reason[EPDX_REASON_MAX];
    /* The I/O thread's alone. */
    epi_item_phase_t phase;
    bool leased;
    uint64_t generation;     /* unpredictable: who knows it was asked */
    uint32_t node;           /* EPI_NONE when it waits at no node */
    uint32_t peer;           /* EPI_NONE when it has no encode rank yet */
    uint32_t next, previous; /* in its node's or its peer's list */
    uint32_t asks;
    uint64_t next_ask_ns;
    uint8_t parts_posted; /* bit a part */
    uint8_t parts_done;
    uint64_t link; /* the connection its offers came by */
    uint8_t step;  /* that it is at, where it is watched: epi_trace_name_t */
    uint64_t step_ns;
    /* The I/O thread's, the caller's after LANDED. */
    uint64_t landed_ns; /* 0 where it is not watched */
} epi_item_slot_t;

typedef enum epi_order_kind {
    EPI_ORDER_OPEN,
    EPI_ORDER_LEASED,
    EPI_ORDER_CLOSE,
    EPI_ORDER_WITHDRAW, /* of one slot of a withdrawal */
} epi_order_kind_t;

/** From the caller to the I/O thread. */
typedef struct epi_order {
    epi_order_kind_t kind;
    uint32_t first;
    uint32_t count;
} epi_order_t;

typedef enum epi_report_kind {
    EPI_REPORT_LANDED,
    EPI_REPORT_FAILED,
    EPI_REPORT_QUIET,
    EPI_REPORT_TRANSPORT, /* epi_receive_shared_t.transport is set */
} epi_report_kind_t;

/** From the I/O thread to the caller. */
typedef struct epi_report {
    epi_report_kind_t kind;
    uint32_t slot;
} epi_report_t;

/** What this rank is, fixed from open on, read by both threads. */
typedef struct epi_receive_config {
    epdx_dtype_t dtype;
    uint64_t hidden;
    uint32_t levels;
    uint32_t tp_rank;
    uint32_t tp_size;
    bool sharded;
    bool shard_flag; /* as set, also with one rank */
    uint64_t main_row_bytes;
    uint64_t deepstack_row_bytes; /* 0: no deepstack */
    uint64_t waiting_timeout_ns;
    uint64_t bootstrap_timeout_ns;
    uint64_t lookup_timeout_ns;
    uint64_t ask_interval_ns;
    uint64_t heartbeat_ns;
    uint64_t pool_bytes;
    uint64_t max_requests;
    uint64_t max_items;
    uint64_t max_peers;
    char host[EPDX_ADDRESS_MAX + 1]; /* numeric */
    epi_files_t files;
    epi_memory_t memory; /* of the pool */
    uint64_t staging_bytes;
} epi_receive_config_t;

/** Everything that both threads see. */
typedef struct epi_receive_shared {
    epi_receive_config_t config;
    epi_item_slot_t *slots;   /* max_items of them, then EPI_WITHDRAWN_MAX of
                                 withdrawals */
    epi_mailbox_t *withdrawn; /* uint32_t: of those slots, the free ones */
    epi_mailbox_t *orders;
    epi_mailbox_t *reports;
    char transport[EPI_DP_TRANSPORT_MAX]; /* the I/O thread's, then the
                                             caller's after its report */
    _Atomic uint64_t rows_landed;
    _Atomic uint64_t bytes_landed;
    _Atomic uint64_t asks_sent;
    _Atomic uint64_t offers_refused;
    _Atomic uint64_t frames_dropped; /* did not parse */
    _Atomic uint64_t frames_unfit;   /* did not fit a message */
    _Atomic uint64_t handshakes_refused;
    epi_watch_t watch; /* its trace is the I/O thread's */
} epi_receive_shared_t;

#endif
