/* cp_fixture.c: see cp_fixture.h. */
#include "cudaplane/cp_fixture.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"

#define PATIENCE_NS  (30 * EPI_S)
#define SETTLE_STEPS 2000

epi_cpt_inner_t epi_cpt_inner;

static epdx_status_t (*real_map)(epi_dataplane_t *dp,
                                 const epi_memory_ops_t *memory, void *base,
                                 size_t bytes, epi_dp_region_t **region_p);
static epdx_status_t (*real_offer)(epi_dataplane_t *dp, epi_dp_peer_t *peer,
                                   const epi_dp_send_t *send);
static epdx_status_t (*real_pull)(epi_dataplane_t *dp, epi_dp_offer_t *offer,
                                  const epi_dp_target_t *target);
static epi_dp_ops_t sender_ops, receiver_ops;

/* Where a plane that reaches the device finds these bytes. */
static void *reach(const void *at, size_t bytes)
{
    void *found =
        bytes > 0 && epi_gpu_is_fake() ? epi_fake_cuda_bytes(at, bytes) : NULL;

    return found != NULL ? found : (void *)(uintptr_t)at;
}

static epdx_status_t inner_map(epi_dataplane_t *dp,
                               const epi_memory_ops_t *memory, void *base,
                               size_t bytes, epi_dp_region_t **region_p)
{
    bool reaches = dp->ops == &sender_ops ? epi_cpt_inner.sender_reaches
                                          : epi_cpt_inner.receiver_reaches;

    if (memory->kind == EPI_MEMORY_CUDA) {
        epi_cpt_inner.device_maps++;
        if (!reaches) {
            return epi_fail(EPDX_ERR_IO, "no transport of this test does");
        }
    } else if (epi_cpt_inner.host_map_fails) {
        return epi_fail(EPDX_ERR_IO, "this test maps no host memory");
    }
    return real_map(dp, epi_memory_host(), reach(base, bytes), bytes, region_p);
}

static epdx_status_t inner_offer(epi_dataplane_t *dp, epi_dp_peer_t *peer,
                                 const epi_dp_send_t *send)
{
    epi_dp_send_t found = *send;

    found.payload = reach(send->payload, send->payload_bytes);
    return real_offer(dp, peer, &found);
}

static epdx_status_t inner_pull(epi_dataplane_t *dp, epi_dp_offer_t *offer,
                                const epi_dp_target_t *target)
{
    epi_dp_target_t found = *target;

    found.at = reach(target->at, target->bytes);
    return real_pull(dp, offer, &found);
}

static epi_dataplane_t *open_inner(epi_loopback_hub_t *hub, epi_dp_ops_t *ops)
{
    epi_dataplane_t *dp = NULL;

    assert_int_equal(epi_dataplane_loopback(hub, &dp), EPDX_OK);
    *ops = *dp->ops;
    real_map = ops->map;
    real_offer = ops->offer;
    real_pull = ops->pull;
    ops->map = inner_map;
    ops->offer = inner_offer;
    ops->pull = inner_pull;
    dp->ops = ops;
    return dp;
}

static epi_dataplane_t *wrap(epi_dataplane_t *inner, bool sends)
{
    epi_cudaplane_params_t params = {
        .memory = {epi_memory_cuda(), EPI_CPT_DEVICE},
        .staging_bytes = EPI_CPT_STAGING,
        .sends = sends,
    };
    epi_dataplane_t *dp = inner;

    assert_int_equal(epi_cudaplane_wrap(&params, &dp), EPDX_OK);
    assert_ptr_not_equal(dp, inner);
    return dp;
}

void epi_cpt_open(epi_cpt_t *test)
{
    memset(test, 0, sizeof(*test));
    assert_int_equal(epi_loopback_hub_open(&test->hub), EPDX_OK);
    test->inner_sender = open_inner(test->hub, &sender_ops);
    test->inner_receiver = open_inner(test->hub, &receiver_ops);
    test->sender = wrap(test->inner_sender, true);
    test->receiver = wrap(test->inner_receiver, false);
    assert_int_equal(
        test->sender->ops->connect(test->sender,
                                   test->receiver->ops->address(test->receiver),
                                   7, &test->peer),
        EPDX_OK);
}

