/*
 * npy_dir.h: a directory of arrays: NAME.npy, and for a model with deepstack
 * levels NAME.deepstack.npy beside each, sorted by name (byte order). Each is
 * a request of one item. Other files are left alone.
 */
#ifndef EPI_TOOLS_NPY_DIR_H
#define EPI_TOOLS_NPY_DIR_H

#include "tools/npy.h"

#define EPI_NPY_LEVELS_MAX 64

typedef struct epi_npy_item {
    char *name;
    epi_npy_t main;
    epi_npy_t deepstack; /* zero-filled without levels */
} epi_npy_item_t;

typedef struct epi_npy_dir {
    epi_npy_item_t *items;
    size_t count;
    epdx_dtype_t dtype;
    uint64_t hidden;
    uint32_t levels;
} epi_npy_dir_t;

/** Open every array (at most limit names, 0: all). Errors, with words that
 *  name the file: those of epi_npy_open(); EPDX_ERR_IO the directory;
 *  EPDX_ERR_INVALID no arrays, a name that is no request id, arrays of several
 *  shapes or dtypes, a deepstack array without its main array or the other way
 *  round; EPDX_ERR_NO_MEMORY. *dir_p is set on success only. */
EPDX_MUST_CHECK epdx_status_t epi_npy_dir_open(const char *path, size_t limit,
                                               epi_npy_dir_t *dir_p);

/** A zero-filled dir is allowed. */
void epi_npy_dir_close(epi_npy_dir_t *dir);

/** DIR/NAME.npy or DIR/NAME.deepstack.npy; false when it does not fit. */
bool epi_npy_dir_path(const char *path, const char *name, bool deepstack,
                      char *out, size_t size);

#endif
