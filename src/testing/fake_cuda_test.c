/* fake_cuda_test.c: the CUDA fake that other tests stand on: memory, devices,
 * errors, faults. Streams and events have fake_cuda_stream_test.c. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "testing/fake_cuda.h"

#define BYTES ((size_t)10000)

static unsigned char *device;
static unsigned char *pinned;
static cudaStream_t stream;

static int setup(void **state)
{
    (void)state;
    epi_fake_cuda_reset();
    assert_int_equal(cudaMalloc((void **)&device, BYTES), cudaSuccess);
    assert_int_equal(cudaMallocHost((void **)&pinned, BYTES), cudaSuccess);
    assert_int_equal(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
                     cudaSuccess);
    return 0;
}

static int teardown(void **state)
{
    epi_fake_cuda_live_t live;

    (void)state;
    epi_fake_cuda_let_go(NULL);
    epi_fake_cuda_hold_kinds(0);
    assert_int_equal(cudaSetDevice(0), cudaSuccess);
    assert_int_equal(cudaFree(device), cudaSuccess);
    assert_int_equal(cudaFreeHost(pinned), cudaSuccess);
    assert_int_equal(cudaStreamDestroy(stream), cudaSuccess);
    live = epi_fake_cuda_live();
    assert_int_equal(live.device_allocations, 0);
    assert_int_equal(live.pinned_allocations, 0);
    assert_int_equal(live.streams, 0);
    assert_int_equal(live.events, 0);
    return 0;
}

static void fill(unsigned char *bytes, size_t count, unsigned seed)
{
    size_t i;

    for (i = 0; i < count; i++) {
        bytes[i] = (unsigned char)(i * 7 + seed);
    }
}

static void assert_filled(const unsigned char *bytes, size_t count,
                          unsigned seed)
{
    size_t i;

    for (i = 0; i < count; i++) {
        assert_int_equal(bytes[i], (unsigned char)(i * 7 + seed));
    }
}

static void assert_all(const unsigned char *bytes, size_t count, int value)
{
    size_t i;

    for (i = 0; i < count; i++) {
        assert_int_equal(bytes[i], value);
    }
}

static void devices_are_counted_and_chosen(void **state)
{
    char bus[32];
    int value = -1;

    (void)state;
    assert_int_equal(cudaGetDeviceCount(&value), cudaSuccess);
    assert_int_equal(value, EPI_FAKE_CUDA_DEVICES);
    epi_fake_cuda_devices(2);
    assert_int_equal(cudaGetDeviceCount(&value), cudaSuccess);
    assert_int_equal(value, 2);
    assert_int_equal(cudaSetDevice(2), cudaErrorInvalidDevice);
    assert_int_equal(cudaSetDevice(1), cudaSuccess);
    assert_int_equal(cudaGetDevice(&value), cudaSuccess);
    assert_int_equal(value, 1);
    assert_int_equal(cudaDeviceGetPCIBusId(bus, sizeof(bus), 1), cudaSuccess);
    assert_string_equal(bus, "0000:02:00.0");
    assert_int_equal(cudaDeviceGetPCIBusId(bus, 4, 1), cudaErrorInvalidValue);
}

static void without_devices_every_call_says_so(void **state)
{
    int value = -1;

    (void)state;
    epi_fake_cuda_devices(0);
    assert_int_equal(cudaGetDeviceCount(&value), cudaErrorNoDevice);
    assert_int_equal(value, 0);
    assert_int_equal(cudaSetDevice(0), cudaErrorNoDevice);
    epi_fake_cuda_devices(1);
}

static void *device_of_thread(void *context)
{
    (void)cudaGetDevice(context);
    return NULL;
}

static void each_thread_has_its_own_device(void **state)
{
    pthread_t thread;
    int value = -1;

    (void)state;
    assert_int_equal(cudaSetDevice(3), cudaSuccess);
    assert_int_equal(pthread_create(&thread, NULL, device_of_thread, &value),
                     0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(value, 0);
}

static void attributes_are_what_a_test_says(void **state)
{
    int value = -1;

    (void)state;
    assert_int_equal(cudaDeviceGetAttribute(
                         &value, cudaDevAttrGPUDirectRDMAWritesOrdering, 0),
                     cudaSuccess);
    assert_int_equal(value, cudaGPUDirectRDMAWritesOrderingOwner);
    epi_fake_cuda_attribute(cudaDevAttrGPUDirectRDMAWritesOrdering,
                            cudaGPUDirectRDMAWritesOrderingNone);
    assert_int_equal(cudaDeviceGetAttribute(
                         &value, cudaDevAttrGPUDirectRDMAWritesOrdering, 0),
                     cudaSuccess);
    assert_int_equal(value, cudaGPUDirectRDMAWritesOrderingNone);
    assert_int_equal(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 0),
                     cudaErrorInvalidValue);
    assert_int_equal(epi_fake_cuda_violations(), 1);
}

static void a_flush_is_logged_where_it_is_supported(void **state)
{
    (void)state;
    assert_int_equal(cudaDeviceFlushGPUDirectRDMAWrites(
                         cudaFlushGPUDirectRDMAWritesTargetCurrentDevice,
                         cudaFlushGPUDirectRDMAWritesToOwner),
                     cudaSuccess);
    epi_fake_cuda_attribute(cudaDevAttrGPUDirectRDMAFlushWritesOptions, 0);
    assert_int_equal(cudaDeviceFlushGPUDirectRDMAWrites(
                         cudaFlushGPUDirectRDMAWritesTargetCurrentDevice,
                         cudaFlushGPUDirectRDMAWritesToOwner),
                     cudaErrorNotSupported);
    assert_int_equal(
        epi_fake_cuda_log_total(EPI_FAKE_CUDA_FLUSH, EPI_FAKE_CUDA_ISSUED), 1);
    assert_int_equal(epi_fake_calls("cudaDeviceFlushGPUDirectRDMAWrites"), 2);
}

static sigjmp_buf caught;

static void on_fault(int signal)
{
    siglongjmp(caught, signal);
}

static void host_access_to_device_memory_faults(void **state)
{
    struct sigaction action = {.sa_handler = on_fault};
    struct sigaction before;
    volatile unsigned char *forbidden = device;
    volatile int faults = 0;

    (void)state;
    assert_int_equal(sigaction(SIGSEGV, &action, &before), 0);
    if (sigsetjmp(caught, 1) == 0) {
        forbidden[0] = 1;
    } else {
        faults++;
    }
    if (sigsetjmp(caught, 1) == 0) {
        (void)forbidden[BYTES - 1];
    } else {
        faults++;
    }
    assert_int_equal(sigaction(SIGSEGV, &before, NULL), 0);
    assert_int_equal(faults, 2);
}

static void fresh_memory_is_poisoned(void **state)
{
    (void)state;
    assert_all(pinned, BYTES, EPI_FAKE_CUDA_POISON);
    assert_all(epi_fake_cuda_bytes(device, BYTES), BYTES, EPI_FAKE_CUDA_POISON);
}

static void bytes_are_given_inside_one_allocation_only(void **state)
{
    (void)state;
    assert_non_null(epi_fake_cuda_bytes(device + 1, BYTES - 1));
    assert_null(epi_fake_cuda_bytes(device + 1, BYTES));
    assert_null(epi_fake_cuda_bytes(pinned, 1));
}

static void bytes_go_to_the_device_and_back(void **state)
{
    unsigned char *second = NULL;

    (void)state;
    assert_int_equal(cudaMalloc((void **)&second, BYTES), cudaSuccess);
    fill(pinned, BYTES, 3);
    assert_int_equal(
        cudaMemcpyAsync(device, pinned, BYTES, cudaMemcpyHostToDevice, stream),
        cudaSuccess);
    assert_int_equal(cudaMemcpyAsync(second + 1, device, BYTES - 1,
                                     cudaMemcpyDeviceToDevice, stream),
                     cudaSuccess);
    assert_int_equal(cudaMemsetAsync(second, 9, 1, stream), cudaSuccess);
    assert_int_equal(cudaStreamSynchronize(stream), cudaSuccess);
    memset(pinned, 0, BYTES);
    assert_int_equal(
        cudaMemcpyAsync(pinned, second, BYTES, cudaMemcpyDefault, stream),
        cudaSuccess);
    assert_int_equal(cudaStreamSynchronize(stream), cudaSuccess);
    assert_int_equal(pinned[0], 9);
    assert_filled(pinned + 1, BYTES - 1, 3);
    assert_int_equal(cudaFree(second), cudaSuccess);
    assert_int_equal(epi_fake_cuda_violations(), 0);
    assert_int_equal(epi_fake_cuda_pageable(), 0);
}

static void a_copy_out_of_bounds_fails(void **state)
{
    (void)state;
    assert_int_equal(cudaMemcpyAsync(device + 1, pinned, BYTES,
                                     cudaMemcpyHostToDevice, stream),
                     cudaErrorInvalidValue);
    assert_int_equal(cudaMemcpyAsync(device, pinned + BYTES - 1, 2,
                                     cudaMemcpyHostToDevice, stream),
                     cudaErrorInvalidValue);
    assert_int_equal(cudaMemsetAsync(device, 0, BYTES + 1, stream),
                     cudaErrorInvalidValue);
    assert_int_equal(epi_fake_cuda_violations(), 3);
    assert_int_equal(epi_fake_cuda_log_count(), 0);
}

static void a_copy_in_a_wrong_direction_fails(void **state)
{
    (void)state;
    assert_int_equal(
        cudaMemcpyAsync(device, pinned, 1, cudaMemcpyDeviceToHost, stream),
        cudaErrorInvalidValue);
    assert_int_equal(
        cudaMemcpyAsync(device, device, 1, cudaMemcpyHostToDevice, stream),
        cudaErrorInvalidValue);
    assert_int_equal(epi_fake_cuda_violations(), 2);
}

static void memory_that_is_not_pinned_is_copied_and_counted(void **state)
{
    unsigned char plain[100];
    unsigned char back[100] = {0};

    (void)state;
    fill(plain, sizeof(plain), 5);
    epi_fake_cuda_hold(stream);
    assert_int_equal(cudaMemcpyAsync(device, plain, sizeof(plain),
                                     cudaMemcpyHostToDevice, stream),
                     cudaSuccess);
    /* The source was read during the call. */
    memset(plain, 0, sizeof(plain));
    epi_fake_cuda_let_go(stream);
    /* This one waits. */
    assert_int_equal(cudaMemcpyAsync(back, device, sizeof(back),
                                     cudaMemcpyDeviceToHost, stream),
                     cudaSuccess);
    assert_filled(back, sizeof(back), 5);
    assert_int_equal(epi_fake_cuda_pageable(), 2);
}

