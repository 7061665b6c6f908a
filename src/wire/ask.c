/*
 * ask.c: a prefill rank asks an encode rank for its rows of one room. Written
 * by the receiving end, parsed by the sending end.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/checked.h"
#include "wire/control.h"
#include "wire/field.h"

#define ROW_START_FRAME 11

static const epi_field_range_t required_range = {1, UINT32_MAX};

/** Whether the share lies in its span, and if not the cause in words. */
static bool share_holds(const epi_ask_t *ask, char *cause, size_t size)
{
    uint64_t end;

    if (epi_add_u64(ask->row_start, ask->rows, &end) && end <= ask->span) {
        return true;
    }
    snprintf(cause, size,
             "%" PRIu64 " rows from %" PRIu64
             " do not lie in the span of %" PRIu64,
             ask->rows, ask->row_start, ask->span);
    return false;
}

epdx_status_t epi_ask_format(const epi_ask_t *in, epi_message_t *message)
{
    epi_writer_t writer;
    char cause[128];

    epi_writer_init(&writer, "ask");
    epi_write_number(&writer, "room", EPI_FIELD_ANY, in->room);
    epi_write_text(&writer, "endpoint", EPI_FIELD_HOST, in->endpoint);
    epi_write_port(&writer, "status port", in->status_port);
    epi_write_text(&writer, "session", EPI_FIELD_SESSION, in->session);
    epi_write_pointer(&writer, "main pointer", in->main_pointer);
    epi_write_pointer(&writer, "deepstack pointer", in->deepstack_pointer);
    epi_write_number(&writer, "rows", EPI_FIELD_ANY, in->rows);
    epi_write_number(&writer, "hidden", EPI_FIELD_ANY, in->hidden);
    epi_write_dtype(&writer, "dtype", in->dtype);
    epi_write_flag(&writer, "has_deepstack", in->has_deepstack);
    epi_write_number(&writer, "required", required_range, in->required);
    epi_write_number(&writer, "row_start", EPI_FIELD_ANY, in->row_start);
    epi_write_number(&writer, "span", EPI_FIELD_ANY, in->span);
    if (!share_holds(in, cause, sizeof(cause))) {
        epi_write_fault(&writer, ROW_START_FRAME, "row_start", cause);
    }
    if (in->extended) {
        epi_write_word(&writer, "version", EPI_WIRE_VERSION);
        epi_write_text(&writer, "instance", EPI_FIELD_INSTANCE, in->instance);
        epi_write_number(&writer, "generation", EPI_FIELD_ANY, in->generation);
    }
    return epi_write_end(&writer, message);
}

epdx_status_t epi_ask_parse(const epi_message_t *message, epi_ask_t *out_p)
{
    epi_ask_t out = {0};
    epi_reader_t reader;
    char cause[128];

    epi_reader_init(&reader, message, "ask");
    epi_read_u64(&reader, "room", EPI_FIELD_ANY, &out.room);
    epi_read_text(&reader, "endpoint", EPI_FIELD_HOST, out.endpoint);
    epi_read_port(&reader, "status port", &out.status_port);
    epi_read_text(&reader, "session", EPI_FIELD_SESSION, out.session);
    epi_read_pointer(&reader, "main pointer", &out.main_pointer);
    epi_read_pointer(&reader, "deepstack pointer", &out.deepstack_pointer);
    epi_read_u64(&reader, "rows", EPI_FIELD_ANY, &out.rows);
    epi_read_u64(&reader, "hidden", EPI_FIELD_ANY, &out.hidden);
    epi_read_dtype(&reader, "dtype", &out.dtype);
    epi_read_flag(&reader, "has_deepstack", &out.has_deepstack);
    epi_read_u32(&reader, "required", required_range, &out.required);
    epi_read_u64(&reader, "row_start", EPI_FIELD_ANY, &out.row_start);
    epi_read_u64(&reader, "span", EPI_FIELD_ANY, &out.span);
    if (!share_holds(&out, cause, sizeof(cause))) {
        epi_read_fault(&reader, ROW_START_FRAME, "row_start", cause);
    }
    if (epi_reader_more(&reader)) {
        out.extended = true;
        epi_read_word(&reader, "version", EPI_WIRE_VERSION);
        epi_read_text(&reader, "instance", EPI_FIELD_INSTANCE, out.instance);
        epi_read_u64(&reader, "generation", EPI_FIELD_ANY, &out.generation);
    }
    if (epi_read_end(&reader) != EPDX_OK) {
        return reader.status;
    }
    *out_p = out;
    return EPDX_OK;
}
