/* watch.c: see watch.h. */
#include "receive/watch.h"

#include "base/clock.h"

/* How often gauges of the caller's thread are brought up to date. */
#define SHOW_EVERY_NS (250 * EPI_MS)

static uint64_t share_bytes(const epi_receive_shared_t *shared,
                            const epi_item_slot_t *item)
{
    return item->share.count *
           (shared->config.main_row_bytes + shared->config.deepstack_row_bytes);
}

/* The step that an item was at until now. */
static void put_step(epi_receive_shared_t *shared, uint32_t slot, uint64_t now,
                     epdx_status_t status)
{
    const epi_item_slot_t *item = &shared->slots[slot];
    epi_trace_event_t span = {
        .kind = EPI_TRACE_SPAN,
        .name = item->step,
        .status = (int16_t)status,
        .lane = EPI_LANE_SLOT(slot),
        .begin_ns = item->step_ns,
        .end_ns = now,
        .room = item->room,
        .more = item->step == EPI_NAME_PULL ? share_bytes(shared, item) : 0,
    };

    /* Where no pull was under way the end came at once. */
    if (item->step != EPI_NAME_ENDING || now - item->step_ns >= EPI_US) {
        epi_watch_put(&shared->watch, &span);
    }
}

/* Steps that are metrics, too, when they went well. */
static void time_step(epi_receive_shared_t *shared, const epi_item_slot_t *item,
                      uint64_t now)
{
    if (item->step == EPI_NAME_LOOKUP) {
        epi_metric_time(&shared->watch.metrics, EPI_RX_LOOKUP_S, item->step_ns,
                        now);
    } else if (item->step == EPI_NAME_ASK) {
        epi_metric_time(&shared->watch.metrics, EPI_RX_OFFER_S, item->step_ns,
                        now);
    } else if (item->step == EPI_NAME_PULL) {
        epi_metric_time(&shared->watch.metrics, EPI_RX_PULL_S, item->step_ns,
                        now);
    }
}

void epi_item_watch(epi_intake_t *intake, uint32_t slot, epi_trace_name_t step)
{
    epi_item_slot_t *item = &intake->shared->slots[slot];
    uint64_t now;

    if (!intake->shared->watch.on) {
        return;
    }
    if (step == EPI_NAME_LOOKUP) {
        now = item->opened_ns; /* what the order took to come here is in it */
    } else {
        now = epi_now_ns();
        time_step(intake->shared, item, now);
        put_step(intake->shared, slot, now, EPDX_OK);
    }
    item->step = (uint8_t)step;
    item->step_ns = now;
}

void epi_item_watch_flow(epi_intake_t *intake, uint32_t slot,
                         epi_trace_kind_t kind)
{
    const epi_item_slot_t *item = &intake->shared->slots[slot];
    epi_trace_name_t name =
        kind == EPI_TRACE_FLOW_OUT ? EPI_NAME_ASKED : EPI_NAME_ROWS;
    epi_trace_event_t flow = {
        .kind = (uint8_t)kind,
        .name = (uint8_t)name,
        .lane = EPI_LANE_SLOT(slot),
        .begin_ns = item->step_ns,
        .room = item->room,
        .more = epi_trace_flow(name, item->room, item->generation),
    };

    epi_watch_put(&intake->shared->watch, &flow);
}

void epi_item_watch_failed(epi_intake_t *intake, uint32_t slot,
                           epdx_status_t status)
{
    epi_item_slot_t *item = &intake->shared->slots[slot];
    uint64_t now;

    if (!intake->shared->watch.on) {
        return;
    }
    now = epi_now_ns();
    put_step(intake->shared, slot, now, status);
    item->step = EPI_NAME_ENDING;
    item->step_ns = now;
}

void epi_item_watch_end(epi_intake_t *intake, uint32_t slot, bool landed)
{
    epi_receive_shared_t *shared = intake->shared;
    epi_item_slot_t *item = &shared->slots[slot];
    epdx_status_t status = EPDX_OK;
    epi_trace_event_t span;
    uint64_t now;

    if (!shared->watch.on) {
        return;
    }
    now = epi_now_ns();
    if (landed) {
        time_step(shared, item, now);
        epi_metric_time(&shared->watch.metrics, EPI_RX_ITEM_S, item->opened_ns,
                        now);
        epi_metric_add(&shared->watch.metrics, EPI_RX_ITEMS, 1);
        item->landed_ns = now;
    } else {
        status = item->status != EPDX_OK ? item->status : EPDX_ERR_CANCELLED;
    }
    put_step(shared, slot, now, status);
    span = (epi_trace_event_t){
        .kind = EPI_TRACE_SPAN,
        .name = EPI_NAME_ITEM,
        .status = (int16_t)status,
        .lane = EPI_LANE_SLOT(slot),
        .begin_ns = item->opened_ns,
        .end_ns = now,
        .room = item->room,
        .more = share_bytes(shared, item),
    };
    epi_watch_put(&shared->watch, &span);
}

static uint64_t staged_ns(const epdx_job_t *job)
{
    return job->receiver->shared.slots[job->first_slot].opened_ns;
}

