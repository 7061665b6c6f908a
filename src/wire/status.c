/*
 * status.c: an encode rank tells a prefill rank where a room stands. Written
 * by the sending end, parsed by the receiving end, which believes a failure
 * and never a success: landing is its own observation.
 */
#include "wire/control.h"
#include "wire/field.h"

static const epi_field_range_t status_range = {EPI_ROOM_FAILED,
                                               EPI_ROOM_SUCCESS};
static const epi_field_range_t rank_range = {0, UINT32_MAX};

epdx_status_t epi_status_format(const epi_status_t *in, epi_message_t *message)
{
    epi_writer_t writer;

    epi_writer_init(&writer, "status");
    epi_write_number(&writer, "room", EPI_FIELD_ANY, in->room);
    epi_write_number(&writer, "status", status_range, (uint64_t)in->status);
    epi_write_number(&writer, "encode rank", rank_range, in->encode_rank);
    if (in->extended) {
        epi_write_number(&writer, "generation", EPI_FIELD_ANY, in->generation);
        epi_write_reason(&writer, "reason", in->reason);
    }
    return epi_write_end(&writer, message);
}

epdx_status_t epi_status_parse(const epi_message_t *message,
                               epi_status_t *out_p)
{
    epi_status_t out = {0};
    epi_reader_t reader;
    uint32_t status = 0;

    epi_reader_init(&reader, message, "status");
    epi_read_u64(&reader, "room", EPI_FIELD_ANY, &out.room);
    epi_read_u32(&reader, "status", status_range, &status);
    epi_read_u32(&reader, "encode rank", rank_range, &out.encode_rank);
    if (epi_reader_more(&reader)) {
        out.extended = true;
        epi_read_u64(&reader, "generation", EPI_FIELD_ANY, &out.generation);
        epi_read_text(&reader, "reason", EPI_FIELD_WORDS, out.reason);
    }
    if (epi_read_end(&reader) != EPDX_OK) {
        return reader.status;
    }
    out.status = (epi_room_status_t)status;
    *out_p = out;
    return EPDX_OK;
}
