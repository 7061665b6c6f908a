/* fake_cuda_stream_test.c: the streams and events of the CUDA fake. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "testing/fake_cuda.h"

#define BYTES ((size_t)4096)

static unsigned char *device;
static unsigned char *pinned;
static cudaStream_t first;
static cudaStream_t second;
static cudaEvent_t event;

static int setup(void **state)
{
    (void)state;
    epi_fake_cuda_reset();
    assert_int_equal(cudaMalloc((void **)&device, BYTES), cudaSuccess);
    assert_int_equal(cudaHostAlloc((void **)&pinned, BYTES, 0), cudaSuccess);
    assert_int_equal(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking),
                     cudaSuccess);
    assert_int_equal(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking),
                     cudaSuccess);
    assert_int_equal(cudaEventCreateWithFlags(&event, cudaEventDisableTiming),
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
    assert_int_equal(cudaDeviceSynchronize(), cudaSuccess);
    assert_int_equal(cudaFree(device), cudaSuccess);
    assert_int_equal(cudaFreeHost(pinned), cudaSuccess);
    assert_int_equal(cudaStreamDestroy(first), cudaSuccess);
    assert_int_equal(cudaStreamDestroy(second), cudaSuccess);
    assert_int_equal(cudaEventDestroy(event), cudaSuccess);
    live = epi_fake_cuda_live();
    assert_int_equal(live.streams, 0);
    assert_int_equal(live.events, 0);
    return 0;
}

static void set_byte(cudaStream_t stream, size_t at, int value)
{
    assert_int_equal(cudaMemsetAsync(device + at, value, 1, stream),
                     cudaSuccess);
}

static unsigned char byte_at(size_t at)
{
    const unsigned char *bytes = epi_fake_cuda_bytes(device + at, 1);

    return *bytes;
}

static void a_held_stream_does_nothing(void **state)
{
    (void)state;
    epi_fake_cuda_hold(first);
    set_byte(first, 0, 1);
    assert_int_equal(cudaEventRecord(event, first), cudaSuccess);
    assert_int_equal(cudaStreamQuery(first), cudaErrorNotReady);
    assert_int_equal(cudaEventQuery(event), cudaErrorNotReady);
    /* Another one goes on. */
    set_byte(second, 1, 2);
    assert_int_equal(cudaStreamSynchronize(second), cudaSuccess);
    assert_int_equal(byte_at(1), 2);
    assert_int_equal(byte_at(0), EPI_FAKE_CUDA_POISON);
    epi_fake_cuda_let_go(first);
    assert_int_equal(cudaEventSynchronize(event), cudaSuccess);
    assert_int_equal(byte_at(0), 1);
    assert_int_equal(cudaEventQuery(event), cudaSuccess);
    assert_int_equal(cudaStreamSynchronize(first), cudaSuccess);
    assert_int_equal(cudaStreamQuery(first), cudaSuccess);
}

static void all_streams_can_be_held_those_to_come_too(void **state)
{
    cudaStream_t later;

    (void)state;
    epi_fake_cuda_hold(NULL);
    assert_int_equal(cudaStreamCreate(&later), cudaSuccess);
    set_byte(first, 0, 1);
    set_byte(later, 1, 2);
    assert_int_equal(cudaStreamQuery(first), cudaErrorNotReady);
    assert_int_equal(cudaStreamQuery(later), cudaErrorNotReady);
    epi_fake_cuda_let_go(NULL);
    assert_int_equal(cudaDeviceSynchronize(), cudaSuccess);
    assert_int_equal(byte_at(0), 1);
    assert_int_equal(byte_at(1), 2);
    assert_int_equal(cudaStreamDestroy(later), cudaSuccess);
}

static void kinds_are_held_and_what_is_behind_them(void **state)
{
    (void)state;
    epi_fake_cuda_hold_kinds(EPI_FAKE_CUDA_COPY);
    set_byte(first, 0, 1);
    assert_int_equal(cudaEventRecord(event, first), cudaSuccess);
    assert_int_equal(
        cudaMemcpyAsync(pinned, device, 1, cudaMemcpyDeviceToHost, first),
        cudaSuccess);
    set_byte(first, 1, 2);
    assert_int_equal(cudaEventSynchronize(event), cudaSuccess);
    assert_int_equal(cudaStreamQuery(first), cudaErrorNotReady);
    assert_int_equal(byte_at(1), EPI_FAKE_CUDA_POISON);
    epi_fake_cuda_hold_kinds(0);
    assert_int_equal(cudaStreamSynchronize(first), cudaSuccess);
    assert_int_equal(pinned[0], 1);
    assert_int_equal(byte_at(1), 2);
}

