/*
 * compat.c: what a model's two ends must share, as a text. Written by the
 * receiving end into its register; read by the sending end, which answers with
 * the difference in words.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "wire/control.h"

#define VALUE_MAX 32 /* room for the longest value */

_Static_assert(sizeof("dtype=torch.bfloat16 hidden=18446744073709551615 "
                      "levels=4294967295 tp=4294967295") <= EPI_COMPAT_MAX + 1,
               "the longest text fits a register");

void epi_compat_format(const epi_compat_t *compat, char *out, size_t size)
{
    snprintf(out, size,
             "dtype=%s hidden=%" PRIu64 " levels=%" PRIu32 " tp=%" PRIu32,
             epdx_dtype_name(compat->dtype), compat->hidden, compat->levels,
             compat->tp_size);
}

/** Take "key=value" off a text, and the space after it. */
static bool take(const char **text_p, const char *key, char value[VALUE_MAX])
{
    const char *text = *text_p;
    size_t key_length = strlen(key);
    size_t length;

    if (strncmp(text, key, key_length) != 0 || text[key_length] != '=') {
        return false;
    }
    text += key_length + 1;
    length = strcspn(text, " ");
    if (length >= VALUE_MAX) {
        return false;
    }
    memcpy(value, text, length);
    value[length] = '\0';
    text += length;
    *text_p = *text == ' ' ? text + 1 : text;
    return true;
}

static bool take_number(const char **text_p, const char *key, uint64_t max,
                        uint64_t *value_p)
{
    char value[VALUE_MAX];

    return take(text_p, key, value) && epi_text_number(value, max, value_p);
}

/** The first key whose part cannot be read, or NULL. */
static const char *read_all(const char *text, epi_compat_t *compat)
{
    char value[VALUE_MAX];
    uint64_t number;

    if (!take(&text, "dtype", value)) {
        return "dtype";
    }
    compat->dtype = epdx_dtype_parse(value);
    if (compat->dtype == EPDX_DTYPE_NONE) {
        return "dtype";
    }
    if (!take_number(&text, "hidden", UINT64_MAX, &compat->hidden)) {
        return "hidden";
    }
    if (!take_number(&text, "levels", UINT32_MAX, &number)) {
        return "levels";
    }
    compat->levels = (uint32_t)number;
    if (!take_number(&text, "tp", UINT32_MAX, &number)) {
        return "tp";
    }
    compat->tp_size = (uint32_t)number;
    return NULL;
}

epdx_status_t epi_compat_parse(const char *text, epi_compat_t *out_p)
{
    char again[EPI_COMPAT_MAX + 1];
    epi_compat_t compat;
    const char *key;

    key = read_all(text, &compat);
    if (key != NULL) {
        return epi_fail(EPDX_ERR_MALFORMED,
                        "compat: %s is missing, out of its place or not "
                        "readable",
                        key);
    }
    /* There is one spelling: catches stray spaces and whatever follows. */
    epi_compat_format(&compat, again, sizeof(again));
    if (strcmp(again, text) != 0) {
        return epi_fail(EPDX_ERR_MALFORMED, "compat: is not spelled \"%s\"",
                        again);
    }
    *out_p = compat;
    return EPDX_OK;
}

/** Text being put together, cut at its size. */
typedef struct words {
    char *out;
    size_t size, used;
    bool any;
} words_t;

static void add_words(words_t *words, const char *name, const char *here,
                      const char *peer)
{
    int length;

    length = snprintf(words->out + words->used, words->size - words->used,
                      "%s%s is %s here and %s at the peer",
                      words->any ? ", " : "", name, here, peer);
    words->any = true;
    words->used += (size_t)length;
    if (words->used >= words->size) {
        words->used = words->size - 1;
    }
}

static void add_difference(words_t *words, const char *name, uint64_t here,
                           uint64_t peer)
{
    char here_text[VALUE_MAX];
    char peer_text[VALUE_MAX];

    if (here != peer) {
        snprintf(here_text, sizeof(here_text), "%" PRIu64, here);
        snprintf(peer_text, sizeof(peer_text), "%" PRIu64, peer);
        add_words(words, name, here_text, peer_text);
    }
}

bool epi_compat_differs(const epi_compat_t *here, const epi_compat_t *peer,
                        char *out, size_t size)
{
    words_t words = {out, size, 0, false};

    out[0] = '\0';
    if (here->dtype != peer->dtype) {
        add_words(&words, "dtype", epdx_dtype_name(here->dtype),
                  epdx_dtype_name(peer->dtype));
    }
    add_difference(&words, "hidden", here->hidden, peer->hidden);
    add_difference(&words, "levels", here->levels, peer->levels);
    return words.any;
}
