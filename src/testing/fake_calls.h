/*
 * fake_calls.h: the calls of the faked libraries (CUDA, NCCL): how often each
 * was made, and which one fails. Any thread; nothing here orders two threads,
 * so that the thread sanitizer still sees the product's own mistakes.
 *
 * A function is named by its text ("cudaMemcpyAsync"); a name that no fake has
 * aborts the test.
 */
#ifndef EPI_TESTING_FAKE_CALLS_H
#define EPI_TESTING_FAKE_CALLS_H

#include <stdbool.h>
#include <stdint.h>

/** Let the nth call from now (0 is the next one) return error and do nothing
 *  else. It strikes once; a later fault on the same function replaces it. */
void epi_fake_fail(const char *function, uint64_t nth, int error);

/** How often function was called, calls that failed counted in. */
uint64_t epi_fake_calls(const char *function);

/** Wait until function was called count times in all; false after 30 s. */
bool epi_fake_await_calls(const char *function, uint64_t count);

/** Forget all counts and faults. */
void epi_fake_calls_reset(void);

/** For the fakes: count a call of function and give the error that a fault
 *  wants of it, else 0. */
int epi_fake_call(const char *function);

#endif
