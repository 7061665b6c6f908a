/*
 * catalog.c: every metric that there is. docs/metrics.md and the dashboard are
 * held to these names by scripts/check_metrics.py.
 */
#include "metrics/metrics.h"

#define COUNT(values) (sizeof(values) / sizeof((values)[0]))

/* One value, an age, a value a label, a histogram. */
#define ONE(kind, name, place, help)                                           \
    {                                                                          \
        name, help, EPDX_METRIC_##kind, EPI_SCALE_ONE, place, NULL, NULL, 1    \
    }
#define AGE(name, place, help)                                                 \
    {                                                                          \
        name, help, EPDX_METRIC_GAUGE, EPI_SCALE_AGE, place, NULL, NULL, 1     \
    }
#define BY(name, place, label, values, help)                                   \
    {                                                                          \
        name, help, EPDX_METRIC_COUNTER, EPI_SCALE_ONE, place, label, values,  \
            COUNT(values)                                                      \
    }
#define TIME(name, place, help)                                                \
    {                                                                          \
        name, help, EPDX_METRIC_HISTOGRAM, EPI_SCALE_ONE, place, NULL, NULL, 1 \
    }

/* By place; the last one is any other. Names are those of the statuses. */
static const epdx_status_t causes[] = {
    EPDX_ERR_INVALID,   EPDX_ERR_TOO_LARGE,   EPDX_ERR_DUPLICATE,
    EPDX_ERR_NOT_FOUND, EPDX_ERR_FULL,        EPDX_ERR_UNSUPPORTED,
    EPDX_ERR_TIMEOUT,   EPDX_ERR_UNREACHABLE, EPDX_ERR_PEER,
    EPDX_ERR_MISMATCH,  EPDX_ERR_CANCELLED,   EPDX_ERR_MALFORMED,
    EPDX_ERR_DISAGREE,  EPDX_ERR_GROUP,       EPDX_ERR_NO_MEMORY,
    EPDX_ERR_IO,
};
static const char *const reasons[] = {
    "invalid",     "too_large", "duplicate",   "not_found", "full",
    "unsupported", "timeout",   "unreachable", "peer",      "mismatch",
    "cancelled",   "malformed", "disagree",    "group",     "no_memory",
    "io",          "other",
};

static const char *const moves[] = {"direct", "staged"};
static const char *const drops[] = {"malformed", "unfit"};
static const char *const collectives[] = {
    "creation", "ballot",     "reason",        "reassembly",
    "launch",   "nccl_group", "nccl_broadcast"};

