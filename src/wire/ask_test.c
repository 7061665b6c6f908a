/* ask_test.c: ask, both directions, and every malformed frame. */
#include "wire/wire_check.h"

#define NO_NUMBER "is not a plain decimal number of 64 bits"

static epi_ask_t sample(void)
{
    epi_ask_t in = {
        .room = 42,
        .endpoint = "10.0.0.7",
        .status_port = 5123,
        .session = "10.0.0.7:41999",
        .main_pointer = 0,
        .deepstack_pointer = UINT64_C(0xfffffffffffff000),
        .rows = 3,
        .hidden = 2048,
        .dtype = EPDX_BFLOAT16,
        .has_deepstack = true,
        .required = 4,
        .row_start = 3,
        .span = 10,
        .extended = true,
        .instance = "0123456789abcdef",
        .generation = 7,
    };

    return in;
}

static void assert_same(const epi_ask_t *a, const epi_ask_t *b)
{
    assert_int_equal(a->room, b->room);
    assert_string_equal(a->endpoint, b->endpoint);
    assert_int_equal(a->status_port, b->status_port);
    assert_string_equal(a->session, b->session);
    assert_int_equal(a->main_pointer, b->main_pointer);
    assert_int_equal(a->deepstack_pointer, b->deepstack_pointer);
    assert_int_equal(a->rows, b->rows);
    assert_int_equal(a->hidden, b->hidden);
    assert_int_equal(a->dtype, b->dtype);
    assert_int_equal(a->has_deepstack, b->has_deepstack);
    assert_int_equal(a->required, b->required);
    assert_int_equal(a->row_start, b->row_start);
    assert_int_equal(a->span, b->span);
    assert_int_equal(a->extended, b->extended);
    assert_string_equal(a->instance, b->instance);
    assert_int_equal(a->generation, b->generation);
}

static void assert_round_trip(const epi_ask_t *in, size_t frame_count)
{
    epi_message_t message;
    epi_ask_t out;

    assert_int_equal(epi_ask_format(in, &message), EPDX_OK);
    assert_int_equal(message.count, frame_count);
    assert_int_equal(epi_ask_parse(&message, &out), EPDX_OK);
    assert_same(&out, in);
}

static void test_round_trip(void **state)
{
    epi_ask_t in = sample();

    (void)state;
    assert_round_trip(&in, 16);
    in.has_deepstack = false;
    in.dtype = EPDX_FLOAT16;
    in.instance[0] = '\0';
    assert_round_trip(&in, 16);
    in.dtype = EPDX_FLOAT32;
    assert_round_trip(&in, 16);
}

static void test_round_trip_at_full_bounds(void **state)
{
    epi_ask_t in = sample();

    (void)state;
    in.room = UINT64_MAX;
    in.status_port = 65535;
    in.main_pointer = UINT64_MAX;
    in.deepstack_pointer = UINT64_C(0xdeadbeefcafe0000);
    in.rows = UINT64_MAX;
    in.hidden = UINT64_MAX;
    in.required = UINT32_MAX;
    in.row_start = 0;
    in.span = UINT64_MAX;
    in.generation = UINT64_MAX;
    check_fill_text(in.endpoint, 'h');
    check_fill_text(in.session, 's');
    memcpy(in.session + EPDX_ADDRESS_MAX - 2, ":9", 2);
    check_fill_text(in.instance, 'f');
    assert_round_trip(&in, 16);

    in.row_start = UINT64_MAX - 5;
    in.rows = 5;
    assert_round_trip(&in, 16);
}

static void test_round_trip_of_a_share_without_rows(void **state)
{
    epi_ask_t in = sample();

    (void)state;
    in.rows = 0;
    in.row_start = 10;
    assert_round_trip(&in, 16);
    in.row_start = 0;
    in.span = 0;
    assert_round_trip(&in, 16);
}

static void test_layout_of_13_leading_frames(void **state)
{
    epi_ask_t in = sample();
    epi_message_t message;
    epi_ask_t out;

    (void)state;
    in.extended = false;
    in.instance[0] = '\0';
    in.generation = 0;
    assert_round_trip(&in, 13);

    /* epdx's own message, cut after the leading frames, is the same. */
    in = sample();
    assert_int_equal(epi_ask_format(&in, &message), EPDX_OK);
    check_cut(&message, 13);
    assert_int_equal(epi_ask_parse(&message, &out), EPDX_OK);
    assert_false(out.extended);
    assert_int_equal(out.span, 10);
    assert_string_equal(out.instance, "");
    assert_int_equal(out.generation, 0);
}

static void test_not_extended_writes_nothing_of_its_own(void **state)
{
    epi_ask_t in = sample();
    epi_message_t message;

    (void)state;
    in.extended = false;
    assert_int_equal(epi_ask_format(&in, &message), EPDX_OK);
    assert_int_equal(message.count, 13);
}

