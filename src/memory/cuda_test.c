/* cuda_test.c: memory of a device, and copies to and from it, over the fake or
 * on a GPU. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "memory/event.h"
#include "memory/memory.h"
#include "testing/fake_cuda.h"
#include "testing/gpu_under_test.h"

#define BYTES ((size_t)64 << 10)

static int start(void **state)
{
    (void)state;
    epi_fake_cuda_reset();
    return 0;
}

/* Nothing is left, no misuse happened, and the host program sees no error. */
static int end(void **state)
{
    epi_fake_cuda_live_t live = epi_fake_cuda_live();

    (void)state;
    assert_int_equal(live.device_allocations, 0);
    assert_int_equal(live.pinned_allocations, 0);
    assert_int_equal(live.streams, 0);
    assert_int_equal(live.events, 0);
    assert_int_equal(epi_fake_cuda_violations(), 0);
    assert_int_equal(cudaGetLastError(), cudaSuccess);
    return 0;
}

static const epi_memory_ops_t *cuda(void)
{
    const epi_memory_ops_t *ops = epi_memory_cuda();

    assert_non_null(ops);
    return ops;
}

static const epi_copy_ops_t *copies(void)
{
    assert_non_null(cuda()->copies);
    return cuda()->copies;
}

static void says(const char *words)
{
    if (strstr(epdx_last_error(), words) == NULL) {
        fail_msg("\"%s\" is not in: %s", words, epdx_last_error());
    }
}

static void *allocate(int device, size_t bytes)
{
    void *base = NULL;

    assert_int_equal(cuda()->alloc(device, bytes, &base), EPDX_OK);
    assert_non_null(base);
    return base;
}

static void test_it_is_memory_of_that_device(void **state)
{
    struct cudaPointerAttributes attributes;
    int current = -1;
    int device = epi_gpu_device(2);
    void *base;

    (void)state;
    assert_int_equal(cuda()->kind, EPI_MEMORY_CUDA);
    assert_string_equal(cuda()->name, "cuda");
    base = allocate(device, BYTES);
    assert_int_equal(cudaPointerGetAttributes(&attributes, base), cudaSuccess);
    assert_int_equal(attributes.type, cudaMemoryTypeDevice);
    assert_int_equal(attributes.device, device);
    assert_int_equal((uintptr_t)base % 256, 0);
    assert_int_equal(cudaGetDevice(&current), cudaSuccess);
    assert_int_equal(current, 0); /* the caller's, as it was */
    cuda()->release(device, base, BYTES);
    cuda()->release(device, NULL, BYTES);
}

static void test_err_no_memory_names_size_and_device(void **state)
{
    void *base = &base;

    (void)state;
    EPI_GPU_FAKE_ONLY();
    epi_fake_fail("cudaMalloc", 0, cudaErrorMemoryAllocation);
    assert_int_equal(cuda()->alloc(1, BYTES, &base), EPDX_ERR_NO_MEMORY);
    says("65536 bytes of device 1");
    assert_int_equal(cuda()->alloc(1, 0, &base), EPDX_ERR_NO_MEMORY);
    assert_ptr_equal(base, &base);
}

static void test_err_io_has_the_words_of_cuda(void **state)
{
    void *base = &base;

    (void)state;
    EPI_GPU_FAKE_ONLY();
    epi_fake_fail("cudaMalloc", 0, cudaErrorInitializationError);
    assert_int_equal(cuda()->alloc(0, BYTES, &base), EPDX_ERR_IO);
    says("cudaMalloc");
    says(cudaGetErrorString(cudaErrorInitializationError));
    says(cudaGetErrorName(cudaErrorInitializationError));
    assert_int_equal(cuda()->alloc(EPI_FAKE_CUDA_DEVICES, BYTES, &base),
                     EPDX_ERR_IO);
    says("cudaSetDevice");
    assert_ptr_equal(base, &base);
}

