/* log.h: one line an event, to standard error, a file, or the caller. */
#ifndef EPDX_LOG_H
#define EPDX_LOG_H

#include "epdx/export.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum epdx_log_level {
    EPDX_LOG_ERROR = 0,
    EPDX_LOG_WARN = 1,
    EPDX_LOG_INFO = 2,
    EPDX_LOG_DEBUG = 3,
} epdx_log_level_t;

/** Receives one line, without a line end. May come from any epdx thread. */
typedef void (*epdx_log_sink_t)(void *context, epdx_log_level_t level,
                                const char *line);

/**
 * Send the log to sink instead of EPDX_LOG_FILE or standard error.
 *
 * Shapes:  none.
 * Units:   none.
 * Owns:    context stays the caller's and must outlive every epdx object.
 * Threads: before the first epdx object is opened; sink runs on any thread.
 * Errors:  none; a NULL sink restores the default.
 */
EPDX_API void epdx_log_set_sink(epdx_log_sink_t sink, void *context);

/**
 * Drop lines less urgent than level; wins over EPDX_LOG_LEVEL.
 *
 * Shapes:  none.
 * Units:   none.
 * Owns:    nothing.
 * Threads: any.
 * Errors:  none.
 */
EPDX_API void epdx_log_set_level(epdx_log_level_t level);

#ifdef __cplusplus
}
#endif
#endif