static void a_plain_copy_waits(void **state)
{
    unsigned char back[100] = {0};

    (void)state;
    assert_int_equal(cudaMemset(device, 4, BYTES), cudaSuccess);
    assert_int_equal(
        cudaMemcpy(back, device, sizeof(back), cudaMemcpyDeviceToHost),
        cudaSuccess);
    assert_all(back, sizeof(back), 4);
}

static void pointers_tell_what_they_are(void **state)
{
    struct cudaPointerAttributes attributes;
    int plain = 0;

    (void)state;
    assert_int_equal(cudaPointerGetAttributes(&attributes, device + 5),
                     cudaSuccess);
    assert_int_equal(attributes.type, cudaMemoryTypeDevice);
    assert_int_equal(attributes.device, 0);
    assert_ptr_equal(attributes.devicePointer, device + 5);
    assert_null(attributes.hostPointer);
    assert_int_equal(cudaPointerGetAttributes(&attributes, pinned),
                     cudaSuccess);
    assert_int_equal(attributes.type, cudaMemoryTypeHost);
    assert_ptr_equal(attributes.hostPointer, pinned);
    assert_int_equal(cudaPointerGetAttributes(&attributes, &plain),
                     cudaSuccess);
    assert_int_equal(attributes.type, cudaMemoryTypeUnregistered);
    assert_null(attributes.devicePointer);
}

