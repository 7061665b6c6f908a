/* fake_cuda_copy.c: what the streams of the CUDA fake do to memory: copy, set,
 * call a host function. */
#include <stdlib.h>
#include <string.h>

#include "testing/fake_cuda_internal.h"

typedef struct copy_op {
    epi_fake_op_t base;
    epi_fake_range_t dst;
    epi_fake_range_t src;
    size_t bytes;
    void *staged; /* of a source that is not pinned: its bytes at the call */
} copy_op_t;

typedef struct set_op {
    epi_fake_op_t base;
    epi_fake_range_t dst;
    int value;
    size_t bytes;
} set_op_t;

typedef struct host_op {
    epi_fake_op_t base;
    cudaHostFn_t function;
    void *context;
} host_op_t;

static atomic_uint_fast64_t pageable;

uint64_t epi_fake_cuda_pageable(void)
{
    return atomic_load_explicit(&pageable, memory_order_relaxed);
}

void epi_fake_copy_reset(void)
{
    atomic_store_explicit(&pageable, 0, memory_order_relaxed);
}

static void drop_copy(epi_fake_op_t *op)
{
    copy_op_t *copy = (copy_op_t *)op;

    epi_fake_drop(&copy->dst);
    epi_fake_drop(&copy->src);
    free(copy->staged);
    free(copy);
}

static void run_copy(epi_fake_op_t *op)
{
    const copy_op_t *copy = (const copy_op_t *)op;

    memmove(copy->dst.bytes,
            copy->staged != NULL ? copy->staged : copy->src.bytes, copy->bytes);
    drop_copy(op);
}

/** Whether both ends are what kind says they are. */
static cudaError_t check_kind(const copy_op_t *copy, enum cudaMemcpyKind kind)
{
    static const struct {
        bool dst_device;
        bool src_device;
    } ends[] = {
        [cudaMemcpyHostToHost] = {false, false},
        [cudaMemcpyHostToDevice] = {true, false},
        [cudaMemcpyDeviceToHost] = {false, true},
        [cudaMemcpyDeviceToDevice] = {true, true},
    };

    if (kind == cudaMemcpyDefault) {
        return cudaSuccess;
    }
    if ((unsigned)kind >= sizeof(ends) / sizeof(ends[0])) {
        return cudaErrorInvalidMemcpyDirection;
    }
    if (ends[kind].dst_device != (copy->dst.memory == EPI_FAKE_DEVICE) ||
        ends[kind].src_device != (copy->src.memory == EPI_FAKE_DEVICE)) {
        return epi_fake_cuda_violation(
            cudaErrorInvalidValue,
            "a copy of kind %d from memory that is%s device memory to memory "
            "that is%s",
            (int)kind, copy->src.memory == EPI_FAKE_DEVICE ? "" : " not",
            copy->dst.memory == EPI_FAKE_DEVICE ? "" : " not");
    }
    return cudaSuccess;
}

/** Hold both ends of a copy. On error op is dropped. */
static cudaError_t open_copy(const epi_fake_cuda_entry_t *entry,
                             enum cudaMemcpyKind kind, copy_op_t **copy_p)
{
    copy_op_t *copy = calloc(1, sizeof(*copy));
    cudaError_t error;

    if (copy == NULL) {
        return cudaErrorMemoryAllocation;
    }
    copy->base.entry = *entry;
    copy->base.run = run_copy;
    copy->base.drop = drop_copy;
    copy->bytes = entry->bytes;
    error = epi_fake_take(entry->dst, entry->bytes, &copy->dst);
    if (error == cudaSuccess) {
        error = epi_fake_take(entry->src, entry->bytes, &copy->src);
    }
    if (error == cudaSuccess) {
        error = check_kind(copy, kind);
    }
    if (error != cudaSuccess) {
        drop_copy(&copy->base);
        return error;
    }
    *copy_p = copy;
    return cudaSuccess;
}

/** The source is read during the call where it is not pinned. */
static cudaError_t stage(copy_op_t *copy)
{
    if (copy->src.memory != EPI_FAKE_PAGEABLE || copy->bytes == 0) {
        return cudaSuccess;
    }
    copy->staged = malloc(copy->bytes);
    if (copy->staged == NULL) {
        return cudaErrorMemoryAllocation;
    }
    memcpy(copy->staged, copy->src.bytes, copy->bytes);
    return cudaSuccess;
}

static cudaError_t copy_async(const epi_fake_cuda_entry_t *entry,
                              enum cudaMemcpyKind kind, cudaStream_t stream)
{
    copy_op_t *copy;
    bool waits;
    cudaError_t error = open_copy(entry, kind, &copy);

    if (error != cudaSuccess) {
        return error;
    }
    waits = copy->dst.memory == EPI_FAKE_PAGEABLE;
    if (waits || copy->src.memory == EPI_FAKE_PAGEABLE) {
        (void)atomic_fetch_add_explicit(&pageable, 1, memory_order_relaxed);
    }
    error = stage(copy);
    if (error != cudaSuccess) {
        drop_copy(&copy->base);
        return error;
    }
    error = epi_fake_enqueue(stream, &copy->base);
    if (error == cudaSuccess && waits) {
        error = epi_fake_await_stream(stream);
    }
    return error;
}

cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t count,
                            enum cudaMemcpyKind kind, cudaStream_t stream)
{
    const epi_fake_cuda_entry_t entry = {.kind = EPI_FAKE_CUDA_COPY,
                                         .stage = EPI_FAKE_CUDA_ISSUED,
                                         .dst = dst,
                                         .src = src,
                                         .bytes = count};
    cudaError_t error = epi_fake_cuda_enter(__func__);

    return error != cudaSuccess
               ? error
               : epi_fake_cuda_leave(copy_async(&entry, kind, stream));
}

cudaError_t cudaMemcpy(void *dst, const void *src, size_t count,
                       enum cudaMemcpyKind kind)
{
    const epi_fake_cuda_entry_t entry = {.kind = EPI_FAKE_CUDA_COPY,
                                         .stage = EPI_FAKE_CUDA_ISSUED,
                                         .dst = dst,
                                         .src = src,
                                         .bytes = count};
    copy_op_t *copy;
    cudaError_t error = epi_fake_cuda_enter(__func__);

    if (error == cudaSuccess) {
        error = epi_fake_cuda_leave(open_copy(&entry, kind, &copy));
    }
    if (error == cudaSuccess) {
        error = epi_fake_cuda_leave(epi_fake_enqueue(NULL, &copy->base));
    }
    if (error == cudaSuccess) {
        error = epi_fake_cuda_leave(epi_fake_await_stream(NULL));
    }
    return error;
}

static void drop_set(epi_fake_op_t *op)
{
    epi_fake_drop(&((set_op_t *)op)->dst);
    free(op);
}

static void run_set(epi_fake_op_t *op)
{
    const set_op_t *set = (const set_op_t *)op;

    memset(set->dst.bytes, set->value, set->bytes);
    drop_set(op);
}

static cudaError_t set_async(const epi_fake_cuda_entry_t *entry, int value,
                             cudaStream_t stream)
{
    set_op_t *set = calloc(1, sizeof(*set));
    cudaError_t error;

    if (set == NULL) {
        return cudaErrorMemoryAllocation;
    }
    set->base.entry = *entry;
    set->base.run = run_set;
    set->base.drop = drop_set;
    set->value = value;
    set->bytes = entry->bytes;
    error = epi_fake_take(entry->dst, entry->bytes, &set->dst);
    if (error == cudaSuccess && set->dst.memory == EPI_FAKE_PAGEABLE) {
        error = epi_fake_cuda_violation(cudaErrorInvalidValue,
                                        "a set of memory at %p, which is not "
                                        "CUDA's",
                                        entry->dst);
    }
    if (error != cudaSuccess) {
        drop_set(&set->base);
        return error;
    }
    return epi_fake_enqueue(stream, &set->base);
}

static cudaError_t begin_set(const char *function, void *dst, size_t bytes,
                             int value, cudaStream_t stream)
{
    const epi_fake_cuda_entry_t entry = {.kind = EPI_FAKE_CUDA_SET,
                                         .stage = EPI_FAKE_CUDA_ISSUED,
                                         .dst = dst,
                                         .bytes = bytes};
    cudaError_t error = epi_fake_cuda_enter(function);

    return error != cudaSuccess
               ? error
               : epi_fake_cuda_leave(set_async(&entry, value, stream));
}

cudaError_t cudaMemsetAsync(void *devPtr, int value, size_t count,
                            cudaStream_t stream)
{
    return begin_set(__func__, devPtr, count, value, stream);
}

/** The real one does not wait either, where the memory is the device's. */
cudaError_t cudaMemset(void *devPtr, int value, size_t count)
{
    return begin_set(__func__, devPtr, count, value, NULL);
}

static void drop_host(epi_fake_op_t *op)
{
    free(op);
}

static void run_host(epi_fake_op_t *op)
{
    const host_op_t *host = (const host_op_t *)op;

    host->function(host->context);
    drop_host(op);
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn,
                               void *userData)
{
    const epi_fake_cuda_entry_t entry = {.kind = EPI_FAKE_CUDA_HOST,
                                         .stage = EPI_FAKE_CUDA_ISSUED};
    host_op_t *host;
    cudaError_t error = epi_fake_cuda_enter(__func__);

    if (error == cudaSuccess && fn == NULL) {
        error = epi_fake_cuda_leave(cudaErrorInvalidValue);
    }
    if (error != cudaSuccess) {
        return error;
    }
    host = calloc(1, sizeof(*host));
    if (host == NULL) {
        return epi_fake_cuda_leave(cudaErrorMemoryAllocation);
    }
    host->base.entry = entry;
    host->base.run = run_host;
    host->base.drop = drop_host;
    host->function = fn;
    host->context = userData;
    return epi_fake_cuda_leave(epi_fake_enqueue(stream, &host->base));
}
