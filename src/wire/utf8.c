/* utf8.c: see utf8.h. Called by the files of this part. */
#include "wire/utf8.h"

#include <stdint.h>
#include <string.h>

/** How a character opens. */
typedef struct utf8_lead {
    size_t length;  /* of the whole character; 0: opens none */
    uint32_t value; /* the lead's own bits */
    uint32_t least; /* smallest value that needs this length */
} utf8_lead_t;

static utf8_lead_t read_lead(uint8_t byte)
{
    if (byte < 0x80) {
        return (utf8_lead_t){1, byte, 0};
    }
    if ((byte & 0xe0) == 0xc0) {
        return (utf8_lead_t){2, byte & 0x1fu, 0x80};
    }
    if ((byte & 0xf0) == 0xe0) {
        return (utf8_lead_t){3, byte & 0x0fu, 0x800};
    }
    if ((byte & 0xf8) == 0xf0) {
        return (utf8_lead_t){4, byte & 0x07u, 0x10000};
    }
    return (utf8_lead_t){0, 0, 0};
}

static bool is_continuation(char byte)
{
    return ((uint8_t)byte & 0xc0) == 0x80;
}

size_t epi_utf8_length(const char *bytes, size_t length)
{
    utf8_lead_t lead;
    size_t i;

    if (length == 0) {
        return 0;
    }
    lead = read_lead((uint8_t)bytes[0]);
    if (lead.length == 0 || lead.length > length) {
        return 0;
    }
    for (i = 1; i < lead.length; i++) {
        if (!is_continuation(bytes[i])) {
            return 0;
        }
        lead.value = lead.value << 6 | ((uint8_t)bytes[i] & 0x3fu);
    }
    if (lead.value < lead.least || lead.value > 0x10ffff ||
        (lead.value >= 0xd800 && lead.value <= 0xdfff)) {
        return 0;
    }
    return lead.length;
}

bool epi_utf8_valid(const char *bytes, size_t length)
{
    size_t at = 0;

    while (at < length) {
        size_t step = epi_utf8_length(bytes + at, length - at);

        if (step == 0) {
            return false;
        }
        at += step;
    }
    return true;
}

/** Whether a control character opens bytes, of a valid text. */
static bool is_control(const char *bytes, size_t length)
{
    uint8_t first = (uint8_t)bytes[0];

    if (first == 0xc2 && length > 1) {
        return (uint8_t)bytes[1] < 0xa0;
    }
    return first < 0x20 || first == 0x7f;
}

bool epi_utf8_has_control(const char *bytes, size_t length)
{
    size_t at;

    /* Byte by byte: inside a character no byte looks like one. */
    for (at = 0; at < length; at++) {
        if (is_control(bytes + at, length - at)) {
            return true;
        }
    }
    return false;
}

/** Whether the text ends inside a character that began well. */
static bool ends_inside(const char *bytes, size_t length)
{
    size_t i;

    if (read_lead((uint8_t)bytes[0]).length <= length) {
        return false;
    }
    for (i = 1; i < length; i++) {
        if (!is_continuation(bytes[i])) {
            return false;
        }
    }
    return true;
}

void epi_utf8_clean(const char *text, char *out, size_t size)
{
    size_t length = strnlen(text, size);
    size_t at = 0;
    size_t used = 0;

    while (at < length) {
        size_t step = epi_utf8_length(text + at, length - at);
        bool stray = step == 0;

        if (stray) {
            if (ends_inside(text + at, length - at)) {
                break;
            }
            step = 1;
        }
        if (step > size - 1 - used) {
            break;
        }
        if (stray) {
            out[used++] = '?';
        } else if (is_control(text + at, step)) {
            out[used++] = ' ';
        } else {
            memcpy(out + used, text + at, step);
            used += step;
        }
        at += step;
    }
    out[used] = '\0';
}
