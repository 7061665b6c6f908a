/* intake.c: an item's way from its order to its ask, and every way it ends. */
#include "receive/intake.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/random.h"
#include "base/reason.h"
#include "receive/watch.h"
#include "wire/control.h"

/* Asks are repeated at growing intervals: this many times the first. */
#define ASK_INTERVAL_GROWTH_MAX 8
/* Of an ask that could not be sent. */
#define ASK_RETRY_NS     (100 * EPI_MS)

#define FAILING_GRACE_NS EPI_S

static void report(epi_intake_t *intake, epi_report_kind_t kind, uint32_t slot)
{
    epi_report_t message = {kind, slot};

    /* Sized for two reports an item. */
    epi_expect(epi_mailbox_post(intake->shared->reports, &message),
               "a report of the receiver");
}

/* How long an item looks for its encode rank. Where the search has failed for
 * that long already, for the items before it, this one gets a moment only: else
 * each in turn would hold its lease for the whole time, before healthy ones. */
static uint64_t found_by(const epi_intake_t *intake, uint32_t slot)
{
    const epi_item_slot_t *item = &intake->shared->slots[slot];
    uint64_t timeout = intake->shared->config.bootstrap_timeout_ns;
    uint64_t own = epi_after(item->opened_ns, timeout);
    uint64_t shared =
        epi_after(epi_nodes_failing(intake->nodes, slot), timeout);
    uint64_t moment = epi_after(item->opened_ns, FAILING_GRACE_NS);

    shared = shared > moment ? shared : moment;
    return own < shared ? own : shared;
}

/* When the item is to be looked at again, as its phase has it. */
static uint64_t item_due(const epi_intake_t *intake, uint32_t slot)
{
    const epi_item_slot_t *item = &intake->shared->slots[slot];
    uint64_t due = item->deadline_ns;
    uint64_t other = EPI_NEVER;

    if (item->phase == EPI_ITEM_FINDING) {
        other = found_by(intake, slot);
    } else if (item->phase == EPI_ITEM_ASKED && item->parts_posted == 0) {
        other = item->next_ask_ns;
    }
    return other < due ? other : due;
}

static void item_enter(epi_intake_t *intake, uint32_t slot,
                       epi_item_phase_t phase)
{
    epi_item_slot_t *item = &intake->shared->slots[slot];

    item->phase = phase;
    epi_timers_set(&intake->timers, slot, item_due(intake, slot));
}

/* Its rows are coming: it is not asked for again. */
void epi_item_answered(epi_intake_t *intake, uint32_t slot)
{
    item_enter(intake, slot, EPI_ITEM_ASKED);
}

/* The last word on a slot: no receive can write to its lease any more. */
void epi_item_settle(epi_intake_t *intake, uint32_t slot,
                     epi_report_kind_t kind)
{
    epi_item_slot_t *item = &intake->shared->slots[slot];

    epi_nodes_leave(intake->nodes, slot);
    epi_timers_clear(&intake->timers, slot);
    epi_item_watch_end(intake, slot, kind == EPI_REPORT_LANDED);
    (void)epi_table_remove(&intake->by_generation, item->generation);
    item->phase = EPI_ITEM_FREE;
    intake->open--;
    report(intake, kind, slot);
}

static bool item_pulling(const epi_item_slot_t *item)
{
    return item->parts_posted != item->parts_done;
}

/* Stop what can be stopped; the slot rests until its pulls have ended. */
static void item_end(epi_intake_t *intake, uint32_t slot)
{
    if (item_pulling(&intake->shared->slots[slot])) {
        /* Its encode rank no longer matters to it, only its pulls do. */
        epi_nodes_leave(intake->nodes, slot);
        item_enter(intake, slot, EPI_ITEM_ENDING);
    } else {
        epi_item_settle(intake, slot, EPI_REPORT_QUIET);
    }
}

void epi_item_fail(epi_intake_t *intake, uint32_t slot, epdx_status_t status,
                   const char *words)
{
    epi_item_slot_t *item = &intake->shared->slots[slot];

    item->status = status;
    epi_item_watch_failed(intake, slot, status);
    epi_reason_format(item->reason, sizeof(item->reason), item->room,
                      item->encode, words);
    report(intake, EPI_REPORT_FAILED, slot);
    item_end(intake, slot);
}

static epdx_status_t send_ask(epi_intake_t *intake, const epi_item_slot_t *item)
{
    const epi_receive_config_t *config = &intake->shared->config;
    const epi_peer_t *peer = &intake->nodes->peers[item->peer];
    epi_message_t message;
    epi_ask_t ask = {
        .room = item->room,
        .status_port = epi_control_port(intake->control),
        .rows = item->share.count,
        .hidden = config->hidden,
        .dtype = config->dtype,
        .has_deepstack = config->levels > 0,
        .required = peer->fanout,
        .row_start = item->share.start,
        .span = item->span,
        .extended = true,
        .generation = item->generation,
    };
    epdx_status_t status;

    (void)epi_text_copy(ask.endpoint, sizeof(ask.endpoint), config->host);
    (void)epi_text_copy(ask.session, sizeof(ask.session),
                        intake->nodes->session);
    (void)epi_text_copy(ask.instance, sizeof(ask.instance),
                        intake->nodes->instance);
    status = epi_ask_format(&ask, &message);
    return status != EPDX_OK
               ? status
               : epi_control_send(intake->control, peer->control, &message);
}

