/* chunk.c: see chunk.h. */
#include "sender/chunk.h"

#include <inttypes.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/log.h"
#include "memory/event.h"

static epdx_status_t check_memory(const epi_memory_t *memory, const void *rows,
                                  uint64_t bytes, const char *what)
{
    epdx_status_t status =
        memory->ops->check(memory->device, rows, (size_t)bytes);

    return status == EPDX_OK ? EPDX_OK
                             : epi_fail(status, "the chunk's %s rows: %s", what,
                                        epdx_last_error());
}

epdx_status_t epi_chunk_check_own(const epi_send_config_t *config,
                                  const epdx_chunk_t *chunk)
{
    uint64_t main_bytes, deepstack_bytes;
    epdx_status_t status;

    if (chunk->rows == 0 || chunk->main == NULL ||
        (chunk->deepstack != NULL) != (config->levels > 0)) {
        return epi_fail(EPDX_ERR_INVALID,
                        "a chunk of %" PRIu64 " rows %s main rows and %s "
                        "deepstack of %" PRIu32 " levels",
                        chunk->rows, chunk->main != NULL ? "with" : "without",
                        chunk->deepstack != NULL ? "with" : "without",
                        config->levels);
    }
    if (!epi_mul_u64(chunk->rows, config->main_row_bytes, &main_bytes) ||
        !epi_mul_u64(chunk->rows, config->deepstack_row_bytes,
                     &deepstack_bytes)) {
        return epi_fail(EPDX_ERR_INVALID,
                        "a chunk of %" PRIu64 " rows has more bytes than there "
                        "can be",
                        chunk->rows);
    }
    status = check_memory(&config->memory, chunk->main, main_bytes, "main");
    if (status == EPDX_OK && config->levels > 0) {
        status = check_memory(&config->memory, chunk->deepstack,
                              deepstack_bytes, "deepstack");
    }
    return status;
}

epdx_status_t epi_chunk_check_ready(const epi_send_config_t *config,
                                    const epdx_chunk_t *chunk)
{
    if (chunk->ready != NULL && config->memory.ops->copies == NULL) {
        return epi_fail(EPDX_ERR_INVALID,
                        "the chunk has a ready event, which goes with "
                        "EPDX_MEMORY_CUDA only");
    }
    return EPDX_OK;
}

bool epi_chunk_busy(const epdx_chunk_t *chunk)
{
    bool done = true;

    if (epi_event_done(chunk->ready, &done) != EPDX_OK) {
        epi_log_error("the ready event of a chunk: %s", epdx_last_error());
    }
    return !done;
}
