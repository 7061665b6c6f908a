/* encode_chunks.c: see encode_chunks.h. */
#include "tools/encode_chunks.h"

#include <stdlib.h>

#include "base/error.h"

static epi_encode_made_t *made_of(const epi_encode_chunks_t *chunks,
                                  epi_source_item_t at)
{
    return &chunks->made[chunks->source->workload.requests[at.request].first +
                         at.item];
}

static uint64_t item_bytes(const epi_encode_chunks_t *chunks,
                           epi_source_item_t at)
{
    const epi_source_t *source = chunks->source;

    return epi_source_rows(source, at) *
           (source->main_row_bytes + source->deepstack_row_bytes);
}

epdx_status_t epi_encode_chunks_init(epi_encode_chunks_t *chunks)
{
    size_t count = chunks->source->workload.rows_count;

    chunks->made = calloc(count + 1, sizeof(*chunks->made));
    return chunks->made != NULL
               ? EPDX_OK
               : epi_fail(EPDX_ERR_NO_MEMORY, "no memory for %zu items", count);
}

static epdx_status_t allocate(const epi_encode_chunks_t *chunks, uint64_t bytes,
                              void **memory_p)
{
    const epi_memory_t *memory = &chunks->device->memory;

    if (epi_device_away(chunks->device)) {
        return memory->ops->alloc(memory->device, bytes, memory_p);
    }
    *memory_p = malloc(bytes);
    return *memory_p != NULL
               ? EPDX_OK
               : epi_fail(EPDX_ERR_NO_MEMORY, "no %llu bytes for an item",
                          (unsigned long long)bytes);
}

static void release(const epi_encode_chunks_t *chunks, void *own,
                    uint64_t bytes)
{
    const epi_memory_t *memory = &chunks->device->memory;

    if (epi_device_away(chunks->device)) {
        memory->ops->release(memory->device, own, bytes);
    } else {
        free(own);
    }
}

/* Own memory for an item; EPDX_ERR_FULL: not now. */
static epdx_status_t take_own(epi_encode_chunks_t *chunks, epi_source_item_t at,
                              epdx_chunk_t *chunk)
{
    uint64_t rows = epi_source_rows(chunks->source, at);
    uint64_t bytes = item_bytes(chunks, at);
    void *memory;
    epdx_status_t status;

    if (chunks->own_bytes > 0 && chunks->own_bytes + bytes > chunks->own_max) {
        return EPDX_ERR_FULL;
    }
    status = allocate(chunks, bytes, &memory);
    if (status != EPDX_OK) {
        return status;
    }
    made_of(chunks, at)->memory = memory;
    chunks->own_bytes += bytes;
    *chunk = (epdx_chunk_t){.rows = rows, .main = memory};
    if (chunks->source->levels > 0) {
        chunk->deepstack =
            (char *)memory + rows * chunks->source->main_row_bytes;
    }
    return EPDX_OK;
}

/* The file's own memory, which the sender only reads. */
static bool take_mapped(const epi_encode_chunks_t *chunks, epi_source_item_t at,
                        epdx_chunk_t *chunk)
{
    const void *main, *deepstack;

    if (epi_device_away(chunks->device) ||
        !epi_source_mapped(chunks->source, at, &main, &deepstack)) {
        return false;
    }
    *chunk = (epdx_chunk_t){
        .rows = epi_source_rows(chunks->source, at),
        .main = (void *)(uintptr_t)main,
        .deepstack = (void *)(uintptr_t)deepstack,
    };
    return true;
}

/* Rows go to the device on its stream; the sender waits for the event. */
static epdx_status_t write_rows(epi_encode_chunks_t *chunks,
                                epi_source_item_t at, char *draft,
                                epdx_chunk_t *chunk)
{
    epi_device_t *device = chunks->device;
    epi_encode_made_t *made = made_of(chunks, at);
    size_t main_bytes = chunk->rows * chunks->source->main_row_bytes;
    size_t deepstack_bytes = chunk->rows * chunks->source->deepstack_row_bytes;
    epdx_status_t status;

    epi_source_fill(chunks->source, at, draft,
                    deepstack_bytes > 0 ? draft + main_bytes : NULL);
    status = device->memory.ops->copies->event_open(device->memory.device,
                                                    &made->ready);
    if (status == EPDX_OK) {
        status = epi_device_write(device, chunk->main, draft, main_bytes,
                                  made->ready);
    }
    if (status == EPDX_OK && deepstack_bytes > 0) {
        status = epi_device_write(device, chunk->deepstack, draft + main_bytes,
                                  deepstack_bytes, made->ready);
    }
    chunk->ready = made->ready;
    return status;
}

/* Where an item's rows go. */
static epdx_status_t take(epi_encode_chunks_t *chunks, epi_source_item_t at,
                          epdx_chunk_t *chunk)
{
    epdx_status_t status = EPDX_ERR_TOO_LARGE;

    if (!chunks->options->chunk_own) {
        status = epdx_sender_lease(chunks->sender,
                                   epi_source_rows(chunks->source, at), chunk);
    }
    if (status != EPDX_ERR_TOO_LARGE) {
        return status;
    }
    return take_mapped(chunks, at, chunk) ? EPDX_OK
                                          : take_own(chunks, at, chunk);
}

epdx_status_t epi_encode_chunk_make(epi_encode_chunks_t *chunks,
                                    epi_source_item_t at, epdx_chunk_t *chunk_p)
{
    void *draft = NULL;
    epdx_chunk_t chunk;
    epdx_status_t status = EPDX_OK;

    if (epi_device_away(chunks->device)) {
        status =
            epi_device_draft(chunks->device, item_bytes(chunks, at), &draft);
    }
    if (status == EPDX_OK) {
        status = take(chunks, at, &chunk);
    }
    if (status != EPDX_OK) {
        return status;
    }
    if (draft != NULL) {
        status = write_rows(chunks, at, draft, &chunk);
    } else if (chunk.lease != 0 || made_of(chunks, at)->memory != NULL) {
        epi_source_fill(chunks->source, at, chunk.main, chunk.deepstack);
    }
    if (status != EPDX_OK) {
        epdx_sender_return(chunks->sender, &chunk);
        epi_encode_chunk_end(chunks, at);
        return status;
    }
    *chunk_p = chunk;
    return EPDX_OK;
}

void epi_encode_chunk_end(epi_encode_chunks_t *chunks, epi_source_item_t at)
{
    const epi_memory_t *memory = &chunks->device->memory;
    epi_encode_made_t *made = made_of(chunks, at);

    if (made->ready != NULL) {
        memory->ops->copies->event_close(memory->device, made->ready);
        made->ready = NULL;
    }
    if (made->memory != NULL) {
        uint64_t bytes = item_bytes(chunks, at);

        chunks->own_bytes -= bytes;
        release(chunks, made->memory, bytes);
        made->memory = NULL;
    }
}

void epi_encode_chunks_fini(epi_encode_chunks_t *chunks)
{
    const epi_workload_t *workload = &chunks->source->workload;

    if (chunks->made == NULL) {
        return;
    }
    for (size_t i = 0; i < workload->count; i++) {
        for (size_t j = 0; j < workload->requests[i].count; j++) {
            epi_encode_chunk_end(chunks, (epi_source_item_t){i, j});
        }
    }
    free(chunks->made);
    chunks->made = NULL;
}