/* Due again after the interval, which grows with the asks. */
static void item_asked(epi_intake_t *intake, epi_item_slot_t *item,
                       uint64_t now)
{
    uint64_t growth = 1;

    item->asks++;
    atomic_fetch_add_explicit(&intake->shared->asks_sent, 1,
                              memory_order_relaxed);
    while (growth < ASK_INTERVAL_GROWTH_MAX && growth < item->asks) {
        growth *= 2;
    }
    item->next_ask_ns =
        epi_after(now, growth * intake->shared->config.ask_interval_ns);
}

static void item_ask(epi_intake_t *intake, uint32_t slot, uint64_t now)
{
    epi_item_slot_t *item = &intake->shared->slots[slot];

    if (item->phase != EPI_ITEM_ASKED) {
        epi_item_watch(intake, slot, EPI_NAME_ASK);
        epi_item_watch_flow(intake, slot, EPI_TRACE_FLOW_OUT);
    }
    if (send_ask(intake, item) == EPDX_OK) {
        item_asked(intake, item, now);
    } else {
        /* Its queue is full: for moments, or as long as that rank hangs. */
        epi_log_debug("ask for room %" PRIu64 " was not sent: %s", item->room,
                      epdx_last_error());
        item->next_ask_ns = epi_after(now, ASK_RETRY_NS);
    }
    item_enter(intake, slot, EPI_ITEM_ASKED);
}

/* The encode rank is there: ask as soon as the lease is, too. */
static void item_up(void *self, uint32_t slot)
{
    epi_intake_t *intake = self;
    epi_item_slot_t *item = &intake->shared->slots[slot];

    if (epi_withdrawn(intake, slot)) {
        epi_withdrawn_up(intake, slot);
        return;
    }
    if (item->phase != EPI_ITEM_FINDING) {
        return;
    }
    if (item->leased) {
        item_ask(intake, slot, epi_now_ns());
    } else {
        epi_item_watch(intake, slot, EPI_NAME_LEASE);
        item_enter(intake, slot, EPI_ITEM_LEASING);
    }
}

static void item_lost(void *self, uint32_t slot, const char *words)
{
    epi_intake_t *intake = self;
    epi_item_slot_t *item = &intake->shared->slots[slot];
    uint64_t link = item->link;
    bool pulling = item_pulling(item);

    /* Rows of a room that waits for its lease were with that rank, too. */
    if (item->phase == EPI_ITEM_ASKED || item->phase == EPI_ITEM_LEASING) {
        /* It may be back soon, with the rows and with what was asked of it. */
        epi_item_cancel(intake, slot, words);
        epi_item_fail(intake, slot, EPDX_ERR_UNREACHABLE, words);
    }
    if (pulling) {
        intake->dp->ops->drop(intake->dp, link); /* its pulls end now */
    }
}

static void item_refused(void *self, uint32_t slot, epdx_status_t status,
                         const char *words)
{
    if (epi_withdrawn(self, slot)) {
        epi_withdrawn_end(self, slot);
    } else {
        epi_item_fail(self, slot, status, words);
    }
}

static void item_open(epi_intake_t *intake, uint32_t slot, uint64_t now)
{
    epi_item_slot_t *item = &intake->shared->slots[slot];

    item->status = EPDX_OK;
    item->leased = false;
    item->node = EPI_NONE;
    item->peer = EPI_NONE;
    item->asks = 0;
    item->parts_posted = 0;
    item->parts_done = 0;
    item->link = 0;
    intake->open++;
    do {
        item->generation = epi_random_u64();
    } while (epi_table_add(&intake->by_generation, item->generation, slot) ==
             EPDX_ERR_DUPLICATE);
    epi_item_watch(intake, slot, EPI_NAME_LOOKUP);
    item_enter(intake, slot, EPI_ITEM_FINDING);
    if (!epi_nodes_join(intake->nodes, slot, now)) {
        epi_item_fail(intake, slot, EPDX_ERR_FULL,
                      "too many encode nodes; raise EPDX_MAX_PEERS");
    } else if (item->phase == EPI_ITEM_FINDING) {
        item_enter(intake, slot, EPI_ITEM_FINDING); /* it may be failing */
    }
}

static void item_leased(epi_intake_t *intake, uint32_t slot, uint64_t now)
{
    epi_item_slot_t *item = &intake->shared->slots[slot];

    item->leased = true;
    if (item->phase == EPI_ITEM_LEASING) {
        item_ask(intake, slot, now);
    }
}