static const check_bad_t bad_frames[] = {
    {0, TEXT("None"), "ask frame 0 (room): " NO_NUMBER},
    {0, TEXT("-1"), "ask frame 0 (room): " NO_NUMBER},
    {0, TEXT("042"), "ask frame 0 (room): " NO_NUMBER},
    {0, TEXT("18446744073709551616"), "ask frame 0 (room): " NO_NUMBER},
    {1, TEXT(""), "ask frame 1 (endpoint): is empty"},
    {1, TEXT("h\x1b[0m"), "ask frame 1 (endpoint): is not printable ASCII"},
    {1, TEXT("h\0"), "ask frame 1 (endpoint): has a zero byte"},
    {1, TEXT("[::1]"),
     "ask frame 1 (endpoint): has a character that no host has"},
    {2, TEXT("0"), "ask frame 2 (status port): is 0, not 1 to 65535"},
    {2, TEXT("65536"), "ask frame 2 (status port): is 65536, not 1 to 65535"},
    {2, TEXT("5e3"), "ask frame 2 (status port): " NO_NUMBER},
    {3, TEXT("10.0.0.7"), "ask frame 3 (session): is not host:port"},
    {3, TEXT("10.0.0.7:x"), "ask frame 3 (session): is not host:port"},
    {3, TEXT("10.0.0.7:01"), "ask frame 3 (session): is not host:port"},
    {3, TEXT("a\0b:1"), "ask frame 3 (session): has a zero byte"},
    {4, TEXT("4096"), "ask frame 4 (main pointer): has 4 bytes, not 8"},
    {5, BYTES(1, 2, 3, 4, 5, 6, 7, 8, 9),
     "ask frame 5 (deepstack pointer): has 9 bytes, not 8"},
    {6, TEXT(" 3"), "ask frame 6 (rows): " NO_NUMBER},
    {6, TEXT("-3"), "ask frame 6 (rows): " NO_NUMBER},
    {7, TEXT(""), "ask frame 7 (hidden): " NO_NUMBER},
    {7, TEXT("2048.0"), "ask frame 7 (hidden): " NO_NUMBER},
    {8, TEXT("bfloat16"), "ask frame 8 (dtype): is no known dtype"},
    {8, TEXT("torch.int8"), "ask frame 8 (dtype): is no known dtype"},
    {8, TEXT("torch.bfloat16\0"), "ask frame 8 (dtype): is no known dtype"},
    {8, TEXT("none"), "ask frame 8 (dtype): is no known dtype"},
    {8, TEXT(""), "ask frame 8 (dtype): is no known dtype"},
    {8, TEXT("torch.bfloat16torch.bfloat16torch.bfloat16"),
     "ask frame 8 (dtype): is no known dtype"},
    {9, TEXT("2"), "ask frame 9 (has_deepstack): is neither 0 nor 1"},
    {9, TEXT("True"), "ask frame 9 (has_deepstack): is neither 0 nor 1"},
    {9, TEXT("01"), "ask frame 9 (has_deepstack): is neither 0 nor 1"},
    {9, TEXT(""), "ask frame 9 (has_deepstack): is neither 0 nor 1"},
    {10, TEXT("0"), "ask frame 10 (required): is 0, not 1 to 4294967295"},
    {10, TEXT("4294967296"),
     "ask frame 10 (required): is 4294967296, not 1 to 4294967295"},
    {10, TEXT("four"), "ask frame 10 (required): " NO_NUMBER},
    {11, TEXT("8"),
     "ask frame 11 (row_start): 3 rows from 8 do not lie in "
     "the span of 10"},
    {11, TEXT("18446744073709551615"),
     "ask frame 11 (row_start): 3 rows from 18446744073709551615 do not lie "
     "in the span of 10"},
    {11, TEXT("3x"), "ask frame 11 (row_start): " NO_NUMBER},
    {12, TEXT("5"),
     "ask frame 11 (row_start): 3 rows from 3 do not lie in "
     "the span of 5"},
    {12, TEXT("10 "), "ask frame 12 (span): " NO_NUMBER},
    {13, TEXT("epdx"), "ask frame 13 (version): is not \"epdx1\""},
    {13, TEXT("epdx1\0"), "ask frame 13 (version): is not \"epdx1\""},
    {14, TEXT("a\tb"), "ask frame 14 (instance): is not printable ASCII"},
    {14, TEXT("0123456789abcdef0123456789abcdef0"),
     "ask frame 14 (instance): is longer than 32 bytes"},
    {14, TEXT("a\0"), "ask frame 14 (instance): has a zero byte"},
    {15, TEXT(""), "ask frame 15 (generation): " NO_NUMBER},
    {15, TEXT("18446744073709551616"), "ask frame 15 (generation): " NO_NUMBER},
};

static void test_malformed_frames(void **state)
{
    epi_ask_t in = sample();
    epi_message_t message;
    size_t i;

    (void)state;
    for (i = 0; i < COUNT_OF(bad_frames); i++) {
        assert_int_equal(epi_ask_format(&in, &message), EPDX_OK);
        check_replace(&message, bad_frames[i].index, bad_frames[i].frame);
        check_malformed(epi_ask_t, epi_ask_parse, &message,
                        bad_frames[i].words);
    }
}

