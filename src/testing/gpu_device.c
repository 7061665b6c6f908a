/* gpu_device.c: a program for scripts/gpu_check.sh: which GPU and libraries are
 * here. Exits 77 with the reason where there is no GPU. */
#include <stdio.h>

#include <cuda_runtime_api.h>
#ifdef EPDX_HAVE_NCCL
#include <nccl.h>
#endif

static int none(const char *why)
{
    (void)printf("no GPU: %s\n", why);
    return 77;
}

int main(void)
{
    struct cudaDeviceProp properties;
    int count = 0;
    int driver = 0;
    int runtime = 0;
    int device;
    cudaError_t error = cudaGetDeviceCount(&count);

    if (error != cudaSuccess) {
        return none(cudaGetErrorString(error));
    }
    if (count == 0) {
        return none("cudaGetDeviceCount() gives 0");
    }
    for (device = 0; device < count; device++) {
        if (cudaGetDeviceProperties(&properties, device) == cudaSuccess) {
            (void)printf("device %d: %s, compute capability %d.%d, %zu MiB\n",
                         device, properties.name, properties.major,
                         properties.minor, properties.totalGlobalMem >> 20);
        }
    }
    (void)cudaDriverGetVersion(&driver);
    (void)cudaRuntimeGetVersion(&runtime);
    (void)printf("CUDA driver %d, runtime %d\n", driver, runtime);
#ifdef EPDX_HAVE_NCCL
    int nccl = 0;

    (void)ncclGetVersion(&nccl);
    (void)printf("NCCL %d\n", nccl);
#endif
    return 0;
}
