/* tap.c: see tap.h. */
#include "bench/tap.h"

#include <stdatomic.h>

#include "base/clock.h"

static struct {
    epi_dp_ops_t ops;
    const epi_dp_ops_t *inner;
    _Atomic uint64_t offer_ns, offered_ns, pulled_ns;
    _Atomic uint64_t offers, events;
} tap;

/* On the thread that calls MPI. */
static struct {
    epi_group_ops_t ops;
    const epi_group_ops_t *inner;
    size_t reduced;
} group_tap;

static epdx_status_t tap_min_u8(epdx_group_t *group, uint8_t *values,
                                size_t count)
{
    group_tap.reduced = count;
    return group_tap.inner->min_u8(group, values, count);
}

void epi_tap_group(epdx_group_t *group)
{
    if (group->ops == &group_tap.ops) {
        return;
    }
    group_tap.inner = group->ops;
    group_tap.ops = *group->ops;
    group_tap.ops.min_u8 = tap_min_u8;
    group->ops = &group_tap.ops;
}

size_t epi_tap_reduced(void)
{
    return group_tap.reduced;
}

static epdx_status_t tap_offer(epi_dataplane_t *dp, epi_dp_peer_t *peer,
                               const epi_dp_send_t *send)
{
    atomic_store(&tap.offer_ns, epi_now_ns());
    (void)atomic_fetch_add(&tap.offers, 1);
    return tap.inner->offer(dp, peer, send);
}

static bool tap_next(epi_dataplane_t *dp, epi_dp_event_t *event_p)
{
    if (!tap.inner->next(dp, event_p)) {
        return false;
    }
    (void)atomic_fetch_add(&tap.events, 1);
    if (event_p->kind == EPI_DP_OFFER) {
        atomic_store(&tap.offered_ns, epi_now_ns());
    } else if (event_p->kind == EPI_DP_PULLED) {
        atomic_store(&tap.pulled_ns, epi_now_ns());
    }
    return true;
}

void epi_tap_open(epi_dataplane_t *dp)
{
    tap.inner = dp->ops;
    tap.ops = *dp->ops;
    tap.ops.offer = tap_offer;
    tap.ops.next = tap_next;
    dp->ops = &tap.ops;
}

epi_tap_times_t epi_tap_read(void)
{
    return (epi_tap_times_t){
        .offer_ns = atomic_load(&tap.offer_ns),
        .offered_ns = atomic_load(&tap.offered_ns),
        .pulled_ns = atomic_load(&tap.pulled_ns),
        .offers = atomic_load(&tap.offers),
        .events = atomic_load(&tap.events),
    };
}
