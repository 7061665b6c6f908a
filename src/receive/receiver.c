/* receiver.c: opening, polling and closing a receiver, the caller's side. */
#include "epdx/receiver.h"

#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/params.h"
#include "cudaplane/cudaplane.h"
#include "receive/receiver_internal.h"
#include "receive/watch.h"
#include "receive/withdraw.h"

/* Orders: open, leased, close of each request; leased and close of the request
 * before it may still wait there, where its items ended by themselves; and one
 * of each withdrawal. Reports: failed, and landed or quiet, of each item, and
 * the transport. */
#define ORDERS_PER_REQUEST 5
#define REPORTS_PER_ITEM   2

static epdx_status_t open_shared(epi_receive_shared_t *shared)
{
    size_t slots = (size_t)shared->config.max_items;
    epdx_status_t status;

    shared->slots = calloc(slots + EPI_WITHDRAWN_MAX, sizeof(*shared->slots));
    if (shared->slots == NULL) {
        return epi_fail(EPDX_ERR_NO_MEMORY,
                        "no memory for %zu items; lower EPDX_MAX_ITEMS", slots);
    }
    status = epi_mailbox_open(ORDERS_PER_REQUEST *
                                      (size_t)shared->config.max_requests +
                                  EPI_WITHDRAWN_MAX,
                              sizeof(epi_order_t), &shared->orders);
    if (status == EPDX_OK) {
        status = epi_withdrawn_init(shared);
    }
    if (status == EPDX_OK) {
        status = epi_mailbox_open(REPORTS_PER_ITEM * slots + 1,
                                  sizeof(epi_report_t), &shared->reports);
    }
    return status;
}

static epdx_status_t open_pool(epdx_receiver_t *receiver, void *given)
{
    const epi_receive_config_t *config = &receiver->shared.config;
    void *base = given;
    epdx_status_t status = EPDX_OK;

    if (given == NULL) {
        status = config->memory.ops->alloc(config->memory.device,
                                           (size_t)config->pool_bytes, &base);
        receiver->pool_owned = status == EPDX_OK;
    }
    if (status == EPDX_OK) {
        receiver->pool = base;
    }
    return status;
}

/* Frees what open made, but for the I/O side. Tensors that are out keep the
 * pool. */
static void free_receiver(epdx_receiver_t *receiver)
{
    const epi_receive_config_t *config = &receiver->shared.config;
    epi_holds_pool_t pool = {.base = receiver->pool,
                             .bytes = (size_t)config->pool_bytes};

    if (receiver->pool_owned) {
        pool.memory = config->memory;
    }
    epi_watch_close(&receiver->shared.watch);
    epi_jobs_fini(receiver);
    epi_holds_close(receiver->holds, &pool);
    epi_mailbox_close(receiver->shared.reports);
    epi_withdrawn_fini(&receiver->shared);
    epi_mailbox_close(receiver->shared.orders);
    free(receiver->shared.slots);
    free(receiver);
}

static epdx_status_t open_parts(epdx_receiver_t *receiver, void *pool)
{
    epdx_status_t status = open_shared(&receiver->shared);

    if (status == EPDX_OK) {
        status = open_pool(receiver, pool);
    }
    if (status == EPDX_OK) {
        status = epi_jobs_init(receiver);
    }
    return status;
}

/* The plane for the pool's memory. */
static epdx_status_t wrap(const epi_receive_config_t *config,
                          epi_dataplane_t **dp)
{
    epi_cudaplane_params_t params = {
        .memory = config->memory,
        .staging_bytes = (size_t)config->staging_bytes,
    };

    return epi_cudaplane_wrap(&params, dp);
}

static epdx_status_t open_on(const epdx_receiver_params_t *params,
                             const epi_options_t *options,
                             const epi_receive_config_t *config,
                             epi_dataplane_t *dp, epdx_receiver_t **receiver_p)
{
    epdx_receiver_t *receiver = calloc(1, sizeof(*receiver));
    epdx_status_t status;

    if (receiver == NULL) {
        return epi_fail(EPDX_ERR_NO_MEMORY, "no memory for a receiver");
    }
    receiver->shared.config = *config;
    receiver->threaded = params->progress == EPDX_PROGRESS_THREAD;
    status = open_parts(receiver, params->pool);
    if (status == EPDX_OK) {
        status = epi_receiver_watch(receiver, options);
    }
    if (status == EPDX_OK) {
        status = wrap(config, &dp);
    }
    if (status != EPDX_OK) {
        goto err_free;
    }
    status = epi_receive_io_open(&receiver->io, &receiver->shared, dp,
                                 receiver->pool, options->spin_ns);
    if (status != EPDX_OK) {
        goto err_free;
    }
    if (receiver->threaded) {
        receiver->io.unbound = true;
        status = epi_loop_start(receiver->io.loop, "epdx-receive");
    }
    if (status != EPDX_OK) {
        goto err_close_io;
    }
    *receiver_p = receiver;
    return EPDX_OK;

err_close_io:
    (void)epi_receive_io_close(&receiver->io);
    free_receiver(receiver);
    return EPDX_ERR_IO;
err_free:
    dp->ops->close(dp);
    free_receiver(receiver);
    return status;
}

/* What both ways of opening begin with. */
static epdx_status_t prepare(const epdx_receiver_params_t *params,
                             epdx_receiver_params_t *copy_p,
                             epi_options_t *options_p,
                             epi_receive_config_t *config_p)
{
    epdx_status_t status = epi_options_load(options_p);

    if (status == EPDX_OK) {
        status = epi_receive_params_copy(params, copy_p);
    }
    if (status == EPDX_OK) {
        status = epi_receive_config_make(copy_p, options_p, config_p);
    }
    return status;
}

