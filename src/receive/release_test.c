/*
 * release_test.c: rows that work on a CUDA stream still reads stay in place
 * until its event is done. Streams are held where the test says. Over the fake
 * CUDA or on a GPU.
 */
#include <string.h>

#include "base/clock.h"
#include "epdx/log.h"
#include "receive/landing_fixture.h"
#include "testing/fake_cuda.h"
#include "testing/gpu_under_test.h"

#define POOL_ROWS 1024
#define ROW_BYTES 16

typedef struct scene {
    landing_t *landing;
    void *pool; /* pinned: a copy from other host memory would wait */
    cudaStream_t streams[2];
    cudaEvent_t events[2];
} scene_t;

static int lines_logged;
static char last_line[1024];

static void take_line(void *context, epdx_log_level_t level, const char *line)
{
    (void)context;
    if (level == EPDX_LOG_ERROR) {
        lines_logged++;
        (void)epi_text_copy(last_line, sizeof(last_line), line);
    }
}

static void *pinned(size_t bytes)
{
    void *base;

    assert_int_equal(cudaMallocHost(&base, bytes), cudaSuccess);
    return base;
}

/* What streams read rows into: a copy between two places of the host waits. */
static uint8_t *on_device(size_t bytes)
{
    void *base;

    assert_int_equal(cudaMalloc(&base, bytes), cudaSuccess);
    return base;
}

static int open_scene(void **state, bool own_pool)
{
    static scene_t scene;
    epdx_receiver_params_t params = landing_params();

    epi_fake_cuda_reset();
    epdx_log_set_sink(take_line, NULL);
    scene.pool = own_pool ? NULL : pinned(params.pool_bytes);
    params.pool = scene.pool;
    scene.landing = landing_open(&params);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(
            cudaStreamCreateWithFlags(&scene.streams[i], cudaStreamNonBlocking),
            cudaSuccess);
        assert_int_equal(
            cudaEventCreateWithFlags(&scene.events[i], cudaEventDisableTiming),
            cudaSuccess);
    }
    lines_logged = 0;
    *state = &scene;
    return 0;
}

static int setup(void **state)
{
    return open_scene(state, false);
}

static int setup_own_pool(void **state)
{
    return open_scene(state, true);
}

static int teardown(void **state)
{
    scene_t *scene = *state;

    landing_close(scene->landing);
    epdx_log_set_sink(NULL, NULL);
    for (int i = 0; i < 2; i++) {
        epi_gpu_let_go(scene->streams[i]);
        assert_int_equal(cudaStreamSynchronize(scene->streams[i]), cudaSuccess);
        assert_int_equal(cudaEventDestroy(scene->events[i]), cudaSuccess);
        assert_int_equal(cudaStreamDestroy(scene->streams[i]), cudaSuccess);
    }
    assert_int_equal(cudaFreeHost(scene->pool), cudaSuccess);
    assert_int_equal(epi_fake_cuda_live().pinned_allocations, 0);
    assert_int_equal(epi_fake_cuda_live().events, 0);
    assert_int_equal(epi_fake_cuda_live().streams, 0);
    assert_int_equal(epi_fake_cuda_violations(), 0);
    return 0;
}

static const uint8_t *main_rows(const epdx_job_t *job)
{
    size_t count;

    return epdx_job_items(job, &count)[0].main;
}

/* A stream that copies bytes of rows out, held before it does, and the event
 * behind it. */
static void read_late(scene_t *scene, int index, const void *rows, size_t bytes,
                      uint8_t *out)
{
    epi_gpu_hold(scene->streams[index]);
    assert_int_equal(cudaMemcpyAsync(out, rows, bytes, cudaMemcpyDefault,
                                     scene->streams[index]),
                     cudaSuccess);
    assert_int_equal(
        cudaEventRecord(scene->events[index], scene->streams[index]),
        cudaSuccess);
}

/* Let the stream's work happen, and wait for its event. */
static void let_go(scene_t *scene, int index)
{
    epi_gpu_let_go(scene->streams[index]);
    assert_int_equal(cudaEventSynchronize(scene->events[index]), cudaSuccess);
}

static void steps(scene_t *scene, int count)
{
    while (count-- > 0) {
        landing_step(scene->landing);
    }
}

static void test_no_event_frees_the_rows_at_once(void **state)
{
    scene_t *scene = *state;
    epdx_job_t *job = landing_land(scene->landing, "r1", 10, 0);

    assert_int_equal(epdx_job_release_after(job, NULL), EPDX_OK);
    assert_int_equal(landing_stats(scene->landing).pool_leased_bytes, 0);
    assert_int_equal(epdx_job_release_after(NULL, NULL), EPDX_OK);
    assert_int_equal(epdx_job_release_after(NULL, scene->events[0]), EPDX_OK);
    EPI_GPU_EXPECT_CALLS("cudaEventQuery", 0);
}

