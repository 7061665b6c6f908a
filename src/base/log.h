/*
 * log.h: the library's own log lines. Who first decides that something is an
 * error logs it, in lower case, with the cause and the setting that cures it;
 * never per row or per poll.
 */
#ifndef EPI_BASE_LOG_H
#define EPI_BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/log_form.h"
#include "epdx/log.h"

/** Whether a line of this level would be written. Any thread. */
bool epi_log_on(epdx_log_level_t level);

/** Write one line, cut at 1 KiB. Any thread; lines never interleave. */
void epi_log(epdx_log_level_t level, const char *format, ...) EPDX_PRINTF(2, 3);

/** What the settings say of the log. */
typedef struct epi_log_setup {
    epdx_log_level_t level;
    const char *file; /* with %h, %p and %r; "": standard error */
    epi_log_form_t form;
    uint32_t burst; /* lines of one kind in 10 s but debug; 0: any number */
} epi_log_setup_t;

/** Take the settings. The first call wins, and a level set by
 *  epdx_log_set_level() stays. Before it no line is left out. */
void epi_log_configure(const epi_log_setup_t *setup);

#define epi_log_error(...) epi_log(EPDX_LOG_ERROR, __VA_ARGS__)
#define epi_log_warn(...)  epi_log(EPDX_LOG_WARN, __VA_ARGS__)
#define epi_log_info(...)  epi_log(EPDX_LOG_INFO, __VA_ARGS__)
#define epi_log_debug(...)                                                     \
    do {                                                                       \
        if (epi_log_on(EPDX_LOG_DEBUG)) {                                      \
            epi_log(EPDX_LOG_DEBUG, __VA_ARGS__);                              \
        }                                                                      \
    } while (0)

#endif
