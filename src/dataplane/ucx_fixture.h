/*
 * ucx_fixture.h: two planes over UCX in one process, for the tests of this
 * folder: progressed alternately, with all that they tell written down.
 */
#ifndef EPI_DATAPLANE_UCX_FIXTURE_H
#define EPI_DATAPLANE_UCX_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dataplane/ucx_internal.h"

#define EPI_RECORD_MAX 512

/** What a plane told: by count, and by cookie where it is small. */
typedef struct epi_record {
    size_t offers, pulled, pulled_ok, sent, sent_ok, down;
    epi_dp_event_t offer[EPI_RECORD_MAX];
    uint8_t sent_of[EPI_RECORD_MAX], pulled_of[EPI_RECORD_MAX];
    uint64_t down_cookie;
} epi_record_t;

typedef struct epi_pair {
    epi_dataplane_t *sender, *receiver;
    const epi_dp_ops_t *ops;
    epi_dp_peer_t *peer; /* of sender, cookie 7 */
    epi_record_t s, r;
} epi_pair_t;

/** Planes on 127.0.0.1, sender connected to receiver: a cmocka fixture. */
int epi_pair_setup(void **state);
int epi_pair_teardown(void **state);

/** Take the events that are there. */
void epi_record_events(epi_dataplane_t *dp, epi_record_t *record);

/** Progress both once and take their events. */
void epi_pair_pump(epi_pair_t *pair);

/** Pump until *counter is at least value; fails after half a minute. */
void epi_pair_wait(epi_pair_t *pair, const size_t *counter, size_t value);

/** Pump on, long enough for what should not come. */
void epi_pair_settle(epi_pair_t *pair);

/** Offer to pair->peer; header "head". */
void epi_pair_offer(epi_pair_t *pair, epi_dp_region_t *region,
                    const void *payload, size_t bytes, uint64_t cookie);

/** Pull the index-th offer that receiver was told of. */
epdx_status_t epi_pair_pull(epi_pair_t *pair, size_t index,
                            epi_dp_region_t *region, void *target,
                            uint64_t cookie);

epi_dp_region_t *epi_test_map(epi_dataplane_t *dp, void *base, size_t bytes);

/** Bytes that differ by seed. */
void epi_test_fill(uint8_t *bytes, size_t count, uint32_t seed);

#endif
