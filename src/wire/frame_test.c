/* frame_test.c: appending to and reading from a message, and its bounds. */
#include "wire/wire_check.h"

static void test_add_appends_frames_in_order(void **state)
{
    const check_frame_t expected[] = {
        TEXT("None"),
        BYTES(0x01, 0x00, 0x02),
        TEXT("18446744073709551615"),
        TEXT("0"),
        BYTES(0x00, 0xf0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff),
        BYTES(0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11),
        TEXT(""),
    };
    static const uint8_t bytes[] = {1, 0, 2};
    epi_message_t message;

    (void)state;
    epi_message_clear(&message);
    assert_true(epi_message_add_text(&message, "None"));
    assert_true(epi_message_add(&message, bytes, sizeof(bytes)));
    assert_true(epi_message_add_u64(&message, UINT64_MAX));
    assert_true(epi_message_add_u64(&message, 0));
    assert_true(
        epi_message_add_pointer(&message, UINT64_C(0xfffffffffffff000)));
    assert_true(
        epi_message_add_pointer(&message, UINT64_C(0x1122334455667788)));
    assert_true(epi_message_add(&message, NULL, 0));
    check_frames(&message, expected, COUNT_OF(expected));
}

static void test_clear_empties(void **state)
{
    epi_message_t message;

    (void)state;
    epi_message_clear(&message);
    assert_true(epi_message_add_text(&message, "x"));
    epi_message_clear(&message);
    assert_int_equal(message.count, 0);
    assert_int_equal(message.used, 0);
    assert_false(epi_message_is(&message, 0, "x"));
}

static void test_add_refuses_one_frame_too_many(void **state)
{
    epi_message_t message;
    epi_message_t before;
    size_t i;

    (void)state;
    memset(&message, 0, sizeof(message));
    for (i = 0; i < EPI_FRAME_MAX; i++) {
        assert_true(epi_message_add_text(&message, "x"));
    }
    before = message;
    assert_false(epi_message_add_text(&message, "x"));
    assert_false(epi_message_add(&message, NULL, 0));
    assert_memory_equal(&message, &before, sizeof(message));
}

static void test_add_refuses_one_byte_too_many(void **state)
{
    static const uint8_t bytes[EPI_MESSAGE_MAX + 1];
    epi_message_t message;
    epi_message_t before;

    (void)state;
    memset(&message, 0, sizeof(message));
    before = message;
    assert_false(epi_message_add(&message, bytes, EPI_MESSAGE_MAX + 1));
    assert_false(epi_message_add(&message, bytes, SIZE_MAX));
    assert_memory_equal(&message, &before, sizeof(message));

    assert_true(epi_message_add(&message, bytes, EPI_MESSAGE_MAX - 1));
    before = message;
    assert_false(epi_message_add(&message, bytes, 2));
    assert_memory_equal(&message, &before, sizeof(message));
    assert_true(epi_message_add(&message, bytes, 1));
    assert_false(epi_message_add(&message, bytes, 1));
    assert_true(epi_message_add(&message, NULL, 0));
}

static void test_u64_takes_plain_decimals_only(void **state)
{
    static const check_frame_t bad[] = {
        TEXT(""),
        TEXT("+1"),
        TEXT("-1"),
        TEXT(" 1"),
        TEXT("1 "),
        TEXT("01"),
        TEXT("00"),
        TEXT("0x1"),
        TEXT("1.0"),
        TEXT("1\0"),
        TEXT("1\n"),
        TEXT("18446744073709551616"),
        TEXT("99999999999999999999999"),
    };
    epi_message_t message;
    uint64_t value = 77;
    size_t i;

    (void)state;
    check_fill(&message, bad, COUNT_OF(bad));
    for (i = 0; i < COUNT_OF(bad); i++) {
        assert_false(epi_message_u64(&message, i, UINT64_MAX, &value));
        assert_int_equal(value, 77);
    }

    epi_message_clear(&message);
    assert_true(epi_message_add_text(&message, "18446744073709551615"));
    assert_true(epi_message_add_text(&message, "0"));
    assert_true(epi_message_u64(&message, 0, UINT64_MAX, &value));
    assert_int_equal(value, UINT64_MAX);
    assert_true(epi_message_u64(&message, 1, 0, &value));
    assert_int_equal(value, 0);
}

