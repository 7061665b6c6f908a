/*
 * npy_make_test.c: writes arrays for programs_test.sh:
 *
 *     npy_make DIR DTYPE HIDDEN LEVELS ROWS...
 *
 * gives DIR/a.npy, DIR/b.npy, ..., one for each ROWS, with deepstack arrays
 * where LEVELS is not 0.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/npy_dir.h"
#include "tools/synthetic.h"

static int write_array(const char *dir, const char *name,
                       const epi_npy_shape_t *shape, uint32_t part)
{
    epi_synthetic_t synthetic = {(uint64_t)name[0], part, shape->columns,
                                 epdx_dtype_bytes(shape->dtype)};
    char path[PATH_MAX];
    epdx_status_t status = EPDX_ERR_NO_MEMORY;
    void *rows = malloc(shape->rows * shape->columns * synthetic.element_bytes);

    if (rows != NULL && epi_npy_dir_path(dir, name, part == EPI_PART_DEEPSTACK,
                                         path, sizeof(path))) {
        epi_synthetic_fill(&synthetic, (epdx_rows_t){0, shape->rows}, rows);
        status = epi_npy_write(path, shape, rows);
    }
    free(rows);
    return status == EPDX_OK ? 0 : 1;
}

int main(int argc, char **argv)
{
    int wrong = argc < 6 || argc > 31;
    epi_npy_shape_t shape;
    uint64_t levels;

    if (wrong) {
        fputs("usage: npy_make DIR DTYPE HIDDEN LEVELS ROWS...\n", stderr);
        return 2;
    }
    shape.dtype = epdx_dtype_parse(argv[2]);
    levels = strtoull(argv[4], NULL, 10);
    for (int i = 5; i < argc; i++) {
        char name[2] = {(char)('a' + i - 5), '\0'};

        shape.rows = strtoull(argv[i], NULL, 10);
        shape.columns = strtoull(argv[3], NULL, 10);
        wrong |= write_array(argv[1], name, &shape, EPI_PART_MAIN);
        shape.columns *= levels;
        if (levels > 0) {
            wrong |= write_array(argv[1], name, &shape, EPI_PART_DEEPSTACK);
        }
    }
    return wrong;
}
