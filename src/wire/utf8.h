/*
 * utf8.h: whether bytes are text, and what of a text may be sent. Pure. For
 * the files of this part.
 */
#ifndef EPI_WIRE_UTF8_H
#define EPI_WIRE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/** Bytes of the character that opens bytes: 1 ... 4; 0 when none does (overlong
 *  forms, surrogates and values over U+10FFFF are none). */
size_t epi_utf8_length(const char *bytes, size_t length);

/** Whether all length bytes are whole characters; true for none. */
bool epi_utf8_valid(const char *bytes, size_t length);

/** Whether a valid text has a control character (C0, DEL or C1): such a text
 *  could forge log lines or drive a terminal. */
bool epi_utf8_has_control(const char *bytes, size_t length);

/** Copy text, at most size bytes of it and up to its closing zero, so that the
 *  result is valid, closed, at most size - 1 bytes and without control
 *  characters: those become a space, stray bytes '?', and a character that the
 *  end cuts is left out whole. size is at least 1. */
void epi_utf8_clean(const char *text, char *out, size_t size);

#endif
