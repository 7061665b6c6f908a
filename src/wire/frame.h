/*
 * frame.h: a multipart control message in memory: append, read, bounds. Pure.
 * A message is a plain value of fixed size: nothing to allocate or free.
 */
#ifndef EPI_WIRE_FRAME_H
#define EPI_WIRE_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "epdx/status.h"

#define EPI_FRAME_MAX   24   /* frames of a message */
#define EPI_MESSAGE_MAX 2048 /* bytes of all its frames */

typedef struct epi_message {
    uint16_t count;
    uint16_t used;
    uint16_t start[EPI_FRAME_MAX];
    uint16_t length[EPI_FRAME_MAX];
    uint8_t bytes[EPI_MESSAGE_MAX];
} epi_message_t;

void epi_message_clear(epi_message_t *message);

/** Append a frame; false when it does not fit (the message is unchanged). */
bool epi_message_add(epi_message_t *message, const void *bytes, size_t length);
bool epi_message_add_text(epi_message_t *message, const char *text);
bool epi_message_add_u64(epi_message_t *message, uint64_t value); /* decimal */
bool epi_message_add_pointer(epi_message_t *message, uint64_t value); /* LE */

/** Read frame index; false when it is not there or not of that form. Outputs
 *  are set on success only. */
bool epi_message_u64(const epi_message_t *message, size_t index, uint64_t max,
                     uint64_t *value_p);
bool epi_message_pointer(const epi_message_t *message, size_t index,
                         uint64_t *value_p);
/** A text of at most size - 1 bytes without a zero byte; any UTF-8. */
bool epi_message_text(const epi_message_t *message, size_t index, char *out,
                      size_t size);
/** Whether frame index is exactly this text. */
bool epi_message_is(const epi_message_t *message, size_t index,
                    const char *text);

#endif
