/* epdx_keygen.c: makes a CURVE key pair for the control plane, as a program. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "control/curve.h"
#include "epdx/epdx.h"
#include "tools/args.h"

static const epi_args_t arguments = {
    .program = "epdx_keygen",
    .usage = "FILE",
    .about = "Makes a key pair for the control plane: writes it to FILE, which "
             "must not be\nthere yet and which only its owner can read, and "
             "prints the public key.\n\nFILE is EPDX_CURVE_KEY_FILE of one "
             "process or of all that are one party; the\npublic key goes into "
             "EPDX_CURVE_ALLOWED_FILE of those that it may connect to.",
};

/* All of text, or what went wrong is in errno. */
static bool write_all(int fd, const char *text, size_t length)
{
    while (length > 0) {
        ssize_t written = write(fd, text, length);

        if (written < 0 && errno != EINTR) {
            return false;
        }
        if (written > 0) {
            text += written;
            length -= (size_t)written;
        }
    }
    return fsync(fd) == 0;
}

/* The file is made by this call or not at all: nobody else can have it open. */
static epdx_status_t save(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool written;
    int cause;

    if (fd < 0) {
        return epi_fail(EPDX_ERR_IO, "'%.300s' is not made: %s", path,
                        strerrordesc_np(errno));
    }
    written = write_all(fd, text, strlen(text));
    cause = errno;
    (void)close(fd);
    if (written) {
        return EPDX_OK;
    }
    (void)unlink(path);
    return epi_fail(EPDX_ERR_IO, "'%.300s' is not written: %s", path,
                    strerrordesc_np(cause));
}

static epdx_status_t make(const char *path)
{
    epi_curve_pair_t pair;
    char text[256];
    epdx_status_t status = epi_curve_keypair(&pair);

    if (status != EPDX_OK) {
        return status;
    }
    status = epi_curve_format(&pair, text, sizeof(text))
                 ? save(path, text)
                 : epi_fail(EPDX_ERR_INVALID, "a key pair does not fit");
    explicit_bzero(text, sizeof(text));
    if (status == EPDX_OK &&
        (printf("%s\n", pair.public_key) < 0 || fflush(stdout) != 0)) {
        status = epi_fail(EPDX_ERR_IO,
                          "standard output is closed; the public "
                          "key is in '%.300s'",
                          path);
    }
    epi_curve_wipe(&pair);
    return status;
}

int main(int argc, char **argv)
{
    const char *path = NULL;
    int exit_status;

    /* The one argument that is no option; what is left is parsed as options. */
    if (argc == 2 && argv[1][0] != '\0' && argv[1][0] != '-') {
        path = argv[1];
        argv[1] = NULL;
    }
    if (!epi_args_main(&arguments, argv, NULL, &exit_status)) {
        return exit_status;
    }
    if (path == NULL) {
        fprintf(stderr, "%s: one FILE is needed; see --help\n",
                arguments.program);
        return EPI_EXIT_USAGE;
    }
    if (make(path) != EPDX_OK) {
        fprintf(stderr, "%s: %s\n", arguments.program, epdx_last_error());
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
