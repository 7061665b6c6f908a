/* cudaplane_test.c: rows go in and out of device memory, straight or staged, in
 * the right order of calls. */
#include "cudaplane/cp_fixture.h"

#include <stdio.h>
#include <string.h>

#include "epdx/log.h"

#define KIB ((size_t)1 << 10)

static void move_items(epi_cpt_t *test)
{
    static const size_t sizes[] = {1, 256, 4096, 4097, 16 * KIB};
    size_t count = sizeof(sizes) / sizeof(sizes[0]);
    size_t at = 0;

    epi_cpt_fill(test->ring, EPI_CPT_MEMORY, 3);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(epi_cpt_offer(test, at, sizes[i], NULL, 100 + i),
                         EPDX_OK);
        epi_cpt_wait(test, &test->r.offers, i + 1);
        assert_int_equal(test->r.offer[i].payload_bytes, sizes[i]);
        assert_int_equal(test->r.offer[i].header_bytes, 4);
        assert_memory_equal(test->r.offer[i].header, "head", 4);
        assert_int_not_equal(test->r.offer[i].link, 0);
        /* To where it did not come from, and off any alignment. */
        assert_int_equal(epi_cpt_pull(test, i, at + 3, 200 + i), EPDX_OK);
        epi_cpt_wait(test, &test->r.pulled, i + 1);
        epi_cpt_wait(test, &test->s.sent, i + 1);
        assert_int_equal(test->r.pull[i].status, EPDX_OK);
        assert_int_equal(test->r.pull[i].cookie, 200 + i);
        assert_int_equal(test->s.send[i].status, EPDX_OK);
        assert_int_equal(test->s.send[i].cookie, 100 + i);
        assert_true(epi_cpt_same(test, at + 3, at, sizes[i]));
        at += sizes[i];
    }
    /* What nobody pulled into is as it was. */
    assert_true(epi_cpt_untouched(test->pool + at + 3));
}

static void test_rows_are_staged_where_the_transport_does_not_reach(
    void **state)
{
    epi_cpt_t *test = *state;
    epi_cudaplane_moved_t moved;

    move_items(test);
    epi_cudaplane_moved(test->receiver, &moved);
    assert_int_equal(moved.staged_bytes, 1 + 256 + 4096 + 4097 + 16 * KIB);
    assert_int_equal(moved.direct_bytes, 0);
    epi_cudaplane_moved(test->sender, &moved);
    assert_int_equal(moved.staged_bytes, 1 + 256 + 4096 + 4097 + 16 * KIB);
    EPI_GPU_EXPECT_CALLS("cudaMemcpyAsync", 10);
}

static void test_rows_go_straight_where_it_reaches(void **state)
{
    epi_cpt_t *test = *state;
    epi_cudaplane_moved_t moved;

    EPI_GPU_FAKE_ONLY();
    move_items(test);
    epi_cudaplane_moved(test->receiver, &moved);
    assert_int_equal(moved.direct_bytes, 1 + 256 + 4096 + 4097 + 16 * KIB);
    assert_int_equal(moved.staged_bytes, 0);
    /* Nothing was pinned for it, and nothing copied. */
    assert_int_equal(epi_fake_cuda_live().pinned_allocations, 0);
    assert_int_equal(epi_fake_calls("cudaMemcpyAsync"), 0);
    assert_int_equal(epi_fake_calls("cudaDeviceFlushGPUDirectRDMAWrites"), 0);
}

static void test_one_end_may_be_direct_and_the_other_staged(void **state)
{
    epi_cpt_t *test = *state;

    EPI_GPU_FAKE_ONLY();
    epi_cpt_close(test);
    epi_cpt_inner.sender_reaches = true;
    epi_cpt_inner.receiver_reaches = false;
    epi_cpt_open(test);
    epi_cpt_map(test);
    move_items(test);
    assert_int_equal(epi_fake_calls("cudaMemcpyAsync"), 5);
}