static void test_check_knows_what_memory_is(void **state)
{
    static char plain[BYTES];
    int second = epi_gpu_device(1);
    void *mine = allocate(0, BYTES), *other = allocate(second, BYTES);
    void *pinned = NULL;

    (void)state;
    assert_int_equal(copies()->pin(0, BYTES, &pinned), EPDX_OK);
    assert_int_equal(cuda()->check(0, mine, BYTES), EPDX_OK);
    assert_int_equal(cuda()->check(0, (char *)mine + 256, 1), EPDX_OK);
    if (second != 0) {
        assert_int_equal(cuda()->check(0, other, BYTES), EPDX_ERR_INVALID);
        says("memory of another device");
    }
    assert_int_equal(cuda()->check(0, pinned, BYTES), EPDX_ERR_INVALID);
    says("host memory");
    assert_int_equal(cuda()->check(0, plain, BYTES), EPDX_ERR_INVALID);
    says("memory that CUDA does not know");
    says("device 0");
    /* The last byte counts, too. */
    assert_int_equal(cuda()->check(0, mine, BYTES << 24), EPDX_ERR_INVALID);
    if (epi_gpu_is_fake()) {
        epi_fake_fail("cudaPointerGetAttributes", 0, cudaErrorUnknown);
        assert_int_equal(cuda()->check(0, mine, BYTES), EPDX_ERR_IO);
    }
    copies()->unpin(0, pinned);
    cuda()->release(second, other, BYTES);
    cuda()->release(0, mine, BYTES);
}

static void test_bind_makes_the_device_current(void **state)
{
    int current = -1;

    (void)state;
    assert_int_equal(cuda()->bind(epi_gpu_device(3)), EPDX_OK);
    assert_int_equal(cudaGetDevice(&current), cudaSuccess);
    assert_int_equal(current, epi_gpu_device(3));
    assert_int_equal(cuda()->bind(cuda()->devices()), EPDX_ERR_IO);
    assert_int_equal(cuda()->bind(0), EPDX_OK);
}

static void test_a_device_is_entered_and_left(void **state)
{
    int current = -1, before = -1;

    (void)state;
    assert_int_equal(cuda()->enter(epi_gpu_device(3), &before), EPDX_OK);
    assert_int_equal(before, 0);
    assert_int_equal(cudaGetDevice(&current), cudaSuccess);
    assert_int_equal(current, epi_gpu_device(3));
    cuda()->leave(before);
    assert_int_equal(cudaGetDevice(&current), cudaSuccess);
    assert_int_equal(current, 0);
    assert_int_equal(cuda()->enter(cuda()->devices(), &before), EPDX_ERR_IO);
    says("cudaSetDevice");
}

static void *bind_and_tell(void *mode)
{
    *(enum cudaStreamCaptureMode *)mode = cudaStreamCaptureModeGlobal;
    if (cuda()->bind(0) != EPDX_OK ||
        cudaThreadExchangeStreamCaptureMode(mode) != cudaSuccess) {
        *(enum cudaStreamCaptureMode *)mode = cudaStreamCaptureModeGlobal;
    }
    return NULL;
}

/* What UCX asks the device on it does not spoil a graph of another thread's. */
static void test_a_bound_thread_minds_its_own_captures_only(void **state)
{
    enum cudaStreamCaptureMode mode;
    pthread_t thread;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, bind_and_tell, &mode), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(mode, cudaStreamCaptureModeThreadLocal);
}

static void test_the_current_device_is_the_default(void **state)
{
    epi_memory_wish_t wish = {.who = "test", .preset = EPDX_MEMORY_CUDA};
    epi_memory_t memory = {NULL, 7};

    (void)state;
    assert_int_equal(cuda()->bind(epi_gpu_device(3)), EPDX_OK);
    assert_int_equal(epi_memory_choose(&wish, &memory), EPDX_OK);
    assert_ptr_equal(memory.ops, cuda());
    assert_int_equal(memory.device, epi_gpu_device(3));
    assert_int_equal(cuda()->bind(0), EPDX_OK);
}

static void test_a_device_is_chosen_or_refused(void **state)
{
    epdx_cuda_t params = {.struct_size = sizeof(params),
                          .device = epi_gpu_device(5)};
    epi_memory_wish_t wish = {
        .who = "test", .memory = EPDX_MEMORY_CUDA, .cuda = &params};
    epi_memory_t memory = {NULL, 7};
    char words[64];

    (void)state;
    assert_int_equal(epi_memory_choose(&wish, &memory), EPDX_OK);
    assert_int_equal(memory.device, params.device);
    params.device = cuda()->devices();
    assert_int_equal(epi_memory_choose(&wish, &memory), EPDX_ERR_INVALID);
    (void)snprintf(words, sizeof(words),
                   "test: there is no device %d: CUDA shows %d", params.device,
                   params.device);
    says(words);
    params.device = -1;
    assert_int_equal(epi_memory_choose(&wish, &memory), EPDX_ERR_INVALID);
    params.struct_size = 4;
    assert_int_equal(epi_memory_choose(&wish, &memory), EPDX_ERR_INVALID);
    says("struct_size is 4");
    params.struct_size = sizeof(params) + 8;
    assert_int_equal(epi_memory_choose(&wish, &memory), EPDX_ERR_INVALID);
    assert_int_equal(memory.device, epi_gpu_device(5));
}

