/*
 * release_test.c: admitted requests are given back after an event, and each
 * rank when it likes. One rank over the loopback plane and an encode rank that
 * the test plays, or two as threads over a fake group.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "admission/admission_internal.h"
#include "base/clock.h"
#include "testing/fake_cuda.h"
#include "testing/fake_encode.h"
#include "testing/gpu_under_test.h"
#include "testing/group_fake.h"

#define ROW_BYTES 16

static epdx_admission_params_t params_plain(void)
{
    return (epdx_admission_params_t){
        .struct_size = sizeof(epdx_admission_params_t),
        .receiver = {.struct_size = sizeof(epdx_receiver_params_t),
                     .dtype = EPDX_BFLOAT16,
                     .hidden = 8,
                     .progress = EPDX_PROGRESS_CALLER,
                     .host = "127.0.0.1",
                     .pool_bytes = 16 * 1024,
                     .waiting_timeout_ns = 60 * EPI_S},
    };
}

typedef struct scene {
    epi_loopback_hub_t *hub;
    fake_encode_t encode;
    epdx_group_t *group;
    epdx_admission_t *admission;
    cudaStream_t stream;
    cudaEvent_t event;
    uint64_t next_room;
    uint8_t rows[16 * 1024];
} scene_t;

static int setup(void **state)
{
    scene_t *scene = calloc(1, sizeof(*scene));
    epdx_admission_params_t params = params_plain();
    epi_dataplane_t *encode_dp;
    epi_dataplane_t *dp;

    assert_non_null(scene);
    epi_fake_cuda_reset();
    assert_int_equal(epi_loopback_hub_open(&scene->hub), EPDX_OK);
    assert_int_equal(epi_dataplane_loopback(scene->hub, &dp), EPDX_OK);
    assert_int_equal(epi_dataplane_loopback(scene->hub, &encode_dp), EPDX_OK);
    fake_encode_open(&scene->encode, encode_dp, 1);
    assert_int_equal(epdx_group_single(&scene->group), EPDX_OK);
    assert_int_equal(
        epi_admission_open_with(scene->group, &params, dp, &scene->admission),
        EPDX_OK);
    assert_int_equal(
        cudaStreamCreateWithFlags(&scene->stream, cudaStreamNonBlocking),
        cudaSuccess);
    assert_int_equal(
        cudaEventCreateWithFlags(&scene->event, cudaEventDisableTiming),
        cudaSuccess);
    for (size_t i = 0; i < sizeof(scene->rows); i++) {
        scene->rows[i] = (uint8_t)(i * 31 + i / 251);
    }
    *state = scene;
    return 0;
}

static int teardown(void **state)
{
    scene_t *scene = *state;

    epi_gpu_let_go(scene->stream);
    assert_int_equal(cudaStreamSynchronize(scene->stream), cudaSuccess);
    epdx_admission_close(scene->admission);
    epdx_group_close(scene->group);
    fake_encode_close(&scene->encode);
    epi_loopback_hub_close(scene->hub);
    assert_int_equal(cudaEventDestroy(scene->event), cudaSuccess);
    assert_int_equal(cudaStreamDestroy(scene->stream), cudaSuccess);
    assert_int_equal(epi_fake_cuda_violations(), 0);
    free(scene);
    return 0;
}

/* One drain; how many requests it admitted. */
static size_t drain(scene_t *scene)
{
    epdx_decisions_t decisions;

    assert_int_equal(epdx_admission_drain(scene->admission, &decisions),
                     EPDX_OK);
    assert_int_equal(decisions.failed_count, 0);
    fake_encode_step(&scene->encode);
    sched_yield();
    return decisions.admitted_count;
}

static epdx_status_t stage(scene_t *scene, const char *id, uint64_t span)
{
    epdx_item_t item = {.room = ++scene->next_room,
                        .span = span,
                        .encode = fake_encode_address(&scene->encode)};
    epdx_request_t request = {.id = id, .items = &item, .item_count = 1};

    return epdx_admission_stage(scene->admission, &request);
}