epdx_status_t epi_receiver_open_with(const epdx_receiver_params_t *params,
                                     epi_dataplane_t *dp,
                                     epdx_receiver_t **receiver_p)
{
    epdx_receiver_params_t copy;
    epi_options_t options;
    epi_receive_config_t config;
    epdx_status_t status = prepare(params, &copy, &options, &config);

    if (status != EPDX_OK) {
        dp->ops->close(dp);
        return status;
    }
    return open_on(&copy, &options, &config, dp, receiver_p);
}

epdx_status_t epdx_receiver_open(const epdx_receiver_params_t *params,
                                 epdx_receiver_t **receiver_p)
{
    epdx_receiver_params_t copy;
    epi_options_t options;
    epi_receive_config_t config;
    epi_dataplane_t *dp;
    epdx_status_t status = epi_given(receiver_p);

    if (status == EPDX_OK) {
        status = prepare(params, &copy, &options, &config);
    }
    if (status == EPDX_OK) {
        status = epi_dataplane_ucx(config.host, &dp);
    }
    if (status != EPDX_OK) {
        return status;
    }
    return open_on(&copy, &options, &config, dp, receiver_p);
}

void epdx_receiver_poll(epdx_receiver_t *receiver)
{
    epi_report_t report;
    uint64_t now;

    if (receiver == NULL) {
        return;
    }
    if (!receiver->threaded) {
        (void)epi_loop_step(receiver->io.loop);
    }
    while (epi_mailbox_take(receiver->shared.reports, &report)) {
        if (report.kind != EPI_REPORT_TRANSPORT) {
            epi_jobs_report(receiver, &report);
        } else {
            receiver->transport_known = true;
        }
    }
    now = epi_now_ns();
    epi_jobs_expire(receiver, now);
    epi_releases_poll(receiver);
    epi_jobs_lease(receiver);
    epi_receiver_watch_poll(receiver, now);
}

/* Let the I/O side work for a moment. */
static void rest(epdx_receiver_t *receiver)
{
    if (receiver->threaded) {
        struct timespec moment = {0, 100 * (long)EPI_US};

        (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, NULL);
    } else {
        epi_loop_sleep(receiver->io.loop, epi_after(epi_now_ns(), EPI_MS));
    }
}

epdx_status_t epdx_receiver_receive(epdx_receiver_t *receiver,
                                    const epdx_request_t *request,
                                    epdx_job_t **job_p)
{
    epdx_job_t *job;
    const char *reason;
    epdx_status_t status = epi_given(receiver, request, job_p);

    if (status == EPDX_OK) {
        status = epdx_receiver_stage(receiver, request, &job);
    }
    if (status != EPDX_OK) {
        return status;
    }
    /* Ends: a job that is late fails by itself. */
    for (;;) {
        epdx_receiver_poll(receiver);
        if (epdx_job_state(job) != EPDX_PENDING) {
            break;
        }
        rest(receiver);
    }
    status = epdx_job_failure(job, &reason);
    if (status != EPDX_OK) {
        status = epi_fail(status, "%s", reason);
        epdx_job_release(job);
        return status;
    }
    *job_p = job;
    return EPDX_OK;
}

const epi_receive_config_t *epi_receiver_config(const epdx_receiver_t *receiver)
{
    return &receiver->shared.config;
}

static uint64_t load(const _Atomic uint64_t *counter)
{
    return atomic_load_explicit((_Atomic uint64_t *)counter,
                                memory_order_relaxed);
}

void epdx_receiver_stats(const epdx_receiver_t *receiver,
                         epdx_receiver_stats_t *stats_p)
{
    if (receiver == NULL || stats_p == NULL) {
        return;
    }
    const epi_receive_shared_t *shared = &receiver->shared;
    epi_cudaplane_moved_t moved;
    epdx_receiver_stats_t stats = {
        .requests_staged = receiver->requests_staged,
        .requests_landed = receiver->requests_landed,
        .requests_failed = receiver->requests_failed,
        .items_landed = receiver->items_landed,
        .rows_landed = load(&shared->rows_landed),
        .bytes_landed = load(&shared->bytes_landed),
        .asks_sent = load(&shared->asks_sent),
        .offers_refused = load(&shared->offers_refused),
        .frames_dropped =
            load(&shared->frames_dropped) + load(&shared->frames_unfit),
        .handshakes_refused = load(&shared->handshakes_refused),
        .bytes_stranded = epi_jobs_stranded(receiver),
        .bytes_held = epi_jobs_held_bytes(receiver),
        .pool_bytes = (size_t)epi_arena_capacity(receiver->arena),
        .pool_leased_bytes = (size_t)epi_arena_leased(receiver->arena),
        .requests_waiting = epi_tickets_count(&receiver->tickets),
    };

    epi_cudaplane_moved(receiver->io.dp, &moved);
    stats.bytes_direct = moved.direct_bytes;
    stats.bytes_staged = moved.staged_bytes;
    (void)epi_text_copy(stats.transport, sizeof(stats.transport),
                        receiver->transport_known ? shared->transport : "");
    *stats_p = stats;
}

void epdx_receiver_close(epdx_receiver_t *receiver)
{
    if (receiver == NULL) {
        return;
    }
    epi_receiver_watch_last(receiver);
    if (!epi_receive_io_close(&receiver->io)) {
        receiver->pool_owned = false; /* a receive may still write to it */
    }
    if (receiver->pool_owned && !epi_releases_settle(receiver)) {
        receiver->pool_owned = false; /* a device may still read it */
    }
    free_receiver(receiver);
}
