/* fake_cuda.c: devices, attributes, errors and versions of the CUDA fake. */
#include <stdio.h>

#include "testing/fake_cuda_internal.h"

#define ATTRIBUTE_MAX 256

typedef struct attribute {
    atomic_bool known;
    atomic_int value;
} attribute_t;

static atomic_int device_count = EPI_FAKE_CUDA_DEVICES;
static attribute_t attributes[ATTRIBUTE_MAX];
static pthread_once_t attributes_once = PTHREAD_ONCE_INIT;

/** Both the thread's own, as in the real runtime. */
static _Thread_local int current_device;
static _Thread_local cudaError_t last_error;

cudaError_t epi_fake_cuda_enter(const char *function)
{
    return epi_fake_cuda_leave((cudaError_t)epi_fake_call(function));
}

cudaError_t epi_fake_cuda_leave(cudaError_t error)
{
    if (error != cudaSuccess) {
        last_error = error;
    }
    return error;
}

int epi_fake_cuda_device(void)
{
    return current_device;
}

void epi_fake_cuda_devices(int count)
{
    atomic_store(&device_count,
                 count > EPI_FAKE_CUDA_DEVICES ? EPI_FAKE_CUDA_DEVICES : count);
}

static void set_attribute(enum cudaDeviceAttr attribute, int value)
{
    atomic_store(&attributes[attribute].value, value);
    atomic_store(&attributes[attribute].known, true);
}

static void set_first_attributes(void)
{
    size_t i;

    for (i = 0; i < ATTRIBUTE_MAX; i++) {
        atomic_store(&attributes[i].known, false);
    }
    set_attribute(cudaDevAttrComputeCapabilityMajor, 9);
    set_attribute(cudaDevAttrComputeCapabilityMinor, 0);
    set_attribute(cudaDevAttrUnifiedAddressing, 1);
    set_attribute(cudaDevAttrGPUDirectRDMASupported, 1);
    set_attribute(cudaDevAttrGPUDirectRDMAFlushWritesOptions,
                  cudaFlushGPUDirectRDMAWritesOptionHost);
    set_attribute(cudaDevAttrGPUDirectRDMAWritesOrdering,
                  cudaGPUDirectRDMAWritesOrderingOwner);
}

void epi_fake_cuda_attribute(enum cudaDeviceAttr attribute, int value)
{
    (void)pthread_once(&attributes_once, set_first_attributes);
    set_attribute(attribute, value);
}

void epi_fake_cuda_reset(void)
{
    (void)pthread_once(&attributes_once, set_first_attributes);
    set_first_attributes();
    epi_fake_cuda_devices(EPI_FAKE_CUDA_DEVICES);
    current_device = 0;
    last_error = cudaSuccess;
    epi_fake_stream_reset();
    epi_fake_copy_reset();
    epi_fake_calls_reset();
    epi_fake_cuda_log_reset();
}

epi_fake_cuda_live_t epi_fake_cuda_live(void)
{
    epi_fake_cuda_live_t live = {0};

    epi_fake_memory_live(&live);
    epi_fake_stream_live(&live);
    epi_fake_event_live(&live);
    return live;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    cudaError_t error = epi_fake_cuda_enter(__func__);

    if (error != cudaSuccess) {
        return error;
    }
    *count = atomic_load(&device_count);
    return epi_fake_cuda_leave(*count == 0 ? cudaErrorNoDevice : cudaSuccess);
}

static cudaError_t check_device(int device)
{
    int count = atomic_load(&device_count);

    if (count == 0) {
        return epi_fake_cuda_leave(cudaErrorNoDevice);
    }
    return epi_fake_cuda_leave(
        device < 0 || device >= count ? cudaErrorInvalidDevice : cudaSuccess);
}

cudaError_t cudaSetDevice(int device)
{
    cudaError_t error = epi_fake_cuda_enter(__func__);

    if (error == cudaSuccess) {
        error = check_device(device);
    }
    if (error == cudaSuccess) {
        current_device = device;
    }
    return error;
}

