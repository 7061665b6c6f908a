/*
 * fuzz_control.c: arbitrary messages through every parser. What parses is
 * formatted again and must be the same frames; what does not must have said
 * why and left its output alone.
 *
 * Input: for each frame its length as two little-endian bytes, then its bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "wire/bytes.h"
#include "wire/control.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds) {
        abort();
    }
}

static void read_message(const uint8_t *data, size_t size,
                         epi_message_t *message)
{
    epi_message_clear(message);
    while (size >= 2) {
        size_t length = (size_t)epi_bytes_get(data, 2);

        data += 2;
        size -= 2;
        if (length > size) {
            length = size;
        }
        if (!epi_message_add(message, data, length)) {
            return;
        }
        data += length;
        size -= length;
    }
}

static void require_same(const epi_message_t *a, const epi_message_t *b)
{
    size_t i;

    require(a->count == b->count);
    for (i = 0; i < a->count; i++) {
        require(a->length[i] == b->length[i]);
        require(memcmp(a->bytes + a->start[i], b->bytes + b->start[i],
                       a->length[i]) == 0);
    }
}

/** Parse one message; whether it parsed, and the checks above. */
#define TRY(type, parse, format, message, parsed_p)                            \
    do {                                                                       \
        epi_message_t again;                                                   \
        type before;                                                           \
        type value;                                                            \
                                                                               \
        memset(&before, 0xa5, sizeof(before));                                 \
        memset(&value, 0xa5, sizeof(value));                                   \
        *(parsed_p) = parse(message, &value) == EPDX_OK;                       \
        if (*(parsed_p)) {                                                     \
            require(format(&value, &again) == EPDX_OK);                        \
            require_same(message, &again);                                     \
        } else {                                                               \
            require(memcmp(&before, &value, sizeof(value)) == 0);              \
            require(strstr(epdx_last_error(), " frame ") != NULL);             \
        }                                                                      \
    } while (0)

/** The first frame announces what the parsers then find. */
static void require_kind(const epi_message_t *message,
                         epi_control_kind_t expected)
{
    epi_control_kind_t kind;

    require(epi_control_peek(message, &kind) == EPDX_OK);
    require(kind == expected);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    epi_message_t message;
    epi_compat_t compat;
    bool parsed;

    read_message(data, size, &message);
    TRY(epi_register_t, epi_register_parse, epi_register_format, &message,
        &parsed);
    if (parsed) {
        require_kind(&message, EPI_CONTROL_REGISTER);
    }
    TRY(epi_ask_t, epi_ask_parse, epi_ask_format, &message, &parsed);
    if (parsed) {
        require_kind(&message, EPI_CONTROL_ASK);
    }
    TRY(epi_cancel_t, epi_cancel_parse, epi_cancel_format, &message, &parsed);
    if (parsed) {
        require_kind(&message, EPI_CONTROL_CANCEL);
    }
    TRY(epi_status_t, epi_status_parse, epi_status_format, &message, &parsed);

    if (message.count > 0) {
        char text[EPI_COMPAT_MAX + 1];
        char again[EPI_COMPAT_MAX + 1];

        if (epi_message_text(&message, message.count - 1u, text,
                             sizeof(text)) &&
            epi_compat_parse(text, &compat) == EPDX_OK) {
            epi_compat_format(&compat, again, sizeof(again));
            require(strcmp(text, again) == 0);
        }
    }
    return 0;
}
