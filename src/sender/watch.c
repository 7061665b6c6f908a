/* watch.c: see watch.h. */
#include "sender/watch.h"

#include "base/clock.h"
#include "cudaplane/cudaplane.h"

/* How often gauges of the caller's thread are brought up to date. */
#define SHOW_EVERY_NS (250 * EPI_MS)

static epi_watch_t *watch_of(const epi_delivery_t *delivery)
{
    return &delivery->shared->watch;
}

void epi_room_watch_opened(epi_delivery_t *delivery, epi_room_t *room)
{
    if (watch_of(delivery)->on) {
        room->opened_ns = epi_now_ns();
    }
}

void epi_room_watch_seated(epi_delivery_t *delivery, epi_room_t *room)
{
    if (watch_of(delivery)->on) {
        room->seated_ns = epi_now_ns();
    }
}

void epi_room_watch_offered(epi_delivery_t *delivery, epi_room_t *room)
{
    if (watch_of(delivery)->on) {
        room->offered_ns = epi_now_ns();
    }
}

static void put_span(epi_delivery_t *delivery, const epi_trace_event_t *room,
                     epi_trace_name_t name, uint64_t begin_ns, uint64_t end_ns)
{
    epi_trace_event_t span = *room;

    span.name = (uint8_t)name;
    span.begin_ns = begin_ns;
    span.end_ns = end_ns;
    epi_watch_put(watch_of(delivery), &span);
}

/* Its spans: of the steps that it came to, the last one ends now. */
static void put_spans(epi_delivery_t *delivery, const epi_room_t *room,
                      epdx_status_t status, uint64_t now)
{
    const epi_send_config_t *config = &delivery->shared->config;
    epi_trace_event_t whole = {
        .kind = EPI_TRACE_SPAN,
        .status = (int16_t)status,
        .lane = EPI_LANE_SLOT(epi_rooms_index(&delivery->rooms, room)),
        .room = room->room,
    };
    uint64_t seated = room->seated_ns != 0 ? room->seated_ns : now;
    uint64_t offered = room->offered_ns != 0 ? room->offered_ns : now;

    if (room->slot != EPI_NO_INDEX) {
        whole.more = delivery->shared->slots[room->slot].chunk.rows *
                     (config->main_row_bytes + config->deepstack_row_bytes);
    }
    put_span(delivery, &whole, EPI_NAME_ROOM, room->opened_ns, now);
    put_span(delivery, &whole, EPI_NAME_CHUNK, room->opened_ns, seated);
    if (room->seated_ns != 0) {
        put_span(delivery, &whole, EPI_NAME_FANOUT, seated, offered);
    }
    if (room->offered_ns != 0) {
        put_span(delivery, &whole, EPI_NAME_DELIVER, offered, now);
    }
}

void epi_room_watch_ended(epi_delivery_t *delivery, const epi_room_t *room,
                          epdx_status_t status)
{
    epi_metrics_t *metrics = &watch_of(delivery)->metrics;
    uint64_t now;

    if (!watch_of(delivery)->on) {
        return;
    }
    now = epi_now_ns();
    put_spans(delivery, room, status, now);
    if (status != EPDX_OK) {
        epi_metric_add(metrics, EPI_TX_FAILED + epi_cause(status), 1);
        return;
    }
    epi_metric_time(metrics, EPI_TX_ROWS_S, room->opened_ns, room->seated_ns);
    epi_metric_time(metrics, EPI_TX_ASKS_S, room->seated_ns, room->offered_ns);
    epi_metric_time(metrics, EPI_TX_DELIVER_S, room->offered_ns, now);
    epi_metric_time(metrics, EPI_TX_ROOM_S, room->opened_ns, now);
}

void epi_room_watch_evicted(epi_delivery_t *delivery, const epi_room_t *room)
{
    if (watch_of(delivery)->on) {
        put_spans(delivery, room, EPDX_ERR_FULL, epi_now_ns());
    }
}

void epi_room_watch_failed(epi_delivery_t *delivery, epdx_status_t status)
{
    if (watch_of(delivery)->on) {
        epi_metric_add(&watch_of(delivery)->metrics,
                       EPI_TX_FAILED + epi_cause(status), 1);
    }
}

