/*
 * out_of_memory.h: a calloc() that fails when told to, for one test program,
 * which is linked with -Wl,--wrap=calloc.
 */
#ifndef EPI_TESTING_OUT_OF_MEMORY_H
#define EPI_TESTING_OUT_OF_MEMORY_H

#include <stddef.h>

/** Calls that still succeed before one fails; negative: none fails. */
static int test_calloc_left = -1;

void *__real_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);

void *__wrap_calloc(size_t count, size_t bytes)
{
    if (test_calloc_left == 0) {
        test_calloc_left = -1;
        return NULL;
    }
    if (test_calloc_left > 0) {
        test_calloc_left--;
    }
    return __real_calloc(count, bytes);
}

#endif
