/* tensor_cuda_test.c: tensors of rows in CUDA memory, over the fake or on a
 * GPU.
 */
#include <pthread.h>
#include <string.h>

#include "base/clock.h"
#include "epdx/dlpack.h"
#include "receive/landing_fixture.h"
#include "testing/fake_cuda.h"
#include "testing/gpu_under_test.h"

static void *delete_on_a_thread(void *context)
{
    DLManagedTensor *tensor = context;
    static int device;

    tensor->deleter(tensor);
    device = -1;
    (void)cudaGetDevice(&device);
    return &device;
}

static void test_a_device_tensor_names_its_device_and_keeps_the_pool(
    void **state)
{
    epdx_receiver_params_t params = landing_params();
    epdx_cuda_t cuda = {.struct_size = sizeof(cuda),
                        .device = epi_gpu_device(1)};
    DLManagedTensor *tensor = NULL;
    landing_t *landing;
    pthread_t thread;
    epdx_job_t *job;
    void *device;

    (void)state;
    epi_fake_cuda_reset();
    assert_int_equal(cudaSetDevice(cuda.device), cudaSuccess);
    params.memory = EPDX_MEMORY_CUDA;
    params.cuda = &cuda;
    landing = landing_open(&params);
    job = landing_land(landing, "r1", 16, 40);
    assert_int_equal(epdx_job_tensor(job, 0, EPDX_PART_MAIN, &tensor), EPDX_OK);
    assert_int_equal(tensor->dl_tensor.device.device_type, kDLCUDA);
    assert_int_equal(tensor->dl_tensor.device.device_id, cuda.device);
    assert_int_equal(tensor->dl_tensor.byte_offset, 0);
    assert_int_equal((uintptr_t)tensor->dl_tensor.data % 256, 0);
    epdx_receiver_close(landing->receiver);
    landing->receiver = NULL;
    if (epi_gpu_is_fake()) {
        assert_int_equal(epi_fake_cuda_live().device_allocations, 1);
    }
    assert_true(epi_gpu_holds(tensor->dl_tensor.data, landing->rows + 40, 256));
    assert_int_equal(pthread_create(&thread, NULL, delete_on_a_thread, tensor),
                     0);
    assert_int_equal(pthread_join(thread, &device), 0);
    assert_int_equal(*(int *)device, 0); /* the thread's own, untouched */
    assert_int_equal(epi_fake_cuda_live().device_allocations, 0);
    assert_int_equal(epi_fake_cuda_violations(), 0);
    landing_close(landing);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            test_a_device_tensor_names_its_device_and_keeps_the_pool),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