static void item_close(epi_intake_t *intake, uint32_t slot)
{
    epi_item_slot_t *item = &intake->shared->slots[slot];

    if (item->phase == EPI_ITEM_FREE || item->phase == EPI_ITEM_ENDING) {
        return; /* its last report is on its way, or waits for its pulls */
    }
    epi_item_cancel(intake, slot, "the prefill rank gave the request up");
    item_end(intake, slot);
}

void epi_intake_order(epi_intake_t *intake, const epi_order_t *order,
                      uint64_t now)
{
    for (uint32_t slot = order->first; slot < order->first + order->count;
         slot++) {
        const epi_item_slot_t *item = &intake->shared->slots[slot];

        /* Of a slot that is FREE the caller may be writing the fields for its
         * next item: only OPEN may read them. */
        switch (order->kind) {
        case EPI_ORDER_OPEN:
            if (item->encode[0] != '\0') { /* not a skipped item */
                item_open(intake, slot, now);
            }
            break;
        case EPI_ORDER_LEASED:
            if (item->phase != EPI_ITEM_FREE) {
                item_leased(intake, slot, now);
            }
            break;
        case EPI_ORDER_CLOSE:
            item_close(intake, slot);
            break;
        case EPI_ORDER_WITHDRAW:
            epi_withdrawn_open(intake, slot, now);
            break;
        }
    }
}

/* What a deadline passed waiting for. */
static void item_explain(const epi_intake_t *intake, uint32_t slot, char *words,
                         size_t size)
{
    const epi_item_slot_t *item = &intake->shared->slots[slot];

    if (item->phase == EPI_ITEM_FINDING) {
        epi_nodes_explain(intake->nodes, slot, words, size);
    } else if (item->phase == EPI_ITEM_LEASING) {
        epi_text_format(words, size,
                        "deadline passed: the receive pool had no room for the "
                        "request; release sooner or raise EPDX_RECV_POOL_MB");
    } else if (item->parts_posted == 0) {
        epi_text_format(words, size,
                        "deadline passed: no rows were offered, asked %" PRIu32
                        " times; see EPDX_WAITING_TIMEOUT_S",
                        item->asks);
    } else {
        epi_text_format(words, size,
                        "deadline passed while the rows were pulled");
    }
}

static void item_expire(epi_intake_t *intake, uint32_t slot)
{
    const epi_item_slot_t *item = &intake->shared->slots[slot];
    epdx_status_t status = item->phase == EPI_ITEM_FINDING
                               ? EPDX_ERR_UNREACHABLE
                               : EPDX_ERR_TIMEOUT;
    char words[400];

    item_explain(intake, slot, words, sizeof(words));
    epi_item_cancel(intake, slot, words);
    epi_item_fail(intake, slot, status, words);
}

bool epi_intake_tick(epi_intake_t *intake, uint64_t now)
{
    uint32_t slot;
    bool done = false;

    while (epi_timers_expired(&intake->timers, now, &slot)) {
        epi_item_slot_t *item = &intake->shared->slots[slot];

        done = true;
        if (epi_withdrawn(intake, slot)) {
            epi_withdrawn_due(intake, slot, now);
        } else if (item->phase == EPI_ITEM_ENDING) {
            /* Failed or released: its pulls have their deadline, too. */
            intake->dp->ops->drop(intake->dp, item->link);
        } else if (item->phase == EPI_ITEM_ASKED && now < item->deadline_ns) {
            item_ask(intake, slot, now);
        } else {
            item_expire(intake, slot);
        }
    }
    return done;
}

void epi_intake_close_all(epi_intake_t *intake)
{
    for (uint32_t slot = 0; slot < intake->shared->config.max_items; slot++) {
        epi_item_slot_t *item = &intake->shared->slots[slot];
        uint64_t link = item->link;

        if (item->phase == EPI_ITEM_FREE) {
            continue;
        }
        item_close(intake, slot);
        if (item->phase == EPI_ITEM_ENDING) {
            intake->dp->ops->drop(intake->dp, link);
        }
    }
}

epdx_status_t epi_intake_init(epi_intake_t *intake,
                              epi_receive_shared_t *shared, epi_nodes_t *nodes)
{
    size_t max = (size_t)shared->config.max_items;
    epdx_status_t status;

    *intake = (epi_intake_t){
        .shared = shared, .nodes = nodes, .control = nodes->control};
    nodes->events =
        (epi_nodes_events_t){item_up, item_lost, item_refused, intake};
    status = epi_table_init(&intake->by_generation, max, epi_random_u64());
    if (status == EPDX_OK) {
        status = epi_timers_init(&intake->timers, max + EPI_WITHDRAWN_MAX);
    }
    if (status != EPDX_OK) {
        epi_intake_fini(intake);
    }
    return status;
}

void epi_intake_fini(epi_intake_t *intake)
{
    epi_timers_fini(&intake->timers);
    epi_table_fini(&intake->by_generation);
}
