/*
 * gpu_semantics_test.c: what the product relies on in the CUDA runtime and in
 * NCCL. It runs over the fakes, and on a GPU over the real libraries: so the
 * fakes are held to what the real ones do.
 */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "testing/fake_cuda.h"
#include "testing/gpu_under_test.h"

#define BYTES ((size_t)1 << 20)

static unsigned char *device;
static unsigned char *pinned;
static cudaStream_t stream;
static cudaStream_t other;
static cudaEvent_t event;

static int setup(void **state)
{
    (void)state;
    epi_fake_cuda_reset();
    assert_int_equal(cudaMalloc((void **)&device, BYTES), cudaSuccess);
    assert_int_equal(cudaMallocHost((void **)&pinned, BYTES), cudaSuccess);
    assert_int_equal(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
                     cudaSuccess);
    assert_int_equal(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking),
                     cudaSuccess);
    assert_int_equal(cudaEventCreateWithFlags(&event, cudaEventDisableTiming),
                     cudaSuccess);
    memset(pinned, 0, BYTES);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    assert_int_equal(cudaEventDestroy(event), cudaSuccess);
    assert_int_equal(cudaStreamDestroy(stream), cudaSuccess);
    assert_int_equal(cudaStreamDestroy(other), cudaSuccess);
    assert_int_equal(cudaFreeHost(pinned), cudaSuccess);
    assert_int_equal(cudaFree(device), cudaSuccess);
    assert_int_equal(epi_fake_cuda_live().device_allocations, 0);
    return 0;
}

static void assert_all(const unsigned char *bytes, int value)
{
    size_t i;

    for (i = 0; i < BYTES; i++) {
        assert_int_equal(bytes[i], value);
    }
}

/** Poll an event as the product does; it must come within 30 s. */
static void await_event(void)
{
    uint64_t deadline = epi_after(epi_now_ns(), 30 * EPI_S);
    cudaError_t error;

    do {
        error = cudaEventQuery(event);
        assert_true(error == cudaSuccess || error == cudaErrorNotReady);
        assert_true(epi_now_ns() < deadline);
    } while (error != cudaSuccess);
    (void)cudaGetLastError();
}

static void an_event_behind_a_copy_means_its_bytes(void **state)
{
    (void)state;
    memset(pinned, 5, BYTES);
    assert_int_equal(
        cudaMemcpyAsync(device, pinned, BYTES, cudaMemcpyHostToDevice, stream),
        cudaSuccess);
    assert_int_equal(cudaEventRecord(event, stream), cudaSuccess);
    await_event();
    memset(pinned, 0, BYTES);
    epi_gpu_get(pinned, device, BYTES);
    assert_all(pinned, 5);
}

static void a_copy_may_be_of_the_default_direction(void **state)
{
    (void)state;
    assert_int_equal(cudaMemsetAsync(device, 6, BYTES, stream), cudaSuccess);
    assert_int_equal(
        cudaMemcpyAsync(pinned, device, BYTES, cudaMemcpyDefault, stream),
        cudaSuccess);
    assert_int_equal(cudaEventRecord(event, stream), cudaSuccess);
    await_event();
    assert_all(pinned, 6);
}

static void an_event_never_recorded_is_done(void **state)
{
    (void)state;
    assert_int_equal(cudaEventQuery(event), cudaSuccess);
    assert_int_equal(cudaEventSynchronize(event), cudaSuccess);
    assert_int_equal(cudaStreamWaitEvent(stream, event, 0), cudaSuccess);
}

static void CUDART_CB wait_for_let_go(void *context)
{
    const atomic_bool *let_go = context;

    while (!atomic_load(let_go)) {
        (void)sched_yield();
    }
}

static void an_event_not_ready_is_the_last_error_too(void **state)
{
    atomic_bool let_go = false;

    (void)state;
    assert_int_equal(cudaLaunchHostFunc(stream, wait_for_let_go, &let_go),
                     cudaSuccess);
    assert_int_equal(cudaEventRecord(event, stream), cudaSuccess);
    assert_int_equal(cudaEventQuery(event), cudaErrorNotReady);
    assert_int_equal(cudaGetLastError(), cudaErrorNotReady);
    assert_int_equal(cudaStreamQuery(stream), cudaErrorNotReady);
    (void)cudaGetLastError();
    atomic_store(&let_go, true);
    await_event();
}

