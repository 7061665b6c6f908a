/* npy_header.c: the dictionary of a .npy file, a Python literal. */
#include "tools/npy_header.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"

#define MAGIC        "\x93NUMPY"
#define MAGIC_BYTES  6
#define ALIGNMENT    64
#define GROWTH_CHARS 21 /* NumPy leaves so much for the first dimension */
#define DESCR_MAX    16
#define DIMENSIONS   8 /* read of a shape; 2 are taken */

/* What is still to be read of the dictionary. */
typedef struct cursor {
    const char *at;
    const char *end;
} cursor_t;

typedef struct fields {
    char descr[DESCR_MAX];
    bool fortran;
    uint64_t dims[DIMENSIONS];
    size_t dim_count;
    unsigned seen; /* 1 descr, 2 fortran_order, 4 shape */
} fields_t;

static epdx_status_t malformed(const char *what)
{
    return epi_fail(EPDX_ERR_MALFORMED, "not a .npy file: %s", what);
}

static void skip_space(cursor_t *cursor)
{
    while (cursor->at < cursor->end &&
           (*cursor->at == ' ' || *cursor->at == '\n')) {
        cursor->at++;
    }
}

static bool take(cursor_t *cursor, char c)
{
    skip_space(cursor);
    if (cursor->at == cursor->end || *cursor->at != c) {
        return false;
    }
    cursor->at++;
    return true;
}

static bool take_word(cursor_t *cursor, const char *word)
{
    size_t length = strlen(word);

    skip_space(cursor);
    if ((size_t)(cursor->end - cursor->at) < length ||
        memcmp(cursor->at, word, length) != 0) {
        return false;
    }
    cursor->at += length;
    return true;
}

/* A text in either kind of quotes, without escapes. */
static bool take_text(cursor_t *cursor, char *out, size_t size)
{
    const char *close;
    char quote;
    size_t length;

    skip_space(cursor);
    if (cursor->at == cursor->end ||
        (*cursor->at != '\'' && *cursor->at != '"')) {
        return false;
    }
    quote = *cursor->at++;
    close = memchr(cursor->at, quote, (size_t)(cursor->end - cursor->at));
    if (close == NULL) {
        return false;
    }
    length = (size_t)(close - cursor->at);
    if (length >= size || memchr(cursor->at, '\0', length) != NULL) {
        return false;
    }
    memcpy(out, cursor->at, length);
    out[length] = '\0';
    cursor->at = close + 1;
    return true;
}

static bool take_number(cursor_t *cursor, uint64_t *value_p)
{
    const char *start;

    skip_space(cursor);
    start = cursor->at;
    while (cursor->at < cursor->end && *cursor->at >= '0' &&
           *cursor->at <= '9') {
        cursor->at++;
    }
    return epi_text_u64(start, (size_t)(cursor->at - start), UINT64_MAX,
                        value_p);
}

static bool take_shape(cursor_t *cursor, fields_t *fields)
{
    fields->dim_count = 0;
    if (!take(cursor, '(')) {
        return false;
    }
    while (!take(cursor, ')')) {
        if (fields->dim_count == DIMENSIONS ||
            !take_number(cursor, &fields->dims[fields->dim_count])) {
            return false;
        }
        fields->dim_count++;
        if (!take(cursor, ',')) {
            return take(cursor, ')');
        }
    }
    return true;
}

static bool take_order(cursor_t *cursor, fields_t *fields)
{
    fields->fortran = take_word(cursor, "True");
    return fields->fortran || take_word(cursor, "False");
}

/* One `'key': value`; false when it is none, or has come before. */
static bool take_field(cursor_t *cursor, fields_t *fields)
{
    char key[DESCR_MAX];
    unsigned bit;
    bool taken;

    if (!take_text(cursor, key, sizeof(key)) || !take(cursor, ':')) {
        return false;
    }
    if (strcmp(key, "descr") == 0) {
        bit = 1;
        taken = take_text(cursor, fields->descr, sizeof(fields->descr));
    } else if (strcmp(key, "fortran_order") == 0) {
        bit = 2;
        taken = take_order(cursor, fields);
    } else if (strcmp(key, "shape") == 0) {
        bit = 4;
        taken = take_shape(cursor, fields);
    } else {
        return false;
    }
    taken = taken && (fields->seen & bit) == 0;
    fields->seen |= bit;
    return taken;
}

static epdx_status_t read_dictionary(cursor_t cursor, fields_t *fields)
{
    bool closed;

    memset(fields, 0, sizeof(*fields));
    if (!take(&cursor, '{')) {
        return malformed("its header is not a dictionary");
    }
    closed = take(&cursor, '}');
    while (!closed) {
        if (!take_field(&cursor, fields)) {
            return malformed("its header has a field that is wrong");
        }
        if (!take(&cursor, ',')) {
            closed = take(&cursor, '}');
            if (!closed) {
                return malformed("its header does not end");
            }
        } else {
            closed = take(&cursor, '}');
        }
    }
    skip_space(&cursor);
    if (fields->seen != 7 || cursor.at != cursor.end) {
        return malformed("its header does not give descr, fortran_order and "
                         "shape, and nothing else");
    }
    return EPDX_OK;
}