static void memory_is_freed_once_and_from_its_start(void **state)
{
    unsigned char *other = NULL;

    (void)state;
    assert_int_equal(cudaMalloc((void **)&other, 1), cudaSuccess);
    assert_int_equal(cudaFree(device + 1), cudaErrorInvalidValue);
    assert_int_equal(cudaFreeHost(other), cudaErrorInvalidValue);
    assert_int_equal(cudaFree(other), cudaSuccess);
    assert_int_equal(cudaFree(other), cudaErrorInvalidValue);
    assert_int_equal(cudaFree(NULL), cudaSuccess);
    assert_int_equal(epi_fake_cuda_violations(), 3);
}

static void *free_on_a_thread(void *context)
{
    return cudaFree(context) == cudaSuccess ? context : NULL;
}

static void to_free_waits_for_what_uses_the_memory(void **state)
{
    unsigned char *other = NULL;
    void *freed = NULL;
    pthread_t thread;

    (void)state;
    assert_int_equal(cudaMalloc((void **)&other, BYTES), cudaSuccess);
    memset(epi_fake_cuda_bytes(other, BYTES), 6, BYTES);
    epi_fake_cuda_hold(stream);
    assert_int_equal(
        cudaMemcpyAsync(pinned, other, BYTES, cudaMemcpyDeviceToHost, stream),
        cudaSuccess);
    assert_int_equal(pthread_create(&thread, NULL, free_on_a_thread, other), 0);
    assert_true(epi_fake_await_calls("cudaFree", 1));
    epi_fake_cuda_let_go(stream);
    assert_int_equal(pthread_join(thread, &freed), 0);
    assert_ptr_equal(freed, other);
    assert_int_equal(cudaStreamSynchronize(stream), cudaSuccess);
    assert_all(pinned, BYTES, 6);
}

