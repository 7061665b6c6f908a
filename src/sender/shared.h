/*
 * shared.h: what the caller's side and the I/O side of a sender share: the
 * configuration, which never changes; the chunk slots; the mailboxes; counters.
 *
 *     caller --orders: CHUNK or FAIL of a slot--> I/O
 *     caller <--ended: the slot's room is over--- I/O
 *
 * A slot belongs to the side that has its last message, so each mailbox needs
 * room for one message a slot.
 */
#ifndef EPI_SENDER_SHARED_H
#define EPI_SENDER_SHARED_H

#include <stdatomic.h>

#include "base/mailbox.h"
#include "base/options.h"
#include "dataplane/dataplane.h"
#include "discovery/route.h"
#include "epdx/sender.h"
#include "observe/observe.h"
#include "wire/control.h"

#define EPI_NO_INDEX UINT32_MAX

/** Most asks that make a room complete. */
#define EPI_FANOUT_MAX 1024

typedef struct epi_send_config {
    epdx_dtype_t dtype;
    uint64_t hidden;
    uint32_t levels;
    uint64_t main_row_bytes;
    uint64_t deepstack_row_bytes;
    uint32_t engine_rank, world_size, dp_size;
    uint32_t block, blocks; /* of this rank in its DP group */
    uint64_t ring_bytes;
    uint64_t waiting_timeout_ns;
    uint64_t ended_memory_ns;
    uint64_t lookup_timeout_ns;
    uint64_t heartbeat_ns;
    uint64_t spin_ns;
    size_t max_rooms;
    size_t max_peers;
    bool threaded;
    char host[EPDX_ADDRESS_MAX + 1];      /* numeric */
    char bootstrap[EPDX_ADDRESS_MAX + 1]; /* "" : none */
    char token[sizeof(((epi_options_t *)0)->bootstrap_token)];
    char instance[EPI_INSTANCE_MAX + 1];
    char curve_key[EPI_ROUTE_KEY + 1]; /* public, of files; "": none */
    epi_files_t files;
    epi_memory_t memory; /* of the ring, and of the caller's own chunks */
    uint64_t staging_bytes;
} epi_send_config_t;

/** A room that the caller spoke of, until its outcome is polled. */
typedef struct epi_send_slot {
    uint64_t room;
    epdx_chunk_t chunk;   /* rows 0: the caller said that none will come */
    epdx_status_t status; /* how it ended, or ends; EPDX_OK until it failed */
    char reason[EPDX_REASON_MAX];
    uint64_t sent_ns; /* the caller's alone; 0: free, or it is not watched */
} epi_send_slot_t;

typedef enum epi_send_order_kind {
    EPI_SEND_CHUNK,
    EPI_SEND_FAIL, /* reason has why */
} epi_send_order_kind_t;

typedef struct epi_send_order {
    epi_send_order_kind_t kind;
    uint32_t slot;
} epi_send_order_t;

typedef struct epi_send_ended {
    uint32_t slot;
} epi_send_ended_t;

/** Written by the I/O side, read by the caller's. */
typedef struct epi_send_counters {
    _Atomic uint64_t rooms_done, rooms_failed, rooms_evicted;
    _Atomic uint64_t bytes_offered;
    _Atomic uint64_t asks, asks_late, frames_dropped, handshakes_refused;
    _Atomic size_t rooms_open, peers;
    atomic_bool registered;
    atomic_bool transport_known; /* transport is written, and not again */
    char transport[EPI_DP_TRANSPORT_MAX];
} epi_send_counters_t;

typedef struct epi_send_shared {
    epi_send_config_t config;
    epi_send_slot_t *slots; /* max_rooms of them */
    epi_mailbox_t *orders;
    epi_mailbox_t *ended;
    epi_send_counters_t counters;
    epi_watch_t watch;    /* its trace is the I/O side's */
    uint64_t show_due_ns; /* the caller's: when it shows its metrics again */
} epi_send_shared_t;

static inline void epi_send_count(_Atomic uint64_t *counter, uint64_t more)
{
    atomic_fetch_add_explicit(counter, more, memory_order_relaxed);
}

/** Resolve parameters against settings; looks host and device up.
 *  EPDX_ERR_INVALID with words, or EPDX_ERR_IO: the device cannot be used. In
 *  config.c. */
EPDX_MUST_CHECK epdx_status_t
epi_send_config_make(const epdx_sender_params_t *params,
                     const epi_options_t *options, epi_send_config_t *config_p);

#endif
