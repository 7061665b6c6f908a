/*
 * wire_check.h: what the tests of this part share: messages from bytes, and
 * the two ways in which a message can be refused. Tests only.
 */
#ifndef EPI_WIRE_WIRE_CHECK_H
#define EPI_WIRE_WIRE_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "wire/control.h"

/** One frame's bytes. */
typedef struct check_frame {
    const void *bytes;
    size_t length;
} check_frame_t;

/** A frame of listed bytes, and one of a text without its closing zero. */
#define BYTES(...)                                                             \
    {                                                                          \
        (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}) \
    }
#define TEXT(literal)                                                          \
    {                                                                          \
        literal, sizeof(literal) - 1                                           \
    }
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static inline void check_fill(epi_message_t *message,
                              const check_frame_t *frames, size_t count)
{
    size_t i;

    epi_message_clear(message);
    for (i = 0; i < count; i++) {
        assert_true(
            epi_message_add(message, frames[i].bytes, frames[i].length));
    }
}

/** The message has exactly these frames. */
static inline void check_frames(const epi_message_t *message,
                                const check_frame_t *frames, size_t count)
{
    size_t i;

    assert_int_equal(message->count, count);
    for (i = 0; i < count; i++) {
        assert_int_equal(message->length[i], frames[i].length);
        assert_memory_equal(message->bytes + message->start[i], frames[i].bytes,
                            frames[i].length);
    }
}

/** The message again with other bytes in one frame. */
static inline void check_replace(epi_message_t *message, size_t index,
                                 check_frame_t frame)
{
    epi_message_t old = *message;
    size_t i;

    assert_true(index < old.count);
    epi_message_clear(message);
    for (i = 0; i < old.count; i++) {
        if (i == index) {
            assert_true(epi_message_add(message, frame.bytes, frame.length));
        } else {
            assert_true(epi_message_add(message, old.bytes + old.start[i],
                                        old.length[i]));
        }
    }
}

/** Leave the first count frames. */
static inline void check_cut(epi_message_t *message, size_t count)
{
    assert_true(count <= message->count);
    message->count = (uint16_t)count;
}

/** One frame that no message may have there, and what is said of it. */
typedef struct check_bad {
    size_t index;
    check_frame_t frame;
    const char *words; /* epdx_last_error(), whole */
} check_bad_t;

/** parse refuses message with these words and leaves its output alone. */
#define check_malformed(type, parse, message, words)                           \
    do {                                                                       \
        type check_out;                                                        \
        type check_before;                                                     \
                                                                               \
        memset(&check_out, 0xa5, sizeof(check_out));                           \
        memset(&check_before, 0xa5, sizeof(check_before));                     \
        assert_int_equal(parse(message, &check_out), EPDX_ERR_MALFORMED);      \
        assert_string_equal(epdx_last_error(), words);                         \
        assert_memory_equal(&check_out, &check_before, sizeof(check_out));     \
    } while (0)

/** format refuses in with these words and leaves its output alone. */
#define check_invalid(format, in, words)                                       \
    do {                                                                       \
        epi_message_t check_out;                                               \
        epi_message_t check_before;                                            \
                                                                               \
        memset(&check_out, 0xa5, sizeof(check_out));                           \
        memset(&check_before, 0xa5, sizeof(check_before));                     \
        assert_int_equal(format(in, &check_out), EPDX_ERR_INVALID);            \
        assert_string_equal(epdx_last_error(), words);                         \
        assert_memory_equal(&check_out, &check_before, sizeof(check_out));     \
    } while (0)

/** Fill an array with a text that takes all of it. */
#define check_fill_text(array, letter)                                         \
    do {                                                                       \
        memset(array, letter, sizeof(array) - 1);                              \
        (array)[sizeof(array) - 1] = '\0';                                     \
    } while (0)

#endif
