/* fake_cuda_stream.h: a stream of the CUDA fake, for the two files that make
 * it: fake_cuda_stream.c (queue, thread, registry) and fake_cuda_stream_calls.c
 * (the runtime's calls). */
#ifndef EPI_TESTING_FAKE_CUDA_STREAM_H
#define EPI_TESTING_FAKE_CUDA_STREAM_H

#include "testing/fake_cuda_internal.h"

struct CUstream_st {
    struct CUstream_st *next; /* registry */
    int device;
    bool blocking; /* waits for the default stream, and it for this one */
    bool is_default;
    atomic_bool destroyed;
    atomic_uint references; /* the registry's, and who waits */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    epi_fake_op_t *first;
    epi_fake_op_t **last;
    uint64_t issued;
    uint64_t done;
    bool held;
};

typedef struct CUstream_st epi_fake_stream_t;

/** A stream of the thread's device; NULL: no memory or no thread. */
epi_fake_stream_t *epi_fake_stream_open(bool blocking);

/** Look a handle up and share it; a violation where it is none. */
cudaError_t epi_fake_stream_take(cudaStream_t handle,
                                 epi_fake_stream_t **stream_p);

/** Some stream of the device that is not idle, shared; NULL: none. */
epi_fake_stream_t *epi_fake_stream_take_busy(int device);

void epi_fake_stream_drop(epi_fake_stream_t *stream);

bool epi_fake_stream_idle(epi_fake_stream_t *stream);

/** Wait until stream has done all that is in it now. */
void epi_fake_stream_await(epi_fake_stream_t *stream);

#endif
