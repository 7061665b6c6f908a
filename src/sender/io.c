/* io.c: see io.h. */
#include "sender/io.h"

#include <sched.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "io/wait.h"
#include "sender/intake.h"
#include "sender/watch.h"

/* Control events in a row, before the others have a turn. */
#define CONTROL_BURST 256
#define SETTLE_NS     (5 * EPI_MS)
#define EXCHANGE_MAX  2
/* Offers are let be taken for so long at the end; then they are cut off. */
#define CLOSE_GRACE_NS (500 * EPI_MS)
#define CLOSE_LIMIT_NS (2 * EPI_S)

static bool take_orders(epi_send_io_t *io, uint64_t now)
{
    epi_send_order_t order;
    bool done = false;

    while (epi_mailbox_take(io->shared->orders, &order)) {
        epi_sender_order(&io->delivery, &order, now);
        done = true;
    }
    return done;
}

/* prefill: NULL where it is not known (any more). */
static void went_away(epi_send_io_t *io, epi_prefill_t *prefill)
{
    if (prefill != NULL) {
        epi_delivery_gone(&io->delivery, prefill, "went away");
    }
}

static void take_row_event(epi_send_io_t *io, const epi_dp_event_t *event)
{
    switch (event->kind) {
    case EPI_DP_SENT:
        io->last_sent_ns = epi_now_ns();
        epi_delivery_sent(&io->delivery, event->cookie, event->status);
        break;
    case EPI_DP_PEER_DOWN:
        went_away(io, epi_prefills_of_cookie(&io->prefills, event->cookie));
        break;
    case EPI_DP_OFFER: /* nobody offers to an encode rank */
        io->dp->ops->refuse(io->dp, event->offer);
        break;
    case EPI_DP_PULLED:
        break;
    }
}

static bool take_rows(void *self)
{
    epi_send_io_t *io = self;
    bool done = io->dp->ops->progress(io->dp);
    epi_dp_event_t event;

    while (io->dp->ops->next(io->dp, &event)) {
        take_row_event(io, &event);
        done = true;
    }
    return done;
}

/* Read out what rows' messages there are; others' rows may go on and on. */
static void settle_rows(epi_send_io_t *io)
{
    uint64_t limit = epi_after(epi_now_ns(), SETTLE_NS);

    while (take_rows(io) && epi_now_ns() < limit) {
    }
}

static void control_up(epi_send_io_t *io, uint32_t peer)
{
    epi_prefill_t *prefill = epi_prefills_of_control(&io->prefills, peer);

    if (prefill != NULL) {
        prefill->connected = true;
    }
}

/* Rows still reach it, statuses do not. Each status tries again. */
static void control_refused(epi_send_io_t *io, uint32_t peer, uint64_t now)
{
    const epi_prefill_t *prefill = epi_prefills_of_control(&io->prefills, peer);

    if (prefill != NULL && epi_seldom(&io->refused_lines, now)) {
        epi_log_warn("prefill rank %s refused the connection back, and hears "
                     "no status: is this key in its EPDX_CURVE_ALLOWED_FILE?",
                     prefill->session);
    }
}

static bool take_control(epi_send_io_t *io, uint64_t now)
{
    epi_control_event_t event;
    bool settled = false;
    int count = 0;

    while (count < CONTROL_BURST && epi_control_next(io->control, &event)) {
        count++;
        switch (event.kind) {
        case EPI_CONTROL_MESSAGE:
            epi_sender_message(&io->delivery, &event.message, event.key, now);
            break;
        case EPI_CONTROL_PEER_UP:
            control_up(io, event.peer);
            break;
        case EPI_CONTROL_PEER_DOWN:
            if (!settled) {
                /* What it took before it went away may be yet to be read. */
                settle_rows(io);
                settled = true;
            }
            went_away(io, epi_prefills_of_control(&io->prefills, event.peer));
            break;
        case EPI_CONTROL_PEER_REFUSED:
            control_refused(io, event.peer, now);
            break;
        }
    }
    return count > 0;
}