/* Stage a request of one item and drain until it is admitted. */
static void admit(scene_t *scene, const char *id, uint64_t span, size_t from)
{
    uint64_t limit = epi_now_ns() + 20 * EPI_S;
    size_t asks = scene->encode.ask_count;
    bool sent = false;

    assert_int_equal(stage(scene, id, span), EPDX_OK);
    while (drain(scene) == 0) {
        assert_true(epi_now_ns() < limit);
        if (!sent && scene->encode.ask_count > asks) {
            fake_encode_offer(&scene->encode, asks, EPI_PART_MAIN, NULL,
                              scene->rows + from, (size_t)span * ROW_BYTES);
            sent = true;
        }
    }
}

static epdx_receiver_stats_t stats(scene_t *scene)
{
    epdx_receiver_stats_t out;

    epdx_admission_stats(scene->admission, NULL, &out);
    return out;
}

static void record_held(scene_t *scene)
{
    epi_gpu_hold(scene->stream);
    assert_int_equal(cudaEventRecord(scene->event, scene->stream), cudaSuccess);
}

static void let_go(scene_t *scene)
{
    epi_gpu_let_go(scene->stream);
    assert_int_equal(cudaEventSynchronize(scene->event), cudaSuccess);
}

static void test_a_drain_with_nothing_pending_asks_for_the_event(void **state)
{
    scene_t *scene = *state;

    admit(scene, "r1", 16, 0);
    record_held(scene);
    assert_int_equal(
        epdx_admission_release_after(scene->admission, "r1", scene->event),
        EPDX_OK);
    assert_int_equal(drain(scene), 0);
    assert_int_equal(stats(scene).bytes_held, 256);
    let_go(scene);
    assert_int_equal(stats(scene).pool_leased_bytes, 256);
    assert_int_equal(drain(scene), 0);
    assert_int_equal(stats(scene).pool_leased_bytes, 0);
}

static void test_an_id_is_free_at_the_release_not_at_the_event(void **state)
{
    scene_t *scene = *state;

    admit(scene, "same", 16, 0);
    record_held(scene);
    assert_int_equal(stage(scene, "same", 4), EPDX_ERR_DUPLICATE);
    assert_int_equal(
        epdx_admission_release_after(scene->admission, "same", scene->event),
        EPDX_OK);
    admit(scene, "same", 4, 512);
    assert_int_equal(stats(scene).bytes_held, 256);
    assert_int_equal(epdx_admission_release(scene->admission, "same"), EPDX_OK);
    assert_int_equal(stats(scene).pool_leased_bytes, 256);
    let_go(scene);
    (void)drain(scene);
    assert_int_equal(stats(scene).pool_leased_bytes, 0);
}

static void test_err_not_found_nothing_admitted_by_that_id(void **state)
{
    scene_t *scene = *state;

    assert_int_equal(
        epdx_admission_release_after(scene->admission, "none", NULL),
        EPDX_ERR_NOT_FOUND);
    admit(scene, "r1", 4, 0);
    assert_int_equal(epdx_admission_release_after(scene->admission, "r1", NULL),
                     EPDX_OK);
    assert_int_equal(epdx_admission_release_after(scene->admission, "r1", NULL),
                     EPDX_ERR_NOT_FOUND);
    assert_non_null(strstr(epdx_last_error(), "r1"));
    assert_int_equal(stage(scene, "pending", 4), EPDX_OK);
    assert_int_equal(
        epdx_admission_release_after(scene->admission, "pending", scene->event),
        EPDX_ERR_NOT_FOUND);
}

static void test_err_io_leaves_the_request_admitted(void **state)
{
    scene_t *scene = *state;

    EPI_GPU_FAKE_ONLY();
    admit(scene, "r1", 16, 0);
    epi_fake_fail("cudaEventQuery", 0, cudaErrorLaunchFailure);
    assert_int_equal(
        epdx_admission_release_after(scene->admission, "r1", scene->event),
        EPDX_ERR_IO);
    assert_int_equal(stage(scene, "r1", 4), EPDX_ERR_DUPLICATE);
    assert_int_equal(epdx_admission_release(scene->admission, "r1"), EPDX_OK);
    assert_int_equal(stats(scene).pool_leased_bytes, 0);
}

