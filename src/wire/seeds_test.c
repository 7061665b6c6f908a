/*
 * seeds_test.c: the wire cases that define the protocol, one test each. Where
 * a case leaves a field to a default, or fills it with a stand-in, that epdx
 * refuses, the nearest accepted value is used and the refusal asserted.
 */
#include "wire/wire_check.h"

/* A high address, to catch any truncation to 32 bits. */
#define HIGH_POINTER UINT64_C(0xfffffffffffff000)
#define MID_POINTER  UINT64_C(0x7fffffff0000)

static void test_register_round_trip(void **state)
{
    const epi_register_t in = {
        .endpoint = "10.0.0.7",
        .status_port = 5123,
        .session = "10.0.0.7:41999",
        .main_pointer = HIGH_POINTER,
        .deepstack_pointer = MID_POINTER,
    };
    epi_message_t message;
    epi_register_t out;

    (void)state;
    assert_int_equal(epi_register_format(&in, &message), EPDX_OK);
    assert_int_equal(message.count, 6); /* layout lock */
    assert_true(epi_message_is(&message, 0, "None"));
    assert_int_equal(epi_register_parse(&message, &out), EPDX_OK);
    assert_string_equal(out.endpoint, "10.0.0.7");
    assert_int_equal(out.status_port, 5123);
    assert_string_equal(out.session, "10.0.0.7:41999");
    assert_int_equal(out.main_pointer, HIGH_POINTER);
    assert_int_equal(out.deepstack_pointer, MID_POINTER);
    assert_false(out.extended);
}

static void test_ask_round_trip_with_deepstack(void **state)
{
    epi_ask_t in = {
        .room = 42,
        .endpoint = "10.0.0.7",
        .status_port = 5123,
        .session = "10.0.0.7:41999",
        .main_pointer = HIGH_POINTER,
        .deepstack_pointer = MID_POINTER,
        .rows = 1369,
        .hidden = 3584,
        .dtype = EPDX_BFLOAT16,
        .has_deepstack = true,
        .required = 1,
        .row_start = 0,
        .span = 1369,
    };
    epi_message_t message;
    epi_ask_t out;

    (void)state;
    assert_int_equal(epi_ask_format(&in, &message), EPDX_OK);
    assert_int_equal(message.count, 13); /* layout lock */
    assert_true(epi_message_is(&message, 8, "torch.bfloat16"));
    assert_int_equal(epi_ask_parse(&message, &out), EPDX_OK);
    assert_int_equal(out.room, 42);
    assert_string_equal(out.endpoint, "10.0.0.7");
    assert_int_equal(out.status_port, 5123);
    assert_string_equal(out.session, "10.0.0.7:41999");
    assert_int_equal(out.main_pointer, HIGH_POINTER);
    assert_int_equal(out.deepstack_pointer, MID_POINTER);
    assert_int_equal(out.rows, 1369);
    assert_int_equal(out.hidden, 3584);
    assert_int_equal(out.dtype, EPDX_BFLOAT16);
    assert_true(out.has_deepstack);
    assert_int_equal(out.required, 1);
    assert_int_equal(out.row_start, 0);
    assert_int_equal(out.span, 1369);

    /* The case leaves span at 0, which no row range but the empty lies in. */
    check_replace(&message, 12, (check_frame_t)TEXT("0"));
    check_malformed(epi_ask_t, epi_ask_parse, &message,
                    "ask frame 11 (row_start): 1369 rows from 0 do not lie "
                    "in the span of 0");
}

static void test_ask_round_trip_without_deepstack(void **state)
{
    const epi_ask_t in = {
        .room = 0,
        .endpoint = "::1",
        .status_port = 65535,
        .session = "x:0",
        .rows = 0,
        .hidden = 4096,
        .dtype = EPDX_FLOAT32,
        .has_deepstack = false,
        .required = 2,
    };
    epi_message_t message;
    epi_ask_t out;

    (void)state;
    assert_int_equal(epi_ask_format(&in, &message), EPDX_OK);
    assert_int_equal(message.count, 13);
    assert_int_equal(epi_ask_parse(&message, &out), EPDX_OK);
    assert_int_equal(out.room, 0);
    assert_string_equal(out.endpoint, "::1");
    assert_int_equal(out.status_port, 65535);
    assert_string_equal(out.session, "x:0");
    assert_int_equal(out.main_pointer, 0);
    assert_int_equal(out.deepstack_pointer, 0);
    assert_int_equal(out.rows, 0);
    assert_int_equal(out.hidden, 4096);
    assert_int_equal(out.dtype, EPDX_FLOAT32);
    assert_false(out.has_deepstack);
    assert_int_equal(out.required, 2);
    assert_int_equal(out.span, 0);
}

