/* io.c: see io.h. */
#include "receive/io.h"

#include <sched.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "io/wait.h"

#define EXCHANGE_MAX  256
#define CLOSE_WAIT_NS (2 * EPI_S)
/* Control messages before the rows and the timers have a turn. */
#define CONTROL_BURST 256

static bool take_orders(epi_receive_io_t *io, uint64_t now)
{
    epi_order_t order;
    bool done = false;

    while (epi_mailbox_take(io->shared->orders, &order)) {
        epi_intake_order(&io->intake, &order, now);
        done = true;
    }
    return done;
}

static bool take_control(epi_receive_io_t *io, uint64_t now)
{
    epi_control_event_t event;
    int count = 0;

    while (count < CONTROL_BURST && epi_control_next(io->control, &event)) {
        count++;
        switch (event.kind) {
        case EPI_CONTROL_MESSAGE:
            epi_intake_message(&io->intake, &event.message);
            break;
        case EPI_CONTROL_PEER_UP:
            epi_nodes_control_up(&io->nodes, event.peer);
            break;
        case EPI_CONTROL_PEER_DOWN:
            epi_nodes_control_down(&io->nodes, event.peer, now);
            break;
        case EPI_CONTROL_PEER_REFUSED:
            epi_nodes_control_refused(&io->nodes, event.peer, now);
            break;
        }
    }
    atomic_store_explicit(&io->shared->frames_unfit,
                          epi_control_dropped(io->control),
                          memory_order_relaxed);
    atomic_store_explicit(&io->shared->handshakes_refused,
                          epi_control_refused(io->control),
                          memory_order_relaxed);
    return count > 0;
}

static bool take_rows(void *self)
{
    epi_receive_io_t *io = self;
    bool done = io->dp->ops->progress(io->dp);
    epi_dp_event_t event;

    while (io->dp->ops->next(io->dp, &event)) {
        epi_intake_event(&io->intake, &event);
        done = true;
    }
    return done;
}

static bool take_replies(epi_receive_io_t *io, uint64_t now)
{
    bool done = epi_http_progress(io->http);
    epi_http_reply_t reply;

    while (epi_http_next(io->http, &reply)) {
        epi_nodes_reply(&io->nodes, &reply, now);
        done = true;
    }
    return done;
}

/* UCX wants the device current where it is progressed, maps and ends. */
static void bind_thread(epi_receive_io_t *io)
{
    const epi_memory_t *memory = &io->shared->config.memory;

    if (io->unbound && memory->ops->bind(memory->device) != EPDX_OK) {
        epi_log_error("receiver: %s", epdx_last_error());
    }
    io->unbound = false;
}

static bool io_step(void *self, uint64_t now)
{
    epi_receive_io_t *io = self;
    bool done;

    bind_thread(io);
    done = take_orders(io, now);
    done |= take_rows(io);
    done |= take_control(io, now);
    done |= take_replies(io, now);
    done |= epi_nodes_tick(&io->nodes, now);
    done |= epi_intake_tick(&io->intake, now);
    return done;
}

static void io_prepare(void *self, epi_loop_wait_t *wait)
{
    epi_receive_io_t *io = self;
    epi_io_parts_t parts = {io->control, io->http, io->dp};
    uint64_t nodes_due = epi_timers_next(&io->nodes.timers);
    uint64_t items_due = epi_timers_next(&io->intake.timers);

    epi_io_wait(&parts, nodes_due < items_due ? nodes_due : items_due, wait);
}

/* The sockets, once the loop is there. */
static epdx_status_t open_sockets(epi_receive_io_t *io)
{
    const epi_receive_config_t *config = &io->shared->config;
    epi_control_params_t params = {.host = config->host,
                                   .peer_max = (size_t)config->max_peers,
                                   .heartbeat_ns = config->heartbeat_ns,
                                   .key_file = config->files.curve_key,
                                   .allowed_file = config->files.curve_allowed};
    epdx_status_t status = epi_control_open(&params, &io->control);

    if (status != EPDX_OK) {
        return status;
    }
    status = epi_http_open(EXCHANGE_MAX, &io->http);
    if (status == EPDX_OK) {
        status = epi_http_trust(io->http, config->files.ca);
        if (status == EPDX_OK) {
            return EPDX_OK;
        }
        epi_http_close(io->http);
    }
    epi_control_close(io->control);
    return status;
}

/* The items and where they come from, once the sockets are there. */
static epdx_status_t open_items(epi_receive_io_t *io)
{
    epi_loop_source_t source = {io_step, io_prepare, io};
    epdx_status_t status =
        epi_nodes_init(&io->nodes, io->shared, io->control, io->http);

    if (status != EPDX_OK) {
        return status;
    }
    io->nodes.dp = io->dp;
    io->nodes.session = io->dp->ops->address(io->dp);
    status = epi_intake_init(&io->intake, io->shared, &io->nodes);
    if (status != EPDX_OK) {
        epi_nodes_fini(&io->nodes);
        return status;
    }
    io->intake.dp = io->dp;
    io->intake.region = io->region;
    return epi_loop_add(io->loop, &source); /* the first source: cannot fail */
}

static epdx_status_t open_all(epi_receive_io_t *io,
                              epi_receive_shared_t *shared, epi_dataplane_t *dp,
                              void *pool, uint64_t spin_ns)
{
    epdx_status_t status;

    *io = (epi_receive_io_t){.shared = shared, .dp = dp};
    status = epi_loop_open(spin_ns, &io->loop);
    if (status != EPDX_OK) {
        return status;
    }
    status = dp->ops->map(dp, shared->config.memory.ops, pool,
                          (size_t)shared->config.pool_bytes, &io->region);
    if (status != EPDX_OK) {
        goto err_close_loop;
    }
    status = open_sockets(io);
    if (status != EPDX_OK) {
        goto err_unmap;
    }
    status = open_items(io);
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
epdx_status_t epi_receive_io_open(epi_receive_io_t *io,
                                  epi_receive_shared_t *shared,
                                  epi_dataplane_t *dp, void *pool,
                                  uint64_t spin_ns)
{
    const epi_memory_t *memory = &shared->config.memory;
    int before;
    epdx_status_t status = memory->ops->enter(memory->device, &before);

    if (status == EPDX_OK) {
        status = open_all(io, shared, dp, pool, spin_ns);
        memory->ops->leave(before);
    }
    return status;
}

static bool close_all(epi_receive_io_t *io)
{
    uint64_t limit = epi_after(epi_now_ns(), CLOSE_WAIT_NS);
    bool quiet;

    epi_loop_stop(io->loop);
    (void)take_orders(io, epi_now_ns());
    epi_intake_close_all(&io->intake);
    while (io->intake.pulls > 0 && epi_now_ns() < limit) {
        if (!take_rows(io)) {
            sched_yield();
        }
    }
    epi_io_linger(io->intake.last_pulled_ns, take_rows, io);
    quiet = io->intake.pulls == 0;
    if (quiet) {
        io->dp->ops->unmap(io->dp, io->region);
    } else {
        epi_log_error("%zu receives did not end in 2 s: the receive pool is "
                      "left allocated",
                      io->intake.pulls);
    }
    epi_intake_fini(&io->intake);
    epi_nodes_fini(&io->nodes);
    epi_http_close(io->http);
    epi_control_close(io->control);
    io->dp->ops->close(io->dp);
    epi_loop_close(io->loop);
    return quiet;
}

bool epi_receive_io_close(epi_receive_io_t *io)
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
