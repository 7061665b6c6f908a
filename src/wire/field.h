/*
 * field.h: the kinds of frames that messages are made of, read and written one
 * after the other under one set of rules: what a writer makes, a reader takes.
 * Pure. For the files of this part.
 *
 * Both remember their first fault, set epdx_last_error() to "<message> frame
 * <index> (<name>): <cause>", and do nothing from then on, so that a message's
 * file is the plain list of its frames.
 */
#ifndef EPI_WIRE_FIELD_H
#define EPI_WIRE_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "epdx/types.h"
#include "wire/frame.h"

/** What a text frame may hold besides its bound. */
typedef enum epi_field_text {
    EPI_FIELD_HOST,     /* printable ASCII without []/;?#@, not empty: it goes
                           into an address that ZeroMQ parses */
    EPI_FIELD_SESSION,  /* "host:port" as epi_address_parse() takes it */
    EPI_FIELD_INSTANCE, /* printable ASCII or empty */
    EPI_FIELD_WORDS,    /* UTF-8 without control characters or empty */
} epi_field_text_t;

/** The bounds of a number, both included. */
typedef struct epi_field_range {
    uint64_t min, max;
} epi_field_range_t;

#define EPI_FIELD_ANY                                                          \
    (epi_field_range_t)                                                        \
    {                                                                          \
        0, UINT64_MAX                                                          \
    }

typedef struct epi_reader {
    const epi_message_t *message;
    const char *what;     /* "ask" */
    size_t index;         /* of the next frame */
    epdx_status_t status; /* EPDX_OK or EPDX_ERR_MALFORMED */
} epi_reader_t;

typedef struct epi_writer {
    epi_message_t message;
    const char *what;
    epdx_status_t status; /* EPDX_OK or EPDX_ERR_INVALID */
} epi_writer_t;

void epi_reader_init(epi_reader_t *reader, const epi_message_t *message,
                     const char *what);
/** Whether a frame is left, and nothing was wrong so far. */
bool epi_reader_more(const epi_reader_t *reader);
void epi_read_word(epi_reader_t *reader, const char *name, const char *word);
void epi_read_u64(epi_reader_t *reader, const char *name,
                  epi_field_range_t range, uint64_t *value_p);
void epi_read_u32(epi_reader_t *reader, const char *name,
                  epi_field_range_t range, uint32_t *value_p);
void epi_read_port(epi_reader_t *reader, const char *name, uint16_t *port_p);
void epi_read_flag(epi_reader_t *reader, const char *name, bool *flag_p);
void epi_read_pointer(epi_reader_t *reader, const char *name,
                      uint64_t *value_p);
void epi_read_dtype(epi_reader_t *reader, const char *name,
                    epdx_dtype_t *dtype_p);
/** out has size bytes, its closing zero included. */
#define epi_read_text(reader, name, kind, array)                               \
    epi_read_text_to(reader, name, kind, array, sizeof(array))
void epi_read_text_to(epi_reader_t *reader, const char *name,
                      epi_field_text_t kind, char *out, size_t size);
/** A fault of frame index that spans several frames. */
void epi_read_fault(epi_reader_t *reader, size_t index, const char *name,
                    const char *cause);
/** No frame may be left. Gives the reader's status. */
EPDX_MUST_CHECK epdx_status_t epi_read_end(epi_reader_t *reader);

void epi_writer_init(epi_writer_t *writer, const char *what);
void epi_write_word(epi_writer_t *writer, const char *name, const char *word);
void epi_write_number(epi_writer_t *writer, const char *name,
                      epi_field_range_t range, uint64_t value);
void epi_write_port(epi_writer_t *writer, const char *name, uint16_t port);
void epi_write_flag(epi_writer_t *writer, const char *name, bool flag);
void epi_write_pointer(epi_writer_t *writer, const char *name, uint64_t value);
void epi_write_dtype(epi_writer_t *writer, const char *name,
                     epdx_dtype_t dtype);
#define epi_write_text(writer, name, kind, array)                              \
    epi_write_text_of(writer, name, kind, array, sizeof(array))
void epi_write_text_of(epi_writer_t *writer, const char *name,
                       epi_field_text_t kind, const char *text, size_t size);
/** Words for people: made fit to send (epi_utf8_clean()), never a fault. */
void epi_write_reason(epi_writer_t *writer, const char *name,
                      const char reason[EPDX_REASON_MAX]);
void epi_write_fault(epi_writer_t *writer, size_t index, const char *name,
                     const char *cause);
/** Gives the writer's status; *message_p is set on success only. */
EPDX_MUST_CHECK epdx_status_t epi_write_end(const epi_writer_t *writer,
                                            epi_message_t *message_p);

#endif
