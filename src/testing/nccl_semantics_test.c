/*
 * nccl_semantics_test.c: what the product relies on in NCCL, with one rank. It
 * runs over the fake, and on a GPU over the real library.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "testing/fake_nccl.h"
#include "testing/gpu_under_test.h"

#define BYTES ((size_t)1 << 20)

static unsigned char *device;
static unsigned char bytes[BYTES];
static cudaStream_t stream;
static cudaEvent_t event;
static ncclComm_t comm;

/** Ask until nothing is in progress, for 60 s at most. */
static ncclResult_t settle(void)
{
    uint64_t deadline = epi_after(epi_now_ns(), 60 * EPI_S);
    ncclResult_t result;

    do {
        assert_int_equal(ncclCommGetAsyncError(comm, &result), ncclSuccess);
        assert_true(epi_now_ns() < deadline);
    } while (result == ncclInProgress);
    return result;
}

static int setup(void **state)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    ncclUniqueId id;
    ncclResult_t result;

    (void)state;
    epi_fake_cuda_reset();
    epi_fake_nccl_reset();
    assert_int_equal(cudaMalloc((void **)&device, BYTES), cudaSuccess);
    assert_int_equal(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
                     cudaSuccess);
    assert_int_equal(cudaEventCreateWithFlags(&event, cudaEventDisableTiming),
                     cudaSuccess);
    config.blocking = 0;
    assert_int_equal(ncclGetUniqueId(&id), ncclSuccess);
    result = ncclCommInitRankConfig(&comm, 1, id, 0, &config);
    assert_true(result == ncclSuccess || result == ncclInProgress);
    assert_int_equal(settle(), ncclSuccess);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    if (comm != NULL) {
        assert_int_equal(ncclCommAbort(comm), ncclSuccess);
        comm = NULL;
    }
    assert_int_equal(cudaEventDestroy(event), cudaSuccess);
    assert_int_equal(cudaStreamDestroy(stream), cudaSuccess);
    assert_int_equal(cudaFree(device), cudaSuccess);
    assert_int_equal(epi_fake_nccl_live(), 0);
    return 0;
}

static void the_version_is_the_headers_or_later(void **state)
{
    int version = 0;

    (void)state;
    assert_int_equal(ncclGetVersion(&version), ncclSuccess);
    assert_true(version >= NCCL_VERSION(2, 14, 0));
    print_message("NCCL %d, built for %d\n", version, NCCL_VERSION_CODE);
}

static void a_communicator_tells_what_it_is(void **state)
{
    int value = -1;

    (void)state;
    assert_int_equal(ncclCommCount(comm, &value), ncclSuccess);
    assert_int_equal(value, 1);
    assert_int_equal(ncclCommUserRank(comm, &value), ncclSuccess);
    assert_int_equal(value, 0);
    assert_int_equal(ncclCommCuDevice(comm, &value), ncclSuccess);
    assert_int_equal(value, 0);
}

static void a_group_in_place_is_done_with_its_event(void **state)
{
    ncclResult_t result;
    size_t half;

    (void)state;
    memset(bytes, 9, BYTES);
    epi_gpu_put(device, bytes, BYTES);
    assert_int_equal(ncclGroupStart(), ncclSuccess);
    for (half = 0; half < 2; half++) {
        unsigned char *rows = device + half * BYTES / 2;

        result =
            ncclBroadcast(rows, rows, BYTES / 2, ncclUint8, 0, comm, stream);
        assert_true(result == ncclSuccess || result == ncclInProgress);
    }
    result = ncclGroupEnd();
    assert_true(result == ncclSuccess || result == ncclInProgress);
    assert_int_equal(settle(), ncclSuccess);
    assert_int_equal(cudaEventRecord(event, stream), cudaSuccess);
    assert_int_equal(cudaEventSynchronize(event), cudaSuccess);
    assert_int_equal(settle(), ncclSuccess);
    memset(bytes, 0, BYTES);
    epi_gpu_get(bytes, device, BYTES);
    for (half = 0; half < BYTES; half++) {
        assert_int_equal(bytes[half], 9);
    }
}

static void a_communicator_can_be_finalized(void **state)
{
    ncclResult_t result = ncclCommFinalize(comm);

    (void)state;
    assert_true(result == ncclSuccess || result == ncclInProgress);
    assert_int_equal(settle(), ncclSuccess);
    assert_int_equal(ncclCommDestroy(comm), ncclSuccess);
    comm = NULL;
}

static void an_aborted_stream_goes_on(void **state)
{
    (void)state;
    assert_int_equal(ncclCommAbort(comm), ncclSuccess);
    comm = NULL;
    assert_int_equal(cudaMemsetAsync(device, 1, BYTES, stream), cudaSuccess);
    assert_int_equal(cudaStreamSynchronize(stream), cudaSuccess);
    epi_gpu_get(bytes, device, BYTES);
    assert_int_equal(bytes[BYTES - 1], 1);
}

static void a_rank_outside_the_count_is_refused(void **state)
{
    ncclComm_t none = NULL;
    ncclUniqueId id;

    (void)state;
    assert_int_equal(ncclGetUniqueId(&id), ncclSuccess);
    assert_int_equal(ncclCommInitRank(&none, 1, id, 1), ncclInvalidArgument);
    assert_string_equal(ncclGetErrorString(ncclSuccess), "no error");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(the_version_is_the_headers_or_later),
        TEST(a_communicator_tells_what_it_is),
        TEST(a_group_in_place_is_done_with_its_event),
        TEST(a_communicator_can_be_finalized),
        TEST(an_aborted_stream_goes_on),
        TEST(a_rank_outside_the_count_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
