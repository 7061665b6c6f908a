/*
 * fake_cuda_stream.c: the streams of the CUDA fake: a queue each, and a thread
 * that does what is in it, in order.
 *
 *     queued --(first, not held, its time has come)--> running --> done
 *
 * cudaStreamDestroy() makes the handle invalid at once; the thread ends when
 * the queue is empty, as on a GPU. A stream is in the registry until then.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "testing/fake_cuda_stream.h"

static pthread_rwlock_t registry_lock = PTHREAD_RWLOCK_INITIALIZER;
static epi_fake_stream_t *registry;
static atomic_bool hold_all;
static atomic_uint hold_kinds;
static atomic_uint_fast64_t delay_ns;

void epi_fake_stream_drop(epi_fake_stream_t *stream)
{
    if (atomic_fetch_sub(&stream->references, 1) == 1) {
        (void)pthread_cond_destroy(&stream->changed);
        (void)pthread_mutex_destroy(&stream->lock);
        free(stream);
    }
}

static bool may_run(const epi_fake_stream_t *stream, const epi_fake_op_t *op)
{
    return !stream->held && !atomic_load(&hold_all) &&
           (atomic_load(&hold_kinds) & (unsigned)op->entry.kind) == 0;
}

/** The next operation, taken out; NULL: the stream was destroyed and is empty.
 */
static epi_fake_op_t *next_op(epi_fake_stream_t *stream)
{
    epi_fake_op_t *op;

    (void)pthread_mutex_lock(&stream->lock);
    for (;;) {
        op = stream->first;
        if (op == NULL && atomic_load(&stream->destroyed)) {
            break;
        }
        if (op == NULL || !may_run(stream, op)) {
            (void)pthread_cond_wait(&stream->changed, &stream->lock);
        } else if (epi_now_ns() < op->not_before_ns) {
            const struct timespec until = {
                .tv_sec = (time_t)(op->not_before_ns / EPI_S),
                .tv_nsec = (long)(op->not_before_ns % EPI_S)};

            (void)pthread_cond_timedwait(&stream->changed, &stream->lock,
                                         &until);
        } else {
            stream->first = op->next;
            if (stream->first == NULL) {
                stream->last = &stream->first;
            }
            break;
        }
    }
    (void)pthread_mutex_unlock(&stream->lock);
    return op;
}

static void unregister(epi_fake_stream_t *stream)
{
    epi_fake_stream_t **link;

    (void)pthread_rwlock_wrlock(&registry_lock);
    for (link = &registry; *link != stream; link = &(*link)->next) {
    }
    *link = stream->next;
    (void)pthread_rwlock_unlock(&registry_lock);
    epi_fake_stream_drop(stream);
}

static void *run_stream(void *context)
{
    epi_fake_stream_t *stream = context;
    epi_fake_op_t *op;

    while ((op = next_op(stream)) != NULL) {
        epi_fake_cuda_entry_t entry = op->entry;
        bool quiet = op->quiet;

        /* An event that is done is in the log before anybody can see it. */
        bool early = entry.kind == EPI_FAKE_CUDA_RECORD;

        entry.stage = EPI_FAKE_CUDA_RAN;
        if (!quiet && early) {
            epi_fake_cuda_log_add(&entry);
        }
        op->run(op);
        if (!quiet && !early) {
            epi_fake_cuda_log_add(&entry);
        }
        (void)pthread_mutex_lock(&stream->lock);
        stream->done++;
        (void)pthread_cond_broadcast(&stream->changed);
        (void)pthread_mutex_unlock(&stream->lock);
    }
    unregister(stream);
    return NULL;
}

/** A thread that no signal of the program is given to, and that nobody joins.
 */
