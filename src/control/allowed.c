/* allowed.c: see allowed.h. */
#include "control/allowed.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/text.h"

#define SETTING        "EPDX_CURVE_ALLOWED_FILE"
#define FILE_BYTES_MAX ((size_t)1 << 20)
#define LOOK_NS        EPI_S

static int compare(const void *left, const void *right)
{
    return strcmp(left, right);
}

typedef enum line_kind { LINE_KEY, LINE_EMPTY, LINE_WRONG } line_kind_t;

static line_kind_t read_line(char *line, const char **key_p)
{
    char *key = line + strspn(line, " \t\r");
    size_t length = strcspn(key, " \t\r");
    const char *rest = key + length;

    if (*key == '\0' || *key == '#') {
        return LINE_EMPTY;
    }
    rest += strspn(rest, " \t\r");
    if (*rest != '\0' && *rest != '#') {
        return LINE_WRONG;
    }
    key[length] = '\0';
    *key_p = key;
    return epi_curve_key_ok(key) ? LINE_KEY : LINE_WRONG;
}

/* What a file says; keys is NULL or for free(). */
typedef struct list {
    epi_allowed_key_t *keys;
    size_t count;
} list_t;

static epdx_status_t parse(const char *path, epi_file_text_t *text,
                           list_t *list)
{
    char *at = text->text;
    size_t number = 0;
    const char *key;

    if (strlen(at) != text->bytes) {
        return epi_fail(EPDX_ERR_INVALID, SETTING ": '%.300s' is no text",
                        path);
    }
    while (at != NULL) {
        char *line = strsep(&at, "\n");

        number++;
        switch (read_line(line, &key)) {
        case LINE_KEY:
            memcpy(list->keys[list->count++], key, EPI_CURVE_KEY + 1);
            break;
        case LINE_EMPTY:
            break;
        case LINE_WRONG:
            return epi_fail(EPDX_ERR_INVALID,
                            SETTING ": '%.300s' line %zu is neither a public "
                                    "key of %d characters nor a comment",
                            path, number, EPI_CURVE_KEY);
        }
    }
    qsort(list->keys, list->count, sizeof(*list->keys), compare);
    return EPDX_OK;
}

static epdx_status_t load(const char *path, list_t *list_p)
{
    list_t list = {NULL, 0};
    epi_file_text_t text;
    epdx_status_t status =
        epi_file_read(SETTING, path, EPI_FILE_TRUSTED, FILE_BYTES_MAX, &text);

    if (status != EPDX_OK) {
        return status;
    }
    /* A key and its line end take more than a place here. */
    list.keys = calloc(text.bytes / EPI_CURVE_KEY + 1, sizeof(*list.keys));
    status = list.keys == NULL
                 ? epi_fail(EPDX_ERR_NO_MEMORY, "no memory for '%.300s'", path)
                 : parse(path, &text, &list);
    epi_file_wipe(&text);
    if (status != EPDX_OK) {
        free(list.keys);
        return status;
    }
    *list_p = list;
    return EPDX_OK;
}

epdx_status_t epi_allowed_open(epi_allowed_t *allowed, const char *path,
                               uint64_t now)
{
    epi_allowed_t fresh = {.look_ns = epi_after(now, LOOK_NS)};
    list_t list = {NULL, 0};
    epdx_status_t status;

    if (!epi_text_copy(fresh.path, sizeof(fresh.path), path)) {
        return epi_fail(EPDX_ERR_INVALID, SETTING " is over %d characters",
                        EPI_ALLOWED_PATH_MAX - 1);
    }
    if (fresh.path[0] != '\0') {
        fresh.mark = epi_file_mark(fresh.path);
        status = load(fresh.path, &list);
        if (status != EPDX_OK) {
            return status;
        }
    }
    fresh.keys = list.keys;
    fresh.count = list.count;
    *allowed = fresh;
    return EPDX_OK;
}

/* Read the file anew if it changed. */
static void refresh(epi_allowed_t *allowed, uint64_t now)
{
    epi_file_mark_t mark = epi_file_mark(allowed->path);
    list_t list = {NULL, 0};

    allowed->look_ns = epi_after(now, LOOK_NS);
    if (epi_file_same(&mark, &allowed->mark)) {
        return;
    }
    allowed->mark = mark; /* one line a change, also of a bad one */
    if (load(allowed->path, &list) != EPDX_OK) {
        epi_log_warn("%s; the %zu keys read before stay allowed",
                     epdx_last_error(), allowed->count);
        return;
    }
    epi_log_info(SETTING " changed: %zu keys are allowed, not %zu", list.count,
                 allowed->count);
    free(allowed->keys);
    allowed->keys = list.keys;
    allowed->count = list.count;
}

bool epi_allowed_holds(epi_allowed_t *allowed, const char *key, uint64_t now)
{
    if (allowed->path[0] == '\0') {
        return true;
    }
    if (now >= allowed->look_ns) {
        refresh(allowed, now);
    }
    return allowed->count > 0 &&
           bsearch(key, allowed->keys, allowed->count, sizeof(*allowed->keys),
                   compare) != NULL;
}

void epi_allowed_close(epi_allowed_t *allowed)
{
    free(allowed->keys);
    *allowed = (epi_allowed_t){0};
}
