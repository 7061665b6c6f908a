/*
 * status.h: what a call can answer. One list makes the codes and their
 * sentences; negative codes are grouped by what is lost.
 */
#ifndef EPDX_STATUS_H
#define EPDX_STATUS_H

#include "epdx/export.h"

#ifdef __cplusplus
extern "C" {
#endif

#define EPDX_STATUS_LIST(X)                                                    \
    X(EPDX_OK, 0, "success")                                                   \
    X(EPDX_IN_PROGRESS, 1, "not done yet")                                     \
    /* Nothing is lost: the call was wrong and had no effect. */               \
    X(EPDX_ERR_INVALID, -1, "invalid argument")                                \
    X(EPDX_ERR_TOO_LARGE, -2, "larger than the configured limit")              \
    X(EPDX_ERR_DUPLICATE, -3, "already in use")                                \
    X(EPDX_ERR_NOT_FOUND, -4, "no such object")                                \
    X(EPDX_ERR_FULL, -5, "no room now; try again later")                       \
    X(EPDX_ERR_UNSUPPORTED, -6, "not supported by this build or data")         \
    /* One request is lost. */                                                 \
    X(EPDX_ERR_TIMEOUT, -20, "deadline passed")                                \
    X(EPDX_ERR_UNREACHABLE, -21, "peer cannot be reached")                     \
    X(EPDX_ERR_PEER, -22, "peer reported a failure")                           \
    X(EPDX_ERR_MISMATCH, -23, "peer's data does not match what was asked")     \
    X(EPDX_ERR_CANCELLED, -24, "cancelled")                                    \
    X(EPDX_ERR_MALFORMED, -25, "malformed data")                               \
    /* The group of ranks is lost. */                                          \
    X(EPDX_ERR_DISAGREE, -40, "ranks of the group disagree")                   \
    X(EPDX_ERR_GROUP, -41, "collective operation failed")                      \
    /* The process is in trouble. */                                           \
    X(EPDX_ERR_NO_MEMORY, -60, "out of memory")                                \
    X(EPDX_ERR_IO, -61, "system or transport failure")

typedef enum epdx_status {
#define EPDX_STATUS_ENUM(name, value, text) name = (value),
    EPDX_STATUS_LIST(EPDX_STATUS_ENUM)
#undef EPDX_STATUS_ENUM
} epdx_status_t;

/**
 * The sentence of a status, for people.
 *
 * Shapes:  none.
 * Units:   none.
 * Owns:    the text is static.
 * Threads: any.
 * Errors:  none; an unknown code gives "unknown status".
 */
EPDX_API const char *epdx_status_text(epdx_status_t status);

/**
 * The name of a status, such as "EPDX_ERR_TIMEOUT", for logs and metrics.
 *
 * Shapes:  none.
 * Units:   none.
 * Owns:    the text is static.
 * Threads: any.
 * Errors:  none; an unknown code gives "EPDX_UNKNOWN".
 */
EPDX_API const char *epdx_status_name(epdx_status_t status);

/**
 * What was wrong, in words, with the last call on this thread that failed:
 * what, where, and the setting or argument that cures it.
 *
 * Shapes:  none.
 * Units:   none.
 * Owns:    the text is the thread's, until its next failing call.
 * Threads: any; each has its own.
 * Errors:  none; "" when no call on this thread has failed.
 */
EPDX_API const char *epdx_last_error(void);

#ifdef __cplusplus
}
#endif
#endif