static uint8_t scratch[EPI_CPT_MEMORY];

static uint8_t *allocate(void)
{
    void *base = NULL;

    assert_int_equal(
        epi_memory_cuda()->alloc(EPI_CPT_DEVICE, EPI_CPT_MEMORY, &base),
        EPDX_OK);
    memset(scratch, EPI_FAKE_CUDA_POISON, sizeof(scratch));
    epi_gpu_put(base, scratch, sizeof(scratch));
    return base;
}

void epi_cpt_map(epi_cpt_t *test)
{
    test->ring = allocate();
    test->pool = allocate();
    assert_int_equal(test->sender->ops->map(test->sender, epi_memory_cuda(),
                                            test->ring, EPI_CPT_MEMORY,
                                            &test->ring_region),
                     EPDX_OK);
    assert_int_equal(test->receiver->ops->map(test->receiver, epi_memory_cuda(),
                                              test->pool, EPI_CPT_MEMORY,
                                              &test->pool_region),
                     EPDX_OK);
}

static int open_as(void **state, bool reaches)
{
    static epi_cpt_t test;

    epi_fake_cuda_reset();
    epi_cpt_inner = (epi_cpt_inner_t){.sender_reaches = reaches,
                                      .receiver_reaches = reaches};
    epi_cpt_open(&test);
    epi_cpt_map(&test);
    *state = &test;
    return 0;
}

int epi_cpt_staged(void **state)
{
    return open_as(state, false);
}

int epi_cpt_direct(void **state)
{
    return open_as(state, true);
}

void epi_cpt_close(epi_cpt_t *test)
{
    if (test->sender != NULL) {
        test->sender->ops->disconnect(test->sender, test->peer);
        test->sender->ops->unmap(test->sender, test->ring_region);
        test->sender->ops->close(test->sender);
    }
    if (test->receiver != NULL) {
        test->receiver->ops->unmap(test->receiver, test->pool_region);
        test->receiver->ops->close(test->receiver);
    }
    epi_memory_cuda()->release(EPI_CPT_DEVICE, test->ring, EPI_CPT_MEMORY);
    epi_memory_cuda()->release(EPI_CPT_DEVICE, test->pool, EPI_CPT_MEMORY);
    epi_loopback_hub_close(test->hub);
}

int epi_cpt_teardown(void **state)
{
    epi_fake_cuda_live_t live;

    epi_cpt_close(*state);
    live = epi_fake_cuda_live();
    assert_int_equal(live.device_allocations, 0);
    assert_int_equal(live.pinned_allocations, 0);
    assert_int_equal(live.streams, 0);
    assert_int_equal(live.events, 0);
    assert_int_equal(epi_fake_cuda_violations(), 0);
    assert_int_equal(epi_fake_cuda_pageable(), 0);
    return 0;
}

bool epi_cpt_untouched(const uint8_t *device)
{
    static const uint8_t poison = EPI_FAKE_CUDA_POISON;

    return epi_gpu_holds(device, &poison, 1);
}

void epi_cpt_fill(uint8_t *device, size_t bytes, unsigned seed)
{
    for (size_t i = 0; i < bytes; i++) {
        scratch[i] = (uint8_t)(seed + i * 7 + (i >> 8));
    }
    epi_gpu_put(device, scratch, bytes);
}

epdx_status_t epi_cpt_offer(epi_cpt_t *test, size_t offset, size_t bytes,
                            void *ready, uint64_t cookie)
{
    epi_dp_send_t send = {.header = "head",
                          .header_bytes = 4,
                          .region = test->ring_region,
                          .payload = test->ring + offset,
                          .payload_bytes = bytes,
                          .ready = ready,
                          .cookie = cookie};

    return test->sender->ops->offer(test->sender, test->peer, &send);
}

