/*
 * control.h: the control messages, docs/wire.md byte by byte. Each has one
 * file: register.c, ask.c, cancel.c, status.c. Pure.
 *
 * A parser takes exactly the frames it knows: epdx's own message, or the
 * leading frames alone, as an existing implementation sends them (then
 * `extended` is false and generation and instance are 0). Anything else is
 * EPDX_ERR_MALFORMED with the frame and the cause in epdx_last_error(), and
 * the output is unchanged. Formatting fails only on fields over their bounds
 * (EPDX_ERR_INVALID).
 */
#ifndef EPI_WIRE_CONTROL_H
#define EPI_WIRE_CONTROL_H

#include "epdx/types.h"
#include "wire/frame.h"

#define EPI_WIRE_VERSION  "epdx1"
#define EPI_REGISTER_ROOM "None"
#define EPI_CANCEL_ROOM   "Cancel"
#define EPI_COMPAT_MAX    127
#define EPI_INSTANCE_MAX  32 /* instance ids are 16 hex digits */

/** What kind of message the first frame announces to an encode rank. */
typedef enum epi_control_kind {
    EPI_CONTROL_ASK,
    EPI_CONTROL_REGISTER,
    EPI_CONTROL_CANCEL,
} epi_control_kind_t;

/** register: 6 leading frames, 3 of epdx's. */
typedef struct epi_register {
    char endpoint[EPDX_ADDRESS_MAX + 1];      /* host, no brackets */
    uint16_t status_port;                     /* 1 ... 65535 */
    char session[EPDX_ADDRESS_MAX + 1];       /* "host:port" */
    uint64_t main_pointer, deepstack_pointer; /* epdx sends 0 */
    bool extended;
    char instance[EPI_INSTANCE_MAX + 1];
    char compat[EPI_COMPAT_MAX + 1]; /* epi_compat_format() */
} epi_register_t;

/** ask: 13 leading frames, 3 of epdx's. */
typedef struct epi_ask {
    uint64_t room;
    char endpoint[EPDX_ADDRESS_MAX + 1];
    uint16_t status_port;
    char session[EPDX_ADDRESS_MAX + 1];
    uint64_t main_pointer, deepstack_pointer;
    uint64_t rows; /* of this share; 0 is allowed */
    uint64_t hidden;
    epdx_dtype_t dtype; /* an unknown spelling is malformed */
    bool has_deepstack;
    uint32_t required; /* asks that make the room complete, >= 1 */
    uint64_t row_start;
    uint64_t span;
    bool extended;
    char instance[EPI_INSTANCE_MAX + 1];
    uint64_t generation;
} epi_ask_t;

/** cancel: "Cancel", room, session id, generation, reason. */
typedef struct epi_cancel {
    uint64_t room;
    char session[EPDX_ADDRESS_MAX + 1];
    uint64_t generation;
    char reason[EPDX_REASON_MAX];
} epi_cancel_t;

/** A room's status on the wire: the numbers of existing implementations. */
typedef enum epi_room_status {
    EPI_ROOM_FAILED = 0,
    EPI_ROOM_BOOTSTRAPPING = 1,
    EPI_ROOM_BOOTSTRAPPED = 2,
    EPI_ROOM_WAITING = 3,
    EPI_ROOM_TRANSFERRING = 4,
    EPI_ROOM_SUCCESS = 5,
} epi_room_status_t;

/** status: room, status, encode rank, and epdx's generation, reason. */
typedef struct epi_status {
    uint64_t room;
    epi_room_status_t status;
    uint32_t encode_rank;
    bool extended;
    uint64_t generation;
    char reason[EPDX_REASON_MAX]; /* cut at a UTF-8 boundary by the writer */
} epi_status_t;

/** What a model's two ends must share, as a text that both can compare. */
typedef struct epi_compat {
    epdx_dtype_t dtype;
    uint64_t hidden;
    uint32_t levels;
    uint32_t tp_size; /* of the prefill engine */
} epi_compat_t;

EPDX_MUST_CHECK epdx_status_t epi_control_peek(const epi_message_t *message,
                                               epi_control_kind_t *kind_p);

EPDX_MUST_CHECK epdx_status_t epi_register_format(const epi_register_t *in,
                                                  epi_message_t *message);
EPDX_MUST_CHECK epdx_status_t epi_register_parse(const epi_message_t *message,
                                                 epi_register_t *out_p);
EPDX_MUST_CHECK epdx_status_t epi_ask_format(const epi_ask_t *in,
                                             epi_message_t *message);
EPDX_MUST_CHECK epdx_status_t epi_ask_parse(const epi_message_t *message,
                                            epi_ask_t *out_p);
EPDX_MUST_CHECK epdx_status_t epi_cancel_format(const epi_cancel_t *in,
                                                epi_message_t *message);
EPDX_MUST_CHECK epdx_status_t epi_cancel_parse(const epi_message_t *message,
                                               epi_cancel_t *out_p);
EPDX_MUST_CHECK epdx_status_t epi_status_format(const epi_status_t *in,
                                                epi_message_t *message);
EPDX_MUST_CHECK epdx_status_t epi_status_parse(const epi_message_t *message,
                                               epi_status_t *out_p);

/** "dtype=torch.bfloat16 hidden=2048 levels=3 tp=4". */
void epi_compat_format(const epi_compat_t *compat, char *out, size_t size);
EPDX_MUST_CHECK epdx_status_t epi_compat_parse(const char *text,
                                               epi_compat_t *out_p);
/** The difference in words ("hidden is 2048 here and 4096 at the peer"), tp
 *  left out; false and "" when there is none. */
bool epi_compat_differs(const epi_compat_t *here, const epi_compat_t *peer,
                        char *words, size_t size);

#endif
