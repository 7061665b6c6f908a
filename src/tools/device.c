/* device.c: see device.h. */
#include "tools/device.h"

#include <sched.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/options.h"

#define PATIENCE_NS (60 * EPI_S)

/* Programs that are linked with the fakes of src/testing are compiled so. */
#ifndef EPDX_GPU
#define EPDX_GPU "real"
#endif

static const epi_copy_ops_t *copies(const epi_device_t *device)
{
    return device->memory.ops->copies;
}

bool epi_device_away(const epi_device_t *device)
{
    return device->memory.ops != NULL && copies(device) != NULL;
}

epdx_memory_t epi_device_kind(const epi_device_t *device)
{
    return epi_device_away(device) ? EPDX_MEMORY_CUDA : EPDX_MEMORY_HOST;
}

const epdx_cuda_t *epi_device_cuda(const epi_device_t *device)
{
    return epi_device_away(device) ? &device->cuda : NULL;
}

void epi_device_json(const epi_device_t *device, epi_json_t *json)
{
    bool away = epi_device_away(device);

    epi_json_text(json, "memory", away ? "cuda" : "host");
    if (away) {
        epi_json_text(json, "gpu", EPDX_GPU);
    }
}

/* On a machine of several devices each rank takes its own. */
static epdx_status_t choose(epdx_memory_t memory, uint32_t rank,
                            epi_device_t *device)
{
    epi_options_t options;
    epi_memory_wish_t wish = {.who = "--memory", .memory = memory};
    const epi_memory_ops_t *cuda = epi_memory_cuda();
    int devices = cuda != NULL ? cuda->devices() : 0;
    epdx_status_t status = epi_options_load(&options);

    if (status != EPDX_OK) {
        return status;
    }
    device->cuda = (epdx_cuda_t){
        .struct_size = sizeof(device->cuda),
        .device = devices > 0 ? (int)(rank % (uint32_t)devices) : 0,
    };
    wish.preset = options.memory;
    wish.cuda = &device->cuda;
    status = epi_memory_choose(&wish, &device->memory);
    return status == EPDX_OK ? device->memory.ops->bind(device->memory.device)
                             : status;
}

epdx_status_t epi_device_open(epdx_memory_t memory, uint32_t rank,
                              epi_device_t *device_p)
{
    epi_device_t device = {.pinned = NULL};
    epdx_status_t status = choose(memory, rank, &device);

    if (status == EPDX_OK && epi_device_away(&device)) {
        status =
            copies(&device)->stream_open(device.memory.device, &device.stream);
    }
    if (status != EPDX_OK) {
        epi_device_close(&device);
        return status;
    }
    *device_p = device;
    return EPDX_OK;
}

/* Wait for what the stream was given, which only a stuck device never does. */
static epdx_status_t settle(const epi_device_t *device)
{
    uint64_t limit = epi_after(epi_now_ns(), PATIENCE_NS);
    epdx_status_t status;

    while ((status = copies(device)->stream_done(device->stream)) ==
           EPDX_IN_PROGRESS) {
        if (epi_now_ns() > limit) {
            return epi_fail(EPDX_ERR_TIMEOUT,
                            "copies of rows were not done in 60 s");
        }
        sched_yield();
    }
    return status;
}

static epdx_status_t pinned_of(epi_device_t *device, size_t bytes)
{
    int index = device->memory.device;
    epdx_status_t status;

    if (bytes <= device->pinned_bytes) {
        return EPDX_OK;
    }
    copies(device)->unpin(index, device->pinned);
    device->pinned = NULL;
    device->pinned_bytes = 0;
    status = copies(device)->pin(index, bytes, &device->pinned);
    if (status == EPDX_OK) {
        device->pinned_bytes = bytes;
    }
    return status;
}

epdx_status_t epi_device_after(epi_device_t *device, void *event)
{
    return epi_device_away(device) && event != NULL
               ? copies(device)->wait(device->stream, event)
               : EPDX_OK;
}

epdx_status_t epi_device_read(epi_device_t *device, const void *rows,
                              size_t bytes, const void **rows_p)
{
    epdx_status_t status;

    if (!epi_device_away(device) || bytes == 0) {
        *rows_p = rows;
        return EPDX_OK;
    }
    status = pinned_of(device, bytes);
    if (status == EPDX_OK) {
        status =
            copies(device)->copy(device->stream, device->pinned, rows, bytes);
    }
    if (status == EPDX_OK) {
        status = settle(device);
    }
    if (status == EPDX_OK) {
        *rows_p = device->pinned;
    }
    return status;
}

epdx_status_t epi_device_draft(epi_device_t *device, size_t bytes,
                               void **draft_p)
{
    epdx_status_t status = copies(device)->stream_done(device->stream);

    if (status == EPDX_IN_PROGRESS) {
        return EPDX_ERR_FULL;
    }
    if (status == EPDX_OK) {
        status = pinned_of(device, bytes);
    }
    if (status == EPDX_OK) {
        *draft_p = device->pinned;
    }
    return status;
}

epdx_status_t epi_device_write(epi_device_t *device, void *rows,
                               const void *draft, size_t bytes, void *event)
{
    epdx_status_t status =
        copies(device)->copy(device->stream, rows, draft, bytes);

    return status == EPDX_OK ? copies(device)->record(device->stream, event)
                             : status;
}

void epi_device_close(epi_device_t *device)
{
    int index = device->memory.device;

    if (!epi_device_away(device)) {
        return;
    }
    if (device->stream != NULL && settle(device) != EPDX_OK) {
        epi_log_error("%s", epdx_last_error());
        return; /* the device may still use the memory */
    }
    copies(device)->unpin(index, device->pinned);
    copies(device)->stream_close(index, device->stream);
    *device = (epi_device_t){.pinned = NULL};
}
