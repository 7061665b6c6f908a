/*
 * fake_cuda.h: a CUDA runtime without a GPU, for tests. It stands behind the
 * real <cuda_runtime_api.h>: the product calls cudaMemcpyAsync() and the like
 * by name, and a program that links epi_gpu_fake gets these instead. Here is
 * what a test does to it besides.
 *
 * How it is faithful:
 * - A device pointer has no access rights: host code that reads or writes it
 *   faults. The fake reaches the bytes through a second mapping.
 * - Fresh memory, device and pinned, is EPI_FAKE_CUDA_POISON.
 * - A stream is a queue with a thread of its own. Nothing but a stream's order,
 *   events and the calls that wait orders two streams, so the thread sanitizer
 *   finds copies that race with each other or with the host.
 * - The default stream and the streams made without cudaStreamNonBlocking wait
 *   for each other; cudaMemcpy() is on the default stream and waits.
 * - A copy to or from memory that is not pinned waits, as the real one may.
 * - cudaFree() waits for the operations that still use the memory.
 * - The current device is each thread's own, at first 0. An event is recorded
 *   only in a stream of its own device.
 * - cudaGetLastError() also tells cudaErrorNotReady of a query.
 * - A query while a stream is captured in global mode fails and spoils the
 *   capture, but from a thread that exchanged its capture mode.
 *
 * Where it is stricter: a copy that leaves its allocation, a handle or pointer
 * that was never made or is gone, fails with an error and is counted and logged
 * as a violation.
 *
 * Any thread may call anything here.
 */
#ifndef EPI_TESTING_FAKE_CUDA_H
#define EPI_TESTING_FAKE_CUDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cuda_runtime_api.h>

#include "testing/fake_calls.h"

/** Each byte of memory that was allocated and not yet written. */
#define EPI_FAKE_CUDA_POISON 0xdb

/** How many devices there are at first, and at most. */
#define EPI_FAKE_CUDA_DEVICES 8

/** What streams do, as bits, to hold some; and what else the log tells. */
typedef enum epi_fake_cuda_kind {
    EPI_FAKE_CUDA_COPY = 1 << 0,
    EPI_FAKE_CUDA_SET = 1 << 1,
    EPI_FAKE_CUDA_RECORD = 1 << 2,
    EPI_FAKE_CUDA_WAIT = 1 << 3,
    EPI_FAKE_CUDA_HOST = 1 << 4,
    EPI_FAKE_CUDA_NCCL = 1 << 5, /* one group of broadcasts */
    EPI_FAKE_CUDA_ANY = (1 << 6) - 1,
    /** The caller learned that an event is done, by query or by waiting; once
     *  for each time it was recorded. */
    EPI_FAKE_CUDA_SEEN = 1 << 6,
    /** cudaDeviceFlushGPUDirectRDMAWrites(). */
    EPI_FAKE_CUDA_FLUSH = 1 << 7,
} epi_fake_cuda_kind_t;

typedef enum epi_fake_cuda_stage {
    EPI_FAKE_CUDA_ISSUED, /* the call was made; SEEN and FLUSH: have only it */
    EPI_FAKE_CUDA_RAN,    /* the stream has done it */
} epi_fake_cuda_stage_t;

typedef struct epi_fake_cuda_entry {
    epi_fake_cuda_kind_t kind;
    epi_fake_cuda_stage_t stage;
    cudaStream_t stream; /* NULL: the default stream */
    cudaEvent_t event;   /* of RECORD, WAIT and SEEN */
    const void *dst;     /* of COPY and SET */
    const void *src;     /* of COPY */
    size_t bytes;        /* of COPY, SET, and NCCL: of all its broadcasts */
    size_t count;        /* of NCCL: its broadcasts */
} epi_fake_cuda_entry_t;

/** The log keeps that many entries from the start, and counts on. */
#define EPI_FAKE_CUDA_LOG_MAX 8192

/** Entries since the start or the last reset. */
size_t epi_fake_cuda_log_count(void);

/** The nth entry; false when there is none, or it was not kept. */
bool epi_fake_cuda_log_entry(size_t nth, epi_fake_cuda_entry_t *entry_p);

/** The first entry of that kind and stage at from or later; SIZE_MAX when
 *  there is none. */
size_t epi_fake_cuda_log_find(size_t from, epi_fake_cuda_kind_t kind,
                              epi_fake_cuda_stage_t stage);

/** Entries of that kind and stage. */
size_t epi_fake_cuda_log_total(epi_fake_cuda_kind_t kind,
                               epi_fake_cuda_stage_t stage);

/** Hold a stream, or every one there is and will be where stream is NULL: it
 *  begins nothing more until it is let go. Idempotent. */
void epi_fake_cuda_hold(cudaStream_t stream);

/** Let go what epi_fake_cuda_hold() held with the same argument. */
void epi_fake_cuda_let_go(cudaStream_t stream);

/** Hold, in every stream, operations of these kinds (bits) and what is queued
 *  behind them; 0 lets all go. */
void epi_fake_cuda_hold_kinds(unsigned kinds);

/** Let every operation queued from now on begin no earlier than delay_ns after
 *  its call. */
void epi_fake_cuda_delay(uint64_t delay_ns);

/** How many devices there are from now on, at most EPI_FAKE_CUDA_DEVICES. With
 *  0, cudaGetDeviceCount() gives cudaErrorNoDevice. */
void epi_fake_cuda_devices(int count);

/** What cudaDeviceGetAttribute() says of every device. Known from the start:
 *  cudaDevAttrGPUDirectRDMASupported 1,
 *  cudaDevAttrGPUDirectRDMAFlushWritesOptions 1 (by the host),
 *  cudaDevAttrGPUDirectRDMAWritesOrdering 100 (the owner; no flush needed),
 *  cudaDevAttrUnifiedAddressing 1, compute capability 9.0. */
void epi_fake_cuda_attribute(enum cudaDeviceAttr attribute, int value);

/** The bytes behind bytes of device memory, for a test to look at or fill once
 *  what uses them is known to be done; NULL when they are not all in one
 *  allocation. Any address inside it is allowed. */
void *epi_fake_cuda_bytes(const void *device, size_t bytes);

typedef struct epi_fake_cuda_live {
    size_t device_allocations;
    size_t pinned_allocations;
    size_t device_bytes;
    size_t pinned_bytes;
    size_t streams;
    size_t events;
} epi_fake_cuda_live_t;

/** What was made and not yet freed or destroyed. */
epi_fake_cuda_live_t epi_fake_cuda_live(void);

/** Misuses so far: see the head of this file. */
uint64_t epi_fake_cuda_violations(void);

/** Copies to or from memory that is not pinned so far. */
uint64_t epi_fake_cuda_pageable(void);

/** For the start of a test: no faults, holds, delays, log, counts, violations;
 *  devices and attributes as at first; the calling thread's device is 0. What
 *  is live stays. */
void epi_fake_cuda_reset(void);

#endif
