/* watch.c: see watch.h. */
#include "admission/watch.h"

#include "base/clock.h"

/* A run of drains that decided nothing is told of that often. */
#define IDLE_MAX_NS (100 * EPI_MS)

uint64_t epi_admission_now(const epdx_admission_t *admission)
{
    return admission->watch.on ? epi_now_ns() : 0;
}

static void put_span(epdx_admission_t *admission, epi_trace_name_t name,
                     uint64_t begun_ns, uint64_t ended_ns, uint64_t more)
{
    epi_trace_event_t span = {
        .kind = EPI_TRACE_SPAN,
        .name = (uint8_t)name,
        .lane = EPI_LANE_DRAINS,
        .begin_ns = begun_ns,
        .end_ns = ended_ns,
        .more = more,
    };

    epi_watch_put(&admission->watch, &span);
}

/* Steps are kept until the drain has shown whether it decides anything. */
void epi_admission_watch_step(epdx_admission_t *admission,
                              epi_trace_name_t step, uint64_t begun_ns,
                              epdx_status_t status)
{
    epi_watched_drain_t *drain = &admission->drain;
    epi_metrics_t *metrics = &admission->watch.metrics;
    uint64_t now;

    if (!admission->watch.on) {
        return;
    }
    now = epi_now_ns();
    if (step == EPI_NAME_VOTE) {
        epi_metric_time(metrics, EPI_AD_AGREEMENT_S, begun_ns, now);
    } else if (step == EPI_NAME_REBUILD) {
        epi_metric_time(metrics, EPI_AD_REASSEMBLY_S, begun_ns, now);
    }
    if (drain->step_count < EPI_DRAIN_STEPS) {
        drain->steps[drain->step_count++] = (epi_trace_event_t){
            .kind = EPI_TRACE_SPAN,
            .name = (uint8_t)step,
            .status = (int16_t)status,
            .lane = EPI_LANE_DRAINS,
            .begin_ns = begun_ns,
            .end_ns = now,
            .more =
                step == EPI_NAME_REBUILD ? admission->plan.foreign_bytes : 0,
        };
    }
}

static const epi_trace_event_t *step_of(const epi_watched_drain_t *drain,
                                        epi_trace_name_t name)
{
    for (size_t i = 0; i < drain->step_count; i++) {
        if (drain->steps[i].name == name) {
            return &drain->steps[i];
        }
    }
    return NULL;
}

/* What the drain did for an item that is admitted, on that item's lane. */
static void put_item(epdx_admission_t *admission, uint32_t slot)
{
    const epi_item_slot_t *item = &admission->receiver->shared.slots[slot];
    const epi_trace_event_t *vote = step_of(&admission->drain, EPI_NAME_VOTE);
    const epi_trace_event_t *rebuild =
        step_of(&admission->drain, EPI_NAME_REBUILD);
    epi_trace_event_t span = {
        .kind = EPI_TRACE_SPAN,
        .name = EPI_NAME_AGREEMENT,
        .lane = EPI_LANE_SLOT(slot),
        .begin_ns = item->landed_ns,
        .room = item->room,
    };

    if (item->landed_ns == 0 || vote == NULL) {
        return; /* skipped */
    }
    span.end_ns = vote->end_ns;
    epi_metric_time(&admission->watch.metrics, EPI_AD_LANDED_S, span.begin_ns,
                    span.end_ns);
    epi_watch_put(&admission->watch, &span);
    if (rebuild != NULL) {
        span.name = EPI_NAME_REASSEMBLY;
        span.begin_ns = rebuild->begin_ns;
        span.end_ns = rebuild->end_ns;
        epi_watch_put(&admission->watch, &span);
    }
}

static void put_admitted(epdx_admission_t *admission, size_t admitted,
                         uint64_t now)
{
    for (size_t i = 0; i < admitted; i++) {
        const epi_entry_t *entry = &admission->entries[admission->landed[i]];

        epi_metric_time(&admission->watch.metrics, EPI_AD_REQUEST_S,
                        entry->staged_ns, now);
        for (uint32_t j = 0; j < entry->job->slot_count; j++) {
            put_item(admission, entry->job->first_slot + j);
        }
    }
}