static bool start_thread(epi_fake_stream_t *stream)
{
    sigset_t all;
    sigset_t before;
    pthread_attr_t attributes;
    pthread_t thread;
    bool started;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    (void)pthread_attr_init(&attributes);
    (void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    started = pthread_create(&thread, &attributes, run_stream, stream) == 0;
    (void)pthread_attr_destroy(&attributes);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

/** Make a stream; with the registry's lock held for writing. */
static epi_fake_stream_t *open_stream(int device, bool blocking,
                                      bool is_default)
{
    epi_fake_stream_t *stream = calloc(1, sizeof(*stream));
    pthread_condattr_t monotonic;

    if (stream == NULL) {
        return NULL;
    }
    stream->device = device;
    stream->blocking = blocking;
    stream->is_default = is_default;
    stream->last = &stream->first;
    atomic_init(&stream->references, 1);
    (void)pthread_mutex_init(&stream->lock, NULL);
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&stream->changed, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    if (!start_thread(stream)) {
        epi_fake_stream_drop(stream);
        return NULL;
    }
    stream->next = registry;
    registry = stream;
    return stream;
}

/** The default stream of a device, made when first asked for. */
static epi_fake_stream_t *default_stream(int device)
{
    epi_fake_stream_t *one;

    (void)pthread_rwlock_wrlock(&registry_lock);
    for (one = registry; one != NULL; one = one->next) {
        if (one->is_default && one->device == device) {
            break;
        }
    }
    if (one == NULL) {
        one = open_stream(device, true, true);
    }
    if (one != NULL) {
        (void)atomic_fetch_add(&one->references, 1);
    }
    (void)pthread_rwlock_unlock(&registry_lock);
    return one;
}

epi_fake_stream_t *epi_fake_stream_open(bool blocking)
{
    epi_fake_stream_t *stream;

    (void)pthread_rwlock_wrlock(&registry_lock);
    stream = open_stream(epi_fake_cuda_device(), blocking, false);
    (void)pthread_rwlock_unlock(&registry_lock);
    return stream;
}

cudaError_t epi_fake_stream_take(cudaStream_t handle,
                                 epi_fake_stream_t **stream_p)
{
    epi_fake_stream_t *one;

    if (handle == NULL || handle == cudaStreamLegacy) {
        *stream_p = default_stream(epi_fake_cuda_device());
        return *stream_p == NULL ? cudaErrorMemoryAllocation : cudaSuccess;
    }
    (void)pthread_rwlock_rdlock(&registry_lock);
    for (one = registry; one != NULL && one != handle; one = one->next) {
    }
    if (one != NULL && atomic_load(&one->destroyed)) {
        one = NULL;
    }
    if (one != NULL) {
        (void)atomic_fetch_add_explicit(&one->references, 1,
                                        memory_order_relaxed);
    }
    (void)pthread_rwlock_unlock(&registry_lock);
    if (one == NULL) {
        return epi_fake_cuda_violation(cudaErrorInvalidResourceHandle,
                                       "%p is not a stream, or was destroyed",
                                       (void *)handle);
    }
    *stream_p = one;
    return cudaSuccess;
}

cudaError_t epi_fake_stream_device(cudaStream_t stream, int *device_p)
{
    epi_fake_stream_t *one;
    cudaError_t error = epi_fake_stream_take(stream, &one);

    if (error == cudaSuccess) {
        *device_p = one->device;
        epi_fake_stream_drop(one);
    }
    return error;
}

/** Append to one stream's queue. */
static void append(epi_fake_stream_t *stream, epi_fake_op_t *op)
{
    if (!op->quiet) {
        epi_fake_cuda_log_add(&op->entry);
    }
    op->next = NULL;
    op->not_before_ns = epi_after(
        epi_now_ns(), atomic_load_explicit(&delay_ns, memory_order_relaxed));
    (void)pthread_mutex_lock(&stream->lock);
    *stream->last = op;
    stream->last = &op->next;
    stream->issued++;
    (void)pthread_cond_broadcast(&stream->changed);
    (void)pthread_mutex_unlock(&stream->lock);
}

bool epi_fake_stream_idle(epi_fake_stream_t *stream)
{
    bool is_idle;

    (void)pthread_mutex_lock(&stream->lock);
    is_idle = stream->done == stream->issued;
    (void)pthread_mutex_unlock(&stream->lock);
    return is_idle;
}

/** Let what comes next in stream wait for all that other has to do. */
static cudaError_t follow(epi_fake_stream_t *stream, epi_fake_stream_t *other)
{
    epi_fake_point_t *point;
    epi_fake_op_t *end;
    epi_fake_op_t *wait;

    if (epi_fake_stream_idle(other)) {
        return cudaSuccess;
    }
    point = epi_fake_point_open();
    end = epi_fake_point_end_op(point, NULL);
    wait = epi_fake_point_wait_op(point, NULL);
    epi_fake_point_drop(point);
    if (end == NULL || wait == NULL) {
        epi_fake_op_drop(end);
        epi_fake_op_drop(wait);
        return cudaErrorMemoryAllocation;
    }
    append(other, end);
    append(stream, wait);
    return cudaSuccess;
}

/** The default stream and the blocking ones of a device wait for each other. */
static cudaError_t follow_legacy(epi_fake_stream_t *stream)
{
    cudaError_t error = cudaSuccess;
    epi_fake_stream_t *one;

    if (!stream->blocking) {
        return cudaSuccess;
    }
    (void)pthread_rwlock_rdlock(&registry_lock);
    for (one = registry; one != NULL && error == cudaSuccess; one = one->next) {
        if (one->blocking && one->device == stream->device &&
            one->is_default != stream->is_default) {
            error = follow(stream, one);
        }
    }
    (void)pthread_rwlock_unlock(&registry_lock);
    return error;
}

cudaError_t epi_fake_enqueue(cudaStream_t stream, epi_fake_op_t *op)
{
    epi_fake_stream_t *one;
    cudaError_t error;

    if (op == NULL) {
        return cudaErrorMemoryAllocation;
    }
    error = epi_fake_stream_take(stream, &one);
    if (error != cudaSuccess) {
        epi_fake_op_drop(op);
        return error;
    }
    error = follow_legacy(one);
    if (error == cudaSuccess) {
        op->entry.stream = stream;
        append(one, op);
    } else {
        epi_fake_op_drop(op);
    }
    epi_fake_stream_drop(one);
    return error;
}

void epi_fake_stream_await(epi_fake_stream_t *stream)
{
    uint64_t until;

    (void)pthread_mutex_lock(&stream->lock);
    until = stream->issued;
    while (stream->done < until) {
        (void)pthread_cond_wait(&stream->changed, &stream->lock);
    }
    (void)pthread_mutex_unlock(&stream->lock);
}

cudaError_t epi_fake_await_stream(cudaStream_t stream)
{
    epi_fake_stream_t *one;
    cudaError_t error = epi_fake_stream_take(stream, &one);

    if (error == cudaSuccess) {
        error = follow_legacy(one);
        epi_fake_stream_await(one);
        epi_fake_stream_drop(one);
    }
    return error;
}

/** Let each stream's thread look again at what holds it. */
static void wake_all(void)
{
    epi_fake_stream_t *one;

    (void)pthread_rwlock_rdlock(&registry_lock);
    for (one = registry; one != NULL; one = one->next) {
        (void)pthread_mutex_lock(&one->lock);
        (void)pthread_cond_broadcast(&one->changed);
        (void)pthread_mutex_unlock(&one->lock);
    }
    (void)pthread_rwlock_unlock(&registry_lock);
}

static void set_held(cudaStream_t handle, bool held)
{
    epi_fake_stream_t *stream;

    if (handle == NULL) {
        atomic_store(&hold_all, held);
        wake_all();
        return;
    }
    if (epi_fake_stream_take(handle, &stream) == cudaSuccess) {
        (void)pthread_mutex_lock(&stream->lock);
        stream->held = held;
        (void)pthread_cond_broadcast(&stream->changed);
        (void)pthread_mutex_unlock(&stream->lock);
        epi_fake_stream_drop(stream);
    }
}

void epi_fake_cuda_hold(cudaStream_t stream)
{
    set_held(stream, true);
}

void epi_fake_cuda_let_go(cudaStream_t stream)
{
    set_held(stream, false);
}

void epi_fake_cuda_hold_kinds(unsigned kinds)
{
    atomic_store(&hold_kinds, kinds);
    wake_all();
}

void epi_fake_cuda_delay(uint64_t delay)
{
    atomic_store_explicit(&delay_ns, delay, memory_order_relaxed);
}

void epi_fake_stream_reset(void)
{
    epi_fake_stream_t *one;

    atomic_store(&hold_all, false);
    atomic_store(&hold_kinds, 0);
    epi_fake_cuda_delay(0);
    (void)pthread_rwlock_rdlock(&registry_lock);
    for (one = registry; one != NULL; one = one->next) {
        (void)pthread_mutex_lock(&one->lock);
        one->held = false;
        (void)pthread_cond_broadcast(&one->changed);
        (void)pthread_mutex_unlock(&one->lock);
    }
    (void)pthread_rwlock_unlock(&registry_lock);
}

void epi_fake_stream_live(epi_fake_cuda_live_t *live)
{
    const epi_fake_stream_t *one;

    (void)pthread_rwlock_rdlock(&registry_lock);
    for (one = registry; one != NULL; one = one->next) {
        live->streams +=
            one->is_default || atomic_load(&one->destroyed) ? 0 : 1;
    }
    (void)pthread_rwlock_unlock(&registry_lock);
}

epi_fake_stream_t *epi_fake_stream_take_busy(int device)
{
    epi_fake_stream_t *one;

    (void)pthread_rwlock_rdlock(&registry_lock);
    for (one = registry; one != NULL; one = one->next) {
        if (one->device == device && !epi_fake_stream_idle(one)) {
            (void)atomic_fetch_add(&one->references, 1);
            break;
        }
    }
    (void)pthread_rwlock_unlock(&registry_lock);
    return one;
}
