/* register_test.c: register, both directions, and every malformed frame. */
#include "wire/wire_check.h"

static epi_register_t sample(void)
{
    epi_register_t in = {
        .endpoint = "10.0.0.7",
        .status_port = 5123,
        .session = "10.0.0.7:41999",
        .main_pointer = UINT64_C(0xfffffffffffff000),
        .deepstack_pointer = UINT64_MAX,
        .extended = true,
        .instance = "0123456789abcdef",
        .compat = "dtype=torch.bfloat16 hidden=2048 levels=3 tp=4",
    };

    return in;
}

static void assert_same(const epi_register_t *a, const epi_register_t *b)
{
    assert_string_equal(a->endpoint, b->endpoint);
    assert_int_equal(a->status_port, b->status_port);
    assert_string_equal(a->session, b->session);
    assert_int_equal(a->main_pointer, b->main_pointer);
    assert_int_equal(a->deepstack_pointer, b->deepstack_pointer);
    assert_int_equal(a->extended, b->extended);
    assert_string_equal(a->instance, b->instance);
    assert_string_equal(a->compat, b->compat);
}

static void assert_round_trip(const epi_register_t *in, size_t frame_count)
{
    epi_message_t message;
    epi_register_t out;

    assert_int_equal(epi_register_format(in, &message), EPDX_OK);
    assert_int_equal(message.count, frame_count);
    assert_int_equal(epi_register_parse(&message, &out), EPDX_OK);
    assert_same(&out, in);
}

static void test_round_trip(void **state)
{
    epi_register_t in = sample();

    (void)state;
    assert_round_trip(&in, 9);
    in.main_pointer = 0;
    in.deepstack_pointer = UINT64_C(0xdeadbeefcafe0000);
    in.status_port = 1;
    strcpy(in.endpoint, "::1");
    strcpy(in.session, "[::1]:9");
    assert_round_trip(&in, 9);
}

static void test_round_trip_at_full_bounds(void **state)
{
    epi_register_t in = sample();

    (void)state;
    in.status_port = 65535;
    in.main_pointer = UINT64_MAX;
    check_fill_text(in.endpoint, 'h');
    check_fill_text(in.session, 's');
    memcpy(in.session + EPDX_ADDRESS_MAX - 2, ":9", 2);
    check_fill_text(in.instance, 'f');
    check_fill_text(in.compat, 'c');
    assert_round_trip(&in, 9);
}

static void test_layout_of_6_leading_frames(void **state)
{
    epi_register_t in = sample();
    epi_register_t out;
    epi_message_t message;

    (void)state;
    in.extended = false;
    in.instance[0] = '\0';
    in.compat[0] = '\0';
    assert_round_trip(&in, 6);

    /* epdx's own message, cut after the leading frames, is the same. */
    in = sample();
    assert_int_equal(epi_register_format(&in, &message), EPDX_OK);
    check_cut(&message, 6);
    assert_int_equal(epi_register_parse(&message, &out), EPDX_OK);
    assert_false(out.extended);
    assert_string_equal(out.session, in.session);
    assert_string_equal(out.instance, "");
    assert_string_equal(out.compat, "");
}

static void test_not_extended_writes_nothing_of_its_own(void **state)
{
    epi_register_t in = sample();
    epi_message_t message;

    (void)state;
    in.extended = false;
    assert_int_equal(epi_register_format(&in, &message), EPDX_OK);
    assert_int_equal(message.count, 6);
}

static const check_bad_t bad_frames[] = {
    {0, TEXT("none"), "register frame 0 (room): is not \"None\""},
    {0, TEXT("7"), "register frame 0 (room): is not \"None\""},
    {1, TEXT(""), "register frame 1 (endpoint): is empty"},
    {1, TEXT("10.0.0.7\n"),
     "register frame 1 (endpoint): is not printable ASCII"},
    {1, TEXT("10.0.0.7 "),
     "register frame 1 (endpoint): is not printable ASCII"},
    {1, TEXT("h\xc3\xb6st"),
     "register frame 1 (endpoint): is not printable ASCII"},
    {1, TEXT("\xff"), "register frame 1 (endpoint): is not UTF-8"},
    {1, TEXT("10.0\0.7"), "register frame 1 (endpoint): has a zero byte"},
    {1, TEXT("[::1]"),
     "register frame 1 (endpoint): has a character that no host has"},
    {1, TEXT("10.0.0.9;10.0.0.7"),
     "register frame 1 (endpoint): has a character that no host has"},
    {2, TEXT("0"), "register frame 2 (status port): is 0, not 1 to 65535"},
    {2, TEXT("65536"),
     "register frame 2 (status port): is 65536, not 1 to 65535"},
    {2, TEXT(""),
     "register frame 2 (status port): is not a plain decimal "
     "number of 64 bits"},
    {2, TEXT("+5123"),
     "register frame 2 (status port): is not a plain "
     "decimal number of 64 bits"},
    {2, TEXT("05123"),
     "register frame 2 (status port): is not a plain "
     "decimal number of 64 bits"},
    {2, TEXT("5123 "),
     "register frame 2 (status port): is not a plain "
     "decimal number of 64 bits"},
    {3, TEXT(""), "register frame 3 (session): is not host:port"},
    {3, TEXT("s"), "register frame 3 (session): is not host:port"},
    {3, TEXT("10.0.0.7:"), "register frame 3 (session): is not host:port"},
    {3, TEXT(":41999"), "register frame 3 (session): is not host:port"},
    {3, TEXT("10.0.0.7:65536"), "register frame 3 (session): is not host:port"},
    {3, TEXT("10.0.0.7\t:41999"),
     "register frame 3 (session): is not host:port"},
    {3, TEXT("a\0:1"), "register frame 3 (session): has a zero byte"},
    {3, TEXT("\xc3:1"), "register frame 3 (session): is not UTF-8"},
    {4, BYTES(1, 2, 3, 4, 5, 6, 7),
     "register frame 4 (main pointer): has 7 bytes, not 8"},
    {4, TEXT("0"), "register frame 4 (main pointer): has 1 bytes, not 8"},
    {5, BYTES(1, 2, 3, 4, 5, 6, 7, 8, 9),
     "register frame 5 (deepstack pointer): has 9 bytes, not 8"},
    {5, TEXT(""), "register frame 5 (deepstack pointer): has 0 bytes, not 8"},
    {6, TEXT("epdx2"), "register frame 6 (version): is not \"epdx1\""},
    {6, TEXT(""), "register frame 6 (version): is not \"epdx1\""},
    {7, TEXT("a b"), "register frame 7 (instance): is not printable ASCII"},
    {7, TEXT("0123456789abcdef0123456789abcdef0"),
     "register frame 7 (instance): is longer than 32 bytes"},
    {7, TEXT("a\0b"), "register frame 7 (instance): has a zero byte"},
    {8, TEXT("a\nb"), "register frame 8 (compat): has a control character"},
    {8, TEXT("a\xff"), "register frame 8 (compat): is not UTF-8"},
    {8, TEXT("a\0b"), "register frame 8 (compat): has a zero byte"},
};

