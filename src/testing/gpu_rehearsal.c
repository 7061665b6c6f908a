/* gpu_rehearsal.c: see gpu_rehearsal.h. A machine of one device; a program that
 * misused it, or left something on it, fails. */
#include "testing/gpu_rehearsal.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "testing/fake_cuda.h"

static void at_end(void)
{
    epi_fake_cuda_live_t live = epi_fake_cuda_live();
    size_t left = live.device_allocations + live.pinned_allocations +
                  live.streams + live.events;

    if (epi_fake_cuda_violations() > 0 || left > 0) {
        (void)fprintf(stderr, "rehearsal: %llu misuses, %zu things are left\n",
                      (unsigned long long)epi_fake_cuda_violations(), left);
        _exit(1);
    }
}

static void __attribute__((constructor(101))) begin(void)
{
    epi_fake_cuda_reset();
    epi_fake_cuda_devices(1);
    (void)atexit(at_end);
}
