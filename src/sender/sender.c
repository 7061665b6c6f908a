/*
 * sender.c: the caller's side of a sender: its ring, its rooms from send() to
 * poll(), and what it tells the I/O side. The caller's thread.
 *
 *     slot: free --send(), fail()--> the I/O side's --ENDED, poll()--> free
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/params.h"
#include "base/random.h"
#include "base/table.h"
#include "base/text.h"
#include "cudaplane/cudaplane.h"
#include "sender/chunk.h"
#include "sender/io.h"
#include "sender/ring.h"
#include "sender/sender_internal.h"
#include "sender/watch.h"

struct epdx_sender {
    epi_send_shared_t shared;
    epi_send_io_t io;
    bool registered; /* as of the last poll */
    void *memory;    /* of the ring */
    epi_ring_t ring;
    epi_table_t rooms;  /* number to slot */
    epi_table_t leases; /* of chunks that were sent, to slot */
    uint32_t *free_slots;
    size_t free_count;
    uint32_t *ended_slots; /* that the I/O side is done with, in order */
    size_t ended_count;
    uint64_t rooms_sent;
};

static epdx_status_t tables_open(epdx_sender_t *sender)
{
    size_t max = sender->shared.config.max_rooms;
    epdx_status_t status;

    sender->shared.slots = calloc(max, sizeof(*sender->shared.slots));
    sender->free_slots = calloc(max, sizeof(*sender->free_slots));
    sender->ended_slots = calloc(max, sizeof(*sender->ended_slots));
    if (sender->shared.slots == NULL || sender->free_slots == NULL ||
        sender->ended_slots == NULL) {
        return epi_fail(EPDX_ERR_NO_MEMORY,
                        "no memory for %zu rooms (EPDX_MAX_ROOMS)", max);
    }
    while (sender->free_count < max) {
        sender->free_slots[sender->free_count] =
            (uint32_t)(max - 1 - sender->free_count);
        sender->free_count++;
    }
    status = epi_table_init(&sender->rooms, max, epi_random_u64());
    if (status == EPDX_OK) {
        status = epi_table_init(&sender->leases, max, epi_random_u64());
    }
    if (status == EPDX_OK) {
        status = epi_mailbox_open(max, sizeof(epi_send_order_t),
                                  &sender->shared.orders);
    }
    if (status == EPDX_OK) {
        status = epi_mailbox_open(max, sizeof(epi_send_ended_t),
                                  &sender->shared.ended);
    }
    return status;
}

/* A ring in host memory is shared with receivers of this host, where that can
 * be: they copy out of it. */
static epdx_status_t ring_alloc(epdx_sender_t *sender)
{
    epi_send_config_t *config = &sender->shared.config;
    size_t bytes = (size_t)config->ring_bytes;

    if (config->memory.ops->kind == EPI_MEMORY_HOST) {
        if (epi_memory_shared()->alloc(0, bytes, &sender->memory) == EPDX_OK) {
            config->memory.ops = epi_memory_shared();
            return EPDX_OK;
        }
        epi_log_info("the ring is not shared with receivers of this host: %s",
                     epdx_last_error());
    }
    return config->memory.ops->alloc(config->memory.device, bytes,
                                     &sender->memory);
}

/* Twice as many leases as rooms: some are being filled. */
static epdx_status_t ring_open(epdx_sender_t *sender)
{
    const epi_send_config_t *config = &sender->shared.config;
    epi_ring_params_t params = {
        .bytes = config->ring_bytes,
        .lease_max = 2 * config->max_rooms,
        .main_row_bytes = config->main_row_bytes,
        .deepstack_row_bytes = config->deepstack_row_bytes,
    };
    epdx_status_t status = ring_alloc(sender);

    if (status != EPDX_OK) {
        return status;
    }
    params.base = sender->memory;
    return epi_ring_init(&sender->ring, &params);
}

/* What open() made but the I/O side; halfway is allowed. */
static void parts_free(epdx_sender_t *sender, bool free_memory)
{
    const epi_send_config_t *config = &sender->shared.config;

    epi_watch_close(&sender->shared.watch);
    if (sender->ring.arena != NULL) {
        epi_ring_fini(&sender->ring);
    }
    if (sender->memory != NULL && free_memory) {
        config->memory.ops->release(config->memory.device, sender->memory,
                                    (size_t)config->ring_bytes);
    }
    epi_mailbox_close(sender->shared.ended);
    epi_mailbox_close(sender->shared.orders);
    epi_table_fini(&sender->leases);
    epi_table_fini(&sender->rooms);
    free(sender->ended_slots);
    free(sender->free_slots);
    free(sender->shared.slots);
    free(sender);
}