static void test_err_io_without_a_device(void **state)
{
    epi_memory_wish_t wish = {.who = "test", .memory = EPDX_MEMORY_CUDA};
    epi_memory_t memory = {NULL, 7};

    (void)state;
    EPI_GPU_FAKE_ONLY();
    assert_int_equal(cuda()->devices(), EPI_FAKE_CUDA_DEVICES);
    epi_fake_cuda_devices(0);
    assert_int_equal(cuda()->devices(), 0);
    assert_int_equal(epi_memory_choose(&wish, &memory), EPDX_ERR_IO);
    says(cudaGetErrorString(cudaErrorNoDevice));
    epi_fake_fail("cudaGetDeviceCount", 0, cudaErrorInsufficientDriver);
    assert_int_equal(epi_memory_choose(&wish, &memory), EPDX_ERR_IO);
    says(cudaGetErrorString(cudaErrorInsufficientDriver));
}

/* Of what lane_open() makes. */
static int lane_device(void)
{
    return epi_gpu_device(1);
}

typedef struct lane {
    void *stream, *event;
    char *pinned;
    char *device;
} lane_t;

static lane_t lane_open(void)
{
    lane_t lane = {0};
    void *pinned = NULL;

    assert_int_equal(copies()->stream_open(lane_device(), &lane.stream),
                     EPDX_OK);
    assert_int_equal(copies()->event_open(lane_device(), &lane.event), EPDX_OK);
    assert_int_equal(copies()->pin(lane_device(), BYTES, &pinned), EPDX_OK);
    lane.pinned = pinned;
    lane.device = allocate(lane_device(), BYTES);
    return lane;
}

static void lane_close(lane_t *lane)
{
    cuda()->release(lane_device(), lane->device, BYTES);
    copies()->unpin(lane_device(), lane->pinned);
    copies()->event_close(lane_device(), lane->event);
    copies()->stream_close(lane_device(), lane->stream);
}

static void await(void *event)
{
    bool done = false;

    while (!done) {
        assert_int_equal(epi_event_done(event, &done), EPDX_OK);
    }
}

static void test_copies_go_both_ways_in_order(void **state)
{
    lane_t lane = lane_open();

    (void)state;
    memset(lane.pinned, 0x11, BYTES);
    assert_int_equal(
        copies()->copy(lane.stream, lane.device, lane.pinned, BYTES), EPDX_OK);
    assert_int_equal(copies()->copy(lane.stream, lane.pinned + BYTES / 2,
                                    lane.device, BYTES / 2),
                     EPDX_OK);
    assert_int_equal(copies()->record(lane.stream, lane.event), EPDX_OK);
    await(lane.event);
    while (copies()->stream_done(lane.stream) == EPDX_IN_PROGRESS) {
    }
    assert_int_equal(copies()->stream_done(lane.stream), EPDX_OK);
    assert_true(epi_gpu_holds(lane.device, lane.pinned, BYTES));
    assert_int_equal(lane.pinned[BYTES - 1], 0x11);
    assert_int_equal(epi_fake_cuda_pageable(), 0);
    lane_close(&lane);
}

static void test_an_event_is_in_progress_while_its_copy_is(void **state)
{
    lane_t lane = lane_open();

    (void)state;
    epi_gpu_hold(lane.stream);
    memset(lane.pinned, 0x22, BYTES);
    assert_int_equal(
        copies()->copy(lane.stream, lane.device, lane.pinned, BYTES), EPDX_OK);
    assert_int_equal(copies()->record(lane.stream, lane.event), EPDX_OK);
    assert_int_equal(copies()->event_done(lane.event), EPDX_IN_PROGRESS);
    assert_int_equal(copies()->stream_done(lane.stream), EPDX_IN_PROGRESS);
    /* A framework's next check finds no error of ours. */
    assert_int_equal(cudaGetLastError(), cudaSuccess);
    epi_gpu_let_go(lane.stream);
    await(lane.event);
    lane_close(&lane);
}

static void test_the_stream_waits_for_nobody(void **state)
{
    lane_t lane;

    (void)state;
    EPI_GPU_FAKE_ONLY();
    lane = lane_open();
    /* The default stream is stuck; ours is not ordered behind it. */
    epi_fake_cuda_hold_kinds(EPI_FAKE_CUDA_SET);
    assert_int_equal(cudaMemsetAsync(lane.device, 1, 16, NULL), cudaSuccess);
    memset(lane.pinned, 0x33, BYTES);
    assert_int_equal(
        copies()->copy(lane.stream, lane.device, lane.pinned, BYTES), EPDX_OK);
    assert_int_equal(copies()->record(lane.stream, lane.event), EPDX_OK);
    await(lane.event);
    epi_fake_cuda_hold_kinds(0);
    lane_close(&lane);
}

