/*
 * watch.h: what this thread calls, counted by who calls, for tests: the heap,
 * copies of 512 bytes and more, ZeroMQ messages. A program that links watch.c
 * has these functions counted while the watch is on; they do what they always
 * do.
 */
#ifndef EPI_BENCH_WATCH_H
#define EPI_BENCH_WATCH_H

#include <stddef.h>
#include <stdint.h>

#define EPI_WATCH_COPY_LEAST 512

/** This thread's calls count from now on, from zero. */
void epi_watch_begin(void);

/** No more. */
void epi_watch_end(void);

/** Heap calls made by the program itself, which has epdx in it. */
uint64_t epi_watch_heap_own(void);

/** Heap calls made by a library whose path has this text in it; NULL: any. */
uint64_t epi_watch_heap_of(const char *library);

/** Bytes that memcpy() and memmove() copied, called by the program itself, and
 *  by libraries. */
uint64_t epi_watch_copied_own(void);
uint64_t epi_watch_copied_libraries(void);

/** Messages given to zmq_send(): a multipart one counts once. */
uint64_t epi_watch_messages(void);

/** One line a place that called the heap, to standard output. */
void epi_watch_print(void);

#endif