void epi_job_watch_staged(epdx_job_t *job)
{
    if (job->receiver->shared.watch.on) {
        epi_metric_add(&job->receiver->shared.watch.metrics, EPI_RX_STAGED, 1);
    }
}

void epi_job_watch_leased(epdx_job_t *job)
{
    epi_watch_t *watch = &job->receiver->shared.watch;

    if (watch->on) {
        epi_metric_time(&watch->metrics, EPI_RX_LEASE_S, staged_ns(job),
                        epi_now_ns());
    }
}

void epi_job_watch_landed(epdx_job_t *job)
{
    epi_watch_t *watch = &job->receiver->shared.watch;

    if (watch->on) {
        epi_metric_add(&watch->metrics, EPI_RX_LANDED, 1);
        epi_metric_time(&watch->metrics, EPI_RX_REQUEST_S, staged_ns(job),
                        epi_now_ns());
    }
}

void epi_job_watch_failed(epdx_job_t *job, epdx_status_t status)
{
    epi_watch_t *watch = &job->receiver->shared.watch;

    if (watch->on) {
        epi_metric_add(&watch->metrics, EPI_RX_FAILED + epi_cause(status), 1);
    }
}

/* Jobs are found by looking at all of them: seldom enough. */
static void show_jobs(const epdx_receiver_t *receiver, epi_metrics_t *metrics)
{
    uint64_t leased = 0;
    uint64_t pending = 0;
    uint64_t oldest = 0;

    for (size_t i = 0; i < receiver->shared.config.max_requests; i++) {
        const epdx_job_t *job = &receiver->jobs[i];

        leased += job->leased ? 1 : 0;
        if (job->state == EPDX_PENDING && !job->released) {
            pending++;
            if (oldest == 0 || staged_ns(job) < oldest) {
                oldest = staged_ns(job);
            }
        }
    }
    epi_metric_set(metrics, EPI_RX_LEASED, leased);
    epi_metric_set(metrics, EPI_RX_PENDING, pending);
    epi_metric_set(metrics, EPI_RX_OLDEST_NS, oldest);
}

void epi_receiver_watch_poll(epdx_receiver_t *receiver, uint64_t now)
{
    epi_metrics_t *metrics = &receiver->shared.watch.metrics;
    epdx_receiver_stats_t stats;

    if (!receiver->shared.watch.counted || now < receiver->show_due_ns) {
        return;
    }
    receiver->show_due_ns = epi_after(now, SHOW_EVERY_NS);
    epdx_receiver_stats(receiver, &stats);
    epi_metric_set(metrics, EPI_RX_WAITING, stats.requests_waiting);
    epi_metric_set(metrics, EPI_RX_POOL, stats.pool_bytes);
    epi_metric_set(metrics, EPI_RX_POOL_LEASED, stats.pool_leased_bytes);
    epi_metric_set(metrics, EPI_RX_STRANDED, stats.bytes_stranded);
    epi_metric_set(metrics, EPI_RX_HELD, stats.bytes_held);
    epi_metric_set(metrics, EPI_RX_MOVED, stats.bytes_direct);
    epi_metric_set(metrics, EPI_RX_MOVED + 1, stats.bytes_staged);
    show_jobs(receiver, metrics);
}

void epi_receiver_watch_last(epdx_receiver_t *receiver)
{
    receiver->show_due_ns = 0;
    epi_receiver_watch_poll(receiver, epi_now_ns());
}

static uint64_t load(const _Atomic uint64_t *counter)
{
    return atomic_load_explicit((_Atomic uint64_t *)counter,
                                memory_order_relaxed);
}

/* What both threads count anyway. */
static void refresh(void *self, epi_metrics_t *metrics)
{
    const epi_receive_shared_t *shared = self;

    epi_metric_set(metrics, EPI_RX_ROWS, load(&shared->rows_landed));
    epi_metric_set(metrics, EPI_RX_BYTES, load(&shared->bytes_landed));
    epi_metric_set(metrics, EPI_RX_ASKS, load(&shared->asks_sent));
    epi_metric_set(metrics, EPI_RX_OFFERS_REFUSED,
                   load(&shared->offers_refused));
    epi_metric_set(metrics, EPI_RX_DROPPED, load(&shared->frames_dropped));
    epi_metric_set(metrics, EPI_RX_DROPPED + 1, load(&shared->frames_unfit));
    epi_metric_set(metrics, EPI_RX_HANDSHAKES,
                   load(&shared->handshakes_refused));
}

epdx_status_t epi_receiver_watch(epdx_receiver_t *receiver,
                                 const epi_options_t *options)
{
    epi_receive_shared_t *shared = &receiver->shared;
    epi_watch_params_t params = {
        .options = options,
        .owner = EPI_OWNER_RECEIVER,
        .rank = shared->config.tp_rank,
        .lane_max = EPI_LANE_SLOT((uint32_t)shared->config.max_items),
        .refresh = refresh,
        .self = shared,
    };

    return epi_watch_open(&shared->watch, &params);
}