static void test_pointers_are_full_64_bit(void **state)
{
    epi_register_t in = {
        .endpoint = "h",
        .status_port = 2,
        .session = "s:1",
        .main_pointer = HIGH_POINTER,
        .deepstack_pointer = UINT64_C(0xdeadbeefcafe0000),
    };
    epi_message_t message;
    epi_register_t out;

    (void)state;
    assert_int_equal(epi_register_format(&in, &message), EPDX_OK);
    assert_int_equal(epi_register_parse(&message, &out), EPDX_OK);
    assert_int_equal(out.main_pointer, HIGH_POINTER);
    assert_int_equal(out.deepstack_pointer, UINT64_C(0xdeadbeefcafe0000));

    /* The case's session is "s": here it must name a listener. */
    strcpy(in.session, "s");
    check_invalid(epi_register_format, &in,
                  "register frame 3 (session): is not host:port");
}

static void test_integer_room_is_distinct_from_the_sentinel(void **state)
{
    const epi_register_t registration = {
        .endpoint = "h",
        .status_port = 1,
        .session = "s:1",
        .main_pointer = 1,
    };
    const epi_ask_t ask = {
        .room = 7,
        .endpoint = "h",
        .status_port = 1,
        .session = "s:1",
        .main_pointer = 1,
        .rows = 10,
        .hidden = 8,
        .dtype = EPDX_BFLOAT16,
        .required = 1,
        .span = 10,
    };
    epi_control_kind_t kind;
    epi_message_t message;
    epi_ask_t ask_out;
    epi_register_t register_out;

    (void)state;
    assert_int_equal(epi_register_format(&registration, &message), EPDX_OK);
    assert_true(epi_message_is(&message, 0, "None"));
    assert_int_equal(epi_control_peek(&message, &kind), EPDX_OK);
    assert_int_equal(kind, EPI_CONTROL_REGISTER);
    assert_int_equal(epi_ask_parse(&message, &ask_out), EPDX_ERR_MALFORMED);

    assert_int_equal(epi_ask_format(&ask, &message), EPDX_OK);
    assert_true(epi_message_is(&message, 0, "7"));
    assert_false(epi_message_is(&message, 0, "None"));
    assert_int_equal(epi_control_peek(&message, &kind), EPDX_OK);
    assert_int_equal(kind, EPI_CONTROL_ASK);
    assert_int_equal(epi_register_parse(&message, &register_out),
                     EPDX_ERR_MALFORMED);
}

static void test_ask_malformed_when_cut_short(void **state)
{
    const epi_ask_t in = {
        .room = 7,
        .endpoint = "1.2.3.4",
        .status_port = 5555,
        .session = "1.2.3.4:41999",
        .main_pointer = 0x1000,
        .rows = 10,
        .hidden = 64,
        .dtype = EPDX_BFLOAT16,
        .required = 4,
        .span = 10,
    };
    epi_message_t message;

    (void)state;
    assert_int_equal(epi_ask_format(&in, &message), EPDX_OK);
    check_cut(&message, 11); /* the older layout, without row_start and span */
    check_malformed(epi_ask_t, epi_ask_parse, &message,
                    "ask frame 11 (row_start): is missing");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_register_round_trip),
        cmocka_unit_test(test_ask_round_trip_with_deepstack),
        cmocka_unit_test(test_ask_round_trip_without_deepstack),
        cmocka_unit_test(test_pointers_are_full_64_bit),
        cmocka_unit_test(test_integer_room_is_distinct_from_the_sentinel),
        cmocka_unit_test(test_ask_malformed_when_cut_short),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
