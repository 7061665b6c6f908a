/*
 * log.h: the library's own log lines. Who first decides that something is an
 * error logs it, in lower case, with the cause and the setting that cures it;
 * never per row or per poll.
 */
#ifndef EPI_BASE_LOG_H
#define EPI_BASE_LOG_H

#include <stdbool.h>

#include "epdx/log.h"

/** Whether a line of this level would be written. Any thread. */
bool epi_log_on(epdx_log_level_t level);

/** Write one line, cut at 1 KiB. Any thread; lines never interleave. */
void epi_log(epdx_log_level_t level, const char *format, ...) EPDX_PRINTF(2, 3);

/** Take level and file ("" is standard error; %h host, %p pid, %r rank of
 *  OMPI_COMM_WORLD_RANK, PMIX_RANK or SLURM_PROCID, else 0) from the settings.
 *  The first call wins, and a level set by epdx_log_set_level() stays. */
void epi_log_configure(epdx_log_level_t level, const char *file);

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
