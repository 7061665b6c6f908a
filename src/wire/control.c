/*
 * control.c: which message an encode rank was sent, by its first frame. Called
 * by the sending end before it parses.
 */
#include "wire/control.h"

#include "base/error.h"

epdx_status_t epi_control_peek(const epi_message_t *message,
                               epi_control_kind_t *kind_p)
{
    uint64_t room;

    if (message->count == 0) {
        return epi_fail(EPDX_ERR_MALFORMED,
                        "control frame 0 (room): is missing");
    }
    if (epi_message_is(message, 0, EPI_REGISTER_ROOM)) {
        *kind_p = EPI_CONTROL_REGISTER;
    } else if (epi_message_is(message, 0, EPI_CANCEL_ROOM)) {
        *kind_p = EPI_CONTROL_CANCEL;
    } else if (epi_message_u64(message, 0, UINT64_MAX, &room)) {
        *kind_p = EPI_CONTROL_ASK;
    } else {
        return epi_fail(EPDX_ERR_MALFORMED,
                        "control frame 0 (room): is neither a plain decimal "
                        "number of 64 bits nor \"" EPI_REGISTER_ROOM
                        "\" nor \"" EPI_CANCEL_ROOM "\"");
    }
    return EPDX_OK;
}
