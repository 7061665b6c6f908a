/*
 * cancel.c: a prefill rank no longer wants a room, or refused its offer.
 * Written by the receiving end, parsed by the sending end. The whole message
 * is epdx's own: existing implementations drop it as malformed.
 */
#include "wire/control.h"
#include "wire/field.h"

epdx_status_t epi_cancel_format(const epi_cancel_t *in, epi_message_t *message)
{
    epi_writer_t writer;

    epi_writer_init(&writer, "cancel");
    epi_write_word(&writer, "kind", EPI_CANCEL_ROOM);
    epi_write_number(&writer, "room", EPI_FIELD_ANY, in->room);
    epi_write_text(&writer, "session", EPI_FIELD_SESSION, in->session);
    epi_write_number(&writer, "generation", EPI_FIELD_ANY, in->generation);
    epi_write_reason(&writer, "reason", in->reason);
    return epi_write_end(&writer, message);
}

epdx_status_t epi_cancel_parse(const epi_message_t *message,
                               epi_cancel_t *out_p)
{
    epi_cancel_t out = {0};
    epi_reader_t reader;

    epi_reader_init(&reader, message, "cancel");
    epi_read_word(&reader, "kind", EPI_CANCEL_ROOM);
    epi_read_u64(&reader, "room", EPI_FIELD_ANY, &out.room);
    epi_read_text(&reader, "session", EPI_FIELD_SESSION, out.session);
    epi_read_u64(&reader, "generation", EPI_FIELD_ANY, &out.generation);
    epi_read_text(&reader, "reason", EPI_FIELD_WORDS, out.reason);
    if (epi_read_end(&reader) != EPDX_OK) {
        return reader.status;
    }
    *out_p = out;
    return EPDX_OK;
}
