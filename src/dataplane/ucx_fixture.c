/* ucx_fixture.c: see ucx_fixture.h. Tests only. */
#include "dataplane/ucx_fixture.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"

#define LIMIT_NS      (30 * EPI_S)
#define SETTLE_ROUNDS 3000

int epi_pair_setup(void **state)
{
    epi_pair_t *pair = calloc(1, sizeof(*pair));

    assert_non_null(pair);
    if (epi_dataplane_ucx("127.0.0.1", &pair->sender) != EPDX_OK ||
        epi_dataplane_ucx("127.0.0.1", &pair->receiver) != EPDX_OK) {
        fail_msg("%s", epdx_last_error());
    }
    pair->ops = pair->sender->ops;
    pair->ops->admit(pair->receiver, "127.0.0.1");
    assert_int_equal(pair->ops->connect(pair->sender,
                                        pair->ops->address(pair->receiver), 7,
                                        &pair->peer),
                     EPDX_OK);
    *state = pair;
    return 0;
}

int epi_pair_teardown(void **state)
{
    epi_pair_t *pair = *state;

    pair->ops->close(pair->sender);
    pair->ops->close(pair->receiver);
    free(pair);
    return 0;
}

static void record_event(epi_record_t *record, const epi_dp_event_t *event)
{
    bool small = event->cookie < EPI_RECORD_MAX;

    switch (event->kind) {
    case EPI_DP_OFFER:
        assert_true(record->offers < EPI_RECORD_MAX);
        record->offer[record->offers++] = *event;
        break;
    case EPI_DP_PULLED:
        record->pulled++;
        record->pulled_ok += event->status == EPDX_OK;
        record->pulled_of[small ? event->cookie : 0] += small;
        break;
    case EPI_DP_SENT:
        record->sent++;
        record->sent_ok += event->status == EPDX_OK;
        record->sent_of[small ? event->cookie : 0] += small;
        break;
    case EPI_DP_PEER_DOWN:
        assert_int_equal(event->status, EPDX_ERR_UNREACHABLE);
        record->down++;
        record->down_cookie = event->cookie;
        break;
    }
}

void epi_record_events(epi_dataplane_t *dp, epi_record_t *record)
{
    epi_dp_event_t event;

    while (dp->ops->next(dp, &event)) {
        record_event(record, &event);
    }
}

void epi_pair_pump(epi_pair_t *pair)
{
    bool done = false;

    if (pair->sender != NULL) {
        done = pair->ops->progress(pair->sender);
        epi_record_events(pair->sender, &pair->s);
    }
    if (pair->receiver != NULL) {
        done = pair->ops->progress(pair->receiver) || done;
        epi_record_events(pair->receiver, &pair->r);
    }
    if (!done) {
        (void)sched_yield();
    }
}

void epi_pair_wait(epi_pair_t *pair, const size_t *counter, size_t value)
{
    uint64_t limit = epi_after(epi_now_ns(), LIMIT_NS);

    while (*counter < value) {
        if (epi_now_ns() > limit) {
            fail_msg("waited for %zu, came to %zu", value, *counter);
        }
        epi_pair_pump(pair);
    }
}

void epi_pair_settle(epi_pair_t *pair)
{
    for (int i = 0; i < SETTLE_ROUNDS; i++) {
        epi_pair_pump(pair);
    }
}

void epi_pair_offer(epi_pair_t *pair, epi_dp_region_t *region,
                    const void *payload, size_t bytes, uint64_t cookie)
{
    assert_int_equal(pair->ops->offer(pair->sender, pair->peer,
                                      &(epi_dp_send_t){.header = "head",
                                                       .header_bytes = 4,
                                                       .region = region,
                                                       .payload = payload,
                                                       .payload_bytes = bytes,
                                                       .cookie = cookie}),
                     EPDX_OK);
}

epdx_status_t epi_pair_pull(epi_pair_t *pair, size_t index,
                            epi_dp_region_t *region, void *target,
                            uint64_t cookie)
{
    const epi_dp_event_t *event = &pair->r.offer[index];

    return pair->ops->pull(
        pair->receiver, event->offer,
        &(epi_dp_target_t){.region = region,
                           .at = target,
                           .bytes = (size_t)event->payload_bytes,
                           .cookie = cookie});
}

epi_dp_region_t *epi_test_map(epi_dataplane_t *dp, void *base, size_t bytes)
{
    epi_dp_region_t *region = NULL;

    assert_int_equal(dp->ops->map(dp, epi_memory_host(), base, bytes, &region),
                     EPDX_OK);
    return region;
}

void epi_test_fill(uint8_t *bytes, size_t count, uint32_t seed)
{
    uint32_t x = seed * 2654435761U + 1;

    for (size_t i = 0; i < count; i++) {
        x = x * 1664525U + 1013904223U;
        bytes[i] = (uint8_t)(x >> 24);
    }
}
