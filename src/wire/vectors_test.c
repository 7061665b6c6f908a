/*
 * vectors_test.c: the frames of vectors/wire.json, as an existing
 * implementation writes them, in both directions and byte for byte.
 */
#include <stdio.h>
#include <stdlib.h>

#include <cjson/cJSON.h>

#include "base/text.h"
#include "wire/wire_check.h"

#define VECTORS_MAX 65536 /* bytes of the file */

static cJSON *vectors;

/**
 * The file with every number made a text: cJSON keeps numbers as doubles,
 * which hold rooms and pointers up to 2^53 only. Its texts have no escapes.
 */
static char *read_quoted(void)
{
    char *out = malloc(3 * VECTORS_MAX);
    FILE *file = fopen(EPDX_WIRE_VECTORS, "rb");
    bool in_text = false;
    bool in_number = false;
    size_t used = 0;
    int c;

    assert_non_null(out);
    assert_non_null(file);
    while ((c = fgetc(file)) != EOF) {
        bool digit = c >= '0' && c <= '9';

        assert_true(used < 3 * VECTORS_MAX - 3);
        assert_int_not_equal(c, '\\');
        if (!in_text && digit != in_number) {
            out[used++] = '"';
            in_number = digit;
        }
        if (c == '"') {
            in_text = !in_text;
        }
        out[used++] = (char)c;
    }
    out[used] = '\0';
    fclose(file);
    return out;
}

static int load_vectors(void **state)
{
    char *text = read_quoted();

    (void)state;
    vectors = cJSON_Parse(text);
    free(text);
    return cJSON_IsArray(vectors) ? 0 : -1;
}

static int drop_vectors(void **state)
{
    (void)state;
    cJSON_Delete(vectors);
    return 0;
}

static const char *text_of(const cJSON *fields, const char *name)
{
    const char *text;

    text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(fields, name));
    assert_non_null(text);
    return text;
}

static uint64_t number_of(const cJSON *fields, const char *name, uint64_t max)
{
    uint64_t value = 0;

    assert_true(epi_text_number(text_of(fields, name), max, &value));
    return value;
}

static bool flag_of(const cJSON *fields, const char *name)
{
    const cJSON *flag = cJSON_GetObjectItemCaseSensitive(fields, name);

    assert_true(cJSON_IsBool(flag));
    return cJSON_IsTrue(flag);
}

static uint8_t nibble(char digit)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = strchr(digits, digit);

    assert_non_null(at);
    return (uint8_t)(at - digits);
}

static void read_frames(const cJSON *vector, epi_message_t *message)
{
    const cJSON *frames;
    const cJSON *frame;

    frames = cJSON_GetObjectItemCaseSensitive(vector, "frames_hex");
    assert_true(cJSON_IsArray(frames));
    epi_message_clear(message);
    cJSON_ArrayForEach(frame, frames)
    {
        const char *hex = cJSON_GetStringValue(frame);
        uint8_t bytes[EPDX_ADDRESS_MAX];
        size_t length = 0;

        assert_non_null(hex);
        while (hex[2 * length] != '\0') {
            assert_true(length < sizeof(bytes));
            bytes[length] = (uint8_t)(nibble(hex[2 * length]) << 4 |
                                      nibble(hex[2 * length + 1]));
            length++;
        }
        assert_true(epi_message_add(message, bytes, length));
    }
}

/** The first count frames of message are those of expected. */
static void assert_leading(const epi_message_t *message,
                           const epi_message_t *expected, size_t count)
{
    size_t i;

    assert_int_equal(expected->count, count);
    assert_true(message->count >= count);
    for (i = 0; i < count; i++) {
        assert_int_equal(message->length[i], expected->length[i]);
        assert_memory_equal(message->bytes + message->start[i],
                            expected->bytes + expected->start[i],
                            expected->length[i]);
    }
}

static epi_register_t register_of(const cJSON *fields)
{
    epi_register_t in = {0};

    assert_string_equal(text_of(fields, "room"), EPI_REGISTER_ROOM);
    strcpy(in.endpoint, text_of(fields, "endpoint"));
    in.status_port = (uint16_t)number_of(fields, "dst_port", UINT16_MAX);
    strcpy(in.session, text_of(fields, "mooncake_session_id"));
    in.main_pointer = number_of(fields, "dst_embedding_ptr", UINT64_MAX);
    in.deepstack_pointer = number_of(fields, "dst_deepstack_ptr", UINT64_MAX);
    return in;
}

