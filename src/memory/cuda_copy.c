/*
 * cuda_copy.c: copies between the CPU and a CUDA device, see copies.h. Streams
 * and events belong to whoever opened them, and to one thread at a time.
 */
#include "base/log.h"
#include "memory/available.h"
#include "memory/cuda_internal.h"

static epdx_status_t cuda_pin(int device, size_t bytes, void **base_p)
{
    void *base = NULL;
    cudaError_t error;
    int before;
    epdx_status_t status = epi_available_check("pinned host memory",
                                               "EPDX_CUDA_STAGING_MB", bytes);

    if (status == EPDX_OK) {
        status = epi_cuda_enter(device, &before);
    }
    if (status != EPDX_OK) {
        return status;
    }
    error = cudaHostAlloc(&base, bytes, cudaHostAllocPortable);
    if (error == cudaSuccess) {
        *base_p = base;
    } else {
        status = epi_cuda_fail(error, "cudaHostAlloc");
    }
    epi_cuda_leave(before);
    return status;
}

/* Closing goes on to the end; what it meets is told. */
static void tell(cudaError_t error, const char *what)
{
    if (error != cudaSuccess) {
        (void)epi_cuda_fail(error, what);
        epi_log_error("%s", epdx_last_error());
    }
}

static void cuda_unpin(int device, void *base)
{
    int before;

    if (base != NULL && epi_cuda_enter(device, &before) == EPDX_OK) {
        tell(cudaFreeHost(base), "cudaFreeHost");
        epi_cuda_leave(before);
    }
}

static epdx_status_t cuda_stream_open(int device, void **stream_p)
{
    cudaStream_t stream = NULL;
    cudaError_t error;
    int before;
    epdx_status_t status = epi_cuda_enter(device, &before);

    if (status != EPDX_OK) {
        return status;
    }
    error = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    if (error == cudaSuccess) {
        *stream_p = stream;
    } else {
        status = epi_cuda_fail(error, "cudaStreamCreateWithFlags");
    }
    epi_cuda_leave(before);
    return status;
}

static void cuda_stream_close(int device, void *stream)
{
    int before;

    if (stream != NULL && epi_cuda_enter(device, &before) == EPDX_OK) {
        tell(cudaStreamDestroy(stream), "cudaStreamDestroy");
        epi_cuda_leave(before);
    }
}

static epdx_status_t cuda_event_open(int device, void **event_p)
{
    cudaEvent_t event = NULL;
    cudaError_t error;
    int before;
    epdx_status_t status = epi_cuda_enter(device, &before);

    if (status != EPDX_OK) {
        return status;
    }
    error = cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    if (error == cudaSuccess) {
        *event_p = event;
    } else {
        status = epi_cuda_fail(error, "cudaEventCreateWithFlags");
    }
    epi_cuda_leave(before);
    return status;
}

static void cuda_event_close(int device, void *event)
{
    int before;

    if (event != NULL && epi_cuda_enter(device, &before) == EPDX_OK) {
        tell(cudaEventDestroy(event), "cudaEventDestroy");
        epi_cuda_leave(before);
    }
}

/* Default: the runtime knows from the pointers which way it goes. */
static epdx_status_t cuda_copy(void *stream, void *to, const void *from,
                               size_t bytes)
{
    cudaError_t error =
        cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream);

    return error == cudaSuccess ? EPDX_OK
                                : epi_cuda_fail(error, "cudaMemcpyAsync");
}

static epdx_status_t cuda_record(void *stream, void *event)
{
    cudaError_t error = cudaEventRecord(event, stream);

    return error == cudaSuccess ? EPDX_OK
                                : epi_cuda_fail(error, "cudaEventRecord");
}

static epdx_status_t cuda_wait(void *stream, void *event)
{
    cudaError_t error = cudaStreamWaitEvent(stream, event, 0);

    return error == cudaSuccess ? EPDX_OK
                                : epi_cuda_fail(error, "cudaStreamWaitEvent");
}

static epdx_status_t done(cudaError_t error, const char *what)
{
    if (error == cudaSuccess) {
        return EPDX_OK;
    }
    if (error == cudaErrorNotReady) {
        (void)cudaGetLastError(); /* it counts as an error there */
        return EPDX_IN_PROGRESS;
    }
    return epi_cuda_fail(error, what);
}

/* Of the thread; what it was. While a thread of the host program captures a
 * graph in global mode, which frameworks do, a query on any other thread would
 * fail and spoil that graph. What is asked for here is no part of one. */
static enum cudaStreamCaptureMode exchange(enum cudaStreamCaptureMode mode)
{
    if (cudaThreadExchangeStreamCaptureMode(&mode) != cudaSuccess) {
        (void)cudaGetLastError(); /* the query will tell */
    }
    return mode;
}

static epdx_status_t cuda_event_done(void *event)
{
    enum cudaStreamCaptureMode mode = exchange(cudaStreamCaptureModeRelaxed);
    epdx_status_t status = done(cudaEventQuery(event), "cudaEventQuery");

    (void)exchange(mode);
    return status;
}

static epdx_status_t cuda_stream_done(void *stream)
{
    enum cudaStreamCaptureMode mode = exchange(cudaStreamCaptureModeRelaxed);
    epdx_status_t status = done(cudaStreamQuery(stream), "cudaStreamQuery");

    (void)exchange(mode);
    return status;
}

static int attribute(int device, enum cudaDeviceAttr which)
{
    int value = 0;

    if (cudaDeviceGetAttribute(&value, which, device) != cudaSuccess) {
        (void)cudaGetLastError();
        return 0;
    }
    return value;
}

static epi_flush_t cuda_flush_mode(int device)
{
    if (attribute(device, cudaDevAttrGPUDirectRDMASupported) == 0 ||
        attribute(device, cudaDevAttrGPUDirectRDMAWritesOrdering) >=
            cudaGPUDirectRDMAWritesOrderingOwner) {
        return EPI_FLUSH_NONE; /* nobody else writes, or in order */
    }
    return (attribute(device, cudaDevAttrGPUDirectRDMAFlushWritesOptions) &
            cudaFlushGPUDirectRDMAWritesOptionHost) != 0
               ? EPI_FLUSH_NEEDED
               : EPI_FLUSH_LACKS;
}

static epdx_status_t cuda_flush(int device)
{
    cudaError_t error;
    int before;
    epdx_status_t status = epi_cuda_enter(device, &before);

    if (status != EPDX_OK) {
        return status;
    }
    error = cudaDeviceFlushGPUDirectRDMAWrites(
        cudaFlushGPUDirectRDMAWritesTargetCurrentDevice,
        cudaFlushGPUDirectRDMAWritesToOwner);
    if (error != cudaSuccess) {
        status = epi_cuda_fail(error, "cudaDeviceFlushGPUDirectRDMAWrites");
    }
    epi_cuda_leave(before);
    return status;
}

const epi_copy_ops_t epi_cuda_copies = {
    .pin = cuda_pin,
    .unpin = cuda_unpin,
    .stream_open = cuda_stream_open,
    .stream_close = cuda_stream_close,
    .event_open = cuda_event_open,
    .event_close = cuda_event_close,
    .copy = cuda_copy,
    .record = cuda_record,
    .wait = cuda_wait,
    .event_done = cuda_event_done,
    .stream_done = cuda_stream_done,
    .flush_mode = cuda_flush_mode,
    .flush = cuda_flush,
};
