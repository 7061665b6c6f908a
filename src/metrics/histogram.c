/* histogram.c: see histogram.h. */
#include "metrics/histogram.h"

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)
#define S  UINT64_C(1000000000)

const uint64_t epi_bounds_ns[EPI_BOUNDS] = {
    50 * US,   100 * US, 250 * US, 500 * US, 1 * MS,   2500 * US, 5 * MS,
    10 * MS,   25 * MS,  50 * MS,  100 * MS, 250 * MS, 500 * MS,  1 * S,
    2500 * MS, 5 * S,    10 * S,   30 * S,   60 * S,   120 * S,   300 * S,
};

/* Written out: a quotient of doubles would not print as these do. */
const double epi_bounds_s[EPI_BOUNDS] = {
    0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005,
    0.01,    0.025,  0.05,    0.1,    0.25,  0.5,    1,
    2.5,     5,      10,      30,     60,    120,    300,
};

size_t epi_histogram_bucket(uint64_t value_ns)
{
    size_t low = 0;
    size_t high = EPI_BOUNDS;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (value_ns <= epi_bounds_ns[middle]) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

void epi_histogram_add(epi_histogram_t *histogram, uint64_t value_ns)
{
    atomic_fetch_add_explicit(
        &histogram->buckets[epi_histogram_bucket(value_ns)], 1,
        memory_order_relaxed);
    atomic_fetch_add_explicit(&histogram->sum_ns, value_ns,
                              memory_order_relaxed);
}

static uint64_t load(const _Atomic uint64_t *value)
{
    return atomic_load_explicit((_Atomic uint64_t *)value,
                                memory_order_relaxed);
}

void epi_histogram_read(const epi_histogram_t *histogram,
                        epi_histogram_view_t *view_p)
{
    uint64_t count = 0;

    for (size_t i = 0; i <= EPI_BOUNDS; i++) {
        count += load(&histogram->buckets[i]);
        view_p->counts[i] = count;
    }
    view_p->sum_s = (double)load(&histogram->sum_ns) / 1e9;
}
