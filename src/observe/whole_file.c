/* whole_file.c: see whole_file.h. */
#include "observe/whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

/* All of it; false with errno. */
static bool write_all(int fd, const char *text, size_t bytes)
{
    while (bytes > 0) {
        ssize_t done = write(fd, text, bytes);

        if (done < 0 && errno != EINTR) {
            return false;
        }
        if (done > 0) {
            text += done;
            bytes -= (size_t)done;
        }
    }
    return true;
}

epdx_status_t epi_whole_file(const char *path, const char *text, size_t bytes)
{
    char beside[PATH_MAX];
    int length =
        snprintf(beside, sizeof(beside), "%s.%ld.part", path, (long)getpid());
    bool written;
    int cause;
    int fd;

    if (length < 0 || (size_t)length >= sizeof(beside)) {
        return epi_fail(EPDX_ERR_TOO_LARGE, "the path %.64s... is too long",
                        path);
    }
    /* Its name can be guessed: what lies there, a link maybe, is not written
     * to. */
    (void)unlink(beside);
    fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
              0644);
    if (fd < 0) {
        return epi_fail(EPDX_ERR_IO, "%s cannot be opened: %s", beside,
                        strerrordesc_np(errno));
    }
    written = write_all(fd, text, bytes);
    cause = errno;
    if (close(fd) != 0 && written) {
        written = false;
        cause = errno;
    }
    if (written && rename(beside, path) == 0) {
        return EPDX_OK;
    }
    if (written) {
        cause = errno;
    }
    (void)unlink(beside);
    return epi_fail(EPDX_ERR_IO, "%s cannot be written: %s", path,
                    strerrordesc_np(cause));
}