static const epi_family_t receiver[] = {
    ONE(COUNTER, "epdx_receiver_requests_staged_total", EPI_RX_STAGED,
        "Requests taken by this rank."),
    ONE(COUNTER, "epdx_receiver_requests_landed_total", EPI_RX_LANDED,
        "Requests of which every share of this rank has landed."),
    BY("epdx_receiver_requests_failed_total", EPI_RX_FAILED, "reason", reasons,
       "Requests that failed on this rank, by the status of their first "
       "failure."),
    ONE(GAUGE, "epdx_receiver_requests_pending", EPI_RX_PENDING,
        "Requests that have neither landed nor failed on this rank."),
    ONE(GAUGE, "epdx_receiver_requests_waiting", EPI_RX_WAITING,
        "Requests that wait for room in the receive pool."),
    ONE(GAUGE, "epdx_receiver_leases", EPI_RX_LEASED,
        "Requests that hold a range of the receive pool."),
    AGE("epdx_receiver_oldest_pending_seconds", EPI_RX_OLDEST_NS,
        "Age of the oldest pending request; 0 without one."),
    ONE(COUNTER, "epdx_receiver_items_landed_total", EPI_RX_ITEMS,
        "Items of which this rank's share has landed."),
    ONE(COUNTER, "epdx_receiver_rows_landed_total", EPI_RX_ROWS,
        "Rows of those shares."),
    ONE(COUNTER, "epdx_receiver_landed_bytes_total", EPI_RX_BYTES,
        "Bytes pulled by this rank and complete."),
    BY("epdx_receiver_device_bytes_total", EPI_RX_MOVED, "path", moves,
       "Bytes pulled into CUDA memory, straight or through pinned host "
       "memory."),
    ONE(COUNTER, "epdx_receiver_asks_total", EPI_RX_ASKS,
        "Asks sent to encode ranks, repeats included."),
    ONE(COUNTER, "epdx_receiver_offers_refused_total", EPI_RX_OFFERS_REFUSED,
        "Offers that nothing asked for, or that did not match their ask."),
    BY("epdx_receiver_frames_dropped_total", EPI_RX_DROPPED, "cause", drops,
       "Control messages that did not parse, or did not fit a message."),
    ONE(COUNTER, "epdx_receiver_handshakes_refused_total", EPI_RX_HANDSHAKES,
        "Control connections without CURVE, or of a key that is not allowed."),
    ONE(GAUGE, "epdx_receiver_pool_bytes", EPI_RX_POOL,
        "Size of the receive pool."),
    ONE(GAUGE, "epdx_receiver_pool_leased_bytes", EPI_RX_POOL_LEASED,
        "Bytes of it that requests hold."),
    ONE(GAUGE, "epdx_receiver_pool_stranded_bytes", EPI_RX_STRANDED,
        "Bytes of it kept out of use by receives that have not ended, or by "
        "events that cannot be queried."),
    ONE(GAUGE, "epdx_receiver_pool_held_bytes", EPI_RX_HELD,
        "Bytes of it of released requests whose events or tensors are not "
        "done."),
    TIME("epdx_receiver_lookup_seconds", EPI_RX_LOOKUP_S,
         "Of an item, from staging until its encode rank is connected to."),
    TIME("epdx_receiver_lease_wait_seconds", EPI_RX_LEASE_S,
         "Of a request, from staging until it has its range of the pool."),
    TIME("epdx_receiver_offer_wait_seconds", EPI_RX_OFFER_S,
         "Of an item, from its first ask until its rows are offered."),
    TIME("epdx_receiver_pull_seconds", EPI_RX_PULL_S,
         "Of an item, from its first offer until its share has landed."),
    TIME("epdx_receiver_item_seconds", EPI_RX_ITEM_S,
         "Of an item, from staging until its share has landed."),
    TIME("epdx_receiver_request_seconds", EPI_RX_REQUEST_S,
         "Of a request, from staging until it has landed on this rank."),
};

static const epi_family_t sender[] = {
    ONE(COUNTER, "epdx_sender_rooms_sent_total", EPI_TX_SENT,
        "Rooms whose rows this rank was given to send."),
    ONE(COUNTER, "epdx_sender_rooms_done_total", EPI_TX_DONE,
        "Rooms delivered to every prefill rank that they were for."),
    BY("epdx_sender_rooms_failed_total", EPI_TX_FAILED, "reason", reasons,
       "Rooms that failed, by the status of their first failure."),
    ONE(COUNTER, "epdx_sender_offered_bytes_total", EPI_TX_BYTES,
        "Bytes of offers that are done."),
    BY("epdx_sender_device_bytes_total", EPI_TX_MOVED, "path", moves,
       "Bytes offered out of CUDA memory, straight or through pinned host "
       "memory."),
    ONE(COUNTER, "epdx_sender_asks_total", EPI_TX_ASKS,
        "Asks of prefill ranks that were accepted, repeats included."),
    ONE(COUNTER, "epdx_sender_asks_late_total", EPI_TX_ASKS_LATE,
        "Asks for rooms that had ended."),
    BY("epdx_sender_frames_dropped_total", EPI_TX_DROPPED, "cause", drops,
       "Control messages that did not parse or were not believed, or did not "
       "fit a message."),
    ONE(COUNTER, "epdx_sender_handshakes_refused_total", EPI_TX_HANDSHAKES,
        "Control connections without CURVE, or of a key that is not allowed."),
    ONE(COUNTER, "epdx_sender_rooms_evicted_total", EPI_TX_EVICTED,
        "Rooms without rows that were forgotten to keep the table bounded."),
    ONE(GAUGE, "epdx_sender_rooms_open", EPI_TX_OPEN,
        "Rooms that have rows or asks and have not ended."),
    ONE(GAUGE, "epdx_sender_peers", EPI_TX_PEERS, "Prefill ranks known."),
    ONE(GAUGE, "epdx_sender_ring_bytes", EPI_TX_RING, "Size of the send ring."),
    ONE(GAUGE, "epdx_sender_ring_leased_bytes", EPI_TX_RING_LEASED,
        "Bytes of it in use."),
    ONE(GAUGE, "epdx_sender_registered", EPI_TX_REGISTERED,
        "1 when the bootstrap server has taken this rank's registration."),
    AGE("epdx_sender_oldest_pending_seconds", EPI_TX_OLDEST_NS,
        "Age of the oldest room whose outcome was not polled; 0 without one."),
    TIME("epdx_sender_rows_wait_seconds", EPI_TX_ROWS_S,
         "Of a room, from its first ask until its rows are sent; 0 where they "
         "came first."),
    TIME("epdx_sender_asks_wait_seconds", EPI_TX_ASKS_S,
         "Of a room with rows, until every prefill rank has asked."),
    TIME("epdx_sender_deliver_seconds", EPI_TX_DELIVER_S,
         "Of a room, from its offers until the last one is done."),
    TIME("epdx_sender_room_seconds", EPI_TX_ROOM_S,
         "Of a delivered room, from its first ask or its rows to its end."),
};

