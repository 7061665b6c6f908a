/*
 * io_calls.h: counts the system's calls for I/O by thread: io_calls.c stands
 * before those of the C library for a program that has it among its sources,
 * and for the shared libraries that the program uses. For tests.
 */
#ifndef EPI_TESTING_IO_CALLS_H
#define EPI_TESTING_IO_CALLS_H

#include <stdbool.h>

#define EPI_CALLS(X)                                                           \
    X(connect)                                                                 \
    X(send)                                                                    \
    X(sendto)                                                                  \
    X(sendmsg)                                                                 \
    X(recv)                                                                    \
    X(recvfrom)                                                                \
    X(recvmsg)                                                                 \
    X(poll)                                                                    \
    X(getaddrinfo)

#define EPI_CALL_NUMBER(name) EPI_CALL_##name,

typedef enum epi_call { EPI_CALLS(EPI_CALL_NUMBER) EPI_CALL_COUNT } epi_call_t;

/** Between true and false, calls by this thread are what must not be. */
void epi_io_calls_watch(bool on);

/** Fails the test when a watched thread made a call, and says which. */
void epi_io_calls_assert_none(void);

/** Calls so far by epdx's I/O threads. */
unsigned long epi_io_calls_of_io(epi_call_t call);

/** From now on until let go, getaddrinfo() of name does not answer; it is then
 *  unknown. One name at a time. */
void epi_io_calls_hold(const char *name);
void epi_io_calls_let_go(void);

#endif