/* Everything but the thread. */
static epdx_status_t parts_open(epdx_sender_t *sender, epi_dataplane_t *dp)
{
    epdx_status_t status = tables_open(sender);

    if (status == EPDX_OK) {
        status = ring_open(sender);
    }
    if (status == EPDX_OK) {
        status =
            epi_send_io_open(&sender->io, &sender->shared, dp, sender->memory);
    }
    return status;
}

/* The plane for the memory of ring and chunks. */
static epdx_status_t wrap(const epi_send_config_t *config, epi_dataplane_t **dp)
{
    epi_cudaplane_params_t params = {
        .memory = config->memory,
        .staging_bytes = (size_t)config->staging_bytes,
        .sends = true,
    };

    return epi_cudaplane_wrap(&params, dp);
}

/* Takes dp, also on error. */
static epdx_status_t open_on(const epi_options_t *options,
                             const epi_send_config_t *config,
                             epi_dataplane_t *dp, epdx_sender_t **sender_p)
{
    epdx_sender_t *sender = calloc(1, sizeof(*sender));
    epdx_status_t status;

    if (sender == NULL) {
        dp->ops->close(dp);
        return epi_fail(EPDX_ERR_NO_MEMORY, "no memory for a sender");
    }
    sender->shared.config = *config;
    status = epi_sender_watch(&sender->shared, options);
    if (status == EPDX_OK) {
        status = wrap(config, &dp);
    }
    if (status == EPDX_OK) {
        status = parts_open(sender, dp);
    }
    if (status != EPDX_OK) {
        dp->ops->close(dp);
        parts_free(sender, true);
        return status;
    }
    sender->registered = config->bootstrap[0] == '\0';
    if (config->threaded) {
        sender->io.unbound = true;
        status = epi_loop_start(sender->io.loop, "epdx-sender");
    }
    if (status != EPDX_OK) {
        parts_free(sender, epi_send_io_close(&sender->io));
        return status;
    }
    *sender_p = sender;
    return EPDX_OK;
}

static epdx_status_t config_load(const epdx_sender_params_t *params,
                                 epi_options_t *options_p,
                                 epi_send_config_t *config_p)
{
    epdx_status_t status = epi_options_load(options_p);

    return status != EPDX_OK
               ? status
               : epi_send_config_make(params, options_p, config_p);
}

epdx_status_t epi_sender_open_with(const epdx_sender_params_t *params,
                                   epi_dataplane_t *dp,
                                   epdx_sender_t **sender_p)
{
    epi_options_t options;
    epi_send_config_t config;
    epdx_status_t status = config_load(params, &options, &config);

    if (status != EPDX_OK) {
        dp->ops->close(dp);
        return status;
    }
    return open_on(&options, &config, dp, sender_p);
}

epdx_status_t epdx_sender_open(const epdx_sender_params_t *params,
                               epdx_sender_t **sender_p)
{
    epi_options_t options;
    epi_send_config_t config;
    epi_dataplane_t *dp;
    epdx_status_t status = epi_given(sender_p);

    if (status == EPDX_OK) {
        status = config_load(params, &options, &config);
    }
    if (status == EPDX_OK) {
        status = epi_dataplane_ucx(config.host, &dp);
    }
    return status != EPDX_OK ? status
                             : open_on(&options, &config, dp, sender_p);
}

void epdx_sender_close(epdx_sender_t *sender)
{
    if (sender != NULL) {
        sender->shared.show_due_ns = 0; /* for the last time */
        epi_sender_watch_poll(&sender->shared, &sender->ring, sender->io.dp,
                              sender->rooms_sent);
        parts_free(sender, epi_send_io_close(&sender->io));
    }
}

uint16_t epi_sender_port(const epdx_sender_t *sender)
{
    return epi_control_port(sender->io.control);
}

const char *epi_sender_host(const epdx_sender_t *sender)
{
    return sender->shared.config.host;
}

