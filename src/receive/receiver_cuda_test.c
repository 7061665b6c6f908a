/* receiver_cuda_test.c: a receiver whose pool is device memory: epdx's own, or
 * the caller's, which is checked. Over the fake CUDA or on a GPU. */
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "receive/landing_fixture.h"
#include "testing/fake_cuda.h"
#include "testing/gpu_under_test.h"

#define DEVICE epi_gpu_device(2)

static landing_t *landing;
static epdx_cuda_t cuda = {.struct_size = sizeof(cuda)};

static int start(void **state)
{
    (void)state;
    landing = NULL;
    epi_fake_cuda_reset();
    cuda.device = DEVICE;
    assert_int_equal(setenv("EPDX_CUDA_STAGING_MB", "1", 1), 0);
    return 0;
}

static int end(void **state)
{
    epi_fake_cuda_live_t live;

    (void)state;
    if (landing != NULL) {
        landing_close(landing);
    }
    live = epi_fake_cuda_live();
    assert_int_equal(live.device_allocations + live.pinned_allocations, 0);
    assert_int_equal(live.streams + live.events, 0);
    assert_int_equal(epi_fake_cuda_violations(), 0);
    return 0;
}

static epdx_receiver_params_t params_cuda(void)
{
    epdx_receiver_params_t params = landing_params();

    params.memory = EPDX_MEMORY_CUDA;
    params.cuda = &cuda;
    return params;
}

static void check_landed(epdx_job_t *job, uint64_t span, size_t from)
{
    size_t count = 0;
    const epdx_landed_t *items = epdx_job_items(job, &count);
    struct cudaPointerAttributes attributes;

    assert_int_equal(count, 1);
    assert_int_equal(items[0].span, span);
    assert_int_equal(cudaPointerGetAttributes(&attributes, items[0].main),
                     cudaSuccess);
    assert_int_equal(attributes.type, cudaMemoryTypeDevice);
    assert_int_equal(attributes.device, DEVICE);
    assert_true(epi_gpu_holds(items[0].main, landing->rows + from,
                              items[0].main_bytes));
}

static void test_rows_land_in_its_own_pool(void **state)
{
    epdx_receiver_params_t params = params_cuda();
    epdx_receiver_stats_t stats;
    epdx_job_t *job;

    (void)state;
    landing = landing_open(&params);
    job = landing_land(landing, "r", 100, 77);
    check_landed(job, 100, 77);
    stats = landing_stats(landing);
    assert_int_equal(stats.bytes_landed, 1600);
    assert_int_equal(stats.bytes_staged, 1600);
    epdx_job_release(job);
}

static void test_rows_land_in_a_pool_that_is_given(void **state)
{
    epdx_receiver_params_t params = params_cuda();
    void *pool = NULL;
    epdx_job_t *job;
    size_t count = 0;

    (void)state;
    assert_int_equal(epi_memory_cuda()->alloc(DEVICE, params.pool_bytes, &pool),
                     EPDX_OK);
    params.pool = pool;
    landing = landing_open(&params);
    job = landing_land(landing, "r", 100, 5);
    assert_ptr_equal(epdx_job_items(job, &count)->main, pool);
    check_landed(job, 100, 5);
    epdx_job_release(job);
    landing_close(landing);
    landing = NULL;
    if (epi_gpu_is_fake()) {
        assert_int_equal(epi_fake_cuda_live().device_allocations, 1);
    }
    epi_memory_cuda()->release(DEVICE, pool, params.pool_bytes);
}

/* Not landed before the copy's event is done. */
static void test_a_job_is_pending_while_its_copy_runs(void **state)
{
    epdx_receiver_params_t params = params_cuda();
    epdx_job_t *job;

    (void)state;
    EPI_GPU_FAKE_ONLY();
    landing = landing_open(&params);
    epi_fake_cuda_delay(2000000);
    job = landing_land(landing, "r", 100, 0);
    epi_fake_cuda_delay(0);
    check_landed(job, 100, 0);
    epdx_job_release(job);
}

static void refuses(const epdx_receiver_params_t *params, epdx_status_t status,
                    const char *words)
{
    epdx_receiver_t *receiver = NULL;

    assert_int_equal(epdx_receiver_open(params, &receiver), status);
    if (strstr(epdx_last_error(), words) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", epdx_last_error(), words);
    }
    assert_null(receiver);
}

