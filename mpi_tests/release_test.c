/*
 * release_test.c: every rank reads admitted rows late, on (fake) CUDA streams
 * that it holds and lets go in an order of its own, and gives the requests back
 * before they are read: after an event, with tensors that the stream deletes,
 * or both. All requests together are far over the pool. What each stream finds
 * is what landed, so nothing was overwritten before.
 */
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "engine.h"
#include "epdx/dlpack.h"
#include "harness.h"
#include "testing/fake_cuda.h"
#include "testing/seeded.h"

#define HIDDEN    64
#define LEVELS    2
#define ROW_BYTES ((size_t)HIDDEN * 2 * (1 + LEVELS))
#define POOL_ROWS 1024
#define REQUESTS  48
#define STREAMS   3
#define ITEMS     2
#define PARTS     2

/* How a request is given back. */
typedef enum way {
    BY_EVENT,
    BY_TENSORS,
    BY_BOTH,
    WAYS,
} way_t;

/* A part of an item as it was when it was admitted. */
typedef struct part {
    DLManagedTensor *tensor;
    const void *rows;
    void *as_landed;
    size_t bytes;
} part_t;

/* What a stream does with a request. */
typedef struct reading {
    part_t parts[ITEMS * PARTS];
    bool deletes;
    atomic_bool read;
    atomic_bool right;
} reading_t;

static engine_t engine;
static reading_t readings[REQUESTS];
static cudaStream_t streams[STREAMS];
static cudaEvent_t events[REQUESTS];

static engine_request_t make(size_t number)
{
    engine_request_t request = {.item_count = ITEMS};

    for (size_t j = 0; j < ITEMS; j++) {
        request.spans[j] = 1 + (number * 37 + j * 11) % 150;
    }
    return request;
}

/* On the stream's own thread. */
static void read_late(void *context)
{
    reading_t *reading = context;
    bool right = true;

    for (size_t i = 0; i < ITEMS * PARTS; i++) {
        part_t *part = &reading->parts[i];

        right = right && memcmp(part->rows, part->as_landed, part->bytes) == 0;
        if (reading->deletes) {
            part->tensor->deleter(part->tensor);
        }
    }
    atomic_store(&reading->right, right);
    atomic_store(&reading->read, true);
}

static bool take_part(part_t *part, const char *id, size_t item,
                      epdx_part_t which)
{
    const DLTensor *tensor;

    if (epdx_admission_tensor(engine.admission, id, item, which,
                              &part->tensor) != EPDX_OK) {
        return false;
    }
    tensor = &part->tensor->dl_tensor;
    part->rows = tensor->data;
    part->bytes = (size_t)(tensor->shape[0] * tensor->shape[1]) * 2;
    part->as_landed = malloc(part->bytes);
    if (part->as_landed == NULL) {
        abort();
    }
    memcpy(part->as_landed, part->rows, part->bytes);
    return tensor->shape[1] ==
           (which == EPDX_PART_MAIN ? HIDDEN : HIDDEN * LEVELS);
}

static bool give_back(size_t number)
{
    reading_t *reading = &readings[number];
    size_t rank = (size_t)harness_rank();
    cudaStream_t stream = streams[(number + rank) % STREAMS];
    way_t way = (way_t)((number / STREAMS + rank) % WAYS);
    bool good = true;
    char id[32];

    (void)snprintf(id, sizeof(id), "%zu", number);
    for (size_t i = 0; i < ITEMS * PARTS; i++) {
        good = good && take_part(&reading->parts[i], id, i / PARTS,
                                 (epdx_part_t)(i % PARTS));
    }
    reading->deletes = way != BY_EVENT;
    for (size_t i = 0; good && i < ITEMS * PARTS && way == BY_EVENT; i++) {
        reading->parts[i].tensor->deleter(reading->parts[i].tensor);
    }
    return good &&
           cudaLaunchHostFunc(stream, read_late, reading) == cudaSuccess &&
           cudaEventRecord(events[number], stream) == cudaSuccess &&
           epdx_admission_release_after(
               engine.admission, id,
               way == BY_TENSORS ? NULL : events[number]) == EPDX_OK;
}

/* Let a stream do all that it was given. */
static void let_go(size_t stream)
{
    epi_fake_cuda_let_go(streams[stream]);
    (void)cudaStreamSynchronize(streams[stream]);
    epi_fake_cuda_hold(streams[stream]);
}