static const epi_family_t admission[] = {
    ONE(COUNTER, "epdx_admission_drains_total", EPI_AD_DRAINS,
        "Calls of drain."),
    ONE(COUNTER, "epdx_admission_drains_pending_total", EPI_AD_DRAINS_PENDING,
        "Calls of drain with a request pending."),
    ONE(COUNTER, "epdx_admission_requests_admitted_total", EPI_AD_ADMITTED,
        "Requests admitted on all ranks."),
    BY("epdx_admission_requests_failed_total", EPI_AD_FAILED, "reason", reasons,
       "Requests that failed on all ranks, by the status that they agreed "
       "on."),
    ONE(COUNTER, "epdx_admission_requests_revoked_total", EPI_AD_REVOKED,
        "Admitted requests whose reassembly failed afterwards."),
    ONE(GAUGE, "epdx_admission_requests_pending", EPI_AD_PENDING,
        "Requests staged and neither admitted nor failed."),
    AGE("epdx_admission_oldest_pending_seconds", EPI_AD_OLDEST_NS,
        "Age of the oldest pending request; 0 without one."),
    ONE(COUNTER, "epdx_admission_reassembled_bytes_total", EPI_AD_REASSEMBLED,
        "Bytes of rows received from the other ranks."),
    BY("epdx_admission_collectives_total", EPI_AD_COLLECTIVES, "kind",
       collectives, "Collectives made, by what for."),
    TIME("epdx_admission_drain_seconds", EPI_AD_DRAIN_S,
         "Of one drain with a vote."),
    TIME("epdx_admission_agreement_seconds", EPI_AD_AGREEMENT_S,
         "Of one drain's vote, waiting for the other ranks included."),
    TIME("epdx_admission_reassembly_seconds", EPI_AD_REASSEMBLY_S,
         "Of one drain's reassembly; with NCCL, of putting it on the stream."),
    TIME("epdx_admission_landed_wait_seconds", EPI_AD_LANDED_S,
         "Of an admitted item, from its landing here until all ranks agreed."),
    TIME("epdx_admission_request_seconds", EPI_AD_REQUEST_S,
         "Of an admitted request, from staging until its admission."),
};

static const struct {
    const epi_family_t *families;
    size_t count;
} catalog[EPI_OWNERS] = {
    {receiver, COUNT(receiver)},
    {sender, COUNT(sender)},
    {admission, COUNT(admission)},
};

_Static_assert(COUNT(reasons) == COUNT(causes) + 1 &&
                   COUNT(reasons) <= EPI_CAUSES,
               "a name for each cause, and room for its value");
_Static_assert(EPI_RX_VALUES <= EPI_VALUES_MAX &&
                   EPI_TX_VALUES <= EPI_VALUES_MAX &&
                   EPI_AD_VALUES <= EPI_VALUES_MAX,
               "EPI_VALUES_MAX is too small");
_Static_assert(EPI_RX_TIMES <= EPI_TIMES_MAX && EPI_TX_TIMES <= EPI_TIMES_MAX &&
                   EPI_AD_TIMES <= EPI_TIMES_MAX,
               "EPI_TIMES_MAX is too small");

const epi_family_t *epi_families(epi_owner_t owner, size_t *count_p)
{
    *count_p = catalog[owner].count;
    return catalog[owner].families;
}

uint32_t epi_cause(epdx_status_t status)
{
    for (uint32_t i = 0; i < COUNT(causes); i++) {
        if (causes[i] == status) {
            return i;
        }
    }
    return COUNT(causes); /* "other" */
}