static void test_an_event_that_is_done_frees_the_rows_at_once(void **state)
{
    scene_t *scene = *state;
    epdx_job_t *job = landing_land(scene->landing, "r1", 10, 0);

    assert_int_equal(cudaEventRecord(scene->events[0], scene->streams[0]),
                     cudaSuccess);
    let_go(scene, 0);
    assert_int_equal(epdx_job_release_after(job, scene->events[0]), EPDX_OK);
    assert_int_equal(landing_stats(scene->landing).pool_leased_bytes, 0);
}

/* The next request needs the whole pool: it gets it only after the stream has
 * read the rows, which nobody has overwritten. */
static void test_rows_stay_until_the_event_is_done(void **state)
{
    const size_t bytes = POOL_ROWS * ROW_BYTES;
    scene_t *scene = *state;
    landing_t *landing = scene->landing;
    epdx_job_t *first = landing_land(landing, "first", POOL_ROWS, 100);
    uint8_t *out = on_device(bytes);
    epdx_job_t *second;

    read_late(scene, 0, main_rows(first), bytes, out);
    assert_int_equal(epdx_job_release_after(first, scene->events[0]), EPDX_OK);
    assert_int_equal(landing_stats(landing).bytes_held, bytes);
    assert_int_equal(landing_stats(landing).bytes_stranded, 0);
    second = landing_stage(landing, "second", POOL_ROWS);
    steps(scene, 50);
    assert_int_equal(landing_stats(landing).pool_leased_bytes, bytes);
    assert_int_equal(landing_stats(landing).requests_waiting, 1);
    assert_int_equal(landing->encode.ask_count, 1);
    EPI_GPU_EXPECT_CALLS("cudaEventSynchronize", 0);
    EPI_GPU_EXPECT_CALLS("cudaStreamSynchronize", 0);
    let_go(scene, 0);
    landing_send(landing, second, 200);
    assert_true(epi_gpu_holds(out, landing->rows + 100, bytes));
    assert_memory_equal(main_rows(second), landing->rows + 200, bytes);
    assert_int_equal(landing_stats(landing).bytes_held, 0);
    epdx_job_release(second);
    assert_int_equal(cudaFree(out), cudaSuccess);
}

static void test_events_free_in_the_order_they_are_done(void **state)
{
    scene_t *scene = *state;
    landing_t *landing = scene->landing;
    epdx_job_t *first = landing_land(landing, "first", 16, 0);
    epdx_job_t *second = landing_land(landing, "second", 32, 512);
    uint8_t *out;

    EPI_GPU_FAKE_ONLY(); /* it holds two streams */
    out = on_device(1024);
    read_late(scene, 0, main_rows(first), 256, out);
    read_late(scene, 1, main_rows(second), 512, out + 256);
    assert_int_equal(epdx_job_release_after(first, scene->events[0]), EPDX_OK);
    assert_int_equal(epdx_job_release_after(second, scene->events[1]), EPDX_OK);
    assert_int_equal(landing_stats(landing).pool_leased_bytes, 768);
    let_go(scene, 1);
    epdx_receiver_poll(landing->receiver);
    assert_int_equal(landing_stats(landing).pool_leased_bytes, 256);
    assert_int_equal(landing_stats(landing).bytes_held, 256);
    let_go(scene, 0);
    epdx_receiver_poll(landing->receiver);
    assert_int_equal(landing_stats(landing).pool_leased_bytes, 0);
    assert_true(epi_gpu_holds(out, landing->rows, 256));
    assert_true(epi_gpu_holds(out + 256, landing->rows + 512, 512));
    /* Nothing is asked for any more. */
    uint64_t asked = epi_fake_calls("cudaEventQuery");
    steps(scene, 10);
    EPI_GPU_EXPECT_CALLS("cudaEventQuery", asked);
    assert_int_equal(cudaFree(out), cudaSuccess);
}

static void test_a_room_is_free_at_the_release(void **state)
{
    scene_t *scene = *state;
    landing_t *landing = scene->landing;
    epdx_job_t *first = landing_land(landing, "same", 16, 0);
    epdx_job_t *again;

    epi_gpu_hold(scene->streams[0]);
    assert_int_equal(cudaEventRecord(scene->events[0], scene->streams[0]),
                     cudaSuccess);
    assert_int_equal(epdx_job_release_after(first, scene->events[0]), EPDX_OK);
    landing->next_room--;
    again = landing_stage(landing, "same", 16);
    assert_int_equal(landing_stats(landing).pool_leased_bytes, 512);
    epdx_job_release(again);
    let_go(scene, 0);
    landing_until(landing, landing_stats(landing).pool_leased_bytes == 0);
}