static bool take_replies(epi_send_io_t *io, uint64_t now)
{
    bool done = epi_http_progress(io->http);
    epi_http_reply_t reply;

    while (epi_http_next(io->http, &reply)) {
        epi_announce_reply(&io->announce, &reply, now);
        done = true;
    }
    return done;
}

/* What the caller may want to know. */
static void publish(epi_send_io_t *io)
{
    epi_send_counters_t *counters = &io->shared->counters;
    uint64_t dropped = epi_control_dropped(io->control);

    if (dropped != io->dropped_before) {
        epi_send_count(&counters->frames_dropped, dropped - io->dropped_before);
        epi_frame_watch_unfit(&io->delivery, dropped - io->dropped_before);
        io->dropped_before = dropped;
    }
    atomic_store_explicit(&counters->handshakes_refused,
                          epi_control_refused(io->control),
                          memory_order_relaxed);
    atomic_store_explicit(&counters->rooms_open, io->delivery.rooms.count,
                          memory_order_relaxed);
    atomic_store_explicit(&counters->peers, io->prefills.count,
                          memory_order_relaxed);
}

/* UCX wants the device current where it is progressed, maps and ends. */
static void bind_thread(epi_send_io_t *io)
{
    const epi_memory_t *memory = &io->shared->config.memory;

    if (io->unbound && memory->ops->bind(memory->device) != EPDX_OK) {
        epi_log_error("sender: %s", epdx_last_error());
    }
    io->unbound = false;
}

static bool io_step(void *self, uint64_t now)
{
    epi_send_io_t *io = self;
    bool done;

    bind_thread(io);
    done = take_orders(io, now);
    done |= take_rows(io);
    done |= take_control(io, now);
    done |= take_replies(io, now);
    done |= epi_announce_tick(&io->announce, now);
    done |= epi_delivery_expire(&io->delivery, now);
    publish(io);
    return done;
}

static void io_prepare(void *self, epi_loop_wait_t *wait)
{
    epi_send_io_t *io = self;
    epi_io_parts_t parts = {io->control, io->http, io->dp};
    uint64_t due = epi_timers_next(&io->delivery.rooms.deadlines);

    epi_io_wait(&parts, io->announce.due_ns < due ? io->announce.due_ns : due,
                wait);
}

static epdx_status_t open_sockets(epi_send_io_t *io)
{
    epi_send_config_t *config = &io->shared->config;
    epi_control_params_t params = {.host = config->host,
                                   .peer_max = config->max_peers,
                                   .heartbeat_ns = config->heartbeat_ns,
                                   .key_file = config->files.curve_key,
                                   .allowed_file = config->files.curve_allowed};
    epdx_status_t status = epi_control_open(&params, &io->control);

    if (status != EPDX_OK) {
        return status;
    }
    (void)epi_text_copy(config->curve_key, sizeof(config->curve_key),
                        epi_control_key(io->control));
    status = epi_http_open(EXCHANGE_MAX, &io->http);
    if (status == EPDX_OK) {
        status = epi_http_trust(io->http, config->files.ca);
        if (status == EPDX_OK) {
            status = epi_announce_init(&io->announce, io->shared, io->http,
                                       epi_control_port(io->control));
        }
        if (status == EPDX_OK) {
            return EPDX_OK;
        }
        epi_http_close(io->http);
    }
    epi_control_close(io->control);
    return status;
}

/* Who we are, in reasons: our bootstrap server, by which others know us. */
static void name_self(epi_send_io_t *io)
{
    const epi_send_config_t *config = &io->shared->config;

    if (config->bootstrap[0] != '\0') {
        (void)epi_text_copy(io->delivery.self, sizeof(io->delivery.self),
                            config->bootstrap);
    } else {
        (void)epi_address_format(config->host, epi_control_port(io->control),
                                 io->delivery.self, sizeof(io->delivery.self));
    }
}

