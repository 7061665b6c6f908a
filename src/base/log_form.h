/* log_form.h: how a line of the log is written. Pure. */
#ifndef EPI_BASE_LOG_FORM_H
#define EPI_BASE_LOG_FORM_H

#include <stddef.h>
#include <stdint.h>

#include "epdx/log.h"

/** Room for any line: each byte of it may be written as two. */
#define EPI_LOG_FORM_BYTES 2560

typedef enum epi_log_form {
    EPI_LOG_TEXT = 0, /* epdx: host:pid level: text */
    EPI_LOG_TIMED,    /* the same behind the time, in UTC */
    EPI_LOG_JSON,     /* one JSON object a line */
} epi_log_form_t;

typedef struct epi_log_line {
    epi_log_form_t form;
    epdx_log_level_t level;
    const char *host;
    long pid;
    const char *rank;
    uint64_t wall_ns;
    const char *text; /* without control characters, at most 1023 bytes */
} epi_log_line_t;

/** Write a line with its line end, without a closing zero. In JSON, bytes that
 *  are no UTF-8 become '?'. The bytes written; 0: it does not fit. */
size_t epi_log_form(const epi_log_line_t *line, char out[EPI_LOG_FORM_BYTES]);

#endif
