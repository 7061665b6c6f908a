/*
 * fake_cuda_memory.c: device and pinned memory of the CUDA fake.
 *
 * Device memory is one anonymous file mapped twice: where the product sees it
 * nothing may be read or written, where the fake sees it everything may. Pinned
 * memory is the heap's, so that the address sanitizer guards its ends.
 *
 * An allocation in use by a queued operation is held by a count; cudaFree()
 * waits for it to be 0, as the real one waits for the device. To take it orders
 * nothing: two operations on one allocation may race, and should be seen to.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "testing/fake_cuda_internal.h"

#define PAGE_BYTES ((size_t)4096)

struct epi_fake_allocation {
    epi_fake_allocation_t *next;
    epi_fake_memory_t memory;
    int device;
    unsigned char *base;  /* what the product was given */
    unsigned char *bytes; /* where the fake reaches it */
    size_t size;
    size_t mapped; /* size, rounded up to pages */
    atomic_uint uses;
};

static pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;
static epi_fake_allocation_t *table;

static size_t round_up(size_t bytes)
{
    return bytes > SIZE_MAX - PAGE_BYTES
               ? SIZE_MAX
               : (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

/** Map size bytes twice; false when there is no room. */
static bool map_twice(epi_fake_allocation_t *allocation)
{
    int file = memfd_create("epdx_fake_cuda", MFD_CLOEXEC);
    void *base = MAP_FAILED;
    void *bytes = MAP_FAILED;

    if (file < 0) {
        return false;
    }
    if (ftruncate(file, (off_t)allocation->mapped) == 0) {
        base = mmap(NULL, allocation->mapped, PROT_NONE, MAP_SHARED, file, 0);
        bytes = mmap(NULL, allocation->mapped, PROT_READ | PROT_WRITE,
                     MAP_SHARED, file, 0);
    }
    (void)close(file);
    if (base == MAP_FAILED || bytes == MAP_FAILED) {
        if (base != MAP_FAILED) {
            (void)munmap(base, allocation->mapped);
        }
        if (bytes != MAP_FAILED) {
            (void)munmap(bytes, allocation->mapped);
        }
        return false;
    }
    allocation->base = base;
    allocation->bytes = bytes;
    return true;
}

static bool allocate(epi_fake_allocation_t *allocation)
{
    if (allocation->memory == EPI_FAKE_DEVICE) {
        return map_twice(allocation);
    }
    if (posix_memalign((void **)&allocation->base, PAGE_BYTES,
                       allocation->size) != 0) {
        return false;
    }
    allocation->bytes = allocation->base;
    return true;
}

static void deallocate(epi_fake_allocation_t *allocation)
{
    if (allocation->memory == EPI_FAKE_DEVICE) {
        (void)munmap(allocation->base, allocation->mapped);
        (void)munmap(allocation->bytes, allocation->mapped);
    } else {
        free(allocation->base);
    }
    free(allocation);
}

static cudaError_t open_allocation(epi_fake_memory_t memory, size_t size,
                                   void **base_p)
{
    epi_fake_allocation_t *allocation;

    if (base_p == NULL) {
        return epi_fake_cuda_leave(cudaErrorInvalidValue);
    }
    if (size == 0) {
        *base_p = NULL;
        return cudaSuccess;
    }
    allocation = calloc(1, sizeof(*allocation));
    if (allocation == NULL) {
        return epi_fake_cuda_leave(cudaErrorMemoryAllocation);
    }
    allocation->memory = memory;
    allocation->device = epi_fake_cuda_device();
    allocation->size = size;
    allocation->mapped = round_up(size);
    if (!allocate(allocation)) {
        free(allocation);
        return epi_fake_cuda_leave(cudaErrorMemoryAllocation);
    }
    memset(allocation->bytes, EPI_FAKE_CUDA_POISON, size);
    (void)pthread_rwlock_wrlock(&table_lock);
    allocation->next = table;
    table = allocation;
    (void)pthread_rwlock_unlock(&table_lock);
    *base_p = allocation->base;
    return cudaSuccess;
}

/** Take the allocation that begins at base out of the table; NULL: none. */
static epi_fake_allocation_t *take_out(epi_fake_memory_t memory,
                                       const void *base)
{
    epi_fake_allocation_t **link;
    epi_fake_allocation_t *found = NULL;

    (void)pthread_rwlock_wrlock(&table_lock);
    for (link = &table; *link != NULL; link = &(*link)->next) {
        if ((*link)->base == base && (*link)->memory == memory) {
            found = *link;
            *link = found->next;
            break;
        }
    }
    (void)pthread_rwlock_unlock(&table_lock);
    return found;
}

static cudaError_t close_allocation(epi_fake_memory_t memory, void *base)
{
    const struct timespec nap = {.tv_nsec = 50000};
    epi_fake_allocation_t *allocation;

    if (base == NULL) {
        return cudaSuccess;
    }
    allocation = take_out(memory, base);
    if (allocation == NULL) {
        return epi_fake_cuda_leave(epi_fake_cuda_violation(
            cudaErrorInvalidValue, "free of %p, where no %s memory begins",
            base, memory == EPI_FAKE_DEVICE ? "device" : "pinned"));
    }
    while (atomic_load_explicit(&allocation->uses, memory_order_acquire) > 0) {
        nanosleep(&nap, NULL);
    }
    deallocate(allocation);
    return cudaSuccess;
}

/** The allocation that base is in; with the table's lock held. */
static epi_fake_allocation_t *find(const void *base)
{
    uintptr_t at = (uintptr_t)base;
    epi_fake_allocation_t *one;

    for (one = table; one != NULL; one = one->next) {
        if (at >= (uintptr_t)one->base &&
            at < (uintptr_t)one->base + one->size) {
            return one;
        }
    }
    return NULL;
}

cudaError_t epi_fake_take(const void *base, size_t bytes,
                          epi_fake_range_t *range_p)
{
    epi_fake_allocation_t *allocation;
    size_t offset = 0;
    size_t size = 0;

    (void)pthread_rwlock_rdlock(&table_lock);
    allocation = find(base);
    if (allocation != NULL) {
        size = allocation->size;
        offset = (uintptr_t)base - (uintptr_t)allocation->base;
        if (bytes <= size - offset) {
            (void)atomic_fetch_add_explicit(&allocation->uses, 1,
                                            memory_order_relaxed);
        }
    }
    (void)pthread_rwlock_unlock(&table_lock);
    if (allocation == NULL) {
        *range_p = (epi_fake_range_t){.memory = EPI_FAKE_PAGEABLE,
                                      .bytes = (unsigned char *)base};
        return cudaSuccess;
    }
    if (bytes > size - offset) {
        return epi_fake_cuda_violation(
            cudaErrorInvalidValue,
            "%zu bytes at offset %zu of an allocation of %zu", bytes, offset,
            size);
    }
    *range_p = (epi_fake_range_t){.memory = allocation->memory,
                                  .bytes = allocation->bytes + offset,
                                  .device = allocation->device,
                                  .allocation = allocation};
    return cudaSuccess;
}

void epi_fake_drop(const epi_fake_range_t *range)
{
    if (range->allocation != NULL) {
        (void)atomic_fetch_sub_explicit(&range->allocation->uses, 1,
                                        memory_order_release);
    }
}

void *epi_fake_cuda_bytes(const void *device, size_t bytes)
{
    epi_fake_allocation_t *one;
    void *found = NULL;
    size_t offset;

    (void)pthread_rwlock_rdlock(&table_lock);
    one = find(device);
    if (one != NULL && one->memory == EPI_FAKE_DEVICE) {
        offset = (uintptr_t)device - (uintptr_t)one->base;
        found = bytes <= one->size - offset ? one->bytes + offset : NULL;
    }
    (void)pthread_rwlock_unlock(&table_lock);
    return found;
}

void epi_fake_memory_live(epi_fake_cuda_live_t *live)
{
    const epi_fake_allocation_t *one;

    (void)pthread_rwlock_rdlock(&table_lock);
    for (one = table; one != NULL; one = one->next) {
        if (one->memory == EPI_FAKE_DEVICE) {
            live->device_allocations++;
            live->device_bytes += one->size;
        } else {
            live->pinned_allocations++;
            live->pinned_bytes += one->size;
        }
    }
    (void)pthread_rwlock_unlock(&table_lock);
}

cudaError_t cudaMalloc(void **devPtr, size_t size)
{
    cudaError_t error = epi_fake_cuda_enter(__func__);

    return error != cudaSuccess
               ? error
               : open_allocation(EPI_FAKE_DEVICE, size, devPtr);
}

cudaError_t cudaFree(void *devPtr)
{
    cudaError_t error = epi_fake_cuda_enter(__func__);

    return error != cudaSuccess ? error
                                : close_allocation(EPI_FAKE_DEVICE, devPtr);
}

cudaError_t cudaMallocHost(void **ptr, size_t size)
{
    cudaError_t error = epi_fake_cuda_enter(__func__);

    return error != cudaSuccess ? error
                                : open_allocation(EPI_FAKE_PINNED, size, ptr);
}

cudaError_t cudaHostAlloc(void **pHost, size_t size, unsigned int flags)
{
    cudaError_t error = epi_fake_cuda_enter(__func__);

    (void)flags;
    return error != cudaSuccess ? error
                                : open_allocation(EPI_FAKE_PINNED, size, pHost);
}

cudaError_t cudaFreeHost(void *ptr)
{
    cudaError_t error = epi_fake_cuda_enter(__func__);

    return error != cudaSuccess ? error
                                : close_allocation(EPI_FAKE_PINNED, ptr);
}

cudaError_t cudaMemGetInfo(size_t *free, size_t *total)
{
    const size_t all = (size_t)64 << 30;
    epi_fake_cuda_live_t live = {0};
    cudaError_t error = epi_fake_cuda_enter(__func__);

    if (error != cudaSuccess) {
        return error;
    }
    epi_fake_memory_live(&live);
    *total = all;
    *free = live.device_bytes < all ? all - live.device_bytes : 0;
    return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes,
                                     const void *ptr)
{
    epi_fake_range_t range;
    cudaError_t error = epi_fake_cuda_enter(__func__);

    if (error == cudaSuccess) {
        error = epi_fake_cuda_leave(epi_fake_take(ptr, 0, &range));
    }
    if (error != cudaSuccess) {
        return error;
    }
    memset(attributes, 0, sizeof(*attributes));
    switch (range.memory) {
    case EPI_FAKE_DEVICE:
        attributes->type = cudaMemoryTypeDevice;
        attributes->device = range.device;
        attributes->devicePointer = (void *)ptr;
        break;
    case EPI_FAKE_PINNED:
        attributes->type = cudaMemoryTypeHost;
        attributes->device = range.device;
        attributes->devicePointer = (void *)ptr;
        attributes->hostPointer = (void *)ptr;
        break;
    default:
        attributes->type = cudaMemoryTypeUnregistered;
        attributes->device = cudaInvalidDeviceId;
        attributes->hostPointer = (void *)ptr;
        break;
    }
    epi_fake_drop(&range);
    return cudaSuccess;
}
