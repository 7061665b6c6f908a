/*
 * npy_header.h: the head of a NumPy .npy file, read and written in memory.
 * Pure.
 *
 *     0  "\x93NUMPY"   6  major, minor   8  length, u16 (1.0) or u32, little
 *        {'descr': '<f2', 'fortran_order': False, 'shape': (3, 4), }
 *        spaces, '\n': all of it a multiple of 64 bytes
 */
#ifndef EPI_TOOLS_NPY_HEADER_H
#define EPI_TOOLS_NPY_HEADER_H

#include "epdx/types.h"

#define EPI_NPY_HEADER_MAX  65536 /* of a file that is read */
#define EPI_NPY_WRITTEN_MAX 256   /* of one that is written */

typedef struct epi_npy_shape {
    uint64_t rows;
    uint64_t columns;
    epdx_dtype_t dtype;
} epi_npy_shape_t;

/** Read the head of a file of which size bytes are there. Errors, with words:
 *  EPDX_ERR_MALFORMED, EPDX_ERR_UNSUPPORTED (what .npy can hold and epdx cannot
 *  take). *shape_p and *offset_p (of the data) are set on success only. */
EPDX_MUST_CHECK epdx_status_t epi_npy_header_read(const uint8_t *bytes,
                                                  size_t size,
                                                  epi_npy_shape_t *shape_p,
                                                  size_t *offset_p);

/** The head that NumPy writes for such an array, version 1.0. Returns its
 *  bytes. */
size_t epi_npy_header_write(const epi_npy_shape_t *shape,
                            uint8_t out[EPI_NPY_WRITTEN_MAX]);

#endif
