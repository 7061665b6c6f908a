/*
 * file.h: small files read whole: keys, certificates, lists. Blocks as files
 * do. The words of a failure name the setting that gave the path, and never
 * what the file holds.
 */
#ifndef EPI_BASE_FILE_H
#define EPI_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "epdx/status.h"

typedef enum epi_file_kind {
    EPI_FILE_PLAIN,
    EPI_FILE_TRUSTED, /* refused when others may write it */
    EPI_FILE_SECRET,  /* refused when others may read or write it, or its group
                         may, unless root owns it: deployments hand out secrets
                         as root's, by group */
} epi_file_kind_t;

typedef struct epi_file_text {
    char *text; /* closed by a zero */
    size_t bytes;
} epi_file_text_t;

/** Tells one state of a file from another. */
typedef struct epi_file_mark {
    uint64_t device, inode, bytes;
    int64_t seconds, nanoseconds; /* of its last change */
} epi_file_mark_t;

/** Read a regular file of at most bytes_max. setting names the path in words.
 *  EPDX_ERR_INVALID: it cannot be read, is of the wrong mode, or too large;
 *  EPDX_ERR_NO_MEMORY. *text_p, for epi_file_wipe(), is set on success only. */
EPDX_MUST_CHECK epdx_status_t epi_file_read(const char *setting,
                                            const char *path,
                                            epi_file_kind_t kind,
                                            size_t bytes_max,
                                            epi_file_text_t *text_p);

/** Overwrite and free; an empty one is allowed. */
void epi_file_wipe(epi_file_text_t *text);

/** The file's mark now; all zero where there is none. Taken before a read, it
 *  shows whatever changes later. */
epi_file_mark_t epi_file_mark(const char *path);

bool epi_file_same(const epi_file_mark_t *left, const epi_file_mark_t *right);

#endif
