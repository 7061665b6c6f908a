/* fake_cuda_event.c: the events of the CUDA fake. An event names the point in
 * a stream where it was last recorded; one never recorded is done. */
#include <stdlib.h>

#include "testing/fake_cuda_internal.h"

struct CUevent_st {
    struct CUevent_st *next; /* registry */
    int device;
    pthread_mutex_t lock;
    epi_fake_point_t *point; /* NULL: never recorded */
};

typedef struct CUevent_st event_t;

/** Events are looked up here for reading, and while one is read it stays. */
static pthread_rwlock_t registry_lock = PTHREAD_RWLOCK_INITIALIZER;
static event_t *registry;
static atomic_uint_fast64_t seen[EPI_FAKE_CUDA_DEVICES];

static bool is_event(cudaEvent_t handle)
{
    const event_t *one;

    for (one = registry; one != NULL && one != handle; one = one->next) {
    }
    return one != NULL;
}

static cudaError_t no_event(cudaEvent_t handle)
{
    return epi_fake_cuda_violation(cudaErrorInvalidResourceHandle,
                                   "%p is not an event, or was destroyed",
                                   (void *)handle);
}

/** The point that event names, shared (NULL: none), and its device. */
static cudaError_t take_point(cudaEvent_t event, epi_fake_point_t **point_p,
                              int *device_p)
{
    bool found;

    (void)pthread_rwlock_rdlock(&registry_lock);
    found = is_event(event);
    if (found) {
        (void)pthread_mutex_lock(&event->lock);
        *point_p = epi_fake_point_share(event->point);
        (void)pthread_mutex_unlock(&event->lock);
        *device_p = event->device;
    }
    (void)pthread_rwlock_unlock(&registry_lock);
    return found ? cudaSuccess : no_event(event);
}

/** Let event name point, which becomes the event's. */
static cudaError_t set_point(cudaEvent_t event, epi_fake_point_t *point)
{
    epi_fake_point_t *before = point;
    bool found;

    (void)pthread_rwlock_rdlock(&registry_lock);
    found = is_event(event);
    if (found) {
        (void)pthread_mutex_lock(&event->lock);
        before = event->point;
        event->point = point;
        (void)pthread_mutex_unlock(&event->lock);
    }
    (void)pthread_rwlock_unlock(&registry_lock);
    epi_fake_point_drop(before);
    return found ? cudaSuccess : no_event(event);
}

uint64_t epi_fake_event_seen(int device)
{
    return atomic_load_explicit(&seen[device], memory_order_relaxed);
}

static void log_seen(cudaEvent_t event, int device, epi_fake_point_t *point)
{
    const epi_fake_cuda_entry_t entry = {.kind = EPI_FAKE_CUDA_SEEN,
                                         .stage = EPI_FAKE_CUDA_ISSUED,
                                         .event = event};

    if (epi_fake_point_see(point)) {
        epi_fake_cuda_log_add(&entry);
        (void)atomic_fetch_add_explicit(&seen[device], 1, memory_order_relaxed);
    }
}

void epi_fake_event_live(epi_fake_cuda_live_t *live)
{
    const event_t *one;

    (void)pthread_rwlock_rdlock(&registry_lock);
    for (one = registry; one != NULL; one = one->next) {
        live->events++;
    }
    (void)pthread_rwlock_unlock(&registry_lock);
}

static cudaError_t open_event(cudaEvent_t *event_p, unsigned flags)
{
    const unsigned known = cudaEventBlockingSync | cudaEventDisableTiming;
    event_t *event;

    if (event_p == NULL || (flags & ~known) != 0) {
        return epi_fake_cuda_leave(cudaErrorInvalidValue);
    }
    event = calloc(1, sizeof(*event));
    if (event == NULL) {
        return epi_fake_cuda_leave(cudaErrorMemoryAllocation);
    }
    event->device = epi_fake_cuda_device();
    (void)pthread_mutex_init(&event->lock, NULL);
    (void)pthread_rwlock_wrlock(&registry_lock);
    event->next = registry;
    registry = event;
    (void)pthread_rwlock_unlock(&registry_lock);
    *event_p = event;
    return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
    cudaError_t error = epi_fake_cuda_enter(__func__);

    return error != cudaSuccess ? error : open_event(event, flags);
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    cudaError_t error = epi_fake_cuda_enter(__func__);

    return error != cudaSuccess ? error : open_event(event, cudaEventDefault);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    cudaError_t error = epi_fake_cuda_enter(__func__);
    event_t **link;

    if (error != cudaSuccess) {
        return error;
    }
    (void)pthread_rwlock_wrlock(&registry_lock);
    for (link = &registry; *link != NULL && *link != event;
         link = &(*link)->next) {
    }
    if (*link == NULL) {
        (void)pthread_rwlock_unlock(&registry_lock);
        return epi_fake_cuda_leave(no_event(event));
    }
    *link = event->next;
    (void)pthread_rwlock_unlock(&registry_lock);
    epi_fake_point_drop(event->point);
    (void)pthread_mutex_destroy(&event->lock);
    free(event);
    return cudaSuccess;
}