/* What two ranks saw, each of its own. */
typedef struct ranks {
    epdx_status_t status[2]; /* the first that was not EPDX_OK */
    size_t admitted[2];
    uint32_t held[2]; /* jobs that wait for their events, before let_go */
    uint32_t held_after[2];
    cudaEvent_t event;
    cudaStream_t stream;
} ranks_t;

/* Rank 0 releases after an event that its stream holds, rank 1 plainly; then
 * both use the id again, drain by drain alike. */
static epdx_status_t act(epdx_admission_t *admission, uint32_t rank,
                         ranks_t *seen)
{
    epdx_item_t item = {.room = 7, .span = 4, .received = true};
    epdx_request_t request = {.id = "same", .items = &item, .item_count = 1};
    epdx_status_t status = EPDX_OK;

    for (int round = 0; round < 2 && status == EPDX_OK; round++) {
        epdx_decisions_t decisions = {0};

        status = epdx_admission_stage(admission, &request);
        if (status == EPDX_OK) {
            status = epdx_admission_drain(admission, &decisions);
        }
        if (status == EPDX_OK) {
            seen->admitted[rank] += decisions.admitted_count;
            status = epdx_admission_release_after(
                admission, "same", rank == 0 ? seen->event : NULL);
        }
    }
    seen->held[rank] = admission->receiver->after_count;
    if (rank == 0) {
        epi_gpu_let_go(seen->stream);
        (void)cudaEventSynchronize(seen->event);
    }
    if (status == EPDX_OK) {
        epdx_decisions_t decisions;

        status = epdx_admission_drain(admission, &decisions);
    }
    seen->held_after[rank] = admission->receiver->after_count;
    return status;
}

static void run_rank(void *context, epdx_group_t *group)
{
    ranks_t *seen = context;
    epdx_admission_params_t params = params_plain();
    epdx_admission_t *admission = NULL;
    epi_loopback_hub_t *hub = NULL;
    epi_dataplane_t *dp = NULL;
    epdx_status_t status = epi_loopback_hub_open(&hub);

    if (status == EPDX_OK) {
        status = epi_dataplane_loopback(hub, &dp);
    }
    if (status == EPDX_OK) {
        status = epi_admission_open_with(group, &params, dp, &admission);
    }
    seen->status[group->rank] =
        status == EPDX_OK ? act(admission, group->rank, seen) : status;
    epdx_admission_close(admission);
    epi_loopback_hub_close(hub);
}

static void test_ranks_release_each_in_their_own_way(void **state)
{
    epi_group_fake_t *fake;
    ranks_t seen = {0};

    (void)state;
    epi_fake_cuda_reset();
    assert_int_equal(
        cudaStreamCreateWithFlags(&seen.stream, cudaStreamNonBlocking),
        cudaSuccess);
    assert_int_equal(cudaEventCreate(&seen.event), cudaSuccess);
    epi_gpu_hold(seen.stream);
    assert_int_equal(cudaEventRecord(seen.event, seen.stream), cudaSuccess);
    assert_int_equal(epi_group_fake_open(2, &fake), EPDX_OK);
    epi_group_fake_run(fake, run_rank, &seen);
    for (int rank = 0; rank < 2; rank++) {
        assert_int_equal(seen.status[rank], EPDX_OK);
        assert_int_equal(seen.admitted[rank], 2);
        assert_int_equal(seen.held[rank], rank == 0 ? 2 : 0);
        assert_int_equal(seen.held_after[rank], 0);
    }
    epi_group_fake_close(fake);
    assert_int_equal(cudaEventDestroy(seen.event), cudaSuccess);
    assert_int_equal(cudaStreamDestroy(seen.stream), cudaSuccess);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_a_drain_with_nothing_pending_asks_for_the_event),
        CASE(test_an_id_is_free_at_the_release_not_at_the_event),
        CASE(test_err_not_found_nothing_admitted_by_that_id),
        CASE(test_err_io_leaves_the_request_admitted),
        cmocka_unit_test(test_ranks_release_each_in_their_own_way),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
