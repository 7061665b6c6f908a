/*
 * npy.h: NumPy .npy files: read in place (mmap) and written. Two-dimensional,
 * C order, little endian: float16, float32, and bfloat16 as uint16.
 */
#ifndef EPI_TOOLS_NPY_H
#define EPI_TOOLS_NPY_H

#include "tools/npy_header.h"

typedef struct epi_npy {
    epi_npy_shape_t shape;
    const void *data; /* [rows, columns] */
    size_t data_bytes;
    void *map;
    size_t map_bytes;
} epi_npy_t;

/** Map a file. Errors, with words that begin with path: EPDX_ERR_IO,
 *  EPDX_ERR_MALFORMED, EPDX_ERR_UNSUPPORTED, EPDX_ERR_INVALID (no rows or no
 *  columns); *npy_p unchanged. The file must stay as it is while mapped. */
EPDX_MUST_CHECK epdx_status_t epi_npy_open(const char *path, epi_npy_t *npy_p);

/** A zero-filled npy is allowed. */
void epi_npy_close(epi_npy_t *npy);

/** Write an array as NumPy does, over any file at path. EPDX_ERR_IO with
 *  words; there is then no file. */
EPDX_MUST_CHECK epdx_status_t epi_npy_write(const char *path,
                                            const epi_npy_shape_t *shape,
                                            const void *data);

#endif