/* A header alone: nothing is staged, and no event is waited for. */
static void test_an_offer_of_0_bytes(void **state)
{
    epi_cpt_t *test = *state;
    epi_cpt_event_t late = epi_cpt_event();
    epi_dp_target_t nowhere = {.cookie = 9};

    assert_int_equal(epi_cpt_offer(test, 0, 0, late.event, 1), EPDX_OK);
    epi_cpt_wait(test, &test->r.offers, 1);
    epi_cpt_wait(test, &test->s.sent, 1);
    assert_int_equal(test->receiver->ops->pull(
                         test->receiver, test->r.offer[0].offer, &nowhere),
                     EPDX_OK);
    epi_cpt_wait(test, &test->r.pulled, 1);
    assert_int_equal(test->r.pull[0].status, EPDX_OK);
    assert_int_equal(test->r.pull[0].cookie, 9);
    epi_cpt_event_done(&late);
    epi_cpt_event_close(&late);
}

static void test_a_refused_offer_is_sent(void **state)
{
    epi_cpt_t *test = *state;

    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(epi_cpt_offer(test, 0, 4 * KIB, NULL, i), EPDX_OK);
        epi_cpt_wait(test, &test->r.offers, i + 1);
        test->receiver->ops->refuse(test->receiver, test->r.offer[i].offer);
        epi_cpt_wait(test, &test->s.sent, i + 1); /* and its room is free */
        assert_int_equal(test->s.send[i].status, EPDX_OK);
    }
}

/* PULLED only after the copy's event is done, and asleep only then. */
static void test_nothing_is_published_before_its_copy(void **state)
{
    epi_cpt_t *test = *state;
    size_t ran, seen;

    EPI_GPU_FAKE_ONLY();
    epi_cpt_fill(test->ring, 4 * KIB, 1);
    assert_int_equal(epi_cpt_offer(test, 0, 4 * KIB, NULL, 1), EPDX_OK);
    epi_cpt_wait(test, &test->r.offers, 1);
    epi_fake_cuda_hold_kinds(EPI_FAKE_CUDA_COPY);
    assert_int_equal(epi_cpt_pull(test, 0, 0, 2), EPDX_OK);
    epi_cpt_wait(test, &test->s.sent, 1); /* the inner plane has pulled it */
    epi_cpt_settle(test);
    assert_int_equal(test->r.pulled, 0);
    assert_int_equal(test->receiver->ops->arm(test->receiver),
                     EPDX_IN_PROGRESS);
    epi_fake_cuda_hold_kinds(0);
    epi_cpt_wait(test, &test->r.pulled, 1);
    assert_true(epi_cpt_same(test, 0, 0, 4 * KIB));
    assert_int_equal(test->receiver->ops->arm(test->receiver), EPDX_OK);
    ran = epi_fake_cuda_log_find(0, EPI_FAKE_CUDA_COPY, EPI_FAKE_CUDA_RAN);
    ran =
        epi_fake_cuda_log_find(ran + 1, EPI_FAKE_CUDA_COPY, EPI_FAKE_CUDA_RAN);
    seen =
        epi_fake_cuda_log_find(ran, EPI_FAKE_CUDA_SEEN, EPI_FAKE_CUDA_ISSUED);
    assert_int_not_equal(ran, SIZE_MAX);
    assert_int_not_equal(seen, SIZE_MAX);
}

/* The event alone is late: the rows are there, but nobody may know it yet. */
static void test_nothing_is_published_before_its_event(void **state)
{
    epi_cpt_t *test = *state;

    EPI_GPU_FAKE_ONLY();
    epi_cpt_fill(test->ring, 4 * KIB, 1);
    assert_int_equal(epi_cpt_offer(test, 0, 4 * KIB, NULL, 1), EPDX_OK);
    epi_cpt_wait(test, &test->r.offers, 1);
    epi_fake_cuda_hold_kinds(EPI_FAKE_CUDA_RECORD);
    assert_int_equal(epi_cpt_pull(test, 0, 0, 2), EPDX_OK);
    epi_cpt_settle(test);
    assert_int_equal(test->r.pulled, 0);
    epi_fake_cuda_hold_kinds(0);
    epi_cpt_wait(test, &test->r.pulled, 1);
}