epdx_status_t epi_cpt_pull(epi_cpt_t *test, size_t index, size_t offset,
                           uint64_t cookie)
{
    epi_dp_target_t target = {.region = test->pool_region,
                              .at = test->pool + offset,
                              .bytes =
                                  (size_t)test->r.offer[index].payload_bytes,
                              .cookie = cookie};

    return test->receiver->ops->pull(test->receiver, test->r.offer[index].offer,
                                     &target);
}

static void take(epi_dataplane_t *dp, epi_cpt_record_t *record)
{
    epi_dp_event_t event;

    while (dp->ops->next(dp, &event)) {
        switch (event.kind) {
        case EPI_DP_OFFER:
            assert_true(record->offers < EPI_CPT_RECORD_MAX);
            record->offer[record->offers++] = event;
            break;
        case EPI_DP_PULLED:
            assert_true(record->pulled < EPI_CPT_RECORD_MAX);
            record->pull[record->pulled++] = event;
            break;
        case EPI_DP_SENT:
            assert_true(record->sent < EPI_CPT_RECORD_MAX);
            record->send[record->sent++] = event;
            break;
        case EPI_DP_PEER_DOWN:
            assert_int_equal(event.cookie, 7);
            record->down++;
            break;
        }
    }
}

void epi_cpt_pump(epi_cpt_t *test)
{
    if (test->sender != NULL) {
        (void)test->sender->ops->progress(test->sender);
        take(test->sender, &test->s);
    }
    if (test->receiver != NULL) {
        (void)test->receiver->ops->progress(test->receiver);
        take(test->receiver, &test->r);
    }
}

void epi_cpt_wait(epi_cpt_t *test, const size_t *counter, size_t value)
{
    uint64_t limit = epi_after(epi_now_ns(), PATIENCE_NS);

    while (*counter < value) {
        epi_cpt_pump(test);
        sched_yield();
        if (epi_now_ns() > limit) {
            fail_msg("%zu of %zu came", *counter, value);
        }
    }
}

void epi_cpt_settle(epi_cpt_t *test)
{
    for (int i = 0; i < SETTLE_STEPS; i++) {
        epi_cpt_pump(test);
        sched_yield();
    }
}

bool epi_cpt_same(const epi_cpt_t *test, size_t pool_at, size_t ring_at,
                  size_t bytes)
{
    epi_gpu_get(scratch, test->ring + ring_at, bytes);
    return epi_gpu_holds(test->pool + pool_at, scratch, bytes);
}

epi_cpt_event_t epi_cpt_event(void)
{
    epi_cpt_event_t event = {NULL, NULL};

    assert_int_equal(epi_memory_cuda()->bind(EPI_CPT_DEVICE), EPDX_OK);
    assert_int_equal(
        cudaStreamCreateWithFlags(&event.stream, cudaStreamNonBlocking),
        cudaSuccess);
    assert_int_equal(cudaEventCreate(&event.event), cudaSuccess);
    epi_gpu_hold(event.stream);
    assert_int_equal(cudaEventRecord(event.event, event.stream), cudaSuccess);
    assert_int_equal(epi_memory_cuda()->bind(0), EPDX_OK);
    return event;
}

void epi_cpt_event_done(const epi_cpt_event_t *event)
{
    epi_gpu_let_go(event->stream);
}

void epi_cpt_event_close(const epi_cpt_event_t *event)
{
    assert_int_equal(cudaEventDestroy(event->event), cudaSuccess);
    assert_int_equal(cudaStreamDestroy(event->stream), cudaSuccess);
}

void epi_cpt_says(const char *words)
{
    if (strstr(epdx_last_error(), words) == NULL) {
        fail_msg("\"%s\" is not in: %s", words, epdx_last_error());
    }
}
