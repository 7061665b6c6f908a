/*
 * cuda.c: memory of a CUDA device, see memory.h. Any thread.
 *
 * The runtime keeps the current device, and its last error, of each thread.
 * Both are the host program's too, so they are put back.
 */
#include "base/error.h"
#include "base/log.h"
#include "base/params.h"
#include "memory/cuda_internal.h"

epdx_status_t epi_cuda_fail(cudaError_t error, const char *what)
{
    (void)cudaGetLastError();
    return epi_fail(error == cudaErrorMemoryAllocation ? EPDX_ERR_NO_MEMORY
                                                       : EPDX_ERR_IO,
                    "cuda: %s: %s (%s)", what, cudaGetErrorString(error),
                    cudaGetErrorName(error));
}

epdx_status_t epi_cuda_enter(int device, int *before_p)
{
    cudaError_t error = cudaGetDevice(before_p);

    if (error == cudaSuccess && *before_p != device) {
        error = cudaSetDevice(device);
    }
    return error == cudaSuccess ? EPDX_OK
                                : epi_cuda_fail(error, "cudaSetDevice");
}

void epi_cuda_leave(int before)
{
    int now;

    if (cudaGetDevice(&now) == cudaSuccess && now != before &&
        cudaSetDevice(before) != cudaSuccess) {
        (void)cudaGetLastError(); /* its next call to the device will tell */
    }
}

static epdx_status_t no_memory(int device, size_t bytes, cudaError_t error)
{
    size_t left = 0, all = 0;

    (void)cudaMemGetInfo(&left, &all);
    (void)cudaGetLastError();
    return epi_fail(EPDX_ERR_NO_MEMORY,
                    "cannot allocate %zu bytes of device %d: %s; %zu of %zu "
                    "bytes are free there",
                    bytes, device, cudaGetErrorString(error), left, all);
}

static epdx_status_t cuda_alloc(int device, size_t bytes, void **base_p)
{
    void *base = NULL;
    cudaError_t error;
    int before;
    epdx_status_t status;

    if (bytes == 0) {
        return epi_fail(EPDX_ERR_NO_MEMORY, "cannot allocate 0 bytes");
    }
    status = epi_cuda_enter(device, &before);
    if (status != EPDX_OK) {
        return status;
    }
    error = cudaMalloc(&base, bytes);
    if (error == cudaErrorMemoryAllocation) {
        status = no_memory(device, bytes, error);
    } else if (error != cudaSuccess) {
        status = epi_cuda_fail(error, "cudaMalloc");
    } else {
        *base_p = base;
    }
    epi_cuda_leave(before);
    return status;
}

static void cuda_release(int device, void *base, size_t bytes)
{
    cudaError_t error;
    int before;

    (void)bytes;
    if (base == NULL || epi_cuda_enter(device, &before) != EPDX_OK) {
        return;
    }
    error = cudaFree(base);
    if (error != cudaSuccess) {
        (void)epi_cuda_fail(error, "cudaFree");
        epi_log_error("%s", epdx_last_error());
    }
    epi_cuda_leave(before);
}

static const char *kind_name(enum cudaMemoryType type)
{
    switch (type) {
    case cudaMemoryTypeHost:
        return "host memory";
    case cudaMemoryTypeDevice:
    case cudaMemoryTypeManaged:
        return "memory of another device";
    case cudaMemoryTypeUnregistered:
        break;
    }
    return "memory that CUDA does not know";
}

/* One byte of it. Managed memory moves, so a device does not own it. */
static epdx_status_t check_at(int device, const void *at)
{
    struct cudaPointerAttributes attributes = {0};
    cudaError_t error = cudaPointerGetAttributes(&attributes, at);

    if (error == cudaErrorInvalidValue) { /* older than CUDA 11 */
        attributes.type = cudaMemoryTypeUnregistered;
        (void)cudaGetLastError();
    } else if (error != cudaSuccess) {
        return epi_cuda_fail(error, "cudaPointerGetAttributes");
    }
    if (attributes.type == cudaMemoryTypeManaged) {
        return epi_fail(EPDX_ERR_INVALID,
                        "%p is managed memory, and must be of device %d alone "
                        "(cudaMalloc)",
                        at, device);
    }
    if (attributes.type != cudaMemoryTypeDevice ||
        attributes.device != device) {
        return epi_fail(EPDX_ERR_INVALID,
                        "%p is %s, and must be memory of device %d", at,
                        kind_name(attributes.type), device);
    }
    return EPDX_OK;
}

/* Both ends of it: what lies between cannot be asked for. */
static epdx_status_t cuda_check(int device, const void *base, size_t bytes)
{
    epdx_status_t status = check_at(device, base);

    if (status == EPDX_OK && bytes > 1) {
        status = check_at(device, (const char *)base + bytes - 1);
    }
    return status;
}

static int cuda_devices(void)
{
    int count = 0;

    if (cudaGetDeviceCount(&count) != cudaSuccess) {
        (void)cudaGetLastError();
        return 0;
    }
    return count;
}

static epdx_status_t cuda_bind(int device)
{
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeThreadLocal;
    cudaError_t error = cudaSetDevice(device);

    /* So that UCX, too, may query while another thread captures a graph. */
    if (error == cudaSuccess) {
        error = cudaThreadExchangeStreamCaptureMode(&mode);
    }
    return error == cudaSuccess ? EPDX_OK
                                : epi_cuda_fail(error, "binding a thread");
}

const epi_memory_ops_t *epi_memory_cuda(void)
{
    static const epi_memory_ops_t ops = {
        .kind = EPI_MEMORY_CUDA,
        .name = "cuda",
        .alloc = cuda_alloc,
        .release = cuda_release,
        .check = cuda_check,
        .devices = cuda_devices,
        .bind = cuda_bind,
        .enter = epi_cuda_enter,
        .leave = epi_cuda_leave,
        .copies = &epi_cuda_copies,
    };

    return &ops;
}

epdx_status_t epi_memory_cuda_device(const char *who, const epdx_cuda_t *cuda,
                                     int *device_p)
{
    epdx_cuda_t given;
    int count = 0;
    cudaError_t error;
    epdx_status_t status;

    if (cuda != NULL) {
        status = epi_params_copy(&given, sizeof(given), cuda,
                                 offsetof(epdx_cuda_t, use_stream), who);
        if (status != EPDX_OK) {
            return status;
        }
    }
    error = cudaGetDeviceCount(&count);
    if (error == cudaSuccess && cuda == NULL) {
        error = cudaGetDevice(&given.device);
    }
    if (error != cudaSuccess) {
        return epi_cuda_fail(error, "no device can be used");
    }
    if (given.device < 0 || given.device >= count) {
        return epi_fail(EPDX_ERR_INVALID,
                        "%s: there is no device %d: CUDA shows %d "
                        "(CUDA_VISIBLE_DEVICES)",
                        who, given.device, count);
    }
    *device_p = given.device;
    return EPDX_OK;
}
