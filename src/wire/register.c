/*
 * register.c: a prefill rank makes itself known to an encode rank, once a
 * connection. Written by the receiving end, parsed by the sending end.
 */
#include "wire/control.h"
#include "wire/field.h"

epdx_status_t epi_register_format(const epi_register_t *in,
                                  epi_message_t *message)
{
    epi_writer_t writer;

    epi_writer_init(&writer, "register");
    epi_write_word(&writer, "room", EPI_REGISTER_ROOM);
    epi_write_text(&writer, "endpoint", EPI_FIELD_HOST, in->endpoint);
    epi_write_port(&writer, "status port", in->status_port);
    epi_write_text(&writer, "session", EPI_FIELD_SESSION, in->session);
    epi_write_pointer(&writer, "main pointer", in->main_pointer);
    epi_write_pointer(&writer, "deepstack pointer", in->deepstack_pointer);
    if (in->extended) {
        epi_write_word(&writer, "version", EPI_WIRE_VERSION);
        epi_write_text(&writer, "instance", EPI_FIELD_INSTANCE, in->instance);
        epi_write_text(&writer, "compat", EPI_FIELD_WORDS, in->compat);
    }
    return epi_write_end(&writer, message);
}

epdx_status_t epi_register_parse(const epi_message_t *message,
                                 epi_register_t *out_p)
{
    epi_register_t out = {0};
    epi_reader_t reader;

    epi_reader_init(&reader, message, "register");
    epi_read_word(&reader, "room", EPI_REGISTER_ROOM);
    epi_read_text(&reader, "endpoint", EPI_FIELD_HOST, out.endpoint);
    epi_read_port(&reader, "status port", &out.status_port);
    epi_read_text(&reader, "session", EPI_FIELD_SESSION, out.session);
    epi_read_pointer(&reader, "main pointer", &out.main_pointer);
    epi_read_pointer(&reader, "deepstack pointer", &out.deepstack_pointer);
    if (epi_reader_more(&reader)) {
        out.extended = true;
        epi_read_word(&reader, "version", EPI_WIRE_VERSION);
        epi_read_text(&reader, "instance", EPI_FIELD_INSTANCE, out.instance);
        epi_read_text(&reader, "compat", EPI_FIELD_WORDS, out.compat);
    }
    if (epi_read_end(&reader) != EPDX_OK) {
        return reader.status;
    }
    *out_p = out;
    return EPDX_OK;
}