static void check_register(const cJSON *fields, const epi_message_t *golden)
{
    epi_register_t in = register_of(fields);
    epi_message_t message;
    epi_register_t out;

    assert_int_equal(epi_register_parse(golden, &out), EPDX_OK);
    assert_false(out.extended);
    assert_string_equal(out.endpoint, in.endpoint);
    assert_int_equal(out.status_port, in.status_port);
    assert_string_equal(out.session, in.session);
    assert_int_equal(out.main_pointer, in.main_pointer);
    assert_int_equal(out.deepstack_pointer, in.deepstack_pointer);

    assert_int_equal(epi_register_format(&in, &message), EPDX_OK);
    assert_int_equal(message.count, 6);
    assert_leading(&message, golden, 6);
    in.extended = true;
    assert_int_equal(epi_register_format(&in, &message), EPDX_OK);
    assert_int_equal(message.count, 9);
    assert_leading(&message, golden, 6);
}

static epi_ask_t ask_of(const cJSON *fields)
{
    epi_ask_t in = {0};

    in.room = number_of(fields, "room", UINT64_MAX);
    strcpy(in.endpoint, text_of(fields, "endpoint"));
    in.status_port = (uint16_t)number_of(fields, "dst_port", UINT16_MAX);
    strcpy(in.session, text_of(fields, "mooncake_session_id"));
    in.main_pointer = number_of(fields, "dst_embedding_ptr", UINT64_MAX);
    in.deepstack_pointer = number_of(fields, "dst_deepstack_ptr", UINT64_MAX);
    in.rows = number_of(fields, "n_tokens", UINT64_MAX);
    in.hidden = number_of(fields, "hidden", UINT64_MAX);
    in.dtype = epdx_dtype_parse(text_of(fields, "dtype"));
    in.has_deepstack = flag_of(fields, "has_deepstack");
    in.required =
        (uint32_t)number_of(fields, "required_dst_info_num", UINT32_MAX);
    in.row_start = number_of(fields, "row_start", UINT64_MAX);
    in.span = number_of(fields, "span", UINT64_MAX);
    return in;
}

static void check_ask(const cJSON *fields, const epi_message_t *golden)
{
    epi_ask_t in = ask_of(fields);
    epi_message_t message;
    epi_ask_t out;

    assert_int_equal(epi_ask_parse(golden, &out), EPDX_OK);
    assert_false(out.extended);
    assert_int_equal(out.room, in.room);
    assert_string_equal(out.endpoint, in.endpoint);
    assert_int_equal(out.status_port, in.status_port);
    assert_string_equal(out.session, in.session);
    assert_int_equal(out.main_pointer, in.main_pointer);
    assert_int_equal(out.deepstack_pointer, in.deepstack_pointer);
    assert_int_equal(out.rows, in.rows);
    assert_int_equal(out.hidden, in.hidden);
    assert_int_equal(out.dtype, in.dtype);
    assert_int_equal(out.has_deepstack, in.has_deepstack);
    assert_int_equal(out.required, in.required);
    assert_int_equal(out.row_start, in.row_start);
    assert_int_equal(out.span, in.span);

    assert_int_equal(epi_ask_format(&in, &message), EPDX_OK);
    assert_int_equal(message.count, 13);
    assert_leading(&message, golden, 13);
    in.extended = true;
    assert_int_equal(epi_ask_format(&in, &message), EPDX_OK);
    assert_int_equal(message.count, 16);
    assert_leading(&message, golden, 13);
}

/** Run check over the vectors of one kind; how many there were. */
static size_t each_of(const char *kind,
                      void (*check)(const cJSON *fields,
                                    const epi_message_t *golden))
{
    const cJSON *vector;
    size_t count = 0;

    cJSON_ArrayForEach(vector, vectors)
    {
        epi_message_t golden;

        if (strcmp(text_of(vector, "kind"), kind) == 0) {
            read_frames(vector, &golden);
            check(cJSON_GetObjectItemCaseSensitive(vector, "fields"), &golden);
            count++;
        }
    }
    return count;
}

static void test_vectors_of_ask(void **state)
{
    (void)state;
    assert_int_equal(each_of("ask", check_ask), 9);
}

static void test_vectors_of_register(void **state)
{
    (void)state;
    assert_int_equal(each_of("register", check_register), 2);
    assert_int_equal(cJSON_GetArraySize(vectors), 11);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors_of_ask),
        cmocka_unit_test(test_vectors_of_register),
    };

    return cmocka_run_group_tests(tests, load_vectors, drop_vectors);
}
