/*
 * shared.c: host memory that other processes of the host can map: an anonymous
 * file, sealed so that nobody can take pages from under a reader. Neither
 * /dev/shm nor the kernel limits its size, so that is checked against what
 * memory there is. Any thread.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "memory/available.h"
#include "memory/host_pages.h"
#include "memory/memory.h"

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

/** One allocation: few live at a time, one a sender. */
typedef struct block {
    struct block *next;
    void *base;
    int fd;
} block_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static block_t *blocks;

static epdx_status_t fail(const char *what, size_t bytes)
{
    return epi_fail(EPDX_ERR_NO_MEMORY,
                    "cannot %s %zu bytes of shared memory: %s", what, bytes,
                    strerror(errno));
}

/** A sealed file of bytes, which is mapped and populated. */
static epdx_status_t make(size_t bytes, int *fd_p, void **base_p)
{
    int fd =
        memfd_create(EPI_MEMORY_SHARED_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    epdx_status_t status;
    void *base;

    if (fd < 0) {
        return fail("make a file of", bytes);
    }
    if (ftruncate(fd, (off_t)bytes) != 0 ||
        fcntl(fd, F_ADD_SEALS, SEALS) != 0) {
        status = fail("size and seal", bytes);
        goto err_close;
    }
    base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED) {
        status = fail("map", bytes);
        goto err_close;
    }
    status = epi_host_populate(base, bytes);
    if (status != EPDX_OK) {
        goto err_unmap;
    }
    *fd_p = fd;
    *base_p = base;
    return EPDX_OK;

err_unmap:
    (void)munmap(base, bytes);
err_close:
    (void)close(fd);
    return status;
}

static epdx_status_t shared_alloc(int device, size_t bytes, void **base_p)
{
    block_t *block = malloc(sizeof(*block));
    size_t mapped;
    epdx_status_t status;

    (void)device;
    if (block == NULL || !epi_host_mapped(bytes, &mapped)) {
        free(block);
        return epi_fail(EPDX_ERR_NO_MEMORY,
                        "cannot make %zu bytes of shared memory", bytes);
    }
    status =
        epi_available_check("shared memory", "EPDX_ENCODE_RING_MB", mapped);
    if (status == EPDX_OK) {
        status = make(mapped, &block->fd, &block->base);
    }
    if (status != EPDX_OK) {
        free(block);
        return status;
    }
    *base_p = block->base;
    (void)pthread_mutex_lock(&lock);
    block->next = blocks;
    blocks = block;
    (void)pthread_mutex_unlock(&lock);
    return EPDX_OK;
}

static void shared_release(int device, void *base, size_t bytes)
{
    block_t **at = &blocks;
    block_t *block;
    size_t mapped;

    (void)device;
    (void)pthread_mutex_lock(&lock);
    while (*at != NULL && (*at)->base != base) {
        at = &(*at)->next;
    }
    block = *at;
    if (block != NULL) {
        *at = block->next;
    }
    (void)pthread_mutex_unlock(&lock);
    if (block != NULL && epi_host_mapped(bytes, &mapped)) {
        (void)munmap(base, mapped);
        (void)close(block->fd);
    }
    free(block);
}

int epi_memory_shared_fd(const void *base)
{
    int fd = -1;

    (void)pthread_mutex_lock(&lock);
    for (const block_t *block = blocks; block != NULL; block = block->next) {
        if (block->base == base) {
            fd = block->fd;
        }
    }
    (void)pthread_mutex_unlock(&lock);
    return fd;
}

static epi_memory_ops_t ops;

/* Host memory in all but where it comes from. */
static void make_ops(void)
{
    ops = *epi_memory_host();
    ops.alloc = shared_alloc;
    ops.release = shared_release;
}

const epi_memory_ops_t *epi_memory_shared(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)pthread_once(&once, make_ops);
    return &ops;
}