static void a_stream_waits_for_anothers_event(void **state)
{
    atomic_bool let_go = false;

    (void)state;
    assert_int_equal(cudaMemset(device, 0, BYTES), cudaSuccess);
    assert_int_equal(cudaDeviceSynchronize(), cudaSuccess);
    assert_int_equal(cudaLaunchHostFunc(stream, wait_for_let_go, &let_go),
                     cudaSuccess);
    assert_int_equal(cudaMemsetAsync(device, 7, BYTES, stream), cudaSuccess);
    assert_int_equal(cudaEventRecord(event, stream), cudaSuccess);
    assert_int_equal(cudaStreamWaitEvent(other, event, 0), cudaSuccess);
    assert_int_equal(
        cudaMemcpyAsync(pinned, device, BYTES, cudaMemcpyDeviceToHost, other),
        cudaSuccess);
    assert_int_equal(cudaStreamQuery(other), cudaErrorNotReady);
    (void)cudaGetLastError();
    atomic_store(&let_go, true);
    assert_int_equal(cudaStreamSynchronize(other), cudaSuccess);
    assert_all(pinned, 7);
}

static void a_destroyed_stream_ends_its_work(void **state)
{
    cudaStream_t gone;

    (void)state;
    assert_int_equal(cudaStreamCreateWithFlags(&gone, cudaStreamNonBlocking),
                     cudaSuccess);
    assert_int_equal(cudaMemsetAsync(device, 8, BYTES, gone), cudaSuccess);
    assert_int_equal(cudaEventRecord(event, gone), cudaSuccess);
    assert_int_equal(cudaStreamDestroy(gone), cudaSuccess);
    await_event();
    epi_gpu_get(pinned, device, BYTES);
    assert_all(pinned, 8);
}

static void pointers_tell_what_they_are(void **state)
{
    struct cudaPointerAttributes attributes;
    int plain = 0;

    (void)state;
    assert_int_equal(cudaPointerGetAttributes(&attributes, device + 100),
                     cudaSuccess);
    assert_int_equal(attributes.type, cudaMemoryTypeDevice);
    assert_int_equal(attributes.device, 0);
    assert_int_equal(cudaPointerGetAttributes(&attributes, pinned),
                     cudaSuccess);
    assert_int_equal(attributes.type, cudaMemoryTypeHost);
    assert_int_equal(cudaPointerGetAttributes(&attributes, &plain),
                     cudaSuccess);
    assert_int_equal(attributes.type, cudaMemoryTypeUnregistered);
}

static void a_device_that_is_not_there_is_refused(void **state)
{
    int count = 0;
    int now = -1;

    (void)state;
    assert_int_equal(cudaGetDeviceCount(&count), cudaSuccess);
    assert_true(count > 0);
    assert_int_equal(cudaSetDevice(count), cudaErrorInvalidDevice);
    assert_int_equal(cudaGetLastError(), cudaErrorInvalidDevice);
    assert_int_equal(cudaGetDevice(&now), cudaSuccess);
    assert_int_equal(now, 0);
}

static void flushes_are_as_the_attributes_say(void **state)
{
    int supported = 0;
    int options = 0;
    int ordering = -1;

    (void)state;
    assert_int_equal(cudaDeviceGetAttribute(
                         &supported, cudaDevAttrGPUDirectRDMASupported, 0),
                     cudaSuccess);
    assert_int_equal(
        cudaDeviceGetAttribute(&options,
                               cudaDevAttrGPUDirectRDMAFlushWritesOptions, 0),
        cudaSuccess);
    assert_int_equal(cudaDeviceGetAttribute(
                         &ordering, cudaDevAttrGPUDirectRDMAWritesOrdering, 0),
                     cudaSuccess);
    print_message("GPUDirect RDMA %d, flush options %d, ordering %d\n",
                  supported, options, ordering);
    if (supported != 0 &&
        (options & cudaFlushGPUDirectRDMAWritesOptionHost) != 0) {
        assert_int_equal(cudaDeviceFlushGPUDirectRDMAWrites(
                             cudaFlushGPUDirectRDMAWritesTargetCurrentDevice,
                             cudaFlushGPUDirectRDMAWritesToOwner),
                         cudaSuccess);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(an_event_behind_a_copy_means_its_bytes),
        TEST(a_copy_may_be_of_the_default_direction),
        TEST(an_event_never_recorded_is_done),
        TEST(an_event_not_ready_is_the_last_error_too),
        TEST(a_stream_waits_for_anothers_event),
        TEST(a_destroyed_stream_ends_its_work),
        TEST(pointers_tell_what_they_are),
        TEST(a_device_that_is_not_there_is_refused),
        TEST(flushes_are_as_the_attributes_say),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
