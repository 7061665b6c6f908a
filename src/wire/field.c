/*
 * field.c: the kinds of frames, see field.h. Called by the messages of this
 * part. Causes never quote a peer's bytes, only numbers read from them: they
 * end in logs.
 */
#include "wire/field.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "wire/utf8.h"

#define CAUSE_MAX 96 /* room for one cause in words */

static const epi_field_range_t port_range = {1, UINT16_MAX};

/* The rules, for both directions: false and the cause in words. */

static bool range_holds(epi_field_range_t range, uint64_t value, char *cause)
{
    if (value >= range.min && value <= range.max) {
        return true;
    }
    if (range.max == UINT64_MAX) {
        snprintf(cause, CAUSE_MAX, "is %" PRIu64 ", not %" PRIu64 " or more",
                 value, range.min);
    } else {
        snprintf(cause, CAUSE_MAX,
                 "is %" PRIu64 ", not %" PRIu64 " to %" PRIu64, value,
                 range.min, range.max);
    }
    return false;
}

static const char *text_fault(epi_field_text_t kind, const char *text)
{
    size_t length = strlen(text);
    epi_address_t address;

    switch (kind) {
    case EPI_FIELD_HOST:
        if (length == 0) {
            return "is empty";
        }
        if (!epi_text_printable(text, length)) {
            return "is not printable ASCII";
        }
        return strpbrk(text, "[]/;?#@") != NULL
                   ? "has a character that no host has"
                   : NULL;
    case EPI_FIELD_SESSION:
        return epi_address_parse(text, &address) ? NULL : "is not host:port";
    case EPI_FIELD_INSTANCE:
        return length == 0 || epi_text_printable(text, length)
                   ? NULL
                   : "is not printable ASCII";
    case EPI_FIELD_WORDS:
        break;
    }
    return epi_utf8_has_control(text, length) ? "has a control character"
                                              : NULL;
}

/** Bytes that are to be a text of less than size bytes. */
static bool text_holds(const void *bytes, size_t length, size_t size,
                       char *cause)
{
    if (length >= size) {
        snprintf(cause, CAUSE_MAX, "is longer than %zu bytes", size - 1);
        return false;
    }
    if (memchr(bytes, '\0', length) != NULL) {
        snprintf(cause, CAUSE_MAX, "has a zero byte");
        return false;
    }
    if (!epi_utf8_valid(bytes, length)) {
        snprintf(cause, CAUSE_MAX, "is not UTF-8");
        return false;
    }
    return true;
}

static epdx_status_t fault(epdx_status_t status, const char *what, size_t index,
                           const char *name, const char *cause)
{
    return epi_fail(status, "%s frame %zu (%s): %s", what, index, name, cause);
}

/* Reading. */

void epi_reader_init(epi_reader_t *reader, const epi_message_t *message,
                     const char *what)
{
    reader->message = message;
    reader->what = what;
    reader->index = 0;
    reader->status = EPDX_OK;
}

bool epi_reader_more(const epi_reader_t *reader)
{
    return reader->status == EPDX_OK && reader->index < reader->message->count;
}

void epi_read_fault(epi_reader_t *reader, size_t index, const char *name,
                    const char *cause)
{
    if (reader->status == EPDX_OK) {
        reader->status =
            fault(EPDX_ERR_MALFORMED, reader->what, index, name, cause);
    }
}

/** Move to the next frame; false when it is missing or a fault came before. */
static bool next_frame(epi_reader_t *reader, const char *name, size_t *index_p)
{
    if (reader->status != EPDX_OK) {
        return false;
    }
    if (!epi_reader_more(reader)) {
        epi_read_fault(reader, reader->index, name, "is missing");
        return false;
    }
    *index_p = reader->index++;
    return true;
}

void epi_read_word(epi_reader_t *reader, const char *name, const char *word)
{
    char cause[CAUSE_MAX];
    size_t index;

    if (!next_frame(reader, name, &index)) {
        return;
    }
    if (!epi_message_is(reader->message, index, word)) {
        snprintf(cause, sizeof(cause), "is not \"%s\"", word);
        epi_read_fault(reader, index, name, cause);
    }
}

void epi_read_u64(epi_reader_t *reader, const char *name,
                  epi_field_range_t range, uint64_t *value_p)
{
    char cause[CAUSE_MAX];
    uint64_t value;
    size_t index;

    if (!next_frame(reader, name, &index)) {
        return;
    }
    if (!epi_message_u64(reader->message, index, UINT64_MAX, &value)) {
        epi_read_fault(reader, index, name,
                       "is not a plain decimal number of 64 bits");
        return;
    }
    if (!range_holds(range, value, cause)) {
        epi_read_fault(reader, index, name, cause);
        return;
    }
    *value_p = value;
}

void epi_read_u32(epi_reader_t *reader, const char *name,
                  epi_field_range_t range, uint32_t *value_p)
{
    uint64_t value = 0;

    epi_read_u64(reader, name, range, &value);
    if (reader->status == EPDX_OK) {
        *value_p = (uint32_t)value;
    }
}

void epi_read_port(epi_reader_t *reader, const char *name, uint16_t *port_p)
{
    uint64_t value = 0;

    epi_read_u64(reader, name, port_range, &value);
    if (reader->status == EPDX_OK) {
        *port_p = (uint16_t)value;
    }
}

void epi_read_flag(epi_reader_t *reader, const char *name, bool *flag_p)
{
    size_t index;

    if (!next_frame(reader, name, &index)) {
        return;
    }
    if (epi_message_is(reader->message, index, "1")) {
        *flag_p = true;
    } else if (epi_message_is(reader->message, index, "0")) {
        *flag_p = false;
    } else {
        epi_read_fault(reader, index, name, "is neither 0 nor 1");
    }
}