static void test_malformed_frames(void **state)
{
    epi_register_t in = sample();
    epi_message_t message;
    size_t i;

    (void)state;
    for (i = 0; i < COUNT_OF(bad_frames); i++) {
        assert_int_equal(epi_register_format(&in, &message), EPDX_OK);
        check_replace(&message, bad_frames[i].index, bad_frames[i].frame);
        check_malformed(epi_register_t, epi_register_parse, &message,
                        bad_frames[i].words);
    }
}

static void test_malformed_long_texts(void **state)
{
    static const struct {
        size_t index, length;
        const char *words;
    } cases[] = {
        {1, EPDX_ADDRESS_MAX + 1,
         "register frame 1 (endpoint): is longer than 255 bytes"},
        {3, EPDX_ADDRESS_MAX + 1,
         "register frame 3 (session): is longer than 255 bytes"},
        {8, EPI_COMPAT_MAX + 1,
         "register frame 8 (compat): is longer than 127 bytes"},
    };
    epi_register_t in = sample();
    char text[EPDX_REASON_MAX];
    epi_message_t message;
    size_t i;

    (void)state;
    memset(text, 'x', sizeof(text));
    for (i = 0; i < COUNT_OF(cases); i++) {
        check_frame_t frame = {text, cases[i].length};

        assert_int_equal(epi_register_format(&in, &message), EPDX_OK);
        check_replace(&message, cases[i].index, frame);
        check_malformed(epi_register_t, epi_register_parse, &message,
                        cases[i].words);
    }
}

static void test_malformed_frame_counts(void **state)
{
    static const char *const missing[] = {
        "register frame 0 (room): is missing",
        "register frame 1 (endpoint): is missing",
        "register frame 2 (status port): is missing",
        "register frame 3 (session): is missing",
        "register frame 4 (main pointer): is missing",
        "register frame 5 (deepstack pointer): is missing",
        NULL, /* the leading frames alone */
        "register frame 7 (instance): is missing",
        "register frame 8 (compat): is missing",
    };
    epi_register_t in = sample();
    epi_message_t message;
    size_t i;

    (void)state;
    for (i = 0; i < COUNT_OF(missing); i++) {
        assert_int_equal(epi_register_format(&in, &message), EPDX_OK);
        check_cut(&message, i);
        if (missing[i] != NULL) {
            check_malformed(epi_register_t, epi_register_parse, &message,
                            missing[i]);
        }
    }
    assert_int_equal(epi_register_format(&in, &message), EPDX_OK);
    assert_true(epi_message_add_text(&message, ""));
    check_malformed(epi_register_t, epi_register_parse, &message,
                    "register frame 9 (extra): is one too many");
}

static void test_format_refuses_fields_over_their_bounds(void **state)
{
    epi_register_t in = sample();

    (void)state;
    in.endpoint[0] = '\0';
    check_invalid(epi_register_format, &in,
                  "register frame 1 (endpoint): is empty");
    in = sample();
    memset(in.endpoint, 'h', sizeof(in.endpoint));
    check_invalid(epi_register_format, &in,
                  "register frame 1 (endpoint): is longer than 255 bytes");
    in = sample();
    in.status_port = 0;
    check_invalid(epi_register_format, &in,
                  "register frame 2 (status port): is 0, not 1 to 65535");
    in = sample();
    strcpy(in.session, "s");
    check_invalid(epi_register_format, &in,
                  "register frame 3 (session): is not host:port");
    in = sample();
    strcpy(in.instance, "a b");
    check_invalid(epi_register_format, &in,
                  "register frame 7 (instance): is not printable ASCII");
    in = sample();
    strcpy(in.compat, "a\xff");
    check_invalid(epi_register_format, &in,
                  "register frame 8 (compat): is not UTF-8");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_round_trip_at_full_bounds),
        cmocka_unit_test(test_layout_of_6_leading_frames),
        cmocka_unit_test(test_not_extended_writes_nothing_of_its_own),
        cmocka_unit_test(test_malformed_frames),
        cmocka_unit_test(test_malformed_long_texts),
        cmocka_unit_test(test_malformed_frame_counts),
        cmocka_unit_test(test_format_refuses_fields_over_their_bounds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