/* Whether rows are copied out or offered only after the caller's event. */
static void check_ready(epi_cpt_t *test)
{
    epi_cpt_event_t late = epi_cpt_event();

    assert_int_equal(epi_cpt_offer(test, 0, 4 * KIB, late.event, 1), EPDX_OK);
    assert_int_equal(epi_cpt_offer(test, 4 * KIB, 4 * KIB, late.event, 2),
                     EPDX_OK);
    epi_cpt_settle(test);
    assert_int_equal(test->r.offers, 0);
    EPI_GPU_EXPECT_CALLS("cudaMemcpyAsync", 0);
    assert_int_equal(test->sender->ops->arm(test->sender), EPDX_IN_PROGRESS);
    /* The rows come to be only now. */
    epi_cpt_fill(test->ring, 8 * KIB, 5);
    epi_cpt_event_done(&late);
    epi_cpt_wait(test, &test->r.offers, 2);
    assert_int_equal(epi_cpt_pull(test, 0, 0, 1), EPDX_OK);
    assert_int_equal(epi_cpt_pull(test, 1, 4 * KIB, 2), EPDX_OK);
    epi_cpt_wait(test, &test->s.sent, 2);
    epi_cpt_wait(test, &test->r.pulled, 2);
    assert_int_equal(test->s.send[0].status, EPDX_OK);
    assert_true(epi_cpt_same(test, 0, 0, 8 * KIB));
    epi_cpt_event_close(&late);
}

static void test_nothing_is_read_before_its_event(void **state)
{
    check_ready(*state);
}

static void test_nothing_is_offered_before_its_event(void **state)
{
    EPI_GPU_FAKE_ONLY();
    check_ready(*state);
}

/* Another item does not wait for an event that is not its own. */
static void test_a_late_event_holds_up_its_own_rows_only(void **state)
{
    epi_cpt_t *test = *state;
    epi_cpt_event_t late = epi_cpt_event();

    assert_int_equal(epi_cpt_offer(test, 0, 12 * KIB, late.event, 1), EPDX_OK);
    assert_int_equal(epi_cpt_offer(test, 12 * KIB, 12 * KIB, NULL, 2), EPDX_OK);
    epi_cpt_wait(test, &test->r.offers, 1);
    assert_int_equal(epi_cpt_pull(test, 0, 0, 2), EPDX_OK);
    epi_cpt_wait(test, &test->s.sent, 1);
    assert_int_equal(test->s.send[0].cookie, 2);
    epi_cpt_event_done(&late);
    epi_cpt_wait(test, &test->r.offers, 2);
    assert_int_equal(epi_cpt_pull(test, 1, 0, 1), EPDX_OK);
    epi_cpt_wait(test, &test->s.sent, 2);
    epi_cpt_wait(test, &test->r.pulled, 2);
    epi_cpt_event_close(&late);
}

/* Memory that was not mapped: the caller's own, always staged. */
static void test_rows_without_a_region_are_staged(void **state)
{
    epi_cpt_t *test = *state;
    epi_dp_region_t *region = test->ring_region;

    EPI_GPU_FAKE_ONLY();
    epi_cpt_fill(test->ring, 4 * KIB, 8);
    test->ring_region = NULL;
    assert_int_equal(epi_cpt_offer(test, 0, 4 * KIB, NULL, 1), EPDX_OK);
    test->ring_region = region;
    epi_cpt_wait(test, &test->r.offers, 1);
    assert_int_equal(epi_fake_calls("cudaMemcpyAsync"), 1);
    assert_int_equal(epi_cpt_pull(test, 0, 0, 1), EPDX_OK);
    epi_cpt_wait(test, &test->r.pulled, 1);
    epi_cpt_wait(test, &test->s.sent, 1);
    assert_true(epi_cpt_same(test, 0, 0, 4 * KIB));
}

static void open_with_flush(epi_cpt_t *test, int ordering, int options)
{
    epi_cpt_close(test);
    epi_fake_cuda_attribute(cudaDevAttrGPUDirectRDMAWritesOrdering, ordering);
    epi_fake_cuda_attribute(cudaDevAttrGPUDirectRDMAFlushWritesOptions,
                            options);
    epi_cpt_open(test);
    epi_cpt_map(test);
}