epdx_status_t epdx_sender_lease(epdx_sender_t *sender, uint64_t rows,
                                epdx_chunk_t *chunk_p)
{
    epdx_status_t status = epi_given(sender, chunk_p);

    return status == EPDX_OK ? epi_ring_lease(&sender->ring, rows, chunk_p)
                             : status;
}

void epdx_sender_return(epdx_sender_t *sender, const epdx_chunk_t *chunk)
{
    uint32_t slot = 0;

    if (sender == NULL || chunk == NULL || chunk->lease == 0) {
        return;
    }
    if (epi_table_find(&sender->leases, chunk->lease, &slot)) {
        epi_log_error("lease %" PRIu64 " was sent with room %" PRIu64
                      " and cannot be returned",
                      chunk->lease, sender->shared.slots[slot].room);
    } else if (epi_ring_release(&sender->ring, chunk->lease) != EPDX_OK) {
        epi_log_error("lease %" PRIu64 " is not out and cannot be returned",
                      chunk->lease);
    }
}

static epdx_status_t check_chunk(const epdx_sender_t *sender,
                                 const epdx_chunk_t *chunk)
{
    epdx_status_t status = epi_chunk_check_ready(&sender->shared.config, chunk);
    uint32_t slot = 0;

    if (status != EPDX_OK) {
        return status;
    }
    if (chunk->lease == 0 || chunk->rows == 0 || chunk->main == NULL) {
        return epi_chunk_check_own(&sender->shared.config, chunk);
    }
    if (epi_table_find(&sender->leases, chunk->lease, &slot) ||
        !epi_ring_holds(&sender->ring, chunk)) {
        return epi_fail(EPDX_ERR_INVALID,
                        "the chunk's lease %" PRIu64 " is not out, was sent "
                        "before, or the chunk was changed",
                        chunk->lease);
    }
    return EPDX_OK;
}

/* A slot for a room, which the caller fills and posts. */
static epdx_status_t slot_take(epdx_sender_t *sender, uint64_t room,
                               uint32_t *slot_p)
{
    uint32_t slot = 0;

    if (epi_table_find(&sender->rooms, room, &slot)) {
        return epi_fail(EPDX_ERR_DUPLICATE,
                        "room %" PRIu64 " was sent or failed before, and its "
                        "outcome was not polled yet",
                        room);
    }
    if (sender->free_count == 0) {
        return epi_fail(EPDX_ERR_FULL,
                        "%zu rooms are open (EPDX_MAX_ROOMS): poll outcomes",
                        sender->shared.config.max_rooms);
    }
    slot = sender->free_slots[--sender->free_count];
    epi_expect(epi_table_add(&sender->rooms, room, slot), "a sender's room");
    sender->shared.slots[slot].room = room;
    sender->shared.slots[slot].chunk = (epdx_chunk_t){0};
    sender->shared.slots[slot].status = EPDX_OK;
    sender->shared.slots[slot].sent_ns =
        sender->shared.watch.on ? epi_now_ns() : 0;
    sender->shared.slots[slot].reason[0] = '\0';
    *slot_p = slot;
    return EPDX_OK;
}

static void slot_post(epdx_sender_t *sender, uint32_t slot,
                      epi_send_order_kind_t kind)
{
    epi_send_order_t order = {kind, slot};

    /* Sized for one message a slot. */
    epi_expect(epi_mailbox_post(sender->shared.orders, &order),
               "an order to the sender's i/o side");
    epi_loop_wake(sender->io.loop);
}

epdx_status_t epdx_sender_send(epdx_sender_t *sender, uint64_t room,
                               const epdx_chunk_t *chunk)
{
    epdx_status_t status = epi_given(sender, chunk);
    uint32_t slot = 0;

    if (status == EPDX_OK) {
        status = check_chunk(sender, chunk);
    }
    if (status != EPDX_OK) {
        return status;
    }
    status = slot_take(sender, room, &slot);
    if (status != EPDX_OK) {
        return status;
    }
    sender->shared.slots[slot].chunk = *chunk;
    if (chunk->lease != 0) {
        epi_expect(epi_table_add(&sender->leases, chunk->lease, slot),
                   "a sender's lease");
    }
    sender->rooms_sent++;
    slot_post(sender, slot, EPI_SEND_CHUNK);
    return EPDX_OK;
}

