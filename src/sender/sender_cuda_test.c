/* sender_cuda_test.c: a sender whose ring and chunks are device memory: ready
 * events, own memory, and what is refused. Over the fake CUDA or on a GPU. */
#include <stdlib.h>
#include <string.h>

#include "sender/sender_test_world.h"
#include "testing/fake_cuda.h"
#include "testing/gpu_under_test.h"

#define DEVICE epi_gpu_device(1)
#define ROWS   5
#define BYTES  (ROWS * WORLD_HIDDEN * 2)

static world_t world;
static epdx_cuda_t cuda = {.struct_size = sizeof(cuda)};

/* What encodes: a stream that is held until it is let go. */
static cudaStream_t stream;
static cudaEvent_t event;
static uint16_t *rows; /* pinned: a copy from other memory may wait */

static int start(void **state)
{
    epdx_sender_params_t params = world_params();

    (void)state;
    epi_fake_cuda_reset();
    cuda.device = DEVICE;
    assert_int_equal(setenv("EPDX_CUDA_STAGING_MB", "1", 1), 0);
    params.memory = EPDX_MEMORY_CUDA;
    params.cuda = &cuda;
    world_open(&world, &params);
    rank_open(&world, 0);
    assert_int_equal(cudaSetDevice(DEVICE), cudaSuccess);
    assert_int_equal(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
                     cudaSuccess);
    assert_int_equal(cudaEventCreate(&event), cudaSuccess);
    assert_int_equal(cudaSetDevice(0), cudaSuccess);
    assert_int_equal(cudaMallocHost((void **)&rows, BYTES), cudaSuccess);
    for (size_t i = 0; i < ROWS * WORLD_HIDDEN; i++) {
        rows[i] = (uint16_t)(0x4000 + i);
    }
    return 0;
}

static int end(void **state)
{
    epi_fake_cuda_live_t live;

    (void)state;
    epi_gpu_let_go(stream);
    assert_int_equal(cudaEventDestroy(event), cudaSuccess);
    assert_int_equal(cudaStreamDestroy(stream), cudaSuccess);
    world_close(&world);
    assert_int_equal(cudaFreeHost(rows), cudaSuccess);
    live = epi_fake_cuda_live();
    assert_int_equal(live.device_allocations + live.pinned_allocations, 0);
    assert_int_equal(live.streams + live.events, 0);
    assert_int_equal(epi_fake_cuda_violations(), 0);
    return 0;
}

static epdx_chunk_t lease(void)
{
    struct cudaPointerAttributes attributes;
    epdx_chunk_t chunk;

    assert_int_equal(epdx_sender_lease(world.sender, ROWS, &chunk), EPDX_OK);
    assert_int_equal(cudaPointerGetAttributes(&attributes, chunk.main),
                     cudaSuccess);
    assert_int_equal(attributes.type, cudaMemoryTypeDevice);
    assert_int_equal(attributes.device, DEVICE);
    assert_null(chunk.ready);
    return chunk;
}

/* Rows of world_send(room), which the encode loop's stream writes, late. */
static void encode(epdx_chunk_t *chunk)
{
    epi_gpu_hold(stream);
    assert_int_equal(cudaMemcpyAsync(chunk->main, rows, BYTES,
                                     cudaMemcpyHostToDevice, stream),
                     cudaSuccess);
    assert_int_equal(cudaEventRecord(event, stream), cudaSuccess);
    chunk->ready = event;
}

static void expect_encoded(void)
{
    for (size_t i = 0; i < ROWS * WORLD_HIDDEN; i++) {
        assert_int_equal(world.ranks[0].main[i], 0x4000 + i);
    }
}

static void steps(int count)
{
    for (int i = 0; i < count; i++) {
        world_step(&world);
    }
}

static void test_rows_are_sent_once_they_are_made(void **state)
{
    epdx_chunk_t chunk = lease();
    epdx_sender_stats_t stats;

    (void)state;
    encode(&chunk);
    assert_int_equal(epdx_sender_send(world.sender, 8, &chunk), EPDX_OK);
    rank_ask_whole(&world, 0, 8, ROWS);
    WORLD_UNTIL(&world, world_stats(&world).asks == 1);
    steps(200);
    assert_int_equal(world.ranks[0].offers, 0);
    epi_gpu_let_go(stream);
    world_expect(&world, 8, EPDX_OK, "");
    expect_encoded();
    stats = world_stats(&world);
    assert_int_equal(stats.bytes_staged, BYTES);
    world_expect_quiet(&world);
}