void epi_ask_watch(epi_delivery_t *delivery, const epi_room_t *room,
                   const epi_ask_t *ask, epi_trace_kind_t kind)
{
    epi_trace_name_t name =
        kind == EPI_TRACE_FLOW_IN ? EPI_NAME_ASKED : EPI_NAME_ROWS;
    epi_trace_event_t flow = {
        .kind = (uint8_t)kind,
        .name = (uint8_t)name,
        .lane = EPI_LANE_SLOT(epi_rooms_index(&delivery->rooms, room)),
        .room = room->room,
    };

    if (watch_of(delivery)->trace == NULL) {
        return;
    }
    flow.begin_ns = epi_now_ns();
    flow.more = epi_trace_flow(name, ask->room, ask->generation);
    epi_watch_put(watch_of(delivery), &flow);
}

void epi_frame_watch_malformed(epi_delivery_t *delivery)
{
    epi_metric_add(&watch_of(delivery)->metrics, EPI_TX_DROPPED, 1);
}

void epi_frame_watch_unfit(epi_delivery_t *delivery, uint64_t more)
{
    epi_metric_add(&watch_of(delivery)->metrics, EPI_TX_DROPPED + 1, more);
}

/* Of the rooms without an outcome; all slots are looked at: seldom enough. */
static uint64_t oldest_sent(const epi_send_shared_t *shared)
{
    uint64_t oldest = 0;

    for (size_t i = 0; i < shared->config.max_rooms; i++) {
        uint64_t sent = shared->slots[i].sent_ns;

        if (sent != 0 && (oldest == 0 || sent < oldest)) {
            oldest = sent;
        }
    }
    return oldest;
}

void epi_sender_watch_poll(epi_send_shared_t *shared, const epi_ring_t *ring,
                           const epi_dataplane_t *dp, uint64_t rooms_sent)
{
    epi_metrics_t *metrics = &shared->watch.metrics;
    epi_cudaplane_moved_t moved;
    uint64_t now;

    if (!shared->watch.counted) {
        return;
    }
    now = epi_now_ns();
    if (now < shared->show_due_ns) {
        return;
    }
    shared->show_due_ns = epi_after(now, SHOW_EVERY_NS);
    epi_cudaplane_moved(dp, &moved);
    epi_metric_set(metrics, EPI_TX_OLDEST_NS, oldest_sent(shared));
    epi_metric_set(metrics, EPI_TX_SENT, rooms_sent);
    epi_metric_set(metrics, EPI_TX_RING, epi_arena_capacity(ring->arena));
    epi_metric_set(metrics, EPI_TX_RING_LEASED, epi_arena_leased(ring->arena));
    epi_metric_set(metrics, EPI_TX_MOVED, moved.direct_bytes);
    epi_metric_set(metrics, EPI_TX_MOVED + 1, moved.staged_bytes);
}

static uint64_t load(const _Atomic uint64_t *counter)
{
    return atomic_load_explicit((_Atomic uint64_t *)counter,
                                memory_order_relaxed);
}

static uint64_t load_size(const _Atomic size_t *counter)
{
    return atomic_load_explicit((_Atomic size_t *)counter,
                                memory_order_relaxed);
}

/* What the I/O side counts anyway. */
static void refresh(void *self, epi_metrics_t *metrics)
{
    const epi_send_shared_t *shared = self;
    const epi_send_counters_t *counters = &shared->counters;

    epi_metric_set(metrics, EPI_TX_DONE, load(&counters->rooms_done));
    epi_metric_set(metrics, EPI_TX_BYTES, load(&counters->bytes_offered));
    epi_metric_set(metrics, EPI_TX_ASKS, load(&counters->asks));
    epi_metric_set(metrics, EPI_TX_ASKS_LATE, load(&counters->asks_late));
    epi_metric_set(metrics, EPI_TX_HANDSHAKES,
                   load(&counters->handshakes_refused));
    epi_metric_set(metrics, EPI_TX_EVICTED, load(&counters->rooms_evicted));
    epi_metric_set(metrics, EPI_TX_OPEN, load_size(&counters->rooms_open));
    epi_metric_set(metrics, EPI_TX_PEERS, load_size(&counters->peers));
    epi_metric_set(metrics, EPI_TX_REGISTERED,
                   shared->config.bootstrap[0] == '\0' ||
                       atomic_load(&counters->registered));
}

epdx_status_t epi_sender_watch(epi_send_shared_t *shared,
                               const epi_options_t *options)
{
    epi_watch_params_t params = {
        .options = options,
        .owner = EPI_OWNER_SENDER,
        .rank = shared->config.engine_rank,
        .lane_max = EPI_LANE_SLOT((uint32_t)shared->config.max_rooms),
        .refresh = refresh,
        .self = shared,
    };

    return epi_watch_open(&shared->watch, &params);
}