static epdx_status_t dtype_of(const char *descr, epdx_dtype_t *dtype_p)
{
    static const struct {
        const char *descr;
        epdx_dtype_t dtype;
    } known[] = {
        {"<f2", EPDX_FLOAT16}, {"<f4", EPDX_FLOAT32}, {"<u2", EPDX_BFLOAT16}};

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strcmp(known[i].descr, descr) == 0) {
            *dtype_p = known[i].dtype;
            return EPDX_OK;
        }
    }
    if (descr[0] == '>') {
        return epi_fail(EPDX_ERR_UNSUPPORTED,
                        "its elements are big endian ('%s'); little endian is "
                        "needed",
                        descr);
    }
    return epi_fail(EPDX_ERR_UNSUPPORTED,
                    "its elements are '%s'; '<f2' (float16), '<f4' (float32) "
                    "or '<u2' (bfloat16) is needed",
                    descr);
}

static epdx_status_t shape_of(const fields_t *fields, epi_npy_shape_t *shape_p)
{
    epi_npy_shape_t shape;
    epdx_status_t status = dtype_of(fields->descr, &shape.dtype);

    if (status != EPDX_OK) {
        return status;
    }
    if (fields->dim_count != 2) {
        return epi_fail(EPDX_ERR_UNSUPPORTED,
                        "it has %zu dimensions; 2 are needed, (rows, hidden)",
                        fields->dim_count);
    }
    if (fields->fortran) {
        return epi_fail(EPDX_ERR_UNSUPPORTED,
                        "it is in Fortran order; C order is needed");
    }
    shape.rows = fields->dims[0];
    shape.columns = fields->dims[1];
    *shape_p = shape;
    return EPDX_OK;
}

/* Where the dictionary is, by the version of the format. */
static epdx_status_t locate(const uint8_t *bytes, size_t size,
                            cursor_t *cursor_p)
{
    size_t start, length;

    if (size < 12) {
        return malformed("it is cut short");
    }
    if (memcmp(bytes, MAGIC, MAGIC_BYTES) != 0) {
        return malformed("it does not begin as one");
    }
    if (bytes[6] < 1 || bytes[6] > 3 || bytes[7] != 0) {
        return epi_fail(EPDX_ERR_UNSUPPORTED,
                        "its format is version %u.%u; 1.0, 2.0 or 3.0 is "
                        "needed",
                        bytes[6], bytes[7]);
    }
    length = (size_t)bytes[8] | (size_t)bytes[9] << 8;
    start = 10;
    if (bytes[6] > 1) {
        length |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
        start = 12;
    }
    if (length > EPI_NPY_HEADER_MAX) {
        return malformed("its header is too long");
    }
    if (size - start < length) {
        return malformed("it is cut short in its header");
    }
    cursor_p->at = (const char *)bytes + start;
    cursor_p->end = cursor_p->at + length;
    return EPDX_OK;
}

epdx_status_t epi_npy_header_read(const uint8_t *bytes, size_t size,
                                  epi_npy_shape_t *shape_p, size_t *offset_p)
{
    cursor_t cursor = {NULL, NULL};
    fields_t fields;
    epdx_status_t status = locate(bytes, size, &cursor);

    if (status == EPDX_OK) {
        status = read_dictionary(cursor, &fields);
    }
    if (status == EPDX_OK) {
        status = shape_of(&fields, shape_p);
    }
    if (status == EPDX_OK) {
        *offset_p = (size_t)((const uint8_t *)cursor.end - bytes);
    }
    return status;
}

static const char *descr_of(epdx_dtype_t dtype)
{
    switch (dtype) {
    case EPDX_FLOAT16:
        return "<f2";
    case EPDX_FLOAT32:
        return "<f4";
    default:
        return "<u2";
    }
}

size_t epi_npy_header_write(const epi_npy_shape_t *shape,
                            uint8_t out[EPI_NPY_WRITTEN_MAX])
{
    char rows[24];
    char text[128];
    size_t head = MAGIC_BYTES + 4;
    size_t used, total;
    int digits =
        snprintf(rows, sizeof(rows), "%llu", (unsigned long long)shape->rows);

    used = (size_t)snprintf(
        text, sizeof(text),
        "{'descr': '%s', 'fortran_order': False, 'shape': (%s, %llu), }%*s",
        descr_of(shape->dtype), rows, (unsigned long long)shape->columns,
        GROWTH_CHARS - digits, "");
    /* With its line end; NumPy adds 64 where nothing is needed. */
    total = (head + used + 1) / ALIGNMENT * ALIGNMENT + ALIGNMENT;
    memset(out, ' ', total);
    memcpy(out, MAGIC "\x01", MAGIC_BYTES + 1);
    out[7] = 0;
    out[8] = (uint8_t)((total - head) & 0xff);
    out[9] = (uint8_t)((total - head) >> 8);
    memcpy(out + head, text, used);
    out[total - 1] = '\n';
    return total;
}
