/*
 * trace_file.h: the file of a trace: a JSON object in Chrome's format, written
 * event by event and bounded. One that this process wrote and closed before is
 * gone on with when it is opened again. One thread at a time.
 *
 * A process that is killed leaves its end open; scripts/trace_merge.py reads
 * that, too.
 */
#ifndef EPI_OBSERVE_TRACE_FILE_H
#define EPI_OBSERVE_TRACE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "epdx/status.h"

typedef struct epi_trace_file epi_trace_file_t;

/** Errors: EPDX_ERR_IO with words, EPDX_ERR_INVALID and
 *  EPDX_ERR_TOO_LARGE (path), EPDX_ERR_NO_MEMORY. */
EPDX_MUST_CHECK epdx_status_t epi_trace_file_open(const char *path,
                                                  uint64_t bytes_max,
                                                  epi_trace_file_t **file_p);

/** Add an object. False: the file has no room for it, or cannot be written. */
bool epi_trace_file_add(epi_trace_file_t *file, const char *object,
                        size_t bytes);

/** Add one whatever the room: a few names, which say what the others mean. */
void epi_trace_file_note(epi_trace_file_t *file, const char *object,
                         size_t bytes);

/** Let others see what was added. */
void epi_trace_file_flush(epi_trace_file_t *file);

/** Closes the object. NULL is allowed. */
void epi_trace_file_close(epi_trace_file_t *file);

#endif
