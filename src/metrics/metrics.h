/*
 * metrics.h: the metrics of one receiver, sender or admission: a table that
 * says what there is (catalog.c), and a set of values for one object. Values
 * are relaxed atomics: whoever does the work writes, any thread reads. Pure:
 * no I/O, no clock.
 */
#ifndef EPI_METRICS_METRICS_H
#define EPI_METRICS_METRICS_H

#include <stdbool.h>

#include "epdx/metrics.h"
#include "metrics/histogram.h"

typedef enum epi_owner {
    EPI_OWNER_RECEIVER,
    EPI_OWNER_SENDER,
    EPI_OWNER_ADMISSION,
    EPI_OWNERS,
} epi_owner_t;

/** Room for the causes by which failures are told apart. */
#define EPI_CAUSES 20

/** Places of the values of a receiver; of those with a label, of the first. */
enum {
    EPI_RX_STAGED,
    EPI_RX_LANDED,
    EPI_RX_FAILED, /* by cause */
    EPI_RX_PENDING = EPI_RX_FAILED + EPI_CAUSES,
    EPI_RX_WAITING,
    EPI_RX_LEASED,
    EPI_RX_OLDEST_NS,
    EPI_RX_ITEMS,
    EPI_RX_ROWS,
    EPI_RX_BYTES,
    EPI_RX_MOVED, /* direct, staged */
    EPI_RX_ASKS = EPI_RX_MOVED + 2,
    EPI_RX_OFFERS_REFUSED,
    EPI_RX_DROPPED, /* malformed, unfit */
    EPI_RX_HANDSHAKES = EPI_RX_DROPPED + 2,
    EPI_RX_POOL,
    EPI_RX_POOL_LEASED,
    EPI_RX_STRANDED,
    EPI_RX_HELD,
    EPI_RX_VALUES,
};

/** Histograms of a receiver. */
enum {
    EPI_RX_LOOKUP_S,
    EPI_RX_LEASE_S,
    EPI_RX_OFFER_S,
    EPI_RX_PULL_S,
    EPI_RX_ITEM_S,
    EPI_RX_REQUEST_S,
    EPI_RX_TIMES,
};

enum {
    EPI_TX_SENT,
    EPI_TX_DONE,
    EPI_TX_FAILED, /* by cause */
    EPI_TX_BYTES = EPI_TX_FAILED + EPI_CAUSES,
    EPI_TX_MOVED, /* direct, staged */
    EPI_TX_ASKS = EPI_TX_MOVED + 2,
    EPI_TX_ASKS_LATE,
    EPI_TX_DROPPED, /* malformed, unfit */
    EPI_TX_HANDSHAKES = EPI_TX_DROPPED + 2,
    EPI_TX_EVICTED,
    EPI_TX_OPEN,
    EPI_TX_PEERS,
    EPI_TX_RING,
    EPI_TX_RING_LEASED,
    EPI_TX_REGISTERED,
    EPI_TX_OLDEST_NS,
    EPI_TX_VALUES,
};

enum {
    EPI_TX_ROWS_S,
    EPI_TX_ASKS_S,
    EPI_TX_DELIVER_S,
    EPI_TX_ROOM_S,
    EPI_TX_TIMES,
};

enum {
    EPI_AD_DRAINS,
    EPI_AD_DRAINS_PENDING,
    EPI_AD_ADMITTED,
    EPI_AD_FAILED, /* by cause */
    EPI_AD_REVOKED = EPI_AD_FAILED + EPI_CAUSES,
    EPI_AD_PENDING,
    EPI_AD_OLDEST_NS,
    EPI_AD_REASSEMBLED,
    EPI_AD_COLLECTIVES, /* creation, ballot, reason, reassembly, launch,
                           nccl_group, nccl_broadcast */
    EPI_AD_VALUES = EPI_AD_COLLECTIVES + 7,
};

enum {
    EPI_AD_DRAIN_S,
    EPI_AD_AGREEMENT_S,
    EPI_AD_REASSEMBLY_S,
    EPI_AD_LANDED_S,
    EPI_AD_REQUEST_S,
    EPI_AD_TIMES,
};

#define EPI_VALUES_MAX 64
#define EPI_TIMES_MAX  6

typedef struct epi_metrics {
    epi_owner_t owner;
    uint32_t rank;
    uint32_t object; /* among the open ones of its kind */
    _Atomic uint64_t values[EPI_VALUES_MAX];
    epi_histogram_t times[EPI_TIMES_MAX];
} epi_metrics_t;

/** How a value becomes what is shown. */
typedef enum epi_scale {
    EPI_SCALE_ONE,
    EPI_SCALE_AGE, /* the time since that instant, in seconds; 0: none */
} epi_scale_t;

/** One name. */
typedef struct epi_family {
    const char *name;
    const char *help;
    epdx_metric_type_t type;
    epi_scale_t scale;
    uint32_t place; /* of its first value, or of its histogram */
    const char *label;
    const char *const *label_values; /* NULL: one value, no label */
    uint32_t count;
} epi_family_t;

/** The families of a kind of object. */
const epi_family_t *epi_families(epi_owner_t owner, size_t *count_p);

/** The place of a status among those that fail things, under EPI_CAUSES. */
uint32_t epi_cause(epdx_status_t status);

static inline void epi_metric_add(epi_metrics_t *metrics, uint32_t place,
                                  uint64_t more)
{
    atomic_fetch_add_explicit(&metrics->values[place], more,
                              memory_order_relaxed);
}

static inline void epi_metric_set(epi_metrics_t *metrics, uint32_t place,
                                  uint64_t value)
{
    atomic_store_explicit(&metrics->values[place], value, memory_order_relaxed);
}

static inline uint64_t epi_metric_get(const epi_metrics_t *metrics,
                                      uint32_t place)
{
    return atomic_load_explicit((_Atomic uint64_t *)&metrics->values[place],
                                memory_order_relaxed);
}

static inline void epi_metric_time(epi_metrics_t *metrics, uint32_t place,
                                   uint64_t begin_ns, uint64_t end_ns)
{
    epi_histogram_add(&metrics->times[place],
                      end_ns > begin_ns ? end_ns - begin_ns : 0);
}

/** Give the metrics of one family and object to visit, as of now. */
void epi_metrics_visit(const epi_metrics_t *metrics, const epi_family_t *family,
                       uint64_t now, epdx_metric_visit_t visit, void *context);

#endif