cudaError_t cudaGetDevice(int *device)
{
    cudaError_t error = epi_fake_cuda_enter(__func__);

    if (error == cudaSuccess) {
        error = check_device(current_device);
    }
    if (error == cudaSuccess) {
        *device = current_device;
    }
    return error;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attr,
                                   int device)
{
    cudaError_t error = epi_fake_cuda_enter(__func__);

    if (error == cudaSuccess) {
        error = check_device(device);
    }
    if (error != cudaSuccess) {
        return error;
    }
    (void)pthread_once(&attributes_once, set_first_attributes);
    if ((unsigned)attr >= ATTRIBUTE_MAX ||
        !atomic_load(&attributes[attr].known)) {
        return epi_fake_cuda_leave(epi_fake_cuda_violation(
            cudaErrorInvalidValue,
            "no value for device attribute %d; a test gives one with "
            "epi_fake_cuda_attribute()",
            (int)attr));
    }
    *value = atomic_load(&attributes[attr].value);
    return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char *pciBusId, int len, int device)
{
    cudaError_t error = epi_fake_cuda_enter(__func__);

    if (error == cudaSuccess) {
        error = check_device(device);
    }
    if (error == cudaSuccess && len < (int)sizeof("0000:00:00.0")) {
        error = epi_fake_cuda_leave(cudaErrorInvalidValue);
    }
    if (error == cudaSuccess) {
        (void)snprintf(pciBusId, (size_t)len, "0000:%02x:00.0", device + 1);
    }
    return error;
}

cudaError_t cudaDeviceFlushGPUDirectRDMAWrites(
    enum cudaFlushGPUDirectRDMAWritesTarget target,
    enum cudaFlushGPUDirectRDMAWritesScope scope)
{
    const epi_fake_cuda_entry_t entry = {.kind = EPI_FAKE_CUDA_FLUSH,
                                         .stage = EPI_FAKE_CUDA_ISSUED};
    cudaError_t error = epi_fake_cuda_enter(__func__);
    int options;

    if (error == cudaSuccess) {
        error = check_device(current_device);
    }
    if (error != cudaSuccess) {
        return error;
    }
    (void)pthread_once(&attributes_once, set_first_attributes);
    options = atomic_load(
        &attributes[cudaDevAttrGPUDirectRDMAFlushWritesOptions].value);
    if ((options & cudaFlushGPUDirectRDMAWritesOptionHost) == 0) {
        return epi_fake_cuda_leave(cudaErrorNotSupported);
    }
    if (target != cudaFlushGPUDirectRDMAWritesTargetCurrentDevice ||
        (scope != cudaFlushGPUDirectRDMAWritesToOwner &&
         scope != cudaFlushGPUDirectRDMAWritesToAllDevices)) {
        return epi_fake_cuda_leave(cudaErrorInvalidValue);
    }
    epi_fake_cuda_log_add(&entry);
    return cudaSuccess;
}

cudaError_t cudaGetLastError(void)
{
    cudaError_t error = last_error;

    last_error = cudaSuccess;
    return error;
}

cudaError_t cudaPeekAtLastError(void)
{
    return last_error;
}

/** The errors that the fake gives or a fault is likely to give. */
#define ERRORS(X)                                                              \
    X(cudaSuccess, "no error")                                                 \
    X(cudaErrorInvalidValue, "invalid argument")                               \
    X(cudaErrorMemoryAllocation, "out of memory")                              \
    X(cudaErrorInsufficientDriver,                                             \
      "CUDA driver version is insufficient for CUDA runtime version")          \
    X(cudaErrorNoDevice, "no CUDA-capable device is detected")                 \
    X(cudaErrorInvalidDevice, "invalid device ordinal")                        \
    X(cudaErrorInvalidResourceHandle, "invalid resource handle")               \
    X(cudaErrorNotReady, "device not ready")                                   \
    X(cudaErrorIllegalAddress, "an illegal memory access was encountered")     \
    X(cudaErrorECCUncorrectable, "uncorrectable ECC error encountered")        \
    X(cudaErrorLaunchFailure, "unspecified launch failure")                    \
    X(cudaErrorNotSupported, "operation not supported")                        \
    X(cudaErrorStreamCaptureUnsupported,                                       \
      "operation not permitted when stream is capturing")                      \
    X(cudaErrorStreamCaptureInvalidated,                                       \
      "operation failed due to a previous error during capture")               \
    X(cudaErrorUnknown, "unknown error")

const char *cudaGetErrorString(cudaError_t error)
{
    switch ((int)error) {
#define TEXT(code, text)                                                       \
    case code:                                                                 \
        return text;
        ERRORS(TEXT)
#undef TEXT
    default:
        return "unrecognized error code";
    }
}

const char *cudaGetErrorName(cudaError_t error)
{
    switch ((int)error) {
#define NAME(code, text)                                                       \
    case code:                                                                 \
        return #code;
        ERRORS(NAME)
#undef NAME
    default:
        return "unrecognized error code";
    }
}

cudaError_t cudaRuntimeGetVersion(int *runtimeVersion)
{
    cudaError_t error = epi_fake_cuda_enter(__func__);

    if (error == cudaSuccess) {
        *runtimeVersion = CUDART_VERSION;
    }
    return error;
}

cudaError_t cudaDriverGetVersion(int *driverVersion)
{
    cudaError_t error = epi_fake_cuda_enter(__func__);

    if (error == cudaSuccess) {
        *driverVersion = CUDART_VERSION;
    }
    return error;
}