static void test_direct_rows_are_flushed_where_the_device_needs_it(void **state)
{
    epi_cpt_t *test = *state;

    EPI_GPU_FAKE_ONLY();
    open_with_flush(test, cudaGPUDirectRDMAWritesOrderingNone,
                    cudaFlushGPUDirectRDMAWritesOptionHost);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(epi_cpt_offer(test, i * KIB, KIB, NULL, i), EPDX_OK);
    }
    epi_cpt_wait(test, &test->r.offers, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(epi_cpt_pull(test, i, i * KIB, i), EPDX_OK);
    }
    assert_int_equal(epi_fake_calls("cudaDeviceFlushGPUDirectRDMAWrites"), 0);
    epi_cpt_wait(test, &test->r.pulled, 3);
    /* Once for all that landed together, and not at the sender. */
    assert_int_equal(epi_fake_calls("cudaDeviceFlushGPUDirectRDMAWrites"), 1);
    assert_int_equal(epi_cpt_offer(test, 0, KIB, NULL, 9), EPDX_OK);
    epi_cpt_wait(test, &test->r.offers, 4);
    assert_int_equal(epi_cpt_pull(test, 3, 0, 9), EPDX_OK);
    epi_cpt_wait(test, &test->r.pulled, 4);
    epi_cpt_wait(test, &test->s.sent, 4);
    assert_int_equal(epi_fake_calls("cudaDeviceFlushGPUDirectRDMAWrites"), 2);
}

static void test_err_io_a_flush_that_fails(void **state)
{
    epi_cpt_t *test = *state;

    EPI_GPU_FAKE_ONLY();
    open_with_flush(test, cudaGPUDirectRDMAWritesOrderingNone,
                    cudaFlushGPUDirectRDMAWritesOptionHost);
    assert_int_equal(epi_cpt_offer(test, 0, KIB, NULL, 1), EPDX_OK);
    epi_cpt_wait(test, &test->r.offers, 1);
    assert_int_equal(epi_cpt_pull(test, 0, 0, 1), EPDX_OK);
    epi_fake_fail("cudaDeviceFlushGPUDirectRDMAWrites", 0, cudaErrorUnknown);
    epi_cpt_wait(test, &test->r.pulled, 1);
    assert_int_equal(test->r.pull[0].status, EPDX_ERR_IO);
    epi_cpt_wait(test, &test->s.sent, 1);
}

/* Rows are read well enough from such a device, but not written to it. */
static void test_a_device_that_cannot_flush_is_staged_at_the_receiver(
    void **state)
{
    epi_cpt_t *test = *state;

    EPI_GPU_FAKE_ONLY();
    epi_cpt_inner.device_maps = 0;
    open_with_flush(test, cudaGPUDirectRDMAWritesOrderingNone, 0);
    assert_int_equal(epi_cpt_inner.device_maps, 1);
    move_items(test);
    assert_int_equal(epi_fake_calls("cudaMemcpyAsync"), 5);
}

static char last_line[1024];
static size_t warnings;

static void sink(void *context, epdx_log_level_t level, const char *line)
{
    (void)context;
    if (level == EPDX_LOG_WARN) {
        warnings++;
        (void)strncpy(last_line, line, sizeof(last_line) - 1);
    }
}

static void test_staging_is_said_once(void **state)
{
    epi_cpt_t *test = *state;
    char device[32];

    epi_cpt_close(test);
    warnings = 0;
    epdx_log_set_sink(sink, NULL);
    epi_cpt_open(test);
    epi_cpt_map(test);
    assert_int_equal(warnings, 2); /* one a plane */
    assert_non_null(strstr(last_line, "EPDX_CUDA_STAGING_MB"));
    (void)snprintf(device, sizeof(device), "device %d", EPI_CPT_DEVICE);
    assert_non_null(strstr(last_line, device));
    assert_non_null(strstr(last_line, "no transport of this test does"));
    move_items(test);
    assert_int_equal(warnings, 2);
    epdx_log_set_sink(NULL, NULL);
}

