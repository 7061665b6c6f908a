/*
 * frame.c: a multipart message in memory, see frame.h. Called by the messages
 * of this part and by the owner of the sockets.
 */
#include "wire/frame.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "wire/bytes.h"
#include "wire/utf8.h"

_Static_assert(EPI_MESSAGE_MAX <= UINT16_MAX, "offsets are 16 bits");

#define POINTER_BYTES 8

void epi_message_clear(epi_message_t *message)
{
    message->count = 0;
    message->used = 0;
}

bool epi_message_add(epi_message_t *message, const void *bytes, size_t length)
{
    if (message->count == EPI_FRAME_MAX ||
        length > (size_t)EPI_MESSAGE_MAX - message->used) {
        return false;
    }
    if (length > 0) {
        memcpy(message->bytes + message->used, bytes, length);
    }
    message->start[message->count] = message->used;
    message->length[message->count] = (uint16_t)length;
    message->used = (uint16_t)(message->used + length);
    message->count++;
    return true;
}

bool epi_message_add_text(epi_message_t *message, const char *text)
{
    return epi_message_add(message, text, strlen(text));
}

bool epi_message_add_u64(epi_message_t *message, uint64_t value)
{
    char digits[24];

    snprintf(digits, sizeof(digits), "%" PRIu64, value);
    return epi_message_add_text(message, digits);
}

bool epi_message_add_pointer(epi_message_t *message, uint64_t value)
{
    uint8_t bytes[POINTER_BYTES];

    epi_bytes_put(bytes, value, sizeof(bytes));
    return epi_message_add(message, bytes, sizeof(bytes));
}

/** The frame's bytes, or NULL when it is not there. */
static const uint8_t *frame_at(const epi_message_t *message, size_t index)
{
    if (index >= message->count) {
        return NULL;
    }
    return message->bytes + message->start[index];
}

bool epi_message_u64(const epi_message_t *message, size_t index, uint64_t max,
                     uint64_t *value_p)
{
    const uint8_t *bytes = frame_at(message, index);

    return bytes != NULL && epi_text_u64((const char *)bytes,
                                         message->length[index], max, value_p);
}

bool epi_message_pointer(const epi_message_t *message, size_t index,
                         uint64_t *value_p)
{
    const uint8_t *bytes = frame_at(message, index);

    if (bytes == NULL || message->length[index] != POINTER_BYTES) {
        return false;
    }
    *value_p = epi_bytes_get(bytes, POINTER_BYTES);
    return true;
}

bool epi_message_text(const epi_message_t *message, size_t index, char *out,
                      size_t size)
{
    const uint8_t *bytes = frame_at(message, index);
    size_t length;

    if (bytes == NULL) {
        return false;
    }
    length = message->length[index];
    if (length >= size || memchr(bytes, '\0', length) != NULL ||
        !epi_utf8_valid((const char *)bytes, length)) {
        return false;
    }
    memcpy(out, bytes, length);
    out[length] = '\0';
    return true;
}

bool epi_message_is(const epi_message_t *message, size_t index,
                    const char *text)
{
    const uint8_t *bytes = frame_at(message, index);
    size_t length = strlen(text);

    return bytes != NULL && message->length[index] == length &&
           memcmp(bytes, text, length) == 0;
}