static void test_a_pending_job_is_cancelled_and_waits_for_its_event(
    void **state)
{
    scene_t *scene = *state;
    landing_t *landing = scene->landing;
    epdx_job_t *job = landing_stage(landing, "r1", 16);

    landing_until(landing, landing->encode.ask_count == 1);
    epi_gpu_hold(scene->streams[0]);
    assert_int_equal(cudaEventRecord(scene->events[0], scene->streams[0]),
                     cudaSuccess);
    assert_int_equal(epdx_job_release_after(job, scene->events[0]), EPDX_OK);
    landing_until(landing, landing->encode.cancel_count == 1);
    landing_until(landing, landing_stats(landing).bytes_held == 256);
    let_go(scene, 0);
    epdx_receiver_poll(landing->receiver);
    assert_int_equal(landing_stats(landing).pool_leased_bytes, 0);
}

static void test_err_io_a_bad_event_leaves_the_job_with_the_caller(void **state)
{
    scene_t *scene = *state;
    landing_t *landing = scene->landing;
    epdx_job_t *job = landing_land(landing, "r1", 16, 0);

    EPI_GPU_FAKE_ONLY();
    epi_fake_fail("cudaEventQuery", 0, cudaErrorInvalidResourceHandle);
    assert_int_equal(epdx_job_release_after(job, scene->events[0]),
                     EPDX_ERR_IO);
    assert_non_null(strstr(epdx_last_error(), "cudaEventQuery"));
    assert_int_equal(epdx_job_state(job), EPDX_LANDED);
    assert_memory_equal(main_rows(job), landing->rows, 256);
    assert_int_equal(landing_stats(landing).bytes_held, 0);
    assert_int_equal(landing_stats(landing).bytes_stranded, 0);
    epdx_job_release(job);
    assert_int_equal(landing_stats(landing).pool_leased_bytes, 0);
    assert_int_equal(lines_logged, 0);
}

static void test_an_event_that_fails_later_frees_nothing_and_is_logged_once(
    void **state)
{
    scene_t *scene = *state;
    landing_t *landing = scene->landing;
    epdx_job_t *job = landing_land(landing, "r1", 16, 0);
    epdx_job_t *other;
    uint64_t asked;

    EPI_GPU_FAKE_ONLY();
    epi_gpu_hold(scene->streams[0]);
    assert_int_equal(cudaEventRecord(scene->events[0], scene->streams[0]),
                     cudaSuccess);
    assert_int_equal(epdx_job_release_after(job, scene->events[0]), EPDX_OK);
    epi_fake_fail("cudaEventQuery", 0, cudaErrorLaunchFailure);
    epdx_receiver_poll(landing->receiver);
    assert_int_equal(lines_logged, 1);
    assert_non_null(strstr(last_line, "stay out of use"));
    assert_non_null(strstr(last_line, "cudaEventQuery"));
    let_go(scene, 0);
    asked = epi_fake_calls("cudaEventQuery");
    steps(scene, 20);
    EPI_GPU_EXPECT_CALLS("cudaEventQuery", asked);
    assert_int_equal(lines_logged, 1);
    assert_int_equal(landing_stats(landing).bytes_stranded, 256);
    assert_int_equal(landing_stats(landing).bytes_held, 0);
    assert_int_equal(landing_stats(landing).pool_leased_bytes, 256);
    /* The rest of the pool goes on. */
    other = landing_land(landing, "r2", 16, 0);
    epdx_job_release(other);
    assert_int_equal(landing_stats(landing).pool_leased_bytes, 256);
    epdx_receiver_close(landing->receiver);
    landing->receiver = NULL;
    assert_int_equal(lines_logged, 2);
    assert_non_null(strstr(last_line, "the receive pool is left allocated"));
}

static void test_held_jobs_count_for_max_requests(void **state)
{
    scene_t *scene = *state;
    landing_t *landing = scene->landing;
    epdx_job_t *job = landing_land(landing, "r1", 16, 0);
    uint32_t before = landing->receiver->free_job_count;

    epi_gpu_hold(scene->streams[0]);
    assert_int_equal(cudaEventRecord(scene->events[0], scene->streams[0]),
                     cudaSuccess);
    assert_int_equal(epdx_job_release_after(job, scene->events[0]), EPDX_OK);
    assert_int_equal(landing->receiver->free_job_count, before);
    let_go(scene, 0);
    epdx_receiver_poll(landing->receiver);
    assert_int_equal(landing->receiver->free_job_count, before + 1);
}

