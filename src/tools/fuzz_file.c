/* fuzz_file.c: see fuzz_file.h. One file, filled anew for every input. */
#include "tools/fuzz_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static int file_fd = -1;
static char file_path[64];

static void close_file(void)
{
    (void)close(file_fd);
}

const char *fuzz_file(const uint8_t *data, size_t size)
{
    if (file_fd < 0) {
        file_fd = memfd_create("fuzz", MFD_CLOEXEC);
        fuzz_require(file_fd >= 0 && atexit(close_file) == 0);
        (void)snprintf(file_path, sizeof(file_path), "/proc/self/fd/%d",
                       file_fd);
    }
    fuzz_require(ftruncate(file_fd, 0) == 0);
    fuzz_require(pwrite(file_fd, data, size, 0) == (ssize_t)size);
    return file_path;
}
