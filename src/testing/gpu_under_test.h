/*
 * gpu_under_test.h: for tests that run twice: over the fakes, and over the real
 * libraries on a GPU (cmake/EpdxGpu.cmake, epdx_on_gpu()). The same source
 * includes fake_cuda.h and fake_nccl.h both times. On a GPU their resets do
 * nothing, and what they say of leaks and violations is 0; anything else of
 * them aborts, so the cases that need it begin with EPI_GPU_FAKE_ONLY().
 *
 * A machine may have one GPU only, so a test takes its devices from
 * epi_gpu_device(), and its ranks from epi_gpu_ranks().
 *
 * Where there is no GPU, a program of the second kind exits 77 before main().
 * What such a program does on a GPU is rehearsed without one: linked with the
 * fakes again, their controls out of reach, as a machine of one device
 * (gpu_rehearsal.h). What no fake can show, only a GPU can.
 */
#ifndef EPI_TESTING_GPU_UNDER_TEST_H
#define EPI_TESTING_GPU_UNDER_TEST_H

#include <stdbool.h>
#include <stddef.h>

#include <cuda_runtime_api.h>

/** The fakes are behind the calls. */
bool epi_gpu_is_fake(void);

/** Skip a cmocka case that needs the fakes. */
#define EPI_GPU_FAKE_ONLY()                                                    \
    do {                                                                       \
        if (!epi_gpu_is_fake()) {                                              \
            skip();                                                            \
        }                                                                      \
    } while (0)

/** Assert how often the product called a function; nothing on a GPU. */
#define EPI_GPU_EXPECT_CALLS(function, count)                                  \
    do {                                                                       \
        if (epi_gpu_is_fake()) {                                               \
            assert_int_equal(epi_fake_calls(function), count);                 \
        }                                                                      \
    } while (0)

/** The device of that number, or one that is there in its place. */
int epi_gpu_device(int wished);

/** How many ranks, of those wished, NCCL can have on this machine's devices
 *  when rank r takes epi_gpu_device(r). */
int epi_gpu_ranks(int wished);

/** Hold a stream, which has nothing to do, and let it go: what it is given
 *  meanwhile it begins only then. Idempotent. On a GPU one stream is held at a
 *  time, as the host functions of streams may take turns, and nothing is
 *  allocated or freed meanwhile, which may wait for the device. */
void epi_gpu_hold(cudaStream_t stream);
void epi_gpu_let_go(cudaStream_t stream);

/** Copy device memory to a test's own and back, which waits. What uses the
 *  bytes must be done. Aborts when they are not device memory. */
void epi_gpu_get(void *bytes, const void *device, size_t count);
void epi_gpu_put(void *device, const void *bytes, size_t count);

/** Whether device memory holds those bytes. */
bool epi_gpu_holds(const void *device, const void *bytes, size_t count);

#endif
