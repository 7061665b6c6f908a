/* fake_calls.c: see fake_calls.h. */
#include "testing/fake_calls.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

#define GIVE_UP_NS (30 * EPI_S)

static const char *const names[] = {
    "cudaDeviceFlushGPUDirectRDMAWrites",
    "cudaDeviceGetAttribute",
    "cudaDeviceGetPCIBusId",
    "cudaDeviceSynchronize",
    "cudaDriverGetVersion",
    "cudaEventCreate",
    "cudaEventCreateWithFlags",
    "cudaEventDestroy",
    "cudaEventQuery",
    "cudaEventRecord",
    "cudaEventSynchronize",
    "cudaFree",
    "cudaFreeHost",
    "cudaGetDevice",
    "cudaGetDeviceCount",
    "cudaGraphDestroy",
    "cudaHostAlloc",
    "cudaLaunchHostFunc",
    "cudaMalloc",
    "cudaMallocHost",
    "cudaMemGetInfo",
    "cudaMemcpy",
    "cudaMemcpyAsync",
    "cudaMemset",
    "cudaMemsetAsync",
    "cudaPointerGetAttributes",
    "cudaRuntimeGetVersion",
    "cudaSetDevice",
    "cudaStreamBeginCapture",
    "cudaStreamCreate",
    "cudaStreamCreateWithFlags",
    "cudaStreamDestroy",
    "cudaStreamEndCapture",
    "cudaStreamQuery",
    "cudaStreamSynchronize",
    "cudaStreamWaitEvent",
    "cudaThreadExchangeStreamCaptureMode",
    "ncclBroadcast",
    "ncclCommAbort",
    "ncclCommCount",
    "ncclCommCuDevice",
    "ncclCommDestroy",
    "ncclCommFinalize",
    "ncclCommGetAsyncError",
    "ncclCommInitRank",
    "ncclCommInitRankConfig",
    "ncclCommUserRank",
    "ncclGetUniqueId",
    "ncclGetVersion",
    "ncclGroupEnd",
    "ncclGroupStart",
};

#define NAME_COUNT (sizeof(names) / sizeof(names[0]))

/** All of it relaxed: counting orders nobody. */
typedef struct calls {
    atomic_uint_fast64_t count;
    atomic_uint_fast64_t fail_at; /* the call that fails, counted from 1 */
    atomic_int error;
} calls_t;

static calls_t all[NAME_COUNT];

static calls_t *find(const char *function)
{
    size_t i;

    for (i = 0; i < NAME_COUNT; i++) {
        if (strcmp(names[i], function) == 0) {
            return &all[i];
        }
    }
    fprintf(stderr, "fake_calls: no fake has a function %s\n", function);
    abort();
}

static uint64_t get(atomic_uint_fast64_t *value)
{
    return atomic_load_explicit(value, memory_order_relaxed);
}

static void set(atomic_uint_fast64_t *value, uint64_t to)
{
    atomic_store_explicit(value, to, memory_order_relaxed);
}

void epi_fake_fail(const char *function, uint64_t nth, int error)
{
    calls_t *calls = find(function);

    atomic_store_explicit(&calls->error, error, memory_order_relaxed);
    set(&calls->fail_at, get(&calls->count) + 1 + nth);
}

uint64_t epi_fake_calls(const char *function)
{
    return get(&find(function)->count);
}

bool epi_fake_await_calls(const char *function, uint64_t count)
{
    const struct timespec nap = {.tv_nsec = 100000};
    calls_t *calls = find(function);
    uint64_t deadline = epi_after(epi_now_ns(), GIVE_UP_NS);

    while (get(&calls->count) < count) {
        if (epi_now_ns() >= deadline) {
            return false;
        }
        nanosleep(&nap, NULL);
    }
    return true;
}

void epi_fake_calls_reset(void)
{
    size_t i;

    for (i = 0; i < NAME_COUNT; i++) {
        set(&all[i].fail_at, 0);
        set(&all[i].count, 0);
    }
}

int epi_fake_call(const char *function)
{
    calls_t *calls = find(function);
    uint64_t before =
        atomic_fetch_add_explicit(&calls->count, 1, memory_order_relaxed);

    if (before + 1 != get(&calls->fail_at)) {
        return 0;
    }
    return atomic_load_explicit(&calls->error, memory_order_relaxed);
}
