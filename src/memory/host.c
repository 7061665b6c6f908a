/*
 * host.c: ordinary host memory: anonymous pages, large where the kernel has
 * them, all touched before they are handed out. Any thread.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/error.h"
#include "memory/available.h"
#include "memory/host_pages.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

/** Regions of at least this are worth a large page. */
#define HUGE_PAGE_BYTES ((size_t)2 << 20)

static size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

bool epi_host_mapped(size_t bytes, size_t *mapped_p)
{
    uint64_t mapped;

    if (!epi_align_u64(bytes, page_bytes(), &mapped) || mapped == 0 ||
        mapped > SIZE_MAX / 2) {
        return false;
    }
    *mapped_p = (size_t)mapped;
    return true;
}

/** One write a page. A kernel that is out of memory ends the process here
 *  instead of answering, as it may with the advice below too: the size was
 *  checked before, by epi_available_check(). */
static void touch_each_page(void *base, size_t mapped)
{
    volatile unsigned char *bytes = base;
    size_t page = page_bytes();

    for (size_t at = 0; at < mapped; at += page) {
        bytes[at] = 0;
    }
}

epdx_status_t epi_host_populate(void *base, size_t mapped)
{
    int rc;

    if (mapped >= HUGE_PAGE_BYTES) {
        (void)madvise(base, mapped, MADV_HUGEPAGE); /* advice only */
    }
    do {
        rc = madvise(base, mapped, MADV_POPULATE_WRITE);
    } while (rc != 0 && (errno == EINTR || errno == EAGAIN));
    if (rc == 0) {
        return EPDX_OK;
    }
    if (errno == EINVAL || errno == ENOSYS) {
        touch_each_page(base, mapped); /* an older kernel */
        return EPDX_OK;
    }
    return epi_fail(EPDX_ERR_NO_MEMORY,
                    "cannot populate %zu bytes of host memory: %s", mapped,
                    strerror(errno));
}

static epdx_status_t host_alloc(int device, size_t bytes, void **base_p)
{
    epdx_status_t status;
    size_t mapped;
    void *base;

    (void)device;
    if (!epi_host_mapped(bytes, &mapped)) {
        return epi_fail(EPDX_ERR_NO_MEMORY,
                        "cannot map %zu bytes of host memory", bytes);
    }
    status = epi_available_check(
        "host memory", "EPDX_RECV_POOL_MB or EPDX_ENCODE_RING_MB", mapped);
    if (status != EPDX_OK) {
        return status;
    }
    base = mmap(NULL, mapped, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) {
        return epi_fail(EPDX_ERR_NO_MEMORY,
                        "cannot map %zu bytes of host memory: %s", mapped,
                        strerror(errno));
    }
    status = epi_host_populate(base, mapped);
    if (status != EPDX_OK) {
        (void)munmap(base, mapped);
        return status;
    }
    *base_p = base;
    return EPDX_OK;
}

static void host_release(int device, void *base, size_t bytes)
{
    size_t mapped;

    (void)device;
    if (base != NULL && epi_host_mapped(bytes, &mapped)) {
        (void)munmap(base, mapped);
    }
}

/* Memory of another kind cannot be told from it without that kind's library;
 * a pool that the caller gives is taken at its word. */
static epdx_status_t host_check(int device, const void *base, size_t bytes)
{
    (void)device;
    (void)base;
    (void)bytes;
    return EPDX_OK;
}

static int host_devices(void)
{
    return 1;
}

static epdx_status_t host_bind(int device)
{
    (void)device;
    return EPDX_OK;
}

static epdx_status_t host_enter(int device, int *before_p)
{
    *before_p = device;
    return EPDX_OK;
}

static void host_leave(int before)
{
    (void)before;
}

const epi_memory_ops_t *epi_memory_host(void)
{
    static const epi_memory_ops_t ops = {
        .kind = EPI_MEMORY_HOST,
        .name = "host",
        .alloc = host_alloc,
        .release = host_release,
        .check = host_check,
        .devices = host_devices,
        .bind = host_bind,
        .enter = host_enter,
        .leave = host_leave,
    };

    return &ops;
}