static void test_the_rest_is_the_inner_planes(void **state)
{
    epi_cpt_t *test = *state;
    char transport[EPI_DP_TRANSPORT_MAX];

    assert_ptr_equal(test->receiver->ops->address(test->receiver),
                     test->inner_receiver->ops->address(test->inner_receiver));
    assert_int_equal(test->receiver->ops->event_fd(test->receiver), -1);
    test->receiver->ops->transport(test->receiver, transport,
                                   sizeof(transport));
    assert_string_equal(transport, "loopback");
    assert_int_equal(test->receiver->ops->arm(test->receiver), EPDX_OK);
    assert_false(test->receiver->ops->progress(test->receiver));
}

static void test_host_memory_is_left_alone(void **state)
{
    epi_cudaplane_params_t params = {.memory = {epi_memory_host(), 0}};
    epi_cpt_t *test = *state;
    epi_dataplane_t *dp = test->inner_sender;
    epi_cudaplane_moved_t moved = {1, 1};

    assert_int_equal(epi_cudaplane_wrap(&params, &dp), EPDX_OK);
    assert_ptr_equal(dp, test->inner_sender);
    epi_cudaplane_moved(dp, &moved);
    assert_int_equal(moved.direct_bytes + moved.staged_bytes, 0);
}

/* A region of host memory in a plane for device memory is the inner plane's. */
static void test_a_host_region_goes_straight(void **state)
{
    epi_cpt_t *test = *state;
    static uint8_t target[KIB];
    epi_dp_region_t *region = NULL;
    epi_dp_target_t at = {.at = target, .bytes = KIB, .cookie = 1};

    epi_cpt_fill(test->ring, KIB, 4);
    assert_int_equal(test->receiver->ops->map(test->receiver, epi_memory_host(),
                                              target, KIB, &region),
                     EPDX_OK);
    at.region = region;
    assert_int_equal(epi_cpt_offer(test, 0, KIB, NULL, 1), EPDX_OK);
    epi_cpt_wait(test, &test->r.offers, 1);
    assert_int_equal(
        test->receiver->ops->pull(test->receiver, test->r.offer[0].offer, &at),
        EPDX_OK);
    epi_cpt_wait(test, &test->r.pulled, 1);
    epi_cpt_wait(test, &test->s.sent, 1);
    assert_true(epi_gpu_holds(test->ring, target, KIB));
    test->receiver->ops->unmap(test->receiver, region);
    test->receiver->ops->unmap(test->receiver, NULL);
}

#define STAGED(name)                                                           \
    {                                                                          \
#name "_staged", name, epi_cpt_staged, epi_cpt_teardown, NULL          \
    }
#define DIRECT(name)                                                           \
    {                                                                          \
#name "_direct", name, epi_cpt_direct, epi_cpt_teardown, NULL          \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        STAGED(test_rows_are_staged_where_the_transport_does_not_reach),
        DIRECT(test_rows_go_straight_where_it_reaches),
        STAGED(test_one_end_may_be_direct_and_the_other_staged),
        STAGED(test_an_offer_of_0_bytes),
        DIRECT(test_an_offer_of_0_bytes),
        STAGED(test_a_refused_offer_is_sent),
        DIRECT(test_a_refused_offer_is_sent),
        STAGED(test_nothing_is_published_before_its_copy),
        STAGED(test_nothing_is_published_before_its_event),
        STAGED(test_nothing_is_read_before_its_event),
        DIRECT(test_nothing_is_offered_before_its_event),
        STAGED(test_a_late_event_holds_up_its_own_rows_only),
        DIRECT(test_rows_without_a_region_are_staged),
        DIRECT(test_direct_rows_are_flushed_where_the_device_needs_it),
        DIRECT(test_err_io_a_flush_that_fails),
        DIRECT(test_a_device_that_cannot_flush_is_staged_at_the_receiver),
        STAGED(test_staging_is_said_once),
        STAGED(test_the_rest_is_the_inner_planes),
        STAGED(test_host_memory_is_left_alone),
        STAGED(test_a_host_region_goes_straight),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
