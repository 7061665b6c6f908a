/*
 * allowed.h: the public keys that may connect, from a file that may change
 * while it is used. The I/O thread's, after open. Only access.c.
 *
 * A line is a key of 40 characters, which may be followed by blanks and a
 * comment that begins with #; or such a comment; or blank. (No key begins with
 * #: five characters of Z85 that do are more than four bytes hold.)
 */
#ifndef EPI_CONTROL_ALLOWED_H
#define EPI_CONTROL_ALLOWED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/file.h"
#include "control/curve.h"

#define EPI_ALLOWED_PATH_MAX 512

typedef char epi_allowed_key_t[EPI_CURVE_KEY + 1];

typedef struct epi_allowed {
    char path[EPI_ALLOWED_PATH_MAX]; /* "": every key is allowed */
    epi_file_mark_t mark;
    uint64_t look_ns;        /* when to look at the file again */
    epi_allowed_key_t *keys; /* in order */
    size_t count;
} epi_allowed_t;

/** path "" allows every key. EPDX_ERR_INVALID with words: it cannot be read,
 *  others can write it, or a line is none of the above; _NO_MEMORY. */
EPDX_MUST_CHECK epdx_status_t epi_allowed_open(epi_allowed_t *allowed,
                                               const char *path, uint64_t now);

/** Whether a key may connect, as of the file's last second. A file that went
 *  away or does not parse is logged, and what was read before stays. */
bool epi_allowed_holds(epi_allowed_t *allowed, const char *key, uint64_t now);

void epi_allowed_close(epi_allowed_t *allowed);

#endif
