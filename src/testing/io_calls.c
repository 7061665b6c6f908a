/* io_calls.c: see io_calls.h. Tests only. */
#include "testing/io_calls.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#define CALL_NAME(name) #name,

static const char *const call_names[] = {EPI_CALLS(CALL_NAME)};
static _Thread_local bool watched;
static atomic_ulong calls_watched[EPI_CALL_COUNT];
static atomic_ulong calls_of_io[EPI_CALL_COUNT];

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(const char *) held_name;

static void count(epi_call_t call)
{
    char name[16] = "";

    if (watched) {
        atomic_fetch_add(&calls_watched[call], 1);
    }
    /* Threads that libcurl starts for names inherit the name. */
    (void)prctl(PR_GET_NAME, name);
    if (strncmp(name, "epdx-", strlen("epdx-")) == 0) {
        atomic_fetch_add(&calls_of_io[call], 1);
    }
}

void epi_io_calls_watch(bool on)
{
    watched = on;
}

void epi_io_calls_assert_none(void)
{
    for (int i = 0; i < EPI_CALL_COUNT; i++) {
        if (atomic_load(&calls_watched[i]) != 0) {
            fail_msg("%lu calls of %s() by a watched thread",
                     atomic_load(&calls_watched[i]), call_names[i]);
        }
    }
}

unsigned long epi_io_calls_of_io(epi_call_t call)
{
    return atomic_load(&calls_of_io[call]);
}

void epi_io_calls_hold(const char *name)
{
    assert_int_equal(pthread_mutex_lock(&held), 0);
    atomic_store(&held_name, name);
}

void epi_io_calls_let_go(void)
{
    assert_int_equal(pthread_mutex_unlock(&held), 0);
}

/*
 * The thread sanitizer is told to let libzmq's calls be (scripts/suppressions),
 * and takes those that come through here for this program's. What the calls
 * read and write is not looked at then; that they order threads still is.
 */
#ifdef __SANITIZE_THREAD__
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);

static void look_away(void)
{
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
}

static void look_again(void)
{
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
}
#else
static void look_away(void)
{
}

static void look_again(void)
{
}
#endif

/* What stands behind one of the calls below; the pointer to it to out. */
static void behind(const char *name, void *out)
{
    void *found = dlsym(RTLD_NEXT, name);

    if (found == NULL) {
        abort();
    }
    memcpy(out, &found, sizeof(found));
}

#define STAND_IN(type, name, parameters, arguments)                            \
    __attribute__((visibility("default"))) type name parameters;               \
    type name parameters                                                       \
    {                                                                          \
        type(*real) parameters;                                                \
        type result;                                                           \
                                                                               \
        count(EPI_CALL_##name);                                                \
        behind(#name, &real);                                                  \
        look_away();                                                           \
        result = real arguments;                                               \
        look_again();                                                          \
        return result;                                                         \
    }

STAND_IN(int, connect, (int fd, const struct sockaddr *to, socklen_t length),
         (fd, to, length))
STAND_IN(ssize_t, send, (int fd, const void *bytes, size_t size, int flags),
         (fd, bytes, size, flags))
STAND_IN(ssize_t, sendto,
         (int fd, const void *bytes, size_t size, int flags,
          const struct sockaddr *to, socklen_t length),
         (fd, bytes, size, flags, to, length))
STAND_IN(ssize_t, sendmsg, (int fd, const struct msghdr *message, int flags),
         (fd, message, flags))
STAND_IN(ssize_t, recv, (int fd, void *bytes, size_t size, int flags),
         (fd, bytes, size, flags))
STAND_IN(ssize_t, recvfrom,
         (int fd, void *bytes, size_t size, int flags, struct sockaddr *from,
          socklen_t *length),
         (fd, bytes, size, flags, from, length))
STAND_IN(ssize_t, recvmsg, (int fd, struct msghdr *message, int flags),
         (fd, message, flags))
STAND_IN(int, poll, (struct pollfd * fds, nfds_t size, int timeout_ms),
         (fds, size, timeout_ms))

__attribute__((visibility("default"))) int getaddrinfo(
    const char *name, const char *service, const struct addrinfo *hints,
    struct addrinfo **list_p);
int getaddrinfo(const char *name, const char *service,
                const struct addrinfo *hints, struct addrinfo **list_p)
{
    int (*real)(const char *, const char *, const struct addrinfo *,
                struct addrinfo **);
    const char *slow = atomic_load(&held_name);

    count(EPI_CALL_getaddrinfo);
    if (name != NULL && slow != NULL && strcmp(name, slow) == 0) {
        (void)pthread_mutex_lock(&held);
        (void)pthread_mutex_unlock(&held);
        return EAI_NONAME;
    }
    behind("getaddrinfo", &real);
    return real(name, service, hints, list_p);
}