static void test_u64_holds_its_maximum(void **state)
{
    epi_message_t message;
    uint64_t value = 77;

    (void)state;
    epi_message_clear(&message);
    assert_true(epi_message_add_text(&message, "65536"));
    assert_false(epi_message_u64(&message, 0, 65535, &value));
    assert_int_equal(value, 77);
    assert_true(epi_message_u64(&message, 0, 65536, &value));
    assert_int_equal(value, 65536);
}

static void test_pointer_takes_8_bytes_only(void **state)
{
    const check_frame_t frames[] = {
        BYTES(1, 2, 3, 4, 5, 6, 7),
        BYTES(1, 2, 3, 4, 5, 6, 7, 8, 9),
        TEXT(""),
        BYTES(0x00, 0x00, 0xfe, 0xca, 0xef, 0xbe, 0xad, 0xde),
    };
    epi_message_t message;
    uint64_t value = 77;

    (void)state;
    check_fill(&message, frames, COUNT_OF(frames));
    assert_false(epi_message_pointer(&message, 0, &value));
    assert_false(epi_message_pointer(&message, 1, &value));
    assert_false(epi_message_pointer(&message, 2, &value));
    assert_int_equal(value, 77);
    assert_true(epi_message_pointer(&message, 3, &value));
    assert_int_equal(value, UINT64_C(0xdeadbeefcafe0000));
}

static void test_text_is_bounded_utf8_without_zero_bytes(void **state)
{
    static const check_frame_t frames[] = {
        TEXT("abc"),  TEXT("abcd"),     TEXT(""),
        TEXT("a\0b"), TEXT("\xe2\x82"), TEXT("\xe2\x82\xac"),
    };
    epi_message_t message;
    char out[4] = "old";

    (void)state;
    check_fill(&message, frames, COUNT_OF(frames));
    assert_false(epi_message_text(&message, 1, out, sizeof(out)));
    assert_false(epi_message_text(&message, 3, out, sizeof(out)));
    assert_false(epi_message_text(&message, 4, out, sizeof(out)));
    assert_string_equal(out, "old");
    assert_true(epi_message_text(&message, 0, out, sizeof(out)));
    assert_string_equal(out, "abc");
    assert_true(epi_message_text(&message, 5, out, sizeof(out)));
    assert_string_equal(out, "\xe2\x82\xac");
    assert_true(epi_message_text(&message, 2, out, sizeof(out)));
    assert_string_equal(out, "");
}

static void test_is_compares_whole_frames(void **state)
{
    static const check_frame_t frames[] = {
        TEXT("None"), TEXT("None "), TEXT("Non"), TEXT("none"), TEXT(""),
    };
    epi_message_t message;

    (void)state;
    check_fill(&message, frames, COUNT_OF(frames));
    assert_true(epi_message_is(&message, 0, "None"));
    assert_false(epi_message_is(&message, 1, "None"));
    assert_false(epi_message_is(&message, 2, "None"));
    assert_false(epi_message_is(&message, 3, "None"));
    assert_true(epi_message_is(&message, 4, ""));
    assert_false(epi_message_is(&message, 5, ""));
}

static void test_a_missing_frame_reads_as_nothing(void **state)
{
    epi_message_t message;
    uint64_t value = 77;
    char out[4] = "old";

    (void)state;
    epi_message_clear(&message);
    assert_false(epi_message_u64(&message, 0, UINT64_MAX, &value));
    assert_false(epi_message_pointer(&message, 0, &value));
    assert_false(epi_message_text(&message, 0, out, sizeof(out)));
    assert_false(epi_message_is(&message, 0, ""));
    assert_false(epi_message_u64(&message, SIZE_MAX, UINT64_MAX, &value));
    assert_int_equal(value, 77);
    assert_string_equal(out, "old");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_add_appends_frames_in_order),
        cmocka_unit_test(test_clear_empties),
        cmocka_unit_test(test_add_refuses_one_frame_too_many),
        cmocka_unit_test(test_add_refuses_one_byte_too_many),
        cmocka_unit_test(test_u64_takes_plain_decimals_only),
        cmocka_unit_test(test_u64_holds_its_maximum),
        cmocka_unit_test(test_pointer_takes_8_bytes_only),
        cmocka_unit_test(test_text_is_bounded_utf8_without_zero_bytes),
        cmocka_unit_test(test_is_compares_whole_frames),
        cmocka_unit_test(test_a_missing_frame_reads_as_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
