/*
 * fuzz_npy.c: arbitrary files as .npy. A head that is read is written again and
 * must be the same shape; an array that is opened must lie whole in the file;
 * what is refused must have said why and left its output alone.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "tools/fuzz_file.h"
#include "tools/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require_same(const epi_npy_shape_t *a, const epi_npy_shape_t *b)
{
    fuzz_require(a->rows == b->rows && a->columns == b->columns &&
                 a->dtype == b->dtype);
}

static void fuzz_header(const uint8_t *bytes, size_t size)
{
    epi_npy_shape_t first = {0};
    epi_npy_shape_t again = {0};
    uint8_t head[EPI_NPY_WRITTEN_MAX];
    size_t offset = SIZE_MAX;
    size_t written;
    epdx_status_t status;

    (void)epi_fail(EPDX_OK, "%s", "");
    status = epi_npy_header_read(bytes, size, &first, &offset);
    if (status != EPDX_OK) {
        fuzz_require(status == EPDX_ERR_MALFORMED ||
                     status == EPDX_ERR_UNSUPPORTED);
        fuzz_require(epdx_last_error()[0] != '\0');
        require_same(&first, &again);
        fuzz_require(offset == SIZE_MAX);
        return;
    }
    fuzz_require(offset <= size);
    written = epi_npy_header_write(&first, head);
    fuzz_require(written <= sizeof(head) && written % 64 == 0);
    fuzz_require(epi_npy_header_read(head, written, &again, &offset) ==
                 EPDX_OK);
    fuzz_require(offset == written);
    require_same(&first, &again);
}

static void fuzz_open(const uint8_t *bytes, size_t size)
{
    const char *path = fuzz_file(bytes, size);
    epi_npy_t npy = {0};
    size_t offset;

    if (epi_npy_open(path, &npy) != EPDX_OK) {
        fuzz_require(strncmp(epdx_last_error(), path, strlen(path)) == 0);
        fuzz_require(npy.map == NULL && npy.data == NULL);
        return;
    }
    fuzz_require(npy.map_bytes == size && npy.data_bytes > 0);
    fuzz_require(npy.data_bytes / npy.shape.rows / npy.shape.columns ==
                 epdx_dtype_bytes(npy.shape.dtype));
    offset = (size_t)((const uint8_t *)npy.data - (const uint8_t *)npy.map);
    fuzz_require(offset + npy.data_bytes == size);
    fuzz_require(memcmp(npy.data, bytes + offset, npy.data_bytes) == 0);
    epi_npy_close(&npy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* In a block of its own size: a read beyond it is seen. */
    uint8_t *bytes = malloc(size == 0 ? 1 : size);

    fuzz_require(bytes != NULL);
    if (size > 0) {
        memcpy(bytes, data, size);
    }
    fuzz_header(bytes, size);
    fuzz_open(bytes, size);
    free(bytes);
    return 0;
}
