/* cancel_test.c: cancel, both directions, and every malformed frame. */
#include "wire/wire_check.h"

#define NO_NUMBER "is not a plain decimal number of 64 bits"

static epi_cancel_t sample(void)
{
    epi_cancel_t in = {
        .room = 42,
        .session = "10.0.0.7:41999",
        .generation = 7,
        .reason = "cancelled by the caller",
    };

    return in;
}

static void assert_round_trip(const epi_cancel_t *in)
{
    epi_message_t message;
    epi_cancel_t out;

    assert_int_equal(epi_cancel_format(in, &message), EPDX_OK);
    assert_int_equal(message.count, 5);
    assert_int_equal(epi_cancel_parse(&message, &out), EPDX_OK);
    assert_int_equal(out.room, in->room);
    assert_string_equal(out.session, in->session);
    assert_int_equal(out.generation, in->generation);
    assert_string_equal(out.reason, in->reason);
}

static void test_round_trip(void **state)
{
    epi_cancel_t in = sample();

    (void)state;
    assert_round_trip(&in);
    in.reason[0] = '\0';
    in.room = 0;
    in.generation = 0;
    assert_round_trip(&in);
}

static void test_round_trip_at_full_bounds(void **state)
{
    epi_cancel_t in = sample();

    (void)state;
    in.room = UINT64_MAX;
    in.generation = UINT64_MAX;
    check_fill_text(in.session, 's');
    memcpy(in.session + EPDX_ADDRESS_MAX - 2, ":9", 2);
    check_fill_text(in.reason, 'r');
    assert_round_trip(&in);
}

static void assert_reason_sent_as(const epi_cancel_t *in, const char *expected)
{
    epi_message_t message;
    epi_cancel_t out;

    assert_int_equal(epi_cancel_format(in, &message), EPDX_OK);
    assert_int_equal(epi_cancel_parse(&message, &out), EPDX_OK);
    assert_string_equal(out.reason, expected);
}

static void test_reason_is_cut_at_a_character(void **state)
{
    epi_cancel_t in = sample();
    char expected[EPDX_REASON_MAX];

    (void)state;
    /* 510 letters and the first of three bytes, as snprintf() leaves it. */
    check_fill_text(in.reason, 'r');
    in.reason[EPDX_REASON_MAX - 2] = '\xe2';
    memset(expected, 'r', sizeof(expected));
    expected[EPDX_REASON_MAX - 2] = '\0';
    assert_reason_sent_as(&in, expected);

    /* No closing zero at all, and the last character ends with the array. */
    memset(in.reason, 'r', sizeof(in.reason));
    memcpy(in.reason + EPDX_REASON_MAX - 3, "\xe2\x89\xa0", 3);
    expected[EPDX_REASON_MAX - 3] = '\0';
    assert_reason_sent_as(&in, expected);
}

static void test_reason_is_made_fit_to_send(void **state)
{
    epi_cancel_t in = sample();

    (void)state;
    strcpy(in.reason, "line\nforged \xff line");
    assert_reason_sent_as(&in, "line forged ? line");
}

static const check_bad_t bad_frames[] = {
    {0, TEXT("cancel"), "cancel frame 0 (kind): is not \"Cancel\""},
    {0, TEXT("42"), "cancel frame 0 (kind): is not \"Cancel\""},
    {1, TEXT("None"), "cancel frame 1 (room): " NO_NUMBER},
    {1, TEXT("+42"), "cancel frame 1 (room): " NO_NUMBER},
    {2, TEXT(""), "cancel frame 2 (session): is not host:port"},
    {2, TEXT("10.0.0.7"), "cancel frame 2 (session): is not host:port"},
    {2, TEXT("a\0:1"), "cancel frame 2 (session): has a zero byte"},
    {3, TEXT("-7"), "cancel frame 3 (generation): " NO_NUMBER},
    {3, TEXT(""), "cancel frame 3 (generation): " NO_NUMBER},
    {4, TEXT("a\0b"), "cancel frame 4 (reason): has a zero byte"},
    {4, TEXT("cut \xe2\x89"), "cancel frame 4 (reason): is not UTF-8"},
    {4, TEXT("a\nb"), "cancel frame 4 (reason): has a control character"},
    {4, TEXT("a\xc2\x9b"), "cancel frame 4 (reason): has a control character"},
};

static void test_malformed_frames(void **state)
{
    epi_cancel_t in = sample();
    epi_message_t message;
    size_t i;

    (void)state;
    for (i = 0; i < COUNT_OF(bad_frames); i++) {
        assert_int_equal(epi_cancel_format(&in, &message), EPDX_OK);
        check_replace(&message, bad_frames[i].index, bad_frames[i].frame);
        check_malformed(epi_cancel_t, epi_cancel_parse, &message,
                        bad_frames[i].words);
    }
}

static void test_malformed_long_texts(void **state)
{
    epi_cancel_t in = sample();
    char text[EPDX_REASON_MAX];
    epi_message_t message;

    (void)state;
    memset(text, 'x', sizeof(text));
    assert_int_equal(epi_cancel_format(&in, &message), EPDX_OK);
    check_replace(&message, 2, (check_frame_t){text, EPDX_ADDRESS_MAX + 1});
    check_malformed(epi_cancel_t, epi_cancel_parse, &message,
                    "cancel frame 2 (session): is longer than 255 bytes");
    assert_int_equal(epi_cancel_format(&in, &message), EPDX_OK);
    check_replace(&message, 4, (check_frame_t){text, EPDX_REASON_MAX});
    check_malformed(epi_cancel_t, epi_cancel_parse, &message,
                    "cancel frame 4 (reason): is longer than 511 bytes");
}

static void test_malformed_frame_counts(void **state)
{
    static const char *const missing[] = {
        "cancel frame 0 (kind): is missing",
        "cancel frame 1 (room): is missing",
        "cancel frame 2 (session): is missing",
        "cancel frame 3 (generation): is missing",
        "cancel frame 4 (reason): is missing",
    };
    epi_cancel_t in = sample();
    epi_message_t message;
    size_t i;

    (void)state;
    for (i = 0; i < COUNT_OF(missing); i++) {
        assert_int_equal(epi_cancel_format(&in, &message), EPDX_OK);
        check_cut(&message, i);
        check_malformed(epi_cancel_t, epi_cancel_parse, &message, missing[i]);
    }
    assert_int_equal(epi_cancel_format(&in, &message), EPDX_OK);
    assert_true(epi_message_add_text(&message, "0"));
    check_malformed(epi_cancel_t, epi_cancel_parse, &message,
                    "cancel frame 5 (extra): is one too many");
}

static void test_format_refuses_fields_over_their_bounds(void **state)
{
    epi_cancel_t in = sample();

    (void)state;
    strcpy(in.session, "s");
    check_invalid(epi_cancel_format, &in,
                  "cancel frame 2 (session): is not host:port");
    memset(in.session, 's', sizeof(in.session));
    check_invalid(epi_cancel_format, &in,
                  "cancel frame 2 (session): is longer than 255 bytes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_round_trip_at_full_bounds),
        cmocka_unit_test(test_reason_is_cut_at_a_character),
        cmocka_unit_test(test_reason_is_made_fit_to_send),
        cmocka_unit_test(test_malformed_frames),
        cmocka_unit_test(test_malformed_long_texts),
        cmocka_unit_test(test_malformed_frame_counts),
        cmocka_unit_test(test_format_refuses_fields_over_their_bounds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