static void test_each_failing_call_is_told(void **state)
{
    lane_t lane;
    void *out = &lane;

    (void)state;
    EPI_GPU_FAKE_ONLY();
    lane = lane_open();
    epi_fake_fail("cudaHostAlloc", 0, cudaErrorMemoryAllocation);
    assert_int_equal(copies()->pin(1, BYTES, &out), EPDX_ERR_NO_MEMORY);
    says("cudaHostAlloc");
    epi_fake_fail("cudaStreamCreateWithFlags", 0, cudaErrorUnknown);
    assert_int_equal(copies()->stream_open(1, &out), EPDX_ERR_IO);
    epi_fake_fail("cudaEventCreateWithFlags", 0, cudaErrorUnknown);
    assert_int_equal(copies()->event_open(1, &out), EPDX_ERR_IO);
    assert_ptr_equal(out, &lane);
    epi_fake_fail("cudaMemcpyAsync", 0, cudaErrorIllegalAddress);
    assert_int_equal(
        copies()->copy(lane.stream, lane.device, lane.pinned, BYTES),
        EPDX_ERR_IO);
    says("cudaMemcpyAsync");
    epi_fake_fail("cudaEventRecord", 0, cudaErrorUnknown);
    assert_int_equal(copies()->record(lane.stream, lane.event), EPDX_ERR_IO);
    epi_fake_fail("cudaStreamWaitEvent", 0, cudaErrorUnknown);
    assert_int_equal(copies()->wait(lane.stream, lane.event), EPDX_ERR_IO);
    epi_fake_fail("cudaEventQuery", 0, cudaErrorUnknown);
    assert_int_equal(copies()->event_done(lane.event), EPDX_ERR_IO);
    epi_fake_fail("cudaStreamQuery", 0, cudaErrorUnknown);
    assert_int_equal(copies()->stream_done(lane.stream), EPDX_ERR_IO);
    epi_fake_fail("cudaDeviceFlushGPUDirectRDMAWrites", 0, cudaErrorUnknown);
    assert_int_equal(copies()->flush(1), EPDX_ERR_IO);
    lane_close(&lane);
}

static void test_flushing_is_as_the_device_says(void **state)
{
    static const struct {
        int supported, ordering, options;
        epi_flush_t mode;
    } cases[] = {
        {0, 0, 0, EPI_FLUSH_NONE},   {1, 100, 0, EPI_FLUSH_NONE},
        {1, 200, 1, EPI_FLUSH_NONE}, {1, 0, 1, EPI_FLUSH_NEEDED},
        {1, 0, 3, EPI_FLUSH_NEEDED}, {1, 0, 2, EPI_FLUSH_LACKS},
        {1, 0, 0, EPI_FLUSH_LACKS},
    };

    (void)state;
    EPI_GPU_FAKE_ONLY();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        epi_fake_cuda_attribute(cudaDevAttrGPUDirectRDMASupported,
                                cases[i].supported);
        epi_fake_cuda_attribute(cudaDevAttrGPUDirectRDMAWritesOrdering,
                                cases[i].ordering);
        epi_fake_cuda_attribute(cudaDevAttrGPUDirectRDMAFlushWritesOptions,
                                cases[i].options);
        assert_int_equal(copies()->flush_mode(0), cases[i].mode);
    }
    epi_fake_cuda_attribute(cudaDevAttrGPUDirectRDMAFlushWritesOptions, 1);
    assert_int_equal(copies()->flush(2), EPDX_OK);
    assert_int_equal(epi_fake_calls("cudaDeviceFlushGPUDirectRDMAWrites"), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_it_is_memory_of_that_device),
        TEST(test_err_no_memory_names_size_and_device),
        TEST(test_err_io_has_the_words_of_cuda),
        TEST(test_check_knows_what_memory_is),
        TEST(test_bind_makes_the_device_current),
        TEST(test_a_device_is_entered_and_left),
        TEST(test_a_bound_thread_minds_its_own_captures_only),
        TEST(test_the_current_device_is_the_default),
        TEST(test_a_device_is_chosen_or_refused),
        TEST(test_err_io_without_a_device),
        TEST(test_copies_go_both_ways_in_order),
        TEST(test_an_event_is_in_progress_while_its_copy_is),
        TEST(test_the_stream_waits_for_nobody),
        TEST(test_each_failing_call_is_told),
        TEST(test_flushing_is_as_the_device_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