/* Work that its stream begins only 20 ms from now. */
static void test_close_lets_events_end_before_the_pool_is_freed(void **state)
{
    scene_t *scene = *state;
    landing_t *landing = scene->landing;
    epdx_job_t *job = landing_land(landing, "r1", 16, 0);

    EPI_GPU_FAKE_ONLY();
    epi_fake_cuda_delay(20 * EPI_MS);
    assert_int_equal(cudaEventRecord(scene->events[0], scene->streams[0]),
                     cudaSuccess);
    assert_int_equal(epdx_job_release_after(job, scene->events[0]), EPDX_OK);
    epdx_receiver_close(landing->receiver);
    landing->receiver = NULL;
    assert_int_equal(cudaEventQuery(scene->events[0]), cudaSuccess);
    assert_int_equal(lines_logged, 0);
}

/* Takes 2 s: that is what close gives a stream. */
static void test_close_leaves_the_pool_to_a_stream_that_does_not_end(
    void **state)
{
    scene_t *scene = *state;
    landing_t *landing = scene->landing;
    epdx_job_t *job = landing_land(landing, "r1", 16, 0);
    const uint8_t *rows = main_rows(job);

    epi_gpu_hold(scene->streams[0]);
    assert_int_equal(cudaEventRecord(scene->events[0], scene->streams[0]),
                     cudaSuccess);
    assert_int_equal(epdx_job_release_after(job, scene->events[0]), EPDX_OK);
    epdx_receiver_close(landing->receiver);
    landing->receiver = NULL;
    assert_int_equal(lines_logged, 1);
    assert_non_null(strstr(last_line, "1 events were not done"));
    assert_memory_equal(rows, landing->rows, 256);
}

static void test_err_invalid_a_second_release_while_its_event_is_waited_for(
    void **state)
{
    scene_t *scene = *state;
    epdx_receiver_t *receiver = scene->landing->receiver;
    epdx_job_t *job = landing_land(scene->landing, "r1", 16, 0);

    epi_gpu_hold(scene->streams[0]);
    assert_int_equal(cudaEventRecord(scene->events[0], scene->streams[0]),
                     cudaSuccess);
    assert_int_equal(epdx_job_release_after(job, scene->events[0]), EPDX_OK);
    assert_int_equal(epdx_job_release_after(job, scene->events[0]),
                     EPDX_ERR_INVALID);
    assert_non_null(
        strstr(epdx_last_error(), "request r1 was released before"));
    assert_int_equal(receiver->after_count, 1);
    epdx_job_release(job);
    assert_int_equal(lines_logged, 1);
    assert_int_equal(landing_stats(scene->landing).pool_leased_bytes, 256);
    let_go(scene, 0);
    steps(scene, 1);
    assert_int_equal(landing_stats(scene->landing).pool_leased_bytes, 0);
}

/* What the device does to a pool of the caller's is the caller's to know. */
static void test_close_does_not_wait_for_a_pool_of_the_callers(void **state)
{
    scene_t *scene = *state;
    landing_t *landing = scene->landing;
    epdx_job_t *job = landing_land(landing, "r1", 16, 0);
    uint64_t asked;

    EPI_GPU_FAKE_ONLY();
    epi_gpu_hold(scene->streams[0]);
    assert_int_equal(cudaEventRecord(scene->events[0], scene->streams[0]),
                     cudaSuccess);
    assert_int_equal(epdx_job_release_after(job, scene->events[0]), EPDX_OK);
    asked = epi_fake_calls("cudaEventQuery");
    epdx_receiver_close(landing->receiver);
    landing->receiver = NULL;
    EPI_GPU_EXPECT_CALLS("cudaEventQuery", asked);
    assert_int_equal(lines_logged, 0);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
#define OWN_POOL(test)                                                         \
    cmocka_unit_test_setup_teardown(test, setup_own_pool, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_no_event_frees_the_rows_at_once),
        CASE(test_an_event_that_is_done_frees_the_rows_at_once),
        CASE(test_rows_stay_until_the_event_is_done),
        CASE(test_events_free_in_the_order_they_are_done),
        CASE(test_a_room_is_free_at_the_release),
        CASE(test_a_pending_job_is_cancelled_and_waits_for_its_event),
        CASE(test_err_io_a_bad_event_leaves_the_job_with_the_caller),
        OWN_POOL(
            test_an_event_that_fails_later_frees_nothing_and_is_logged_once),
        CASE(test_held_jobs_count_for_max_requests),
        CASE(test_err_invalid_a_second_release_while_its_event_is_waited_for),
        OWN_POOL(test_close_lets_events_end_before_the_pool_is_freed),
        OWN_POOL(test_close_leaves_the_pool_to_a_stream_that_does_not_end),
        CASE(test_close_does_not_wait_for_a_pool_of_the_callers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
