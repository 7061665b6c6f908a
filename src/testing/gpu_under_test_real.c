/*
 * gpu_under_test_real.c: see gpu_under_test.h. What the fakes' headers offer,
 * where the real libraries are: nothing to reset, nothing leaked or misused
 * that could be told, and an end of the program where a test needs more.
 */
#include "testing/gpu_under_test.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "testing/fake_cuda.h"

#define SKIPPED     77
#define STREAMS_MAX 16

/** CTest reads 77 as skipped; nothing that a test prepares should matter. */
static void __attribute__((constructor)) need_a_device(void)
{
    int count = 0;
    cudaError_t error = cudaGetDeviceCount(&count);

    if (error != cudaSuccess || count == 0) {
        (void)fprintf(stderr, "skipped: no GPU: %s\n",
                      error != cudaSuccess ? cudaGetErrorString(error)
                                           : "there are no devices");
        _exit(SKIPPED);
    }
}

static int devices(void)
{
    int count = 1;

    (void)cudaGetDeviceCount(&count);
    return count;
}

int epi_gpu_device(int wished)
{
    return wished % devices();
}

/* A stream that is held runs a host function that returns once it is let go. */
typedef struct held {
    cudaStream_t stream; /* NULL: nobody's */
    atomic_bool let_go;
} held_t;

static held_t held[STREAMS_MAX];
static pthread_mutex_t held_lock = PTHREAD_MUTEX_INITIALIZER;

static void CUDART_CB wait_for_let_go(void *context)
{
    const held_t *one = context;

    while (!atomic_load(&one->let_go)) {
        (void)sched_yield();
    }
}

/* Under the lock. */
static held_t *held_of(cudaStream_t stream)
{
    for (size_t i = 0; i < STREAMS_MAX; i++) {
        if (held[i].stream == stream) {
            return &held[i];
        }
    }
    return NULL;
}

/* The stream may be of another device than the current one. */
static cudaError_t launch(cudaStream_t stream, held_t *one)
{
    int before = 0;
    cudaError_t error;

    (void)cudaGetDevice(&before);
    error = cudaLaunchHostFunc(stream, wait_for_let_go, one);
    for (int i = 0; error != cudaSuccess && i < devices(); i++) {
        (void)cudaSetDevice(i);
        error = cudaLaunchHostFunc(stream, wait_for_let_go, one);
    }
    (void)cudaSetDevice(before);
    (void)cudaGetLastError();
    return error;
}

void epi_gpu_hold(cudaStream_t stream)
{
    held_t *one;
    bool again;

    (void)pthread_mutex_lock(&held_lock);
    again = held_of(stream) != NULL;
    one = held_of(NULL);
    if (!again && one != NULL) {
        one->stream = stream;
        atomic_store(&one->let_go, false);
    }
    (void)pthread_mutex_unlock(&held_lock);
    if (again) {
        return;
    }
    if (one == NULL || launch(stream, one) != cudaSuccess) {
        (void)fprintf(stderr, "a stream cannot be held: %s\n",
                      one == NULL ? "too many are" : "cudaLaunchHostFunc");
        abort();
    }
}

void epi_gpu_let_go(cudaStream_t stream)
{
    held_t *one;

    (void)pthread_mutex_lock(&held_lock);
    one = held_of(stream);
    (void)pthread_mutex_unlock(&held_lock);
    if (one == NULL) {
        return;
    }
    atomic_store(&one->let_go, true);
    /* Until then its function may still look at the slot. */
    (void)cudaStreamSynchronize(stream);
    (void)pthread_mutex_lock(&held_lock);
    one->stream = NULL;
    (void)pthread_mutex_unlock(&held_lock);
}

static void copy(void *to, const void *from, size_t count)
{
    cudaError_t error = cudaMemcpy(to, from, count, cudaMemcpyDefault);

    if (error != cudaSuccess) {
        (void)fprintf(stderr, "%zu bytes from %p to %p: %s\n", count, from, to,
                      cudaGetErrorString(error));
        abort();
    }
}

bool epi_gpu_is_fake(void)
{
    return false;
}

void epi_gpu_get(void *bytes, const void *device, size_t count)
{
    copy(bytes, device, count);
}

void epi_gpu_put(void *device, const void *bytes, size_t count)
{
    copy(device, bytes, count);
}

