/* gpu_under_test_fake.c: see gpu_under_test.h. Uses no call of the runtime, so
 * that a test's counts and log stay its own. */
#include "testing/gpu_under_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testing/fake_cuda.h"

static void *reach(const void *device, size_t count)
{
    void *bytes = epi_fake_cuda_bytes(device, count);

    if (bytes == NULL) {
        (void)fprintf(stderr, "%zu bytes at %p are not device memory\n", count,
                      device);
        abort();
    }
    return bytes;
}

bool epi_gpu_is_fake(void)
{
    return true;
}

int epi_gpu_device(int wished)
{
    return wished;
}

int epi_gpu_ranks(int wished)
{
    return wished;
}

void epi_gpu_hold(cudaStream_t stream)
{
    epi_fake_cuda_hold(stream);
}

void epi_gpu_let_go(cudaStream_t stream)
{
    epi_fake_cuda_let_go(stream);
}

bool epi_gpu_holds(const void *device, const void *bytes, size_t count)
{
    return memcmp(reach(device, count), bytes, count) == 0;
}

void epi_gpu_get(void *bytes, const void *device, size_t count)
{
    memcpy(bytes, reach(device, count), count);
}

void epi_gpu_put(void *device, const void *bytes, size_t count)
{
    memcpy(reach(device, count), bytes, count);
}
