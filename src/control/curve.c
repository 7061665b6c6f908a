/* curve.c: see curve.h. Words never hold what a file holds: it may be a secret
 * in the wrong place. */
#include "control/curve.h"

#include <stdio.h>
#include <string.h>

#include <zmq.h>

#include "base/error.h"
#include "base/file.h"

#define SETTING        "EPDX_CURVE_KEY_FILE"
#define FILE_BYTES_MAX 4096
#define KEY_BYTES      32

epdx_status_t epi_curve_keypair(epi_curve_pair_t *pair_p)
{
    epi_curve_pair_t pair;

    if (zmq_curve_keypair(pair.public_key, pair.secret_key) != 0) {
        return epi_fail(EPDX_ERR_UNSUPPORTED,
                        "this libzmq makes no CURVE keys: %s",
                        zmq_strerror(zmq_errno()));
    }
    *pair_p = pair;
    epi_curve_wipe(&pair);
    return EPDX_OK;
}

void epi_curve_wipe(epi_curve_pair_t *pair)
{
    explicit_bzero(pair, sizeof(*pair));
}

bool epi_curve_key_ok(const char *key)
{
    uint8_t bytes[KEY_BYTES];
    bool good = strnlen(key, EPI_CURVE_KEY + 1) == EPI_CURVE_KEY &&
                zmq_z85_decode(bytes, key) != NULL;

    explicit_bzero(bytes, sizeof(bytes));
    return good;
}

bool epi_curve_format(const epi_curve_pair_t *pair, char *out, size_t size)
{
    int length =
        snprintf(out, size, "public-key = \"%s\"\nsecret-key = \"%s\"\n",
                 pair->public_key, pair->secret_key);

    return length > 0 && (size_t)length < size;
}

/* The key of a line `name = "key"`; false when it is not such a line. */
static bool line_key(const char *line, const char *name, char *key)
{
    size_t length = strlen(name);

    if (strncmp(line, name, length) != 0) {
        return false;
    }
    line += length;
    line += strspn(line, " \t");
    if (*line++ != '=') {
        return false;
    }
    line += strspn(line, " \t");
    if (*line++ != '"' || strnlen(line, EPI_CURVE_KEY + 1) <= EPI_CURVE_KEY ||
        line[EPI_CURVE_KEY] != '"') {
        return false;
    }
    memcpy(key, line, EPI_CURVE_KEY);
    key[EPI_CURVE_KEY] = '\0';
    line += EPI_CURVE_KEY + 1;
    return line[strspn(line, " \t\r")] == '\0' && epi_curve_key_ok(key);
}

/* One line, cut out of the text; false when it is none of a key file's. */
static bool take_line(const char *line, epi_curve_pair_t *pair)
{
    line += strspn(line, " \t");
    if (line[strspn(line, "\r")] == '\0' || *line == '#') {
        return true;
    }
    /* Each key once: of two, nobody could say which one counts. */
    return (pair->public_key[0] == '\0' &&
            line_key(line, "public-key", pair->public_key)) ||
           (pair->secret_key[0] == '\0' &&
            line_key(line, "secret-key", pair->secret_key));
}

static epdx_status_t parse(const char *path, epi_file_text_t *text,
                           epi_curve_pair_t *pair)
{
    char *at = text->text;
    unsigned number = 0;

    if (strlen(at) != text->bytes) {
        return epi_fail(EPDX_ERR_INVALID, SETTING ": '%.300s' is no text",
                        path);
    }
    while (at != NULL) {
        char *line = strsep(&at, "\n");

        number++;
        if (!take_line(line, pair)) {
            return epi_fail(EPDX_ERR_INVALID,
                            SETTING ": '%.300s' line %u is neither public-key "
                                    "= \"...\" nor secret-key = \"...\", each "
                                    "once; epdx_keygen writes such a file",
                            path, number);
        }
    }
    if (pair->public_key[0] == '\0' || pair->secret_key[0] == '\0') {
        return epi_fail(EPDX_ERR_INVALID,
                        SETTING ": '%.300s' lacks its public-key or "
                                "secret-key line",
                        path);
    }
    return EPDX_OK;
}

static epdx_status_t check_pair(const char *path, const epi_curve_pair_t *pair)
{
    char public_key[EPI_CURVE_KEY + 1];

    if (zmq_curve_public(public_key, pair->secret_key) != 0) {
        return epi_fail(EPDX_ERR_UNSUPPORTED,
                        SETTING ": this libzmq has no CURVE");
    }
    if (strcmp(public_key, pair->public_key) != 0) {
        return epi_fail(EPDX_ERR_INVALID,
                        SETTING ": '%.300s': its public-key is not that of "
                                "its secret-key",
                        path);
    }
    return EPDX_OK;
}

epdx_status_t epi_curve_read(const char *path, epi_curve_pair_t *pair_p)
{
    epi_curve_pair_t pair = {{0}, {0}};
    epi_file_text_t text;
    epdx_status_t status =
        epi_file_read(SETTING, path, EPI_FILE_SECRET, FILE_BYTES_MAX, &text);

    if (status != EPDX_OK) {
        return status;
    }
    status = parse(path, &text, &pair);
    epi_file_wipe(&text);
    if (status == EPDX_OK) {
        status = check_pair(path, &pair);
    }
    if (status == EPDX_OK) {
        *pair_p = pair;
    }
    epi_curve_wipe(&pair);
    return status;
}
