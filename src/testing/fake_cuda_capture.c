/*
 * fake_cuda_capture.c: the capture of streams into graphs, as far as it forbids
 * calls to other threads. Nothing is captured: a test gives the stream nothing
 * meanwhile, and the graph is none.
 */
#include "testing/fake_cuda_internal.h"

/** Captures under way in global mode, and whether a call spoilt them. */
static atomic_int captures;
static atomic_bool spoilt;

static _Thread_local int own_captures;
static _Thread_local enum cudaStreamCaptureMode thread_mode =
    cudaStreamCaptureModeGlobal;

static bool is_forbidden(void)
{
    switch (thread_mode) {
    case cudaStreamCaptureModeGlobal:
        return atomic_load(&captures) > 0;
    case cudaStreamCaptureModeThreadLocal:
        return own_captures > 0;
    case cudaStreamCaptureModeRelaxed:
        break;
    }
    return false;
}

cudaError_t epi_fake_capture_allows(void)
{
    if (!is_forbidden()) {
        return cudaSuccess;
    }
    atomic_store(&spoilt, true);
    return epi_fake_cuda_leave(cudaErrorStreamCaptureUnsupported);
}

cudaError_t cudaThreadExchangeStreamCaptureMode(
    enum cudaStreamCaptureMode *mode)
{
    enum cudaStreamCaptureMode before = thread_mode;
    cudaError_t error = epi_fake_cuda_enter(__func__);

    if (error == cudaSuccess) {
        thread_mode = *mode;
        *mode = before;
    }
    return error;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream,
                                   enum cudaStreamCaptureMode mode)
{
    cudaError_t error = epi_fake_cuda_enter(__func__);

    (void)stream;
    if (error == cudaSuccess && mode != cudaStreamCaptureModeGlobal) {
        error = epi_fake_cuda_leave(cudaErrorNotSupported);
    }
    if (error == cudaSuccess) {
        (void)atomic_fetch_add(&captures, 1);
        own_captures++;
    }
    return error;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *pGraph)
{
    cudaError_t error = epi_fake_cuda_enter(__func__);

    (void)stream;
    if (error != cudaSuccess) {
        return error;
    }
    *pGraph = NULL;
    (void)atomic_fetch_sub(&captures, 1);
    own_captures--;
    return atomic_exchange(&spoilt, false)
               ? epi_fake_cuda_leave(cudaErrorStreamCaptureInvalidated)
               : cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    (void)graph;
    return epi_fake_cuda_enter(__func__);
}