static cudaError_t record(cudaEvent_t event, cudaStream_t stream)
{
    const epi_fake_cuda_entry_t entry = {.kind = EPI_FAKE_CUDA_RECORD,
                                         .stage = EPI_FAKE_CUDA_ISSUED,
                                         .event = event};
    epi_fake_point_t *point = NULL;
    int event_device = 0;
    int stream_device = 0;
    cudaError_t error = take_point(event, &point, &event_device);

    epi_fake_point_drop(point);
    if (error == cudaSuccess) {
        error = epi_fake_stream_device(stream, &stream_device);
    }
    if (error != cudaSuccess) {
        return error;
    }
    if (event_device != stream_device) {
        return epi_fake_cuda_violation(
            cudaErrorInvalidResourceHandle,
            "an event of device %d is recorded in a stream of device %d",
            event_device, stream_device);
    }
    point = epi_fake_point_open();
    error = epi_fake_enqueue(stream, epi_fake_point_end_op(point, &entry));
    if (error != cudaSuccess) {
        epi_fake_point_drop(point);
        return error;
    }
    return set_point(event, point);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    cudaError_t error = epi_fake_cuda_enter(__func__);

    return error != cudaSuccess ? error
                                : epi_fake_cuda_leave(record(event, stream));
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    epi_fake_point_t *point = NULL;
    int device = 0;
    cudaError_t error = epi_fake_cuda_enter(__func__);

    if (error == cudaSuccess) {
        error = epi_fake_capture_allows();
    }
    if (error == cudaSuccess) {
        error = epi_fake_cuda_leave(take_point(event, &point, &device));
    }
    if (error != cudaSuccess || point == NULL) {
        return error;
    }
    if (epi_fake_point_done(point)) {
        log_seen(event, device, point);
    } else {
        error = epi_fake_cuda_leave(cudaErrorNotReady);
    }
    epi_fake_point_drop(point);
    return error;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    epi_fake_point_t *point = NULL;
    int device = 0;
    cudaError_t error = epi_fake_cuda_enter(__func__);

    if (error == cudaSuccess) {
        error = epi_fake_cuda_leave(take_point(event, &point, &device));
    }
    if (error == cudaSuccess && point != NULL) {
        epi_fake_point_await(point);
        log_seen(event, device, point);
        epi_fake_point_drop(point);
    }
    return error;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                unsigned int flags)
{
    const epi_fake_cuda_entry_t entry = {.kind = EPI_FAKE_CUDA_WAIT,
                                         .stage = EPI_FAKE_CUDA_ISSUED,
                                         .event = event};
    epi_fake_point_t *point = NULL;
    int device = 0;
    cudaError_t error = epi_fake_cuda_enter(__func__);

    if (error == cudaSuccess && flags != cudaEventWaitDefault) {
        error = epi_fake_cuda_leave(cudaErrorInvalidValue);
    }
    if (error == cudaSuccess) {
        error = epi_fake_cuda_leave(take_point(event, &point, &device));
    }
    if (error == cudaSuccess) {
        error = epi_fake_cuda_leave(epi_fake_stream_device(stream, &device));
    }
    if (error == cudaSuccess && point != NULL) {
        error = epi_fake_cuda_leave(
            epi_fake_enqueue(stream, epi_fake_point_wait_op(point, &entry)));
    }
    epi_fake_point_drop(point);
    return error;
}