bool epi_gpu_holds(const void *device, const void *bytes, size_t count)
{
    void *found = malloc(count + 1);
    bool same;

    if (found == NULL) {
        abort();
    }
    copy(found, device, count);
    same = memcmp(found, bytes, count) == 0;
    free(found);
    return same;
}

void epi_fake_cuda_reset(void)
{
    (void)cudaSetDevice(0);
    (void)cudaGetLastError();
}

void epi_fake_calls_reset(void)
{
}

epi_fake_cuda_live_t epi_fake_cuda_live(void)
{
    return (epi_fake_cuda_live_t){0};
}

uint64_t epi_fake_cuda_violations(void)
{
    return 0;
}

uint64_t epi_fake_cuda_pageable(void)
{
    return 0;
}

/** A case that needs the fakes came here. */
static void needs_the_fakes(const char *function)
{
    (void)fprintf(stderr,
                  "%s() needs the fakes: begin the case with "
                  "EPI_GPU_FAKE_ONLY()\n",
                  function);
    abort();
}

#define NEEDS_THE_FAKES(result, name, parameters)                              \
    result name parameters                                                     \
    {                                                                          \
        needs_the_fakes(#name);                                                \
        return (result)0;                                                      \
    }
#define VOID_NEEDS_THE_FAKES(name, parameters)                                 \
    void name parameters                                                       \
    {                                                                          \
        needs_the_fakes(#name);                                                \
    }

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
VOID_NEEDS_THE_FAKES(epi_fake_fail,
                     (const char *function, uint64_t nth, int error))
NEEDS_THE_FAKES(uint64_t, epi_fake_calls, (const char *function))
NEEDS_THE_FAKES(bool, epi_fake_await_calls,
                (const char *function, uint64_t count))
NEEDS_THE_FAKES(size_t, epi_fake_cuda_log_count, (void))
NEEDS_THE_FAKES(bool, epi_fake_cuda_log_entry,
                (size_t nth, epi_fake_cuda_entry_t *entry_p))
NEEDS_THE_FAKES(size_t, epi_fake_cuda_log_find,
                (size_t from, epi_fake_cuda_kind_t kind,
                 epi_fake_cuda_stage_t stage))
NEEDS_THE_FAKES(size_t, epi_fake_cuda_log_total,
                (epi_fake_cuda_kind_t kind, epi_fake_cuda_stage_t stage))
VOID_NEEDS_THE_FAKES(epi_fake_cuda_hold, (cudaStream_t stream))
VOID_NEEDS_THE_FAKES(epi_fake_cuda_let_go, (cudaStream_t stream))
VOID_NEEDS_THE_FAKES(epi_fake_cuda_hold_kinds, (unsigned kinds))
VOID_NEEDS_THE_FAKES(epi_fake_cuda_delay, (uint64_t delay_ns))
VOID_NEEDS_THE_FAKES(epi_fake_cuda_devices, (int count))
VOID_NEEDS_THE_FAKES(epi_fake_cuda_attribute,
                     (enum cudaDeviceAttr attribute, int value))
NEEDS_THE_FAKES(void *, epi_fake_cuda_bytes, (const void *device, size_t bytes))

#ifdef EPDX_HAVE_NCCL
#include "testing/fake_nccl.h"

#define SHARES_DEVICES 23000 /* from this version on ranks may share one */

int epi_gpu_ranks(int wished)
{
    int version = 0;

    if (wished <= devices() || (ncclGetVersion(&version) == ncclSuccess &&
                                version >= SHARES_DEVICES)) {
        return wished;
    }
    return devices();
}

void epi_fake_nccl_reset(void)
{
}

size_t epi_fake_nccl_live(void)
{
    return 0;
}

VOID_NEEDS_THE_FAKES(epi_fake_nccl_fault, (const epi_fake_nccl_fault_t *fault))
VOID_NEEDS_THE_FAKES(epi_fake_nccl_version, (int version))
VOID_NEEDS_THE_FAKES(epi_fake_nccl_late, (unsigned calls))

epi_fake_nccl_counts_t epi_fake_nccl_counts(int rank)
{
    (void)rank;
    needs_the_fakes(__func__);
    return (epi_fake_nccl_counts_t){0};
}
#else
int epi_gpu_ranks(int wished)
{
    return wished <= devices() ? wished : devices();
}
#endif
#pragma GCC diagnostic pop
