/* device_test.c: rows of a program in host memory, in place, and in the fakes'
 * device memory, by copies. */
#include "tools/device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "memory/event.h"
#include "testing/fake_cuda.h"

#define BYTES ((size_t)10000)

static epi_device_t device;

static int start(void **state)
{
    (void)state;
    (void)unsetenv("EPDX_MEMORY");
    epi_fake_cuda_reset();
    return 0;
}

static int end(void **state)
{
    epi_fake_cuda_live_t live;

    (void)state;
    epi_device_close(&device);
    epi_device_close(&device);
    live = epi_fake_cuda_live();
    assert_int_equal(live.device_allocations + live.pinned_allocations, 0);
    assert_int_equal(live.streams + live.events, 0);
    assert_int_equal(epi_fake_cuda_violations(), 0);
    assert_int_equal(epi_fake_cuda_pageable(), 0);
    return 0;
}

static void test_host_rows_are_used_in_place(void **state)
{
    const void *rows = NULL;

    (void)state;
    assert_int_equal(epi_device_open(EPDX_MEMORY_DEFAULT, 3, &device), EPDX_OK);
    assert_false(epi_device_away(&device));
    assert_int_equal(epi_device_kind(&device), EPDX_MEMORY_HOST);
    assert_null(epi_device_cuda(&device));
    assert_int_equal(epi_device_read(&device, &device, 8, &rows), EPDX_OK);
    assert_ptr_equal(rows, &device);
    assert_int_equal(epi_device_after(&device, NULL), EPDX_OK);
}

static void test_each_rank_takes_a_device(void **state)
{
    (void)state;
    assert_int_equal(setenv("EPDX_MEMORY", "cuda", 1), 0);
    epi_fake_cuda_devices(2);
    assert_int_equal(epi_device_open(EPDX_MEMORY_DEFAULT, 5, &device), EPDX_OK);
    assert_true(epi_device_away(&device));
    assert_int_equal(epi_device_kind(&device), EPDX_MEMORY_CUDA);
    assert_int_equal(epi_device_cuda(&device)->device, 1);
    assert_int_equal(device.memory.device, 1);
}

static void test_err_io_without_a_device(void **state)
{
    (void)state;
    epi_fake_cuda_devices(0);
    assert_int_equal(epi_device_open(EPDX_MEMORY_CUDA, 0, &device),
                     EPDX_ERR_IO);
    assert_non_null(strstr(epdx_last_error(), "no device can be used"));
    assert_false(epi_device_away(&device));
}

/* Written, then read back behind an event of somebody else's. */
static void test_rows_go_there_and_back(void **state)
{
    void *rows = NULL, *draft = NULL, *event = NULL;
    const void *back = NULL;
    unsigned char want[BYTES];
    bool done = false;

    (void)state;
    assert_int_equal(epi_device_open(EPDX_MEMORY_CUDA, 0, &device), EPDX_OK);
    assert_int_equal(device.memory.ops->alloc(0, BYTES, &rows), EPDX_OK);
    assert_int_equal(device.memory.ops->copies->event_open(0, &event), EPDX_OK);
    assert_int_equal(epi_device_draft(&device, BYTES, &draft), EPDX_OK);
    memset(want, 0x5a, sizeof(want));
    memcpy(draft, want, BYTES);
    epi_fake_cuda_hold_kinds(EPI_FAKE_CUDA_COPY);
    assert_int_equal(epi_device_write(&device, rows, draft, BYTES, event),
                     EPDX_OK);
    assert_int_equal(epi_event_done(event, &done), EPDX_OK);
    assert_false(done);
    /* The draft is in use as long. */
    assert_int_equal(epi_device_draft(&device, 1, &draft), EPDX_ERR_FULL);
    epi_fake_cuda_hold_kinds(0);
    assert_int_equal(epi_device_after(&device, event), EPDX_OK);
    assert_int_equal(epi_device_read(&device, rows, BYTES, &back), EPDX_OK);
    assert_memory_equal(back, want, BYTES);
    assert_int_equal(epi_device_draft(&device, 2 * BYTES, &draft), EPDX_OK);
    device.memory.ops->copies->event_close(0, event);
    device.memory.ops->release(0, rows, BYTES);
}

static void test_err_io_a_copy_that_fails(void **state)
{
    void *rows = NULL, *draft = NULL;
    const void *back = NULL;

    (void)state;
    assert_int_equal(epi_device_open(EPDX_MEMORY_CUDA, 0, &device), EPDX_OK);
    assert_int_equal(device.memory.ops->alloc(0, BYTES, &rows), EPDX_OK);
    epi_fake_fail("cudaMemcpyAsync", 0, cudaErrorUnknown);
    assert_int_equal(epi_device_read(&device, rows, BYTES, &back), EPDX_ERR_IO);
    epi_fake_fail("cudaHostAlloc", 0, cudaErrorMemoryAllocation);
    assert_int_equal(epi_device_draft(&device, 2 * BYTES, &draft),
                     EPDX_ERR_NO_MEMORY);
    assert_null(back);
    device.memory.ops->release(0, rows, BYTES);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_host_rows_are_used_in_place),
        TEST(test_each_rank_takes_a_device),
        TEST(test_err_io_without_a_device),
        TEST(test_rows_go_there_and_back),
        TEST(test_err_io_a_copy_that_fails),
    };

    return cmocka_run_group_tests_name("tools/device", tests, NULL, NULL);
}