epdx_status_t epdx_sender_fail(epdx_sender_t *sender, uint64_t room,
                               const char *reason)
{
    uint32_t slot = 0;
    epdx_status_t status = epi_given(sender);

    if (status == EPDX_OK) {
        status = slot_take(sender, room, &slot);
    }
    if (status != EPDX_OK) {
        return status;
    }
    (void)epi_text_copy(sender->shared.slots[slot].reason,
                        sizeof(sender->shared.slots[slot].reason),
                        reason != NULL ? reason : "no reason was given");
    slot_post(sender, slot, EPI_SEND_FAIL);
    return EPDX_OK;
}

static void slot_end(epdx_sender_t *sender, uint32_t slot,
                     epdx_outcome_t *outcome_p)
{
    const epi_send_slot_t *ended = &sender->shared.slots[slot];

    outcome_p->room = ended->room;
    outcome_p->status = ended->status;
    (void)epi_text_copy(outcome_p->reason, sizeof(outcome_p->reason),
                        ended->reason);
    if (ended->chunk.lease != 0) {
        (void)epi_table_remove(&sender->leases, ended->chunk.lease);
        epi_expect(epi_ring_release(&sender->ring, ended->chunk.lease),
                   "a sender's lease");
    }
    (void)epi_table_remove(&sender->rooms, ended->room);
    sender->shared.slots[slot].sent_ns = 0;
    sender->free_slots[sender->free_count++] = slot;
}

/* Whether the rows of a room that ended are still being made: it failed before
 * they were offered, and its memory is not free yet. */
static bool slot_busy(const epi_send_slot_t *slot)
{
    return slot->status != EPDX_OK && epi_chunk_busy(&slot->chunk);
}

size_t epdx_sender_poll(epdx_sender_t *sender, epdx_outcome_t *outcomes,
                        size_t outcome_max)
{
    epi_send_ended_t message;
    size_t count = 0, kept = 0;

    if (sender == NULL) {
        return 0;
    }
    if (!sender->shared.config.threaded) {
        (void)epi_loop_step(sender->io.loop);
    }
    sender->registered = atomic_load(&sender->shared.counters.registered);
    while (sender->ended_count < sender->shared.config.max_rooms &&
           epi_mailbox_take(sender->shared.ended, &message)) {
        sender->ended_slots[sender->ended_count++] = message.slot;
    }
    for (size_t i = 0; i < sender->ended_count; i++) {
        uint32_t slot = sender->ended_slots[i];

        if (outcomes != NULL && count < outcome_max &&
            !slot_busy(&sender->shared.slots[slot])) {
            slot_end(sender, slot, &outcomes[count++]);
        } else {
            sender->ended_slots[kept++] = slot;
        }
    }
    sender->ended_count = kept;
    epi_sender_watch_poll(&sender->shared, &sender->ring, sender->io.dp,
                          sender->rooms_sent);
    return count;
}

bool epdx_sender_registered(const epdx_sender_t *sender)
{
    return sender != NULL && sender->registered;
}

#define READ(counter)                                                          \
    atomic_load_explicit(&sender->shared.counters.counter, memory_order_relaxed)

void epdx_sender_stats(const epdx_sender_t *sender,
                       epdx_sender_stats_t *stats_p)
{
    epi_cudaplane_moved_t moved;

    if (sender == NULL || stats_p == NULL) {
        return;
    }
    *stats_p = (epdx_sender_stats_t){
        .rooms_sent = sender->rooms_sent,
        .rooms_done = READ(rooms_done),
        .rooms_failed = READ(rooms_failed),
        .bytes_offered = READ(bytes_offered),
        .asks = READ(asks),
        .asks_late = READ(asks_late),
        .frames_dropped = READ(frames_dropped),
        .handshakes_refused = READ(handshakes_refused),
        .rooms_evicted = READ(rooms_evicted),
        .rooms_open = READ(rooms_open),
        .peers = READ(peers),
        .ring_bytes = (size_t)epi_arena_capacity(sender->ring.arena),
        .ring_leased_bytes = (size_t)epi_arena_leased(sender->ring.arena),
    };
    epi_cudaplane_moved(sender->io.dp, &moved);
    stats_p->bytes_direct = moved.direct_bytes;
    stats_p->bytes_staged = moved.staged_bytes;
    if (atomic_load_explicit(&sender->shared.counters.transport_known,
                             memory_order_acquire)) {
        (void)epi_text_copy(stats_p->transport, sizeof(stats_p->transport),
                            sender->shared.counters.transport);
    }
}
