/* fake_cuda_stream_calls.c: the runtime's calls on streams, as the CUDA fake
 * has them. */
#include "testing/fake_cuda_stream.h"

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *pStream, unsigned int flags)
{
    cudaError_t error = epi_fake_cuda_enter(__func__);
    epi_fake_stream_t *stream;

    if (error != cudaSuccess) {
        return error;
    }
    if (pStream == NULL || (flags & ~(unsigned)cudaStreamNonBlocking) != 0) {
        return epi_fake_cuda_leave(cudaErrorInvalidValue);
    }
    stream = epi_fake_stream_open((flags & cudaStreamNonBlocking) == 0);
    if (stream == NULL) {
        return epi_fake_cuda_leave(cudaErrorMemoryAllocation);
    }
    *pStream = stream;
    return cudaSuccess;
}

cudaError_t cudaStreamCreate(cudaStream_t *pStream)
{
    cudaError_t error = epi_fake_cuda_enter(__func__);

    return error != cudaSuccess
               ? error
               : cudaStreamCreateWithFlags(pStream, cudaStreamDefault);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    cudaError_t error = epi_fake_cuda_enter(__func__);
    epi_fake_stream_t *one;

    if (error != cudaSuccess) {
        return error;
    }
    if (stream == NULL) {
        return epi_fake_cuda_leave(cudaErrorInvalidResourceHandle);
    }
    error = epi_fake_stream_take(stream, &one);
    if (error == cudaSuccess) {
        (void)pthread_mutex_lock(&one->lock);
        atomic_store(&one->destroyed, true);
        (void)pthread_cond_broadcast(&one->changed);
        (void)pthread_mutex_unlock(&one->lock);
        epi_fake_stream_drop(one);
    }
    return epi_fake_cuda_leave(error);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    cudaError_t error = epi_fake_cuda_enter(__func__);

    return error != cudaSuccess
               ? error
               : epi_fake_cuda_leave(epi_fake_await_stream(stream));
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    cudaError_t error = epi_fake_cuda_enter(__func__);
    epi_fake_stream_t *one;

    if (error == cudaSuccess) {
        error = epi_fake_capture_allows();
    }
    if (error != cudaSuccess) {
        return error;
    }
    error = epi_fake_stream_take(stream, &one);
    if (error == cudaSuccess) {
        error = epi_fake_stream_idle(one) ? cudaSuccess : cudaErrorNotReady;
        epi_fake_stream_drop(one);
    }
    return epi_fake_cuda_leave(error);
}

cudaError_t cudaDeviceSynchronize(void)
{
    cudaError_t error = epi_fake_cuda_enter(__func__);
    epi_fake_stream_t *busy;

    while (error == cudaSuccess &&
           (busy = epi_fake_stream_take_busy(epi_fake_cuda_device())) != NULL) {
        epi_fake_stream_await(busy);
        epi_fake_stream_drop(busy);
    }
    return error;
}