static void an_event_is_done_before_it_was_recorded(void **state)
{
    (void)state;
    assert_int_equal(cudaEventQuery(event), cudaSuccess);
    assert_int_equal(cudaEventSynchronize(event), cudaSuccess);
    assert_int_equal(cudaStreamWaitEvent(first, event, 0), cudaSuccess);
    assert_int_equal(epi_fake_cuda_log_count(), 0);
}

static void an_event_names_its_last_record(void **state)
{
    (void)state;
    assert_int_equal(cudaEventRecord(event, first), cudaSuccess);
    assert_int_equal(cudaEventSynchronize(event), cudaSuccess);
    epi_fake_cuda_hold(first);
    set_byte(first, 0, 1);
    assert_int_equal(cudaEventRecord(event, first), cudaSuccess);
    assert_int_equal(cudaEventQuery(event), cudaErrorNotReady);
    epi_fake_cuda_let_go(first);
    assert_int_equal(cudaEventSynchronize(event), cudaSuccess);
    assert_int_equal(byte_at(0), 1);
}

static void a_stream_waits_for_an_event_of_another(void **state)
{
    size_t copied;
    size_t set;

    (void)state;
    epi_fake_cuda_hold(first);
    set_byte(first, 0, 7);
    assert_int_equal(cudaEventRecord(event, first), cudaSuccess);
    assert_int_equal(cudaStreamWaitEvent(second, event, 0), cudaSuccess);
    assert_int_equal(
        cudaMemcpyAsync(pinned, device, 1, cudaMemcpyDeviceToHost, second),
        cudaSuccess);
    assert_int_equal(cudaStreamQuery(second), cudaErrorNotReady);
    epi_fake_cuda_let_go(first);
    assert_int_equal(cudaStreamSynchronize(second), cudaSuccess);
    assert_int_equal(pinned[0], 7);
    set = epi_fake_cuda_log_find(0, EPI_FAKE_CUDA_SET, EPI_FAKE_CUDA_RAN);
    copied = epi_fake_cuda_log_find(0, EPI_FAKE_CUDA_COPY, EPI_FAKE_CUDA_RAN);
    assert_true(set < copied);
    assert_int_not_equal(copied, SIZE_MAX);
}

static void to_wait_takes_the_record_of_its_time(void **state)
{
    (void)state;
    epi_fake_cuda_hold(first);
    assert_int_equal(cudaEventRecord(event, first), cudaSuccess);
    assert_int_equal(cudaStreamWaitEvent(second, event, 0), cudaSuccess);
    /* The event moves on; second waits for where it was. */
    assert_int_equal(cudaEventRecord(event, second), cudaSuccess);
    assert_int_equal(cudaEventQuery(event), cudaErrorNotReady);
    epi_fake_cuda_let_go(first);
    assert_int_equal(cudaEventSynchronize(event), cudaSuccess);
}

static void the_default_stream_waits_for_blocking_ones_only(void **state)
{
    cudaStream_t blocking;

    (void)state;
    assert_int_equal(cudaStreamCreate(&blocking), cudaSuccess);
    epi_fake_cuda_hold(first);
    epi_fake_cuda_hold(blocking);
    set_byte(first, 0, 1);
    set_byte(NULL, 1, 2);
    /* Nothing blocking is busy: the default stream does not wait for first. */
    assert_int_equal(cudaStreamSynchronize(NULL), cudaSuccess);
    assert_int_equal(byte_at(1), 2);
    set_byte(blocking, 2, 3);
    set_byte(NULL, 2, 4);
    assert_int_equal(cudaStreamQuery(NULL), cudaErrorNotReady);
    epi_fake_cuda_let_go(blocking);
    assert_int_equal(cudaStreamSynchronize(NULL), cudaSuccess);
    assert_int_equal(byte_at(2), 4);
    epi_fake_cuda_let_go(first);
    assert_int_equal(cudaStreamDestroy(blocking), cudaSuccess);
}