static void test_own_memory_is_device_memory(void **state)
{
    void *own = NULL;
    epdx_chunk_t chunk = {.rows = ROWS};

    (void)state;
    assert_int_equal(epi_memory_cuda()->alloc(DEVICE, BYTES, &own), EPDX_OK);
    chunk.main = own;
    encode(&chunk);
    epi_gpu_let_go(stream);
    assert_int_equal(epdx_sender_send(world.sender, 8, &chunk), EPDX_OK);
    rank_ask_whole(&world, 0, 8, ROWS);
    world_expect(&world, 8, EPDX_OK, "");
    expect_encoded();
    assert_int_equal(world_stats(&world).bytes_staged, BYTES);
    epi_memory_cuda()->release(DEVICE, own, BYTES);
}

static void refuses(const epdx_chunk_t *chunk, const char *words)
{
    assert_int_equal(epdx_sender_send(world.sender, 8, chunk),
                     EPDX_ERR_INVALID);
    if (strstr(epdx_last_error(), words) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", epdx_last_error(), words);
    }
}

static void test_other_memory_is_refused(void **state)
{
    static uint16_t host[ROWS * WORLD_HIDDEN];
    epdx_chunk_t chunk = {.rows = ROWS, .main = host};
    void *other = NULL, *small = NULL;

    (void)state;
    refuses(&chunk, "the chunk's main rows");
    refuses(&chunk, "memory that CUDA does not know");
    assert_int_equal(epi_memory_cuda()->alloc(epi_gpu_device(2), BYTES, &other),
                     EPDX_OK);
    chunk.main = other;
    if (epi_gpu_is_fake()) { /* there are others */
        refuses(&chunk, "memory of another device");
    }
    assert_int_equal(epi_memory_cuda()->alloc(DEVICE, 1, &small), EPDX_OK);
    chunk.main = small;
    chunk.rows = 1000000;
    if (epi_gpu_is_fake()) { /* a GPU may have other memory behind it */
        refuses(&chunk, "the chunk's main rows");
    }
    epi_memory_cuda()->release(epi_gpu_device(2), other, BYTES);
    epi_memory_cuda()->release(DEVICE, small, 1);
}

/* The room failed before its rows were made: its range is the encode loop's
 * until then, and so is the outcome. */
static void test_a_failed_room_ends_once_its_rows_are_made(void **state)
{
    epdx_chunk_t chunk = lease();
    epi_ask_t wrong = rank_ask(&world, 0, 8, (epdx_rows_t){0, ROWS}, ROWS + 1);

    (void)state;
    encode(&chunk);
    assert_int_equal(epdx_sender_send(world.sender, 8, &chunk), EPDX_OK);
    rank_send_ask(&world, 0, &wrong);
    WORLD_UNTIL(&world, world_stats(&world).rooms_failed == 1);
    steps(100);
    assert_int_equal(world.outcome_count, 0);
    assert_true(world_stats(&world).ring_leased_bytes > 0);
    /* Another room's outcome does not wait behind it. */
    assert_int_equal(epdx_sender_fail(world.sender, 9, "no picture"), EPDX_OK);
    rank_ask_whole(&world, 0, 9, ROWS);
    world_expect(&world, 9, EPDX_ERR_CANCELLED, "no picture");
    epi_gpu_let_go(stream);
    world_expect(&world, 8, EPDX_ERR_MISMATCH, "span");
    assert_int_equal(world_stats(&world).ring_leased_bytes, 0);
}

static void test_a_ready_event_that_fails_fails_its_room(void **state)
{
    epdx_chunk_t chunk = lease();

    (void)state;
    EPI_GPU_FAKE_ONLY();
    encode(&chunk);
    assert_int_equal(epdx_sender_send(world.sender, 8, &chunk), EPDX_OK);
    epi_fake_fail("cudaEventQuery", 0, cudaErrorUnknown);
    rank_ask_whole(&world, 0, 8, ROWS);
    WORLD_UNTIL(&world, world_stats(&world).rooms_failed == 1);
    epi_gpu_let_go(stream);
    world_expect(&world, 8, EPDX_ERR_IO, "the offer to");
    assert_int_equal(world.ranks[0].offers, 0);
}

