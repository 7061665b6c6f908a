/* watch.c: see watch.h. glibc's own functions, and ZeroMQ's, do the work. */
#include "bench/watch.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <zmq.h>

#define PLACES_MAX 256

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

void *malloc(size_t bytes);
void *calloc(size_t count, size_t bytes);
void *realloc(void *memory, size_t bytes);
void *memalign(size_t alignment, size_t bytes);
void *aligned_alloc(size_t alignment, size_t bytes);
int posix_memalign(void **memory_p, size_t alignment, size_t bytes);

/* The linker's: the program itself, which is not a shared library. */
extern const char __executable_start;
extern const char etext;

static _Thread_local bool counting;
static struct {
    const char *from;
    uint64_t calls;
} places[PLACES_MAX];
static size_t place_count;
static uint64_t copied_own, copied_libraries, messages;

typedef void *(*copy_t)(void *to, const void *from, size_t bytes);
typedef int (*zmq_send_t)(void *socket, const void *bytes, size_t count,
                          int flags);

void *memcpy(void *restrict to, const void *restrict from, size_t bytes);
void *memmove(void *to, const void *from, size_t bytes);

static void note(const char *from)
{
    if (!counting) {
        return;
    }
    for (size_t i = 0; i < place_count; i++) {
        if (places[i].from == from) {
            places[i].calls++;
            return;
        }
    }
    if (place_count < PLACES_MAX) {
        places[place_count].from = from;
        places[place_count++].calls = 1;
    }
}

static bool is_own(const char *from)
{
    return from >= &__executable_start && from < &etext;
}

/* Byte by byte would be slow, and the compiler makes a loop a memcpy() again.
 */
static void *copy(void *to, const void *from, size_t bytes)
{
    void *at = to;

    __asm__ volatile("rep movsb"
                     : "+D"(at), "+S"(from), "+c"(bytes)
                     :
                     : "memory");
    return to;
}

static void note_copy(size_t bytes, const char *caller)
{
    if (counting && bytes >= EPI_WATCH_COPY_LEAST) {
        *(is_own(caller) ? &copied_own : &copied_libraries) += bytes;
    }
}

__attribute__((visibility("default"))) void *memcpy(void *restrict to,
                                                    const void *restrict from,
                                                    size_t bytes)
{
    note_copy(bytes, __builtin_return_address(0));
    return copy(to, from, bytes);
}

__attribute__((visibility("default"))) void *memmove(void *to, const void *from,
                                                     size_t bytes)
{
    static copy_t real;

    note_copy(bytes, __builtin_return_address(0));
    if ((const char *)to <= (const char *)from ||
        (const char *)to >= (const char *)from + bytes) {
        return copy(to, from, bytes);
    }
    if (real == NULL) {
        *(void **)&real = dlsym(RTLD_NEXT, "memmove");
    }
    return real(to, from, bytes);
}

__attribute__((visibility("default"))) int zmq_send(void *socket,
                                                    const void *bytes,
                                                    size_t count, int flags)
{
    static zmq_send_t real;

    if (real == NULL) {
        *(void **)&real = dlsym(RTLD_NEXT, "zmq_send");
    }
    messages += counting && (flags & ZMQ_SNDMORE) == 0;
    return real(socket, bytes, count, flags);
}

#define NOTE() note(__builtin_return_address(0))

__attribute__((visibility("default"))) void *malloc(size_t bytes)
{
    NOTE();
    return __libc_malloc(bytes);
}

__attribute__((visibility("default"))) void *calloc(size_t count, size_t bytes)
{
    NOTE();
    return __libc_calloc(count, bytes);
}

__attribute__((visibility("default"))) void *realloc(void *memory, size_t bytes)
{
    NOTE();
    return __libc_realloc(memory, bytes);
}

__attribute__((visibility("default"))) void *memalign(size_t alignment,
                                                      size_t bytes)
{
    NOTE();
    return __libc_memalign(alignment, bytes);
}

__attribute__((visibility("default"))) void *aligned_alloc(size_t alignment,
                                                           size_t bytes)
{
    NOTE();
    return __libc_memalign(alignment, bytes);
}

__attribute__((visibility("default"))) int posix_memalign(void **memory_p,
                                                          size_t alignment,
                                                          size_t bytes)
{
    void *memory;

    NOTE();
    memory = __libc_memalign(alignment, bytes);
    if (memory == NULL) {
        return ENOMEM;
    }
    *memory_p = memory;
    return 0;
}

void epi_watch_begin(void)
{
    place_count = 0;
    copied_own = copied_libraries = messages = 0;
    counting = true;
}

void epi_watch_end(void)
{
    counting = false;
}

uint64_t epi_watch_heap_own(void)
{
    uint64_t calls = 0;

    for (size_t i = 0; i < place_count; i++) {
        calls += is_own(places[i].from) ? places[i].calls : 0;
    }
    return calls;
}

static const char *library_of(const char *from)
{
    Dl_info info;

    return dladdr(from, &info) != 0 && info.dli_fname != NULL ? info.dli_fname
                                                              : "?";
}

uint64_t epi_watch_heap_of(const char *library)
{
    uint64_t calls = 0;

    for (size_t i = 0; i < place_count; i++) {
        if (!is_own(places[i].from) &&
            (library == NULL ||
             strstr(library_of(places[i].from), library) != NULL)) {
            calls += places[i].calls;
        }
    }
    return calls;
}

uint64_t epi_watch_copied_own(void)
{
    return copied_own;
}

uint64_t epi_watch_copied_libraries(void)
{
    return copied_libraries;
}

uint64_t epi_watch_messages(void)
{
    return messages;
}

void epi_watch_print(void)
{
    for (size_t i = 0; i < place_count; i++) {
        Dl_info info = {0};
        const char *name = "?";

        if (dladdr(places[i].from, &info) != 0 && info.dli_sname != NULL) {
            name = info.dli_sname;
        }
        printf("%8llu heap calls from %s%s+0x%zx (%s)\n",
               (unsigned long long)places[i].calls,
               is_own(places[i].from) ? "epdx: " : "",
               library_of(places[i].from),
               (size_t)(places[i].from - (const char *)info.dli_fbase), name);
    }
}