static void a_blocking_stream_waits_for_the_default_one(void **state)
{
    cudaStream_t blocking;

    (void)state;
    assert_int_equal(cudaStreamCreate(&blocking), cudaSuccess);
    epi_fake_cuda_hold_kinds(EPI_FAKE_CUDA_SET);
    set_byte(NULL, 0, 1);
    assert_int_equal(cudaEventRecord(event, blocking), cudaSuccess);
    assert_int_equal(cudaEventQuery(event), cudaErrorNotReady);
    epi_fake_cuda_hold_kinds(0);
    assert_int_equal(cudaEventSynchronize(event), cudaSuccess);
    assert_int_equal(byte_at(0), 1);
    assert_int_equal(cudaStreamDestroy(blocking), cudaSuccess);
}

static void an_event_belongs_to_a_device(void **state)
{
    cudaStream_t other;

    (void)state;
    assert_int_equal(cudaSetDevice(1), cudaSuccess);
    assert_int_equal(cudaStreamCreate(&other), cudaSuccess);
    assert_int_equal(cudaEventRecord(event, other),
                     cudaErrorInvalidResourceHandle);
    /* The thread's device is 1: so is the default stream. */
    assert_int_equal(cudaEventRecord(event, NULL),
                     cudaErrorInvalidResourceHandle);
    assert_int_equal(epi_fake_cuda_violations(), 2);
    /* To wait for one of another device is allowed. */
    assert_int_equal(cudaEventRecord(event, first), cudaSuccess);
    assert_int_equal(cudaStreamWaitEvent(other, event, 0), cudaSuccess);
    assert_int_equal(cudaStreamDestroy(other), cudaSuccess);
}

static void a_destroyed_stream_ends_its_work(void **state)
{
    cudaStream_t gone;

    (void)state;
    assert_int_equal(cudaStreamCreate(&gone), cudaSuccess);
    epi_fake_cuda_hold(NULL);
    set_byte(gone, 0, 1);
    assert_int_equal(cudaEventRecord(event, gone), cudaSuccess);
    assert_int_equal(cudaStreamDestroy(gone), cudaSuccess);
    assert_int_equal(epi_fake_cuda_live().streams, 2);
    assert_int_equal(cudaEventQuery(event), cudaErrorNotReady);
    epi_fake_cuda_let_go(NULL);
    assert_int_equal(cudaEventSynchronize(event), cudaSuccess);
    assert_int_equal(byte_at(0), 1);
}

static void handles_that_are_gone_are_refused(void **state)
{
    cudaStream_t gone;
    cudaEvent_t gone_event;

    (void)state;
    assert_int_equal(cudaStreamCreate(&gone), cudaSuccess);
    assert_int_equal(cudaEventCreate(&gone_event), cudaSuccess);
    /* Busy, so that its place is not taken by another one. */
    epi_fake_cuda_hold(gone);
    set_byte(gone, 0, 1);
    assert_int_equal(cudaStreamDestroy(gone), cudaSuccess);
    assert_int_equal(cudaEventDestroy(gone_event), cudaSuccess);
    assert_int_equal(cudaMemsetAsync(device, 0, 1, gone),
                     cudaErrorInvalidResourceHandle);
    assert_int_equal(cudaStreamDestroy(gone), cudaErrorInvalidResourceHandle);
    assert_int_equal(cudaEventQuery(gone_event),
                     cudaErrorInvalidResourceHandle);
    assert_int_equal(cudaEventDestroy(gone_event),
                     cudaErrorInvalidResourceHandle);
    assert_int_equal(cudaEventRecord(gone_event, first),
                     cudaErrorInvalidResourceHandle);
    assert_int_equal(cudaStreamDestroy(NULL), cudaErrorInvalidResourceHandle);
    assert_int_equal(epi_fake_cuda_violations(), 5);
    epi_fake_cuda_reset();
    assert_int_equal(cudaDeviceSynchronize(), cudaSuccess);
}