void epi_read_pointer(epi_reader_t *reader, const char *name, uint64_t *value_p)
{
    char cause[CAUSE_MAX];
    size_t index;

    if (!next_frame(reader, name, &index)) {
        return;
    }
    if (!epi_message_pointer(reader->message, index, value_p)) {
        snprintf(cause, sizeof(cause), "has %u bytes, not 8",
                 (unsigned)reader->message->length[index]);
        epi_read_fault(reader, index, name, cause);
    }
}

void epi_read_dtype(epi_reader_t *reader, const char *name,
                    epdx_dtype_t *dtype_p)
{
    epdx_dtype_t dtype;
    char text[32];
    size_t index;

    if (!next_frame(reader, name, &index)) {
        return;
    }
    if (!epi_message_text(reader->message, index, text, sizeof(text))) {
        text[0] = '\0';
    }
    /* The wire has one spelling only; epdx_dtype_parse() takes more. */
    dtype = epdx_dtype_parse(text);
    if (dtype == EPDX_DTYPE_NONE || strcmp(epdx_dtype_name(dtype), text) != 0) {
        epi_read_fault(reader, index, name, "is no known dtype");
        return;
    }
    *dtype_p = dtype;
}

void epi_read_text_to(epi_reader_t *reader, const char *name,
                      epi_field_text_t kind, char *out, size_t size)
{
    const epi_message_t *message = reader->message;
    char cause[CAUSE_MAX];
    const char *wrong;
    size_t index;

    if (!next_frame(reader, name, &index)) {
        return;
    }
    if (!epi_message_text(message, index, out, size)) {
        if (!text_holds(message->bytes + message->start[index],
                        message->length[index], size, cause)) {
            epi_read_fault(reader, index, name, cause);
        }
        return;
    }
    wrong = text_fault(kind, out);
    if (wrong != NULL) {
        epi_read_fault(reader, index, name, wrong);
    }
}

epdx_status_t epi_read_end(epi_reader_t *reader)
{
    if (epi_reader_more(reader)) {
        epi_read_fault(reader, reader->index, "extra", "is one too many");
    }
    return reader->status;
}

/* Writing. */

void epi_writer_init(epi_writer_t *writer, const char *what)
{
    epi_message_clear(&writer->message);
    writer->what = what;
    writer->status = EPDX_OK;
}

void epi_write_fault(epi_writer_t *writer, size_t index, const char *name,
                     const char *cause)
{
    if (writer->status == EPDX_OK) {
        writer->status =
            fault(EPDX_ERR_INVALID, writer->what, index, name, cause);
    }
}

/** The frame was appended, or did not fit. */
static void wrote(epi_writer_t *writer, const char *name, bool fits)
{
    if (!fits) {
        epi_write_fault(writer, writer->message.count, name,
                        "does not fit a message");
    }
}

static void refuse(epi_writer_t *writer, const char *name, const char *cause)
{
    epi_write_fault(writer, writer->message.count, name, cause);
}

void epi_write_word(epi_writer_t *writer, const char *name, const char *word)
{
    if (writer->status == EPDX_OK) {
        wrote(writer, name, epi_message_add_text(&writer->message, word));
    }
}

void epi_write_number(epi_writer_t *writer, const char *name,
                      epi_field_range_t range, uint64_t value)
{
    char cause[CAUSE_MAX];

    if (writer->status != EPDX_OK) {
        return;
    }
    if (!range_holds(range, value, cause)) {
        refuse(writer, name, cause);
        return;
    }
    wrote(writer, name, epi_message_add_u64(&writer->message, value));
}

void epi_write_port(epi_writer_t *writer, const char *name, uint16_t port)
{
    epi_write_number(writer, name, port_range, port);
}

void epi_write_flag(epi_writer_t *writer, const char *name, bool flag)
{
    epi_write_word(writer, name, flag ? "1" : "0");
}

void epi_write_pointer(epi_writer_t *writer, const char *name, uint64_t value)
{
    if (writer->status == EPDX_OK) {
        wrote(writer, name, epi_message_add_pointer(&writer->message, value));
    }
}

void epi_write_dtype(epi_writer_t *writer, const char *name, epdx_dtype_t dtype)
{
    if (epdx_dtype_bytes(dtype) == 0) {
        refuse(writer, name, "is no known dtype");
        return;
    }
    epi_write_word(writer, name, epdx_dtype_name(dtype));
}

void epi_write_text_of(epi_writer_t *writer, const char *name,
                       epi_field_text_t kind, const char *text, size_t size)
{
    char cause[CAUSE_MAX];
    const char *wrong;

    if (writer->status != EPDX_OK) {
        return;
    }
    if (!text_holds(text, strnlen(text, size), size, cause)) {
        refuse(writer, name, cause);
        return;
    }
    wrong = text_fault(kind, text);
    if (wrong != NULL) {
        refuse(writer, name, wrong);
        return;
    }
    epi_write_word(writer, name, text);
}

void epi_write_reason(epi_writer_t *writer, const char *name,
                      const char reason[EPDX_REASON_MAX])
{
    char clean[EPDX_REASON_MAX];

    epi_utf8_clean(reason, clean, sizeof(clean));
    epi_write_word(writer, name, clean);
}

epdx_status_t epi_write_end(const epi_writer_t *writer,
                            epi_message_t *message_p)
{
    if (writer->status == EPDX_OK) {
        *message_p = writer->message;
    }
    return writer->status;
}
