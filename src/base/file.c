/* file.c: see file.h. What is checked is the file that was opened, not the
 * path, which may lead to another one by then. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

static bool too_open(const struct stat *about, epi_file_kind_t kind)
{
    mode_t group = about->st_uid == 0 ? 0 : S_IRGRP;

    switch (kind) {
    case EPI_FILE_PLAIN:
        break;
    case EPI_FILE_TRUSTED:
        return (about->st_mode & S_IWOTH) != 0;
    case EPI_FILE_SECRET:
        return (about->st_mode & (S_IROTH | S_IWOTH | S_IWGRP | group)) != 0;
    }
    return false;
}

static epdx_status_t check(int fd, const char *setting, const char *path,
                           epi_file_kind_t kind)
{
    struct stat about;

    if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode)) {
        return epi_fail(EPDX_ERR_INVALID, "%s: '%.300s' is no file", setting,
                        path);
    }
    if (too_open(&about, kind)) {
        return epi_fail(EPDX_ERR_INVALID,
                        "%s: '%.300s' has mode %03o, with which others can "
                        "%s it; chmod %s",
                        setting, path, (unsigned)about.st_mode & 0777U,
                        kind == EPI_FILE_SECRET ? "read or change" : "change",
                        kind == EPI_FILE_SECRET ? "600" : "o-w");
    }
    return EPDX_OK;
}

/* Up to bytes_max and one more, which tells that there are more. */
static epdx_status_t read_all(int fd, size_t bytes_max, epi_file_text_t *text_p)
{
    epi_file_text_t text = {.text = malloc(bytes_max + 2)};

    if (text.text == NULL) {
        return EPDX_ERR_NO_MEMORY;
    }
    while (text.bytes <= bytes_max) {
        ssize_t got =
            read(fd, text.text + text.bytes, bytes_max + 1 - text.bytes);

        if (got == 0) {
            break;
        }
        if (got < 0 && errno != EINTR) {
            int cause = errno;

            epi_file_wipe(&text);
            errno = cause;
            return EPDX_ERR_IO;
        }
        text.bytes += got < 0 ? 0 : (size_t)got;
    }
    text.text[text.bytes] = '\0';
    *text_p = text;
    return EPDX_OK;
}

epdx_status_t epi_file_read(const char *setting, const char *path,
                            epi_file_kind_t kind, size_t bytes_max,
                            epi_file_text_t *text_p)
{
    epi_file_text_t text = {0};
    epdx_status_t status;
    /* A pipe without a writer would hold an open without O_NONBLOCK. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0) {
        return epi_fail(EPDX_ERR_INVALID, "%s: '%.300s' cannot be read: %s",
                        setting, path, strerrordesc_np(errno));
    }
    status = check(fd, setting, path, kind);
    if (status == EPDX_OK) {
        status = read_all(fd, bytes_max, &text);
        if (status == EPDX_ERR_IO) {
            status = epi_fail(EPDX_ERR_INVALID, "%s: '%.300s' is not read: %s",
                              setting, path, strerrordesc_np(errno));
        } else if (status != EPDX_OK) {
            status = epi_fail(status, "no memory for '%.300s'", path);
        }
    }
    (void)close(fd);
    if (status == EPDX_OK && text.bytes > bytes_max) {
        epi_file_wipe(&text);
        status = epi_fail(EPDX_ERR_INVALID, "%s: '%.300s' is over %zu bytes",
                          setting, path, bytes_max);
    }
    if (status == EPDX_OK) {
        *text_p = text;
    }
    return status;
}

void epi_file_wipe(epi_file_text_t *text)
{
    if (text->text != NULL) {
        explicit_bzero(text->text, text->bytes);
        free(text->text);
    }
    *text = (epi_file_text_t){0};
}

epi_file_mark_t epi_file_mark(const char *path)
{
    struct stat about;

    if (stat(path, &about) != 0) {
        return (epi_file_mark_t){0};
    }
    return (epi_file_mark_t){
        .device = (uint64_t)about.st_dev,
        .inode = (uint64_t)about.st_ino,
        .bytes = (uint64_t)about.st_size,
        .seconds = (int64_t)about.st_mtim.tv_sec,
        .nanoseconds = (int64_t)about.st_mtim.tv_nsec,
    };
}

bool epi_file_same(const epi_file_mark_t *left, const epi_file_mark_t *right)
{
    return left->device == right->device && left->inode == right->inode &&
           left->bytes == right->bytes && left->seconds == right->seconds &&
           left->nanoseconds == right->nanoseconds;
}
