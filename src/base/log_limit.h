/*
 * log_limit.h: lines of one kind that come too often are left out and counted.
 * A kind is a place in the code, known by its format. Pure: now is given. Any
 * thread, without a lock: at worst a race lets a line more through.
 */
#ifndef EPI_BASE_LOG_LIMIT_H
#define EPI_BASE_LOG_LIMIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

#define EPI_LOG_WINDOW_NS (10 * EPI_S)
/** Kinds that are told apart; what comes beyond them is not limited. */
#define EPI_LOG_KINDS 256

typedef struct epi_log_kind {
    _Atomic uintptr_t format; /* 0: free */
    _Atomic uint64_t since_ns;
    _Atomic uint32_t count;
    _Atomic uint32_t left_out;
} epi_log_kind_t;

typedef struct epi_log_limit {
    epi_log_kind_t kinds[EPI_LOG_KINDS];
} epi_log_limit_t;

typedef enum epi_log_verdict {
    EPI_LOG_WRITE,
    EPI_LOG_WRITE_LAST, /* the next ones of this window are left out */
    EPI_LOG_LEAVE_OUT,
} epi_log_verdict_t;

/** Whether a line of that format may be written at now, where burst of them may
 *  be in EPI_LOG_WINDOW_NS; 0: any number. *left_out_p: how many were left out
 *  since the last one that was written in another window. */
epi_log_verdict_t epi_log_limit(epi_log_limit_t *limit, const char *format,
                                uint64_t now, uint32_t burst,
                                uint32_t *left_out_p);

#endif