/* A run of drains without a decision ends here, or is long enough. */
static void put_idle(epdx_admission_t *admission)
{
    epi_watched_drain_t *drain = &admission->drain;

    if (drain->idle_count > 0) {
        put_span(admission, EPI_NAME_IDLE, drain->idle_begun_ns,
                 drain->idle_ended_ns, drain->idle_count);
    }
    drain->idle_count = 0;
}

static void count_idle(epdx_admission_t *admission, uint64_t begun_ns,
                       uint64_t now)
{
    epi_watched_drain_t *drain = &admission->drain;

    if (drain->idle_count > 0 && now - drain->idle_begun_ns > IDLE_MAX_NS) {
        put_idle(admission);
    }
    if (drain->idle_count++ == 0) {
        drain->idle_begun_ns = begun_ns;
    }
    drain->idle_ended_ns = now;
}

static void show(epdx_admission_t *admission)
{
    const epdx_admission_stats_t *stats = &admission->stats;
    const epdx_collectives_t *collectives = &stats->collectives;
    epi_metrics_t *metrics = &admission->watch.metrics;
    const uint64_t counts[] = {
        collectives->creation,       collectives->ballot,
        collectives->reason,         collectives->reassembly,
        collectives->launch,         collectives->nccl_groups,
        collectives->nccl_broadcasts};

    epi_metric_set(metrics, EPI_AD_DRAINS, stats->drains);
    epi_metric_set(metrics, EPI_AD_DRAINS_PENDING, stats->drains_pending);
    epi_metric_set(metrics, EPI_AD_ADMITTED, stats->admitted);
    epi_metric_set(metrics, EPI_AD_REVOKED, stats->revoked);
    epi_metric_set(metrics, EPI_AD_REASSEMBLED, stats->reassembled_bytes);
    epi_metric_set(metrics, EPI_AD_PENDING, admission->pending_count);
    epi_metric_set(metrics, EPI_AD_OLDEST_NS,
                   admission->pending_count == 0
                       ? 0
                       : admission->entries[admission->pending[0]].staged_ns);
    for (uint32_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        epi_metric_set(metrics, EPI_AD_COLLECTIVES + i, counts[i]);
    }
}

void epi_admission_watch_drain(epdx_admission_t *admission, uint64_t begun_ns,
                               size_t admitted, epdx_status_t status)
{
    epi_watched_drain_t *drain = &admission->drain;
    uint64_t now;

    if (!admission->watch.on) {
        return;
    }
    now = epi_now_ns();
    show(admission);
    if (drain->step_count == 0) {
        return; /* nothing was pending */
    }
    epi_metric_time(&admission->watch.metrics, EPI_AD_DRAIN_S, begun_ns, now);
    if (admitted == 0 && admission->failed_count == 0 && status == EPDX_OK) {
        count_idle(admission, begun_ns, now);
    } else {
        put_idle(admission);
        put_span(admission, EPI_NAME_DRAIN, begun_ns, now,
                 admission->pending_count);
        for (size_t i = 0; i < drain->step_count; i++) {
            epi_watch_put(&admission->watch, &drain->steps[i]);
        }
        put_admitted(admission, admitted, now);
    }
    drain->step_count = 0;
}

void epi_admission_watch_close(epdx_admission_t *admission)
{
    put_idle(admission);
    epi_watch_close(&admission->watch);
}

void epi_admission_watch_failed(epdx_admission_t *admission,
                                epdx_status_t status)
{
    if (admission->watch.on) {
        epi_metric_add(&admission->watch.metrics,
                       EPI_AD_FAILED + epi_cause(status), 1);
    }
}

epdx_status_t epi_admission_watch(epdx_admission_t *admission)
{
    epi_options_t options;
    epi_watch_params_t params = {
        .options = &options,
        .owner = EPI_OWNER_ADMISSION,
        .rank = admission->group->rank,
        .same = &admission->receiver->shared.watch,
    };
    epdx_status_t status = epi_options_load(&options);

    return status != EPDX_OK ? status
                             : epi_watch_open(&admission->watch, &params);
}
