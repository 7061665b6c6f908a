/*
 * secrets.h: a temporary folder with key files and certificates, made for one
 * test. A failure to make one ends the test's program with words.
 */
#ifndef EPI_TESTING_SECRETS_H
#define EPI_TESTING_SECRETS_H

#include <stdbool.h>

#include "control/curve.h"

#define SECRETS_PATH_MAX 256

typedef struct secrets {
    char folder[64];
} secrets_t;

typedef struct secrets_path {
    char text[SECRETS_PATH_MAX];
} secrets_path_t;

void secrets_open(secrets_t *secrets);
/** Removes the folder and what is in it. */
void secrets_close(secrets_t *secrets);

secrets_path_t secrets_at(const secrets_t *secrets, const char *name);

/** Write a file, made anew with this mode whatever the umask. */
void secrets_write(const secrets_t *secrets, const char *name, unsigned mode,
                   const char *text);

/** Make a pair and its key file. */
epi_curve_pair_t secrets_pair(const secrets_t *secrets, const char *name);

/** Make name-ca.pem, and by it name-cert.pem with name-key.pem for 127.0.0.1,
 *  ::1 and localhost. False: there is no openssl(1). */
bool secrets_certificate(const secrets_t *secrets, const char *name);

#endif
