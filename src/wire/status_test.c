/* status_test.c: status, both directions, and every malformed frame. */
#include "wire/wire_check.h"

#define NO_NUMBER "is not a plain decimal number of 64 bits"

static epi_status_t sample(void)
{
    epi_status_t in = {
        .room = 42,
        .status = EPI_ROOM_FAILED,
        .encode_rank = 1,
        .extended = true,
        .generation = 7,
        .reason = "hidden 4096 \xe2\x89\xa0 2048",
    };

    return in;
}

static void assert_round_trip(const epi_status_t *in, size_t frame_count)
{
    epi_message_t message;
    epi_status_t out;

    assert_int_equal(epi_status_format(in, &message), EPDX_OK);
    assert_int_equal(message.count, frame_count);
    assert_int_equal(epi_status_parse(&message, &out), EPDX_OK);
    assert_int_equal(out.room, in->room);
    assert_int_equal(out.status, in->status);
    assert_int_equal(out.encode_rank, in->encode_rank);
    assert_int_equal(out.extended, in->extended);
    assert_int_equal(out.generation, in->generation);
    assert_string_equal(out.reason, in->reason);
}

static void test_round_trip_of_every_status(void **state)
{
    epi_status_t in = sample();
    unsigned number;

    (void)state;
    for (number = EPI_ROOM_FAILED; number <= EPI_ROOM_SUCCESS; number++) {
        in.status = (epi_room_status_t)number;
        assert_round_trip(&in, 5);
    }
    assert_int_equal(EPI_ROOM_SUCCESS, 5);
}

static void test_round_trip_at_full_bounds(void **state)
{
    epi_status_t in = sample();

    (void)state;
    in.room = UINT64_MAX;
    in.encode_rank = UINT32_MAX;
    in.generation = UINT64_MAX;
    check_fill_text(in.reason, 'r');
    assert_round_trip(&in, 5);
}

static void test_layout_of_3_leading_frames(void **state)
{
    epi_status_t in = sample();
    epi_message_t message;
    epi_status_t out;

    (void)state;
    in.extended = false;
    assert_int_equal(epi_status_format(&in, &message), EPDX_OK);
    assert_int_equal(message.count, 3);
    assert_int_equal(epi_status_parse(&message, &out), EPDX_OK);
    assert_false(out.extended);
    assert_int_equal(out.encode_rank, 1);
    assert_int_equal(out.generation, 0);
    assert_string_equal(out.reason, "");
}

static void test_reason_is_made_fit_to_send(void **state)
{
    epi_status_t in = sample();
    epi_message_t message;
    epi_status_t out;

    (void)state;
    check_fill_text(in.reason, 'r');
    in.reason[3] = '\r';
    in.reason[EPDX_REASON_MAX - 3] = '\xe2';
    in.reason[EPDX_REASON_MAX - 2] = '\x89';
    assert_int_equal(epi_status_format(&in, &message), EPDX_OK);
    assert_int_equal(epi_status_parse(&message, &out), EPDX_OK);
    assert_int_equal(strlen(out.reason), EPDX_REASON_MAX - 3);
    assert_int_equal(out.reason[3], ' ');
    assert_int_equal(out.reason[EPDX_REASON_MAX - 4], 'r');
}

static const check_bad_t bad_frames[] = {
    {0, TEXT("None"), "status frame 0 (room): " NO_NUMBER},
    {0, TEXT(""), "status frame 0 (room): " NO_NUMBER},
    {1, TEXT("6"), "status frame 1 (status): is 6, not 0 to 5"},
    {1, TEXT("-1"), "status frame 1 (status): " NO_NUMBER},
    {1, TEXT("Failed"), "status frame 1 (status): " NO_NUMBER},
    {2, TEXT("4294967296"),
     "status frame 2 (encode rank): is 4294967296, not 0 to 4294967295"},
    {2, TEXT("01"), "status frame 2 (encode rank): " NO_NUMBER},
    {3, TEXT("7 "), "status frame 3 (generation): " NO_NUMBER},
    {3, TEXT(""), "status frame 3 (generation): " NO_NUMBER},
    {4, TEXT("a\0"), "status frame 4 (reason): has a zero byte"},
    {4, TEXT("\xed\xa0\x80"), "status frame 4 (reason): is not UTF-8"},
    {4, TEXT("a\r\nb"), "status frame 4 (reason): has a control character"},
};

static void test_malformed_frames(void **state)
{
    epi_status_t in = sample();
    epi_message_t message;
    size_t i;

    (void)state;
    for (i = 0; i < COUNT_OF(bad_frames); i++) {
        assert_int_equal(epi_status_format(&in, &message), EPDX_OK);
        check_replace(&message, bad_frames[i].index, bad_frames[i].frame);
        check_malformed(epi_status_t, epi_status_parse, &message,
                        bad_frames[i].words);
    }
}

static void test_malformed_long_reason(void **state)
{
    epi_status_t in = sample();
    char text[EPDX_REASON_MAX];
    epi_message_t message;

    (void)state;
    memset(text, 'x', sizeof(text));
    assert_int_equal(epi_status_format(&in, &message), EPDX_OK);
    check_replace(&message, 4, (check_frame_t){text, sizeof(text)});
    check_malformed(epi_status_t, epi_status_parse, &message,
                    "status frame 4 (reason): is longer than 511 bytes");
}

static void test_malformed_frame_counts(void **state)
{
    static const char *const missing[] = {
        "status frame 0 (room): is missing",
        "status frame 1 (status): is missing",
        "status frame 2 (encode rank): is missing",
        NULL, /* the leading frames alone */
        "status frame 4 (reason): is missing",
    };
    epi_status_t in = sample();
    epi_message_t message;
    size_t i;

    (void)state;
    for (i = 0; i < COUNT_OF(missing); i++) {
        assert_int_equal(epi_status_format(&in, &message), EPDX_OK);
        check_cut(&message, i);
        if (missing[i] != NULL) {
            check_malformed(epi_status_t, epi_status_parse, &message,
                            missing[i]);
        }
    }
    assert_int_equal(epi_status_format(&in, &message), EPDX_OK);
    assert_true(epi_message_add_text(&message, "0"));
    check_malformed(epi_status_t, epi_status_parse, &message,
                    "status frame 5 (extra): is one too many");
}

static void test_format_refuses_fields_over_their_bounds(void **state)
{
    epi_status_t in = sample();

    (void)state;
    in.status = (epi_room_status_t)6;
    check_invalid(epi_status_format, &in,
                  "status frame 1 (status): is 6, not 0 to 5");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip_of_every_status),
        cmocka_unit_test(test_round_trip_at_full_bounds),
        cmocka_unit_test(test_layout_of_3_leading_frames),
        cmocka_unit_test(test_reason_is_made_fit_to_send),
        cmocka_unit_test(test_malformed_frames),
        cmocka_unit_test(test_malformed_long_reason),
        cmocka_unit_test(test_malformed_frame_counts),
        cmocka_unit_test(test_format_refuses_fields_over_their_bounds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