static void test_a_ready_event_with_host_memory_is_refused(void **state)
{
    epdx_sender_params_t params = world_params();
    epdx_sender_t *sender = NULL;
    epi_dataplane_t *plane = NULL;
    epdx_chunk_t chunk;

    (void)state;
    params.memory = EPDX_MEMORY_HOST;
    assert_int_equal(epi_dataplane_loopback(world.hub, &plane), EPDX_OK);
    assert_int_equal(epi_sender_open_with(&params, plane, &sender), EPDX_OK);
    assert_int_equal(epdx_sender_lease(sender, ROWS, &chunk), EPDX_OK);
    chunk.ready = event;
    assert_int_equal(epdx_sender_send(sender, 8, &chunk), EPDX_ERR_INVALID);
    assert_non_null(strstr(epdx_last_error(), "EPDX_MEMORY_CUDA"));
    chunk.ready = NULL;
    assert_int_equal(epdx_sender_send(sender, 8, &chunk), EPDX_OK);
    epdx_sender_close(sender);
}

static void test_open_refuses_a_device_that_cannot_be_used(void **state)
{
    epdx_sender_params_t params = world_params();
    epdx_sender_t *sender = NULL;

    (void)state;
    EPI_GPU_FAKE_ONLY();
    params.memory = EPDX_MEMORY_CUDA;
    epi_fake_cuda_devices(0);
    assert_int_equal(epdx_sender_open(&params, &sender), EPDX_ERR_IO);
    epi_fake_cuda_devices(EPI_FAKE_CUDA_DEVICES);
    params.memory = (epdx_memory_t)4;
    assert_int_equal(epdx_sender_open(&params, &sender), EPDX_ERR_INVALID);
    params.memory = EPDX_MEMORY_CUDA;
    epi_fake_fail("cudaMalloc", 0, cudaErrorMemoryAllocation);
    assert_int_equal(epdx_sender_open(&params, &sender), EPDX_ERR_NO_MEMORY);
    epi_fake_fail("cudaHostAlloc", 0, cudaErrorMemoryAllocation);
    assert_int_equal(epdx_sender_open(&params, &sender), EPDX_ERR_NO_MEMORY);
    assert_null(sender);
}

/* The device that was current where a loopback plane was called. */
static int mapped_on, unmapped_on;
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

/* UCX maps with the device current; the caller's thread keeps its own. */
static void test_the_plane_is_used_on_the_device(void **state)
{
    epdx_sender_params_t params = world_params();
    epdx_sender_t *sender = NULL;
    epi_dataplane_t *plane = NULL;
    epi_dp_ops_t ops;

    (void)state;
    params.memory = EPDX_MEMORY_CUDA;
    params.cuda = &cuda;
    assert_int_equal(epi_dataplane_loopback(world.hub, &plane), EPDX_OK);
    real_ops = *plane->ops;
    ops = real_ops;
    ops.map = map_and_note;
    ops.unmap = unmap_and_note;
    plane->ops = &ops;
    mapped_on = unmapped_on = -1;
    assert_int_equal(epi_sender_open_with(&params, plane, &sender), EPDX_OK);
    assert_int_equal(mapped_on, DEVICE);
    assert_int_equal(current_device(), 0);
    epdx_sender_close(sender);
    assert_int_equal(unmapped_on, DEVICE);
    assert_int_equal(current_device(), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_rows_are_sent_once_they_are_made),
        TEST(test_own_memory_is_device_memory),
        TEST(test_other_memory_is_refused),
        TEST(test_a_failed_room_ends_once_its_rows_are_made),
        TEST(test_a_ready_event_that_fails_fails_its_room),
        TEST(test_a_ready_event_with_host_memory_is_refused),
        TEST(test_open_refuses_a_device_that_cannot_be_used),
        TEST(test_the_plane_is_used_on_the_device),
    };

    return cmocka_run_group_tests_name("sender/cuda", tests, NULL, NULL);
}
