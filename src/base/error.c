/* error.c: the words of the last failing call, one text a thread. */
#include "base/error.h"

#include <stdio.h>

#include "base/log.h"
#include "epdx/types.h"

#undef epi_fail

static _Thread_local char last_error[EPDX_REASON_MAX];

epdx_status_t epi_fail(epdx_status_t status, const char *format, ...)
{
    /* Built aside first: an argument may be the last error itself. */
    char text[EPDX_REASON_MAX];
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    (void)snprintf(last_error, sizeof(last_error), "%s",
                   length < 0 ? epdx_status_text(status) : text);
    return status;
}

const char *epdx_last_error(void)
{
    return last_error;
}

void epi_expect(epdx_status_t status, const char *what)
{
    if (status != EPDX_OK) {
        epi_log_error("defect: %s: %s (%s)", what, epdx_status_text(status),
                      epdx_last_error());
    }
}
