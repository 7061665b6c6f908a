/*
 * route_json.c: one pass over a JSON text for what cJSON lets through: nesting
 * up to 1000, control characters as white space, zero bytes in strings (which
 * would cut a value short), "01" and "1." as numbers, a byte order mark, and
 * anything after the value. Structure and escapes are cJSON's to check.
 */
#include "discovery/route_json.h"

#include <stdbool.h>
#include <string.h>

#include "base/error.h"

typedef struct scan {
    const char *at;
    const char *end;
    int depth;
    const char *problem; /* NULL while there is none */
} scan_t;

static bool is_digit(const scan_t *scan)
{
    return scan->at < scan->end && *scan->at >= '0' && *scan->at <= '9';
}

static bool take(scan_t *scan, const char *any_of)
{
    if (scan->at < scan->end && *scan->at != '\0' &&
        strchr(any_of, *scan->at) != NULL) {
        scan->at++;
        return true;
    }
    return false;
}

static bool take_digits(scan_t *scan)
{
    const char *start = scan->at;

    while (is_digit(scan)) {
        scan->at++;
    }
    return scan->at > start;
}

/* -? (0 | [1-9][0-9]*) (.[0-9]+)? ([eE][+-]?[0-9]+)? */
static void scan_number(scan_t *scan)
{
    bool good;

    (void)take(scan, "-");
    good = take(scan, "0") ? !is_digit(scan) : take_digits(scan);
    if (good && take(scan, ".")) {
        good = take_digits(scan);
    }
    if (good && take(scan, "eE")) {
        (void)take(scan, "+-");
        good = take_digits(scan);
    }
    if (!good) {
        scan->problem = "a number is not written as JSON has it";
    }
}

/* From behind the opening quote to behind the closing one. */
static void scan_string(scan_t *scan)
{
    while (scan->at < scan->end && *scan->at != '"') {
        if ((unsigned char)*scan->at < 0x20) {
            scan->problem = "a control character stands in a string";
            return;
        }
        if (*scan->at == '\\') {
            if (scan->end - scan->at >= 6 &&
                memcmp(scan->at, "\\u0000", 6) == 0) {
                scan->problem = "a zero byte stands in a string";
                return;
            }
            scan->at++; /* what is escaped ends no string */
        }
        if (scan->at < scan->end) {
            scan->at++;
        }
    }
    if (!take(scan, "\"")) {
        scan->problem = "a string does not end";
    }
}

static void scan_nesting(scan_t *scan)
{
    if (take(scan, "{[")) {
        if (++scan->depth > EPI_JSON_DEPTH_MAX) {
            scan->problem = "it nests deeper than 8";
        }
        return;
    }
    (void)take(scan, "}]");
    scan->depth--;
}

static const char *problem_of(const char *text, size_t length)
{
    scan_t scan = {text, text + length, 0, NULL};

    while (scan.at < scan.end && scan.problem == NULL) {
        char c = *scan.at;

        if (take(&scan, "\"")) {
            scan_string(&scan);
        } else if (c == '-' || is_digit(&scan)) {
            scan_number(&scan);
        } else if (c != '\0' && strchr("{}[]", c) != NULL) {
            scan_nesting(&scan);
        } else if (!take(&scan, " \t\r\n,:truefalsn")) {
            scan.problem = "a character stands where none may";
        }
    }
    return scan.problem;
}

/* Behind a value only white space may stand. */
static bool only_blank(const char *at, const char *end)
{
    for (; at < end; at++) {
        if (strchr(" \t\r\n", *at) == NULL) {
            return false;
        }
    }
    return true;
}

epdx_status_t epi_json_parse(const char *text, size_t length, cJSON **root_p)
{
    const char *problem;
    const char *end = NULL;
    cJSON *root;

    if (length > EPI_JSON_BYTES_MAX) {
        return epi_fail(EPDX_ERR_MALFORMED,
                        "the JSON text has %zu bytes, over %d", length,
                        EPI_JSON_BYTES_MAX);
    }
    problem = problem_of(text, length);
    if (problem != NULL) {
        return epi_fail(EPDX_ERR_MALFORMED, "not JSON: %s", problem);
    }
    root = cJSON_ParseWithLengthOpts(text, length, &end, false);
    if (root == NULL) {
        return epi_fail(EPDX_ERR_MALFORMED, "not JSON: no complete value");
    }
    if (!only_blank(end, text + length)) {
        cJSON_Delete(root);
        return epi_fail(EPDX_ERR_MALFORMED,
                        "not JSON: something follows the value");
    }
    *root_p = root;
    return EPDX_OK;
}