static void what_is_live_is_counted(void **state)
{
    epi_fake_cuda_live_t live = epi_fake_cuda_live();
    size_t free_bytes = 0;
    size_t total = 0;

    (void)state;
    assert_int_equal(live.device_allocations, 1);
    assert_int_equal(live.device_bytes, BYTES);
    assert_int_equal(live.pinned_allocations, 1);
    assert_int_equal(live.pinned_bytes, BYTES);
    assert_int_equal(live.streams, 1);
    assert_int_equal(live.events, 0);
    assert_int_equal(cudaMemGetInfo(&free_bytes, &total), cudaSuccess);
    assert_int_equal(total - free_bytes, BYTES);
}

static void the_nth_call_fails_once(void **state)
{
    void *base = NULL;

    (void)state;
    epi_fake_fail("cudaMalloc", 1, cudaErrorMemoryAllocation);
    assert_int_equal(cudaMalloc(&base, 1), cudaSuccess);
    assert_int_equal(cudaFree(base), cudaSuccess);
    base = NULL;
    assert_int_equal(cudaMalloc(&base, 1), cudaErrorMemoryAllocation);
    assert_null(base);
    assert_int_equal(cudaMalloc(&base, 1), cudaSuccess);
    assert_int_equal(cudaFree(base), cudaSuccess);
    assert_int_equal(epi_fake_calls("cudaMalloc"), 4); /* one of the setup */
}

static void the_last_error_stays_until_it_is_asked_for(void **state)
{
    cudaEvent_t event;

    (void)state;
    assert_int_equal(cudaGetLastError(), cudaSuccess);
    assert_int_equal(cudaSetDevice(-1), cudaErrorInvalidDevice);
    assert_int_equal(cudaSetDevice(0), cudaSuccess);
    assert_int_equal(cudaPeekAtLastError(), cudaErrorInvalidDevice);
    assert_int_equal(cudaGetLastError(), cudaErrorInvalidDevice);
    assert_int_equal(cudaGetLastError(), cudaSuccess);
    /* That an event is not ready is an error, too. */
    assert_int_equal(cudaEventCreate(&event), cudaSuccess);
    epi_fake_cuda_hold(stream);
    assert_int_equal(cudaEventRecord(event, stream), cudaSuccess);
    assert_int_equal(cudaEventQuery(event), cudaErrorNotReady);
    assert_int_equal(cudaGetLastError(), cudaErrorNotReady);
    assert_int_equal(cudaEventDestroy(event), cudaSuccess);
}

static void errors_have_texts(void **state)
{
    int version = 0;

    (void)state;
    assert_string_equal(cudaGetErrorName(cudaErrorNotReady),
                        "cudaErrorNotReady");
    assert_string_equal(cudaGetErrorString(cudaErrorMemoryAllocation),
                        "out of memory");
    assert_string_equal(cudaGetErrorString((cudaError_t)123456),
                        "unrecognized error code");
    assert_int_equal(cudaRuntimeGetVersion(&version), cudaSuccess);
    assert_int_equal(version, CUDART_VERSION);
    assert_int_equal(cudaDriverGetVersion(&version), cudaSuccess);
    assert_int_equal(version, CUDART_VERSION);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(devices_are_counted_and_chosen),
        TEST(without_devices_every_call_says_so),
        TEST(each_thread_has_its_own_device),
        TEST(attributes_are_what_a_test_says),
        TEST(a_flush_is_logged_where_it_is_supported),
        TEST(host_access_to_device_memory_faults),
        TEST(fresh_memory_is_poisoned),
        TEST(bytes_are_given_inside_one_allocation_only),
        TEST(bytes_go_to_the_device_and_back),
        TEST(a_copy_out_of_bounds_fails),
        TEST(a_copy_in_a_wrong_direction_fails),
        TEST(memory_that_is_not_pinned_is_copied_and_counted),
        TEST(a_plain_copy_waits),
        TEST(pointers_tell_what_they_are),
        TEST(memory_is_freed_once_and_from_its_start),
        TEST(to_free_waits_for_what_uses_the_memory),
        TEST(what_is_live_is_counted),
        TEST(the_nth_call_fails_once),
        TEST(the_last_error_stays_until_it_is_asked_for),
        TEST(errors_have_texts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