static void a_delayed_stream_is_late(void **state)
{
    uint64_t begin = epi_now_ns();

    (void)state;
    epi_fake_cuda_delay(20 * EPI_MS);
    set_byte(first, 0, 1);
    epi_fake_cuda_delay(0);
    assert_int_equal(cudaStreamSynchronize(first), cudaSuccess);
    assert_true(epi_now_ns() - begin >= 20 * EPI_MS);
}

static void CUDART_CB note_byte(void *context)
{
    *(unsigned char *)context = byte_at(0);
}

static void a_host_function_has_its_place_in_the_stream(void **state)
{
    unsigned char seen = 0;

    (void)state;
    epi_fake_cuda_hold(first);
    set_byte(first, 0, 1);
    assert_int_equal(cudaLaunchHostFunc(first, note_byte, &seen), cudaSuccess);
    set_byte(first, 0, 2);
    assert_int_equal(seen, 0);
    epi_fake_cuda_let_go(first);
    assert_int_equal(cudaStreamSynchronize(first), cudaSuccess);
    assert_int_equal(seen, 1);
    assert_int_equal(byte_at(0), 2);
}

static void assert_entry(size_t nth, epi_fake_cuda_kind_t kind,
                         epi_fake_cuda_stage_t stage)
{
    epi_fake_cuda_entry_t entry;

    assert_true(epi_fake_cuda_log_entry(nth, &entry));
    assert_int_equal(entry.kind, kind);
    assert_int_equal(entry.stage, stage);
}

static void the_log_has_the_order(void **state)
{
    epi_fake_cuda_entry_t entry;

    (void)state;
    epi_fake_cuda_hold(first);
    assert_int_equal(
        cudaMemcpyAsync(device, pinned, 100, cudaMemcpyHostToDevice, first),
        cudaSuccess);
    assert_int_equal(cudaEventRecord(event, first), cudaSuccess);
    epi_fake_cuda_let_go(first);
    assert_int_equal(cudaEventSynchronize(event), cudaSuccess);
    assert_int_equal(cudaEventQuery(event), cudaSuccess);
    assert_int_equal(epi_fake_cuda_log_count(), 5);
    assert_entry(0, EPI_FAKE_CUDA_COPY, EPI_FAKE_CUDA_ISSUED);
    assert_entry(1, EPI_FAKE_CUDA_RECORD, EPI_FAKE_CUDA_ISSUED);
    assert_entry(2, EPI_FAKE_CUDA_COPY, EPI_FAKE_CUDA_RAN);
    assert_entry(3, EPI_FAKE_CUDA_RECORD, EPI_FAKE_CUDA_RAN);
    assert_entry(4, EPI_FAKE_CUDA_SEEN, EPI_FAKE_CUDA_ISSUED);
    assert_true(epi_fake_cuda_log_entry(2, &entry));
    assert_ptr_equal(entry.stream, first);
    assert_ptr_equal(entry.dst, device);
    assert_ptr_equal(entry.src, pinned);
    assert_int_equal(entry.bytes, 100);
    assert_true(epi_fake_cuda_log_entry(4, &entry));
    assert_ptr_equal(entry.event, event);
    assert_false(epi_fake_cuda_log_entry(5, &entry));
    assert_int_equal(
        epi_fake_cuda_log_find(1, EPI_FAKE_CUDA_COPY, EPI_FAKE_CUDA_RAN), 2);
    assert_int_equal(
        epi_fake_cuda_log_find(3, EPI_FAKE_CUDA_COPY, EPI_FAKE_CUDA_RAN),
        SIZE_MAX);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_held_stream_does_nothing),
        TEST(all_streams_can_be_held_those_to_come_too),
        TEST(kinds_are_held_and_what_is_behind_them),
        TEST(an_event_is_done_before_it_was_recorded),
        TEST(an_event_names_its_last_record),
        TEST(a_stream_waits_for_an_event_of_another),
        TEST(to_wait_takes_the_record_of_its_time),
        TEST(the_default_stream_waits_for_blocking_ones_only),
        TEST(a_blocking_stream_waits_for_the_default_one),
        TEST(an_event_belongs_to_a_device),
        TEST(a_destroyed_stream_ends_its_work),
        TEST(handles_that_are_gone_are_refused),
        TEST(a_delayed_stream_is_late),
        TEST(a_host_function_has_its_place_in_the_stream),
        TEST(the_log_has_the_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