static bool open_streams(void)
{
    bool good = true;

    for (size_t i = 0; i < STREAMS; i++) {
        good = good && cudaStreamCreateWithFlags(
                           &streams[i], cudaStreamNonBlocking) == cudaSuccess;
        epi_fake_cuda_hold(streams[i]);
    }
    for (size_t i = 0; i < REQUESTS; i++) {
        good = good && cudaEventCreateWithFlags(
                           &events[i], cudaEventDisableTiming) == cudaSuccess;
    }
    return good;
}

static bool close_streams(void)
{
    epi_fake_cuda_live_t live;

    for (size_t i = 0; i < STREAMS; i++) {
        (void)cudaStreamDestroy(streams[i]);
    }
    for (size_t i = 0; i < REQUESTS; i++) {
        (void)cudaEventDestroy(events[i]);
        for (size_t j = 0; j < ITEMS * PARTS; j++) {
            free(readings[i].parts[j].as_landed);
        }
    }
    live = epi_fake_cuda_live();
    return live.streams == 0 && live.events == 0 &&
           epi_fake_cuda_violations() == 0;
}

/* Drain, give back, and now and then let one of this rank's streams go. */
static void run_all(void)
{
    test_seeded_t seeded = {100 + (uint64_t)harness_rank()};
    uint64_t waits = epi_fake_calls("cudaStreamSynchronize") +
                     epi_fake_calls("cudaEventSynchronize");
    uint64_t own_waits = 0;
    bool good = true;
    bool waited = false;

    while (engine.admitted + engine.failed < REQUESTS) {
        epdx_receiver_stats_t stats;

        engine_drain_times(&engine, 1);
        while (engine.unreleased_count > 0) {
            good =
                give_back(engine.unreleased[--engine.unreleased_count]) && good;
        }
        stats = engine_receiver(&engine);
        waited = waited || (stats.requests_waiting > 0 && stats.bytes_held > 0);
        if (test_seeded_below(&seeded, 20) == 0) {
            let_go((size_t)test_seeded_below(&seeded, STREAMS));
            own_waits++;
        }
        sched_yield();
    }
    CHECK_ALL(good);
    CHECK_ALL(waited);
    CHECK_ALL(engine.failed == 0);
    /* Nobody but this test waited for a stream or an event. */
    CHECK_ALL(epi_fake_calls("cudaStreamSynchronize") +
                  epi_fake_calls("cudaEventSynchronize") ==
              waits + own_waits);
}

static void nothing_is_overwritten_before_it_is_read(void)
{
    engine_params_t params = {
        .nodes = 2,
        .encode_tp = 1,
        .dtype = EPDX_BFLOAT16,
        .hidden = HIDDEN,
        .levels = LEVELS,
        .shard = true,
        .pool_bytes = POOL_ROWS * ROW_BYTES,
        .ring_bytes = POOL_ROWS * ROW_BYTES,
        .timeout_ns = 120 * EPI_S,
        .release_late = true,
    };

    CHECK_ALL(open_streams());
    engine_open(&engine, &params);
    for (size_t i = 0; i < REQUESTS; i++) {
        engine_request_t request = make(i);

        CHECK_ALL_STATUS(engine_stage(&engine, i, &request), EPDX_OK);
    }
    for (size_t i = 0; i < REQUESTS; i++) {
        engine_request_t request = make(i);

        engine_send(&engine, i, &request);
    }
    run_all();
    for (size_t i = 0; i < STREAMS; i++) {
        epi_fake_cuda_let_go(streams[i]);
        CHECK_ALL(cudaStreamSynchronize(streams[i]) == cudaSuccess);
    }
    for (size_t i = 0; i < REQUESTS; i++) {
        CHECK_ALL(engine.landed_right[i]);
        CHECK_ALL(atomic_load(&readings[i].read));
        CHECK_ALL(atomic_load(&readings[i].right));
    }
    CHECK_ALL(engine_encode_quiet(&engine));
    engine_close(&engine);
    CHECK_ALL(close_streams());
}

int main(int argc, char **argv)
{
    static const harness_case_t cases[] = {
        HARNESS_CASE(nothing_is_overwritten_before_it_is_read),
    };

    return harness_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
