/* whole_file.h: a file that is replaced whole: whoever reads it sees the text
 * before or the text after, never a part. */
#ifndef EPI_OBSERVE_WHOLE_FILE_H
#define EPI_OBSERVE_WHOLE_FILE_H

#include <stddef.h>

#include "epdx/status.h"

/** Write path anew, by way of a file beside it. EPDX_ERR_IO with words,
 *  EPDX_ERR_TOO_LARGE: path is too long. */
EPDX_MUST_CHECK epdx_status_t epi_whole_file(const char *path, const char *text,
                                             size_t bytes);

#endif
