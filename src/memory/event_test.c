/* event_test.c: a caller's events, over the fake CUDA or on a GPU. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <string.h>

#include "memory/event.h"
#include "testing/fake_cuda.h"
#include "testing/gpu_under_test.h"

static int setup(void **state)
{
    (void)state;
    epi_fake_cuda_reset();
    return 0;
}

static void test_an_event_is_done_when_its_stream_came_to_it(void **state)
{
    cudaStream_t stream;
    cudaEvent_t event;
    bool done = true;

    (void)state;
    assert_int_equal(cudaStreamCreate(&stream), cudaSuccess);
    assert_int_equal(cudaEventCreate(&event), cudaSuccess);
    epi_gpu_hold(stream);
    assert_int_equal(cudaEventRecord(event, stream), cudaSuccess);
    assert_int_equal(epi_event_done(event, &done), EPDX_OK);
    assert_false(done);
    /* A framework's next check of its own calls must not find "not ready". */
    assert_int_equal(cudaGetLastError(), cudaSuccess);
    epi_gpu_let_go(stream);
    assert_int_equal(cudaEventSynchronize(event), cudaSuccess);
    assert_int_equal(epi_event_done(event, &done), EPDX_OK);
    assert_true(done);
    assert_int_equal(cudaEventDestroy(event), cudaSuccess);
    assert_int_equal(cudaStreamDestroy(stream), cudaSuccess);
}

static void test_no_event_and_one_never_recorded_are_done(void **state)
{
    cudaEvent_t event;
    bool done = false;

    (void)state;
    assert_int_equal(epi_event_done(NULL, &done), EPDX_OK);
    assert_true(done);
    done = false;
    assert_int_equal(cudaEventCreate(&event), cudaSuccess);
    assert_int_equal(epi_event_done(event, &done), EPDX_OK);
    assert_true(done);
    assert_int_equal(cudaEventDestroy(event), cudaSuccess);
}

static void test_an_event_of_another_device_is_asked_all_the_same(void **state)
{
    cudaEvent_t event;
    bool done = false;
    int device = -1;

    (void)state;
    assert_int_equal(cudaSetDevice(epi_gpu_device(1)), cudaSuccess);
    assert_int_equal(cudaEventCreate(&event), cudaSuccess);
    assert_int_equal(cudaEventRecord(event, NULL), cudaSuccess);
    assert_int_equal(cudaEventSynchronize(event), cudaSuccess);
    assert_int_equal(cudaSetDevice(0), cudaSuccess);
    assert_int_equal(epi_event_done(event, &done), EPDX_OK);
    assert_true(done);
    assert_int_equal(cudaGetDevice(&device), cudaSuccess);
    assert_int_equal(device, 0);
    assert_int_equal(cudaEventDestroy(event), cudaSuccess);
}

static void test_what_cannot_be_queried_is_an_error_in_cudas_words(void **state)
{
    cudaEvent_t event;
    bool done = true;

    (void)state;
    EPI_GPU_FAKE_ONLY();
    assert_int_equal(cudaEventCreate(&event), cudaSuccess);
    epi_fake_fail("cudaEventQuery", 0, cudaErrorLaunchFailure);
    assert_int_equal(epi_event_done(event, &done), EPDX_ERR_IO);
    assert_true(done); /* unchanged */
    assert_non_null(strstr(epdx_last_error(), "cudaEventQuery"));
    assert_int_equal(cudaEventDestroy(event), cudaSuccess);
}

typedef struct asked {
    cudaEvent_t event;
    bool done;
    epdx_status_t status;
} asked_t;

static void *ask_on_a_thread(void *context)
{
    asked_t *asked = context;

    asked->status = epi_event_done(asked->event, &asked->done);
    return NULL;
}

/* Neither the thread that captures, which is the host program's, nor any other
 * may spoil the graph. */
static void test_a_graph_may_be_captured_meanwhile(void **state)
{
    cudaStream_t stream;
    cudaGraph_t graph = NULL;
    asked_t asked = {.status = EPDX_ERR_IO};
    bool done = false;
    pthread_t thread;

    (void)state;
    assert_int_equal(cudaStreamCreate(&stream), cudaSuccess);
    assert_int_equal(cudaEventCreate(&asked.event), cudaSuccess);
    assert_int_equal(cudaEventRecord(asked.event, stream), cudaSuccess);
    assert_int_equal(cudaStreamSynchronize(stream), cudaSuccess);
    assert_int_equal(
        cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal),
        cudaSuccess);
    assert_int_equal(epi_event_done(asked.event, &done), EPDX_OK);
    assert_true(done);
    assert_int_equal(pthread_create(&thread, NULL, ask_on_a_thread, &asked), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(asked.status, EPDX_OK);
    assert_true(asked.done);
    assert_int_equal(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    assert_int_equal(cudaGraphDestroy(graph), cudaSuccess);
    assert_int_equal(cudaEventDestroy(asked.event), cudaSuccess);
    assert_int_equal(cudaStreamDestroy(stream), cudaSuccess);
}

/* The mode is the thread's own again. */
static void test_a_query_leaves_the_threads_capture_mode(void **state)
{
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeThreadLocal;
    cudaEvent_t event;
    bool done = false;

    (void)state;
    assert_int_equal(cudaEventCreate(&event), cudaSuccess);
    assert_int_equal(cudaThreadExchangeStreamCaptureMode(&mode), cudaSuccess);
    assert_int_equal(mode, cudaStreamCaptureModeGlobal);
    assert_int_equal(epi_event_done(event, &done), EPDX_OK);
    assert_int_equal(cudaThreadExchangeStreamCaptureMode(&mode), cudaSuccess);
    assert_int_equal(mode, cudaStreamCaptureModeThreadLocal);
    assert_int_equal(cudaEventDestroy(event), cudaSuccess);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_an_event_is_done_when_its_stream_came_to_it,
                               setup),
        cmocka_unit_test_setup(test_no_event_and_one_never_recorded_are_done,
                               setup),
        cmocka_unit_test_setup(
            test_an_event_of_another_device_is_asked_all_the_same, setup),
        cmocka_unit_test_setup(
            test_what_cannot_be_queried_is_an_error_in_cudas_words, setup),
        cmocka_unit_test_setup(test_a_graph_may_be_captured_meanwhile, setup),
        cmocka_unit_test_setup(test_a_query_leaves_the_threads_capture_mode,
                               setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