static epdx_status_t open_tables(epi_send_io_t *io)
{
    epi_loop_source_t source = {io_step, io_prepare, io};
    epdx_status_t status = epi_prefills_init(&io->prefills, io->control, io->dp,
                                             io->shared->config.max_peers);

    if (status != EPDX_OK) {
        return status;
    }
    io->delivery.shared = io->shared;
    io->delivery.prefills = &io->prefills;
    io->delivery.dp = io->dp;
    io->delivery.region = io->region;
    name_self(io);
    status = epi_delivery_init(&io->delivery);
    if (status != EPDX_OK) {
        epi_prefills_fini(&io->prefills);
        return status;
    }
    return epi_loop_add(io->loop, &source); /* the first source: cannot fail */
}

static epdx_status_t open_all(epi_send_io_t *io, epi_send_shared_t *shared,
                              epi_dataplane_t *dp, void *ring)
{
    epdx_status_t status;

    memset(io, 0, sizeof(*io));
    io->shared = shared;
    io->dp = dp;
    status = epi_loop_open(shared->config.spin_ns, &io->loop);
    if (status != EPDX_OK) {
        return status;
    }
    status = dp->ops->map(dp, shared->config.memory.ops, ring,
                          (size_t)shared->config.ring_bytes, &io->region);
    if (status != EPDX_OK) {
        goto err_close_loop;
    }
    status = open_sockets(io);
    if (status != EPDX_OK) {
        goto err_unmap;
    }
    status = open_tables(io);
    if (status != EPDX_OK) {
        goto err_close_sockets;
    }
    return EPDX_OK;

err_close_sockets:
    epi_http_close(io->http);
    epi_control_close(io->control);
err_unmap:
    dp->ops->unmap(dp, io->region);
err_close_loop:
    epi_loop_close(io->loop);
    return status;
}

/* On the caller's thread, whose device is another one maybe. */
epdx_status_t epi_send_io_open(epi_send_io_t *io, epi_send_shared_t *shared,
                               epi_dataplane_t *dp, void *ring)
{
    const epi_memory_t *memory = &shared->config.memory;
    int before;
    epdx_status_t status = memory->ops->enter(memory->device, &before);

    if (status == EPDX_OK) {
        status = open_all(io, shared, dp, ring);
        memory->ops->leave(before);
    }
    return status;
}

static void drain_until(epi_send_io_t *io, uint64_t limit)
{
    while (io->delivery.under_way > 0 && epi_now_ns() < limit) {
        if (!take_rows(io)) {
            sched_yield();
        }
    }
}

/* Let what is being pulled be pulled, then cut the rest off. */
static bool end_offers(epi_send_io_t *io)
{
    uint64_t now = epi_now_ns();

    drain_until(io, epi_after(now, CLOSE_GRACE_NS));
    for (size_t i = 0; i < io->prefills.capacity; i++) {
        if (io->delivery.under_way > 0 && io->prefills.prefills[i].used) {
            epi_delivery_gone(&io->delivery, &io->prefills.prefills[i],
                              "did not take its rows before the end");
        }
    }
    drain_until(io, epi_after(now, CLOSE_LIMIT_NS));
    if (io->delivery.under_way > 0) {
        epi_log_error("%zu offers did not end in 2 s: the ring is left "
                      "allocated",
                      io->delivery.under_way);
    }
    return io->delivery.under_way == 0;
}

static bool close_all(epi_send_io_t *io)
{
    bool quiet;

    epi_loop_stop(io->loop);
    (void)take_orders(io, epi_now_ns());
    epi_delivery_fail_all(&io->delivery, "the sender was closed");
    quiet = end_offers(io);
    epi_announce_withdraw(&io->announce);
    epi_io_linger(io->last_sent_ns, take_rows, io);
    epi_prefills_fini(&io->prefills);
    epi_delivery_fini(&io->delivery);
    if (quiet) {
        io->dp->ops->unmap(io->dp, io->region);
    }
    epi_http_close(io->http);
    epi_control_close(io->control);
    io->dp->ops->close(io->dp);
    epi_loop_close(io->loop);
    return quiet;
}

bool epi_send_io_close(epi_send_io_t *io)
{
    epi_memory_t memory = io->shared->config.memory;
    int before;
    bool entered = memory.ops->enter(memory.device, &before) == EPDX_OK;
    bool quiet = close_all(io);

    if (entered) {
        memory.ops->leave(before);
    }
    return quiet;
}
