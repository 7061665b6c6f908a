/* field_test.c: the first fault counts, and a message that is full. The kinds
 * of fields are tested by the messages that have them. */
#include "wire/field.h"
#include "wire/wire_check.h"

static void test_reader_keeps_its_first_fault(void **state)
{
    static const check_frame_t frames[] = {TEXT("x"), TEXT("y"), TEXT("5")};
    epi_message_t message;
    epi_reader_t reader;
    uint64_t value = 77;
    uint32_t small = 77;
    uint16_t port = 77;

    (void)state;
    check_fill(&message, frames, COUNT_OF(frames));
    epi_reader_init(&reader, &message, "test");
    assert_true(epi_reader_more(&reader));
    epi_read_u64(&reader, "first", EPI_FIELD_ANY, &value);
    assert_false(epi_reader_more(&reader));
    epi_read_word(&reader, "second", "z");
    epi_read_u64(&reader, "third", EPI_FIELD_ANY, &value);
    epi_read_u32(&reader, "fourth", EPI_FIELD_ANY, &small);
    epi_read_port(&reader, "fifth", &port);
    epi_read_fault(&reader, 9, "sixth", "is late");
    assert_int_equal(epi_read_end(&reader), EPDX_ERR_MALFORMED);
    assert_string_equal(epdx_last_error(),
                        "test frame 0 (first): is not a plain decimal number "
                        "of 64 bits");
    assert_int_equal(value, 77);
    assert_int_equal(small, 77);
    assert_int_equal(port, 77);
}

static void test_number_range_without_an_upper_end(void **state)
{
    static const check_frame_t frames[] = {TEXT("4")};
    epi_message_t message;
    epi_reader_t reader;
    uint64_t value = 77;

    (void)state;
    check_fill(&message, frames, COUNT_OF(frames));
    epi_reader_init(&reader, &message, "test");
    epi_read_u64(&reader, "number", (epi_field_range_t){5, UINT64_MAX}, &value);
    assert_int_equal(epi_read_end(&reader), EPDX_ERR_MALFORMED);
    assert_string_equal(epdx_last_error(),
                        "test frame 0 (number): is 4, not 5 or more");
    assert_int_equal(value, 77);
}

static void test_writer_refuses_one_frame_too_many(void **state)
{
    epi_message_t message;
    epi_writer_t writer;
    size_t i;

    (void)state;
    memset(&message, 0, sizeof(message));
    epi_writer_init(&writer, "test");
    for (i = 0; i < EPI_FRAME_MAX; i++) {
        epi_write_word(&writer, "word", "x");
    }
    assert_int_equal(epi_write_end(&writer, &message), EPDX_OK);
    assert_int_equal(message.count, EPI_FRAME_MAX);

    epi_write_pointer(&writer, "pointer", 0);
    epi_write_dtype(&writer, "late", EPDX_DTYPE_NONE);
    epi_write_fault(&writer, 9, "later", "is late");
    message.count = 77;
    assert_int_equal(epi_write_end(&writer, &message), EPDX_ERR_INVALID);
    assert_string_equal(epdx_last_error(),
                        "test frame 24 (pointer): does not fit a message");
    assert_int_equal(message.count, 77);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reader_keeps_its_first_fault),
        cmocka_unit_test(test_number_range_without_an_upper_end),
        cmocka_unit_test(test_writer_refuses_one_frame_too_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