static void test_a_pool_that_is_not_of_the_device_is_refused(void **state)
{
    epdx_receiver_params_t params = params_cuda();
    void *other = NULL, *small = NULL;

    (void)state;
    params.pool = aligned_alloc(256, params.pool_bytes);
    refuses(&params, EPDX_ERR_INVALID, "memory that CUDA does not know");
    free(params.pool);
    assert_int_equal(
        epi_memory_cuda()->alloc(epi_gpu_device(3), params.pool_bytes, &other),
        EPDX_OK);
    params.pool = other;
    if (epi_gpu_is_fake()) { /* there are others */
        refuses(&params, EPDX_ERR_INVALID, "memory of another device");
    }
    epi_memory_cuda()->release(epi_gpu_device(3), other, params.pool_bytes);
    assert_int_equal(epi_memory_cuda()->alloc(DEVICE, 256, &small), EPDX_OK);
    params.pool = small;
    if (epi_gpu_is_fake()) { /* a GPU may have other memory behind it */
        refuses(&params, EPDX_ERR_INVALID, "the pool given");
    }
    epi_memory_cuda()->release(DEVICE, small, 256);
}

static void test_a_device_that_cannot_be_used_is_refused(void **state)
{
    epdx_receiver_params_t params = params_cuda();

    (void)state;
    EPI_GPU_FAKE_ONLY();
    params.memory = (epdx_memory_t)9;
    refuses(&params, EPDX_ERR_INVALID, "memory 9");
    params.memory = EPDX_MEMORY_CUDA;
    epi_fake_cuda_devices(1);
    refuses(&params, EPDX_ERR_INVALID, "no device 2");
    epi_fake_cuda_devices(0);
    refuses(&params, EPDX_ERR_IO, "no device can be used");
    epi_fake_cuda_devices(EPI_FAKE_CUDA_DEVICES);
    epi_fake_fail("cudaMalloc", 0, cudaErrorMemoryAllocation);
    refuses(&params, EPDX_ERR_NO_MEMORY, "bytes of device 2");
    epi_fake_fail("cudaHostAlloc", 0, cudaErrorMemoryAllocation);
    refuses(&params, EPDX_ERR_NO_MEMORY, "EPDX_CUDA_STAGING_MB");
}

/* Where a loopback plane was called, by the device that was current there. */
static _Atomic int mapped_on, unmapped_on, progressed_on;
static epi_dp_ops_t real_ops;

static int current_device(void)
{
    int current = -1;

    assert_int_equal(cudaGetDevice(&current), cudaSuccess);
    return current;
}

static epdx_status_t map_and_note(epi_dataplane_t *dp,
                                  const epi_memory_ops_t *memory, void *base,
                                  size_t bytes, epi_dp_region_t **region_p)
{
    mapped_on = current_device();
    return real_ops.map(dp, memory, base, bytes, region_p);
}

static void unmap_and_note(epi_dataplane_t *dp, epi_dp_region_t *region)
{
    unmapped_on = current_device();
    real_ops.unmap(dp, region);
}

static bool progress_and_note(epi_dataplane_t *dp)
{
    progressed_on = current_device();
    return real_ops.progress(dp);
}

/* UCX is called with the device current, on any thread; the caller's thread
 * keeps its own. */
static void test_the_plane_is_used_on_the_device(void **state)
{
    epdx_receiver_params_t params = params_cuda();
    epdx_receiver_t *receiver = NULL;
    epi_loopback_hub_t *hub = NULL;
    epi_dataplane_t *dp = NULL;
    epi_dp_ops_t ops;

    (void)state;
    assert_int_equal(epi_loopback_hub_open(&hub), EPDX_OK);
    assert_int_equal(epi_dataplane_loopback(hub, &dp), EPDX_OK);
    real_ops = *dp->ops;
    ops = real_ops;
    ops.map = map_and_note;
    ops.unmap = unmap_and_note;
    ops.progress = progress_and_note;
    dp->ops = &ops;
    mapped_on = unmapped_on = progressed_on = -1;
    params.progress = EPDX_PROGRESS_THREAD;
    assert_int_equal(epi_receiver_open_with(&params, dp, &receiver), EPDX_OK);
    assert_int_equal(mapped_on, DEVICE);
    assert_int_equal(current_device(), 0);
    while (progressed_on == -1) {
        sched_yield();
    }
    assert_int_equal(progressed_on, DEVICE);
    epdx_receiver_close(receiver);
    assert_int_equal(unmapped_on, DEVICE);
    assert_int_equal(current_device(), 0);
    epi_loopback_hub_close(hub);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_rows_land_in_its_own_pool),
        TEST(test_rows_land_in_a_pool_that_is_given),
        TEST(test_a_job_is_pending_while_its_copy_runs),
        TEST(test_a_pool_that_is_not_of_the_device_is_refused),
        TEST(test_a_device_that_cannot_be_used_is_refused),
        TEST(test_the_plane_is_used_on_the_device),
    };

    return cmocka_run_group_tests_name("receive/cuda", tests, NULL, NULL);
}
