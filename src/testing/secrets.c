/* secrets.c: see secrets.h. */
#include "testing/secrets.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void must(bool held, const char *what)
{
    if (!held) {
        (void)fprintf(stderr, "secrets of a test: %s: %s\n", what,
                      strerrordesc_np(errno));
        abort();
    }
}

void secrets_open(secrets_t *secrets)
{
    (void)snprintf(secrets->folder, sizeof(secrets->folder),
                   "/tmp/epdx-secrets-XXXXXX");
    must(mkdtemp(secrets->folder) != NULL, "folder");
}

void secrets_close(secrets_t *secrets)
{
    DIR *folder = opendir(secrets->folder);
    struct dirent *entry;

    must(folder != NULL, "folder");
    while ((entry = readdir(folder)) != NULL) {
        secrets_path_t path = secrets_at(secrets, entry->d_name);

        if (entry->d_name[0] != '.') {
            must(unlink(path.text) == 0, path.text);
        }
    }
    (void)closedir(folder);
    must(rmdir(secrets->folder) == 0, secrets->folder);
}

secrets_path_t secrets_at(const secrets_t *secrets, const char *name)
{
    secrets_path_t path;
    int length =
        snprintf(path.text, sizeof(path.text), "%s/%s", secrets->folder, name);

    must(length > 0 && (size_t)length < sizeof(path.text), "path");
    return path;
}

void secrets_write(const secrets_t *secrets, const char *name, unsigned mode,
                   const char *text)
{
    secrets_path_t path = secrets_at(secrets, name);
    secrets_path_t fresh = secrets_at(secrets, "fresh");
    size_t length = strlen(text);
    int fd = open(fresh.text, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    must(fd >= 0, fresh.text);
    must(write(fd, text, length) == (ssize_t)length, fresh.text);
    must(fchmod(fd, (mode_t)mode) == 0, fresh.text);
    (void)close(fd);
    /* In one step, as whoever changes a file that is read meanwhile should. */
    must(rename(fresh.text, path.text) == 0, path.text);
}

epi_curve_pair_t secrets_pair(const secrets_t *secrets, const char *name)
{
    epi_curve_pair_t pair;
    char text[256];

    must(epi_curve_keypair(&pair) == EPDX_OK, "key pair");
    must(epi_curve_format(&pair, text, sizeof(text)), "key file");
    secrets_write(secrets, name, 0600, text);
    return pair;
}

/* Run openssl(1) in the folder, without a word; false: it is not there. */
static bool openssl(const secrets_t *secrets, char *const arguments[])
{
    posix_spawn_file_actions_t actions;
    pid_t child;
    int status = 0;
    int error;

    must(posix_spawn_file_actions_init(&actions) == 0, "spawn");
    must(posix_spawn_file_actions_addchdir_np(&actions, secrets->folder) == 0 &&
             posix_spawn_file_actions_addopen(&actions, STDERR_FILENO,
                                              "/dev/null", O_WRONLY, 0) == 0,
         "spawn");
    error = posix_spawnp(&child, "openssl", &actions, NULL, arguments, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    if (error != 0) {
        return false;
    }
    must(waitpid(child, &status, 0) == child, "openssl");
    must(WIFEXITED(status) && WEXITSTATUS(status) == 0, "openssl failed");
    return true;
}

#define P256 "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"

bool secrets_certificate(const secrets_t *secrets, const char *name)
{
    char ca[64], ca_key[64], cert[64], key[64], subject[64];
    char *authority[] = {"openssl", "req",   "-x509", P256,   "-subj",
                         subject,   "-days", "2",     "-out", ca,
                         "-keyout", ca_key,  NULL};
    char *server[] = {
        "openssl", "req",
        "-x509",   "-CA",
        ca,        "-CAkey",
        ca_key,    P256,
        "-subj",   "/CN=epdx test server",
        "-addext", "subjectAltName=IP:127.0.0.1,IP:::1,DNS:localhost",
        "-addext", "basicConstraints=critical,CA:FALSE",
        "-days",   "2",
        "-out",    cert,
        "-keyout", key,
        NULL};

    (void)snprintf(ca, sizeof(ca), "%s-ca.pem", name);
    (void)snprintf(ca_key, sizeof(ca_key), "%s-ca-key.pem", name);
    (void)snprintf(cert, sizeof(cert), "%s-cert.pem", name);
    (void)snprintf(key, sizeof(key), "%s-key.pem", name);
    (void)snprintf(subject, sizeof(subject), "/CN=epdx test authority %s",
                   name);
    return openssl(secrets, authority) && openssl(secrets, server);
}