static void test_malformed_range_that_overflows(void **state)
{
    epi_ask_t in = sample();
    epi_message_t message;

    (void)state;
    /* 2^64 - 1 + 2 wraps to 1, which would lie in the span. */
    assert_int_equal(epi_ask_format(&in, &message), EPDX_OK);
    check_replace(&message, 6, (check_frame_t)TEXT("2"));
    check_replace(&message, 11, (check_frame_t)TEXT("18446744073709551615"));
    check_malformed(epi_ask_t, epi_ask_parse, &message,
                    "ask frame 11 (row_start): 2 rows from "
                    "18446744073709551615 do not lie in the span of 10");
}

static void test_malformed_long_texts(void **state)
{
    epi_ask_t in = sample();
    char text[EPDX_ADDRESS_MAX + 1];
    check_frame_t frame = {text, sizeof(text)};
    epi_message_t message;

    (void)state;
    memset(text, 'x', sizeof(text));
    assert_int_equal(epi_ask_format(&in, &message), EPDX_OK);
    check_replace(&message, 1, frame);
    check_malformed(epi_ask_t, epi_ask_parse, &message,
                    "ask frame 1 (endpoint): is longer than 255 bytes");
    assert_int_equal(epi_ask_format(&in, &message), EPDX_OK);
    check_replace(&message, 3, frame);
    check_malformed(epi_ask_t, epi_ask_parse, &message,
                    "ask frame 3 (session): is longer than 255 bytes");
}

static void test_malformed_frame_counts(void **state)
{
    static const char *const missing[] = {
        "ask frame 0 (room): is missing",
        "ask frame 1 (endpoint): is missing",
        "ask frame 2 (status port): is missing",
        "ask frame 3 (session): is missing",
        "ask frame 4 (main pointer): is missing",
        "ask frame 5 (deepstack pointer): is missing",
        "ask frame 6 (rows): is missing",
        "ask frame 7 (hidden): is missing",
        "ask frame 8 (dtype): is missing",
        "ask frame 9 (has_deepstack): is missing",
        "ask frame 10 (required): is missing",
        "ask frame 11 (row_start): is missing",
        "ask frame 12 (span): is missing",
        NULL, /* the leading frames alone */
        "ask frame 14 (instance): is missing",
        "ask frame 15 (generation): is missing",
    };
    epi_ask_t in = sample();
    epi_message_t message;
    size_t i;

    (void)state;
    for (i = 0; i < COUNT_OF(missing); i++) {
        assert_int_equal(epi_ask_format(&in, &message), EPDX_OK);
        check_cut(&message, i);
        if (missing[i] != NULL) {
            check_malformed(epi_ask_t, epi_ask_parse, &message, missing[i]);
        }
    }
    assert_int_equal(epi_ask_format(&in, &message), EPDX_OK);
    assert_true(epi_message_add_text(&message, "0"));
    check_malformed(epi_ask_t, epi_ask_parse, &message,
                    "ask frame 16 (extra): is one too many");
}

static void test_format_refuses_fields_over_their_bounds(void **state)
{
    epi_ask_t in = sample();

    (void)state;
    strcpy(in.endpoint, "a b");
    check_invalid(epi_ask_format, &in,
                  "ask frame 1 (endpoint): is not printable ASCII");
    in = sample();
    in.status_port = 0;
    check_invalid(epi_ask_format, &in,
                  "ask frame 2 (status port): is 0, not 1 to 65535");
    in = sample();
    strcpy(in.session, "10.0.0.7");
    check_invalid(epi_ask_format, &in,
                  "ask frame 3 (session): is not host:port");
    in = sample();
    in.dtype = EPDX_DTYPE_NONE;
    check_invalid(epi_ask_format, &in,
                  "ask frame 8 (dtype): is no known dtype");
    in = sample();
    in.required = 0;
    check_invalid(epi_ask_format, &in,
                  "ask frame 10 (required): is 0, not 1 to 4294967295");
    in = sample();
    in.row_start = 8;
    check_invalid(epi_ask_format, &in,
                  "ask frame 11 (row_start): 3 rows from 8 do not lie in the "
                  "span of 10");
    in = sample();
    memset(in.instance, 'a', sizeof(in.instance));
    check_invalid(epi_ask_format, &in,
                  "ask frame 14 (instance): is longer than 32 bytes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_round_trip_at_full_bounds),
        cmocka_unit_test(test_round_trip_of_a_share_without_rows),
        cmocka_unit_test(test_layout_of_13_leading_frames),
        cmocka_unit_test(test_not_extended_writes_nothing_of_its_own),
        cmocka_unit_test(test_malformed_frames),
        cmocka_unit_test(test_malformed_range_that_overflows),
        cmocka_unit_test(test_malformed_long_texts),
        cmocka_unit_test(test_malformed_frame_counts),
        cmocka_unit_test(test_format_refuses_fields_over_their_bounds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
