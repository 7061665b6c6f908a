/* error.h: the words behind a failing status, one text a thread. */
#ifndef EPI_BASE_ERROR_H
#define EPI_BASE_ERROR_H

#include <stdarg.h>

#include "epdx/status.h"

/** Set epdx_last_error() of this thread and give status back, so that
 *  `return epi_fail(EPDX_ERR_INVALID, "...", ...)` reads in one line. */
epdx_status_t epi_fail(epdx_status_t status, const char *format, ...)
    EPDX_PRINTF(2, 3);

/* The static analyzer sees one file at a time and would follow each failure on
 * as if it were a success. */
#ifdef __clang_analyzer__
#define epi_fail(status, ...) ((void)epi_fail(status, __VA_ARGS__), (status))
#endif

/** For a call that its caller made sure cannot fail: log it as a defect if it
 *  did after all. */
void epi_expect(epdx_status_t status, const char *what);

#endif
