/* npy.c: .npy files mapped and written. */
#include "tools/npy.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/error.h"

#define WRITE_MAX ((size_t)1 << 30) /* Linux writes at most 2 GiB at once */

static epdx_status_t io_error(const char *path)
{
    return epi_fail(EPDX_ERR_IO, "%s: %s", path, strerror(errno));
}

static bool shape_bytes(const epi_npy_shape_t *shape, uint64_t *bytes_p)
{
    return epi_mul_u64(shape->rows, shape->columns, bytes_p) &&
           epi_mul_u64(*bytes_p, epdx_dtype_bytes(shape->dtype), bytes_p);
}

/* Whether the mapped file holds exactly what its head says. */
static epdx_status_t check_size(const epi_npy_shape_t *shape, size_t there,
                                size_t *bytes_p)
{
    uint64_t bytes;

    if (!shape_bytes(shape, &bytes)) {
        return epi_fail(EPDX_ERR_MALFORMED,
                        "its shape (%llu, %llu) is more than 2^64 bytes",
                        (unsigned long long)shape->rows,
                        (unsigned long long)shape->columns);
    }
    if (bytes == 0) {
        return epi_fail(EPDX_ERR_INVALID, "its shape (%llu, %llu) is empty",
                        (unsigned long long)shape->rows,
                        (unsigned long long)shape->columns);
    }
    if (bytes != there) {
        return epi_fail(EPDX_ERR_MALFORMED,
                        "it is %s: its shape (%llu, %llu) takes %llu bytes, "
                        "and %zu are there",
                        bytes > there ? "cut short" : "too long",
                        (unsigned long long)shape->rows,
                        (unsigned long long)shape->columns,
                        (unsigned long long)bytes, there);
    }
    *bytes_p = there;
    return EPDX_OK;
}

static epdx_status_t read_map(const char *path, epi_npy_t *npy)
{
    size_t offset = 0;
    epdx_status_t status =
        epi_npy_header_read(npy->map, npy->map_bytes, &npy->shape, &offset);

    if (status == EPDX_OK) {
        status =
            check_size(&npy->shape, npy->map_bytes - offset, &npy->data_bytes);
    }
    if (status != EPDX_OK) {
        return epi_fail(status, "%s: %s", path, epdx_last_error());
    }
    npy->data = (const char *)npy->map + offset;
    return EPDX_OK;
}

static epdx_status_t map_file(const char *path, epi_npy_t *npy)
{
    /* Not blocking: a FIFO would wait for a writer. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    epdx_status_t status = EPDX_OK;
    struct stat stat;

    if (fd < 0) {
        return io_error(path);
    }
    if (fstat(fd, &stat) != 0) {
        status = io_error(path);
    } else if (!S_ISREG(stat.st_mode)) {
        status = epi_fail(EPDX_ERR_IO, "%s: not a regular file", path);
    } else if (stat.st_size == 0) {
        status = epi_fail(EPDX_ERR_MALFORMED, "%s: it is empty", path);
    } else {
        npy->map_bytes = (size_t)stat.st_size;
        npy->map = mmap(NULL, npy->map_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
        if (npy->map == MAP_FAILED) {
            status = io_error(path);
        }
    }
    (void)close(fd);
    return status;
}

epdx_status_t epi_npy_open(const char *path, epi_npy_t *npy_p)
{
    epi_npy_t npy = {0};
    epdx_status_t status = map_file(path, &npy);

    if (status != EPDX_OK) {
        return status;
    }
    status = read_map(path, &npy);
    if (status != EPDX_OK) {
        epi_npy_close(&npy);
        return status;
    }
    *npy_p = npy;
    return EPDX_OK;
}

void epi_npy_close(epi_npy_t *npy)
{
    if (npy->map != NULL) {
        (void)munmap(npy->map, npy->map_bytes);
    }
    memset(npy, 0, sizeof(*npy));
}

static bool write_all(int fd, const void *bytes, size_t count)
{
    const char *at = bytes;

    while (count > 0) {
        ssize_t written = write(fd, at, count < WRITE_MAX ? count : WRITE_MAX);

        if (written < 0 && errno != EINTR) {
            return false;
        }
        if (written > 0) {
            at += written;
            count -= (size_t)written;
        }
    }
    return true;
}

epdx_status_t epi_npy_write(const char *path, const epi_npy_shape_t *shape,
                            const void *data)
{
    uint8_t header[EPI_NPY_WRITTEN_MAX];
    size_t header_bytes = epi_npy_header_write(shape, header);
    epdx_status_t status = EPDX_OK;
    uint64_t bytes;
    int fd;

    if (!shape_bytes(shape, &bytes)) {
        return epi_fail(EPDX_ERR_INVALID, "%s: shape too large", path);
    }
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) {
        return io_error(path);
    }
    if (!write_all(fd, header, header_bytes) || !write_all(fd, data, bytes)) {
        status = io_error(path);
    }
    if (close(fd) != 0 && status == EPDX_OK) {
        status = io_error(path);
    }
    if (status != EPDX_OK) {
        (void)unlink(path);
    }
    return status;
}
