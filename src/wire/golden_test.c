/*
 * golden_test.c: the bytes of every frame of every message and of the offer
 * header, spelled out. docs/wire.md shows the same bytes. A change here is a
 * change of the protocol.
 */
#include "wire/offer.h"
#include "wire/wire_check.h"

/* clang-format off */
static const check_frame_t register_frames[] = {
    /* 0 room */
    BYTES(0x4e, 0x6f, 0x6e, 0x65),
    /* 1 endpoint */
    BYTES(0x31, 0x30, 0x2e, 0x30, 0x2e, 0x30, 0x2e, 0x37),
    /* 2 status port */
    BYTES(0x35, 0x31, 0x32, 0x33),
    /* 3 session */
    BYTES(0x31, 0x30, 0x2e, 0x30, 0x2e, 0x30, 0x2e, 0x37, 0x3a, 0x34, 0x31,
          0x39, 0x39, 0x39),
    /* 4 main pointer */
    BYTES(0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00),
    /* 5 deepstack pointer */
    BYTES(0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00),
    /* 6 version */
    BYTES(0x65, 0x70, 0x64, 0x78, 0x31),
    /* 7 instance */
    BYTES(0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38, 0x39, 0x61,
          0x62, 0x63, 0x64, 0x65, 0x66),
    /* 8 compat */
    BYTES(0x64, 0x74, 0x79, 0x70, 0x65, 0x3d, 0x74, 0x6f, 0x72, 0x63, 0x68,
          0x2e, 0x62, 0x66, 0x6c, 0x6f, 0x61, 0x74, 0x31, 0x36, 0x20, 0x68,
          0x69, 0x64, 0x64, 0x65, 0x6e, 0x3d, 0x32, 0x30, 0x34, 0x38, 0x20,
          0x6c, 0x65, 0x76, 0x65, 0x6c, 0x73, 0x3d, 0x33, 0x20, 0x74, 0x70,
          0x3d, 0x34),
};

static const check_frame_t ask_frames[] = {
    /* 0 room */
    BYTES(0x34, 0x32),
    /* 1 endpoint */
    BYTES(0x31, 0x30, 0x2e, 0x30, 0x2e, 0x30, 0x2e, 0x37),
    /* 2 status port */
    BYTES(0x35, 0x31, 0x32, 0x33),
    /* 3 session */
    BYTES(0x31, 0x30, 0x2e, 0x30, 0x2e, 0x30, 0x2e, 0x37, 0x3a, 0x34, 0x31,
          0x39, 0x39, 0x39),
    /* 4 main pointer */
    BYTES(0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00),
    /* 5 deepstack pointer */
    BYTES(0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00),
    /* 6 rows */
    BYTES(0x33),
    /* 7 hidden */
    BYTES(0x32, 0x30, 0x34, 0x38),
    /* 8 dtype */
    BYTES(0x74, 0x6f, 0x72, 0x63, 0x68, 0x2e, 0x62, 0x66, 0x6c, 0x6f, 0x61,
          0x74, 0x31, 0x36),
    /* 9 has_deepstack */
    BYTES(0x31),
    /* 10 required */
    BYTES(0x34),
    /* 11 row_start */
    BYTES(0x33),
    /* 12 span */
    BYTES(0x31, 0x30),
    /* 13 version */
    BYTES(0x65, 0x70, 0x64, 0x78, 0x31),
    /* 14 instance */
    BYTES(0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38, 0x39, 0x61,
          0x62, 0x63, 0x64, 0x65, 0x66),
    /* 15 generation */
    BYTES(0x37),
};

static const check_frame_t cancel_frames[] = {
    /* 0 kind */
    BYTES(0x43, 0x61, 0x6e, 0x63, 0x65, 0x6c),
    /* 1 room */
    BYTES(0x34, 0x32),
    /* 2 session */
    BYTES(0x31, 0x30, 0x2e, 0x30, 0x2e, 0x30, 0x2e, 0x37, 0x3a, 0x34, 0x31,
          0x39, 0x39, 0x39),
    /* 3 generation */
    BYTES(0x37),
    /* 4 reason */
    BYTES(0x63, 0x61, 0x6e, 0x63, 0x65, 0x6c, 0x6c, 0x65, 0x64, 0x20, 0x62,
          0x79, 0x20, 0x74, 0x68, 0x65, 0x20, 0x63, 0x61, 0x6c, 0x6c, 0x65,
          0x72),
};

static const check_frame_t status_frames[] = {
    /* 0 room */
    BYTES(0x34, 0x32),
    /* 1 status */
    BYTES(0x30),
    /* 2 encode rank */
    BYTES(0x31),
    /* 3 generation */
    BYTES(0x37),
    /* 4 reason */
    BYTES(0x68, 0x69, 0x64, 0x64, 0x65, 0x6e, 0x20, 0x34, 0x30, 0x39, 0x36,
          0x20, 0xe2, 0x89, 0xa0, 0x20, 0x32, 0x30, 0x34, 0x38),
};

static const uint8_t offer_bytes[] = {
    0x45, 0x50, 0x44, 0x58, /* 0 magic */
    0x01, 0x00, /* 4 version */
    0x01, /* 6 part */
    0x01, /* 7 dtype */
    0x2a, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* 8 room */
    0x07, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* 16 generation */
    0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* 24 row_start */
    0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* 32 rows */
    0x0a, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* 40 span */
    0x00, 0x18, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* 48 width */
    0x01, 0x00, 0x00, 0x00, /* 56 encode rank */
    0x00, 0x00, 0x00, 0x00, /* 60 reserved */
};
/* clang-format on */

static const epi_register_t register_value = {
    .endpoint = "10.0.0.7",
    .status_port = 5123,
    .session = "10.0.0.7:41999",
    .extended = true,
    .instance = "0123456789abcdef",
    .compat = "dtype=torch.bfloat16 hidden=2048 levels=3 tp=4",
};

static const epi_ask_t ask_value = {
    .room = 42,
    .endpoint = "10.0.0.7",
    .status_port = 5123,
    .session = "10.0.0.7:41999",
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

static const epi_cancel_t cancel_value = {
    .room = 42,
    .session = "10.0.0.7:41999",
    .generation = 7,
    .reason = "cancelled by the caller",
};

static const epi_status_t status_value = {
    .room = 42,
    .status = EPI_ROOM_FAILED,
    .encode_rank = 1,
    .extended = true,
    .generation = 7,
    .reason = "hidden 4096 \xe2\x89\xa0 2048",
};

static const epi_offer_t offer_value = {
    .part = EPI_PART_DEEPSTACK,
    .dtype = EPDX_BFLOAT16,
    .room = 42,
    .generation = 7,
    .row_start = 3,
    .rows = 3,
    .span = 10,
    .width = 6144,
    .encode_rank = 1,
};

static void test_golden_register(void **state)
{
    epi_register_t leading = register_value;
    epi_message_t message;
    epi_register_t out;

    (void)state;
    assert_int_equal(epi_register_format(&register_value, &message), EPDX_OK);
    check_frames(&message, register_frames, COUNT_OF(register_frames));
    leading.extended = false;
    assert_int_equal(epi_register_format(&leading, &message), EPDX_OK);
    check_frames(&message, register_frames, 6);

    check_fill(&message, register_frames, COUNT_OF(register_frames));
    assert_int_equal(epi_register_parse(&message, &out), EPDX_OK);
    assert_string_equal(out.endpoint, register_value.endpoint);
    assert_int_equal(out.status_port, register_value.status_port);
    assert_string_equal(out.session, register_value.session);
    assert_int_equal(out.main_pointer, 0);
    assert_int_equal(out.deepstack_pointer, 0);
    assert_true(out.extended);
    assert_string_equal(out.instance, register_value.instance);
    assert_string_equal(out.compat, register_value.compat);
}

static void test_golden_ask(void **state)
{
    epi_ask_t leading = ask_value;
    epi_message_t message;
    epi_ask_t out;

    (void)state;
    assert_int_equal(epi_ask_format(&ask_value, &message), EPDX_OK);
    check_frames(&message, ask_frames, COUNT_OF(ask_frames));
    leading.extended = false;
    assert_int_equal(epi_ask_format(&leading, &message), EPDX_OK);
    check_frames(&message, ask_frames, 13);

    check_fill(&message, ask_frames, COUNT_OF(ask_frames));
    assert_int_equal(epi_ask_parse(&message, &out), EPDX_OK);
    assert_int_equal(out.room, ask_value.room);
    assert_string_equal(out.endpoint, ask_value.endpoint);
    assert_int_equal(out.status_port, ask_value.status_port);
    assert_string_equal(out.session, ask_value.session);
    assert_int_equal(out.main_pointer, 0);
    assert_int_equal(out.deepstack_pointer, 0);
    assert_int_equal(out.rows, ask_value.rows);
    assert_int_equal(out.hidden, ask_value.hidden);
    assert_int_equal(out.dtype, ask_value.dtype);
    assert_true(out.has_deepstack);
    assert_int_equal(out.required, ask_value.required);
    assert_int_equal(out.row_start, ask_value.row_start);
    assert_int_equal(out.span, ask_value.span);
    assert_true(out.extended);
    assert_string_equal(out.instance, ask_value.instance);
    assert_int_equal(out.generation, ask_value.generation);
}

static void test_golden_cancel(void **state)
{
    epi_message_t message;
    epi_cancel_t out;

    (void)state;
    assert_int_equal(epi_cancel_format(&cancel_value, &message), EPDX_OK);
    check_frames(&message, cancel_frames, COUNT_OF(cancel_frames));

    check_fill(&message, cancel_frames, COUNT_OF(cancel_frames));
    assert_int_equal(epi_cancel_parse(&message, &out), EPDX_OK);
    assert_int_equal(out.room, cancel_value.room);
    assert_string_equal(out.session, cancel_value.session);
    assert_int_equal(out.generation, cancel_value.generation);
    assert_string_equal(out.reason, cancel_value.reason);
}

static void test_golden_status(void **state)
{
    epi_status_t leading = status_value;
    epi_message_t message;
    epi_status_t out;

    (void)state;
    assert_int_equal(epi_status_format(&status_value, &message), EPDX_OK);
    check_frames(&message, status_frames, COUNT_OF(status_frames));
    leading.extended = false;
    assert_int_equal(epi_status_format(&leading, &message), EPDX_OK);
    check_frames(&message, status_frames, 3);

    check_fill(&message, status_frames, COUNT_OF(status_frames));
    assert_int_equal(epi_status_parse(&message, &out), EPDX_OK);
    assert_int_equal(out.room, status_value.room);
    assert_int_equal(out.status, status_value.status);
    assert_int_equal(out.encode_rank, status_value.encode_rank);
    assert_true(out.extended);
    assert_int_equal(out.generation, status_value.generation);
    assert_string_equal(out.reason, status_value.reason);
}

static void test_golden_offer(void **state)
{
    uint8_t bytes[EPI_OFFER_BYTES];
    epi_offer_t out;

    (void)state;
    assert_int_equal(sizeof(offer_bytes), EPI_OFFER_BYTES);
    memset(bytes, 0xa5, sizeof(bytes));
    epi_offer_pack(&offer_value, bytes);
    assert_memory_equal(bytes, offer_bytes, sizeof(bytes));

    assert_int_equal(epi_offer_unpack(offer_bytes, sizeof(offer_bytes), &out),
                     EPDX_OK);
    assert_int_equal(out.part, offer_value.part);
    assert_int_equal(out.dtype, offer_value.dtype);
    assert_int_equal(out.room, offer_value.room);
    assert_int_equal(out.generation, offer_value.generation);
    assert_int_equal(out.row_start, offer_value.row_start);
    assert_int_equal(out.rows, offer_value.rows);
    assert_int_equal(out.span, offer_value.span);
    assert_int_equal(out.width, offer_value.width);
    assert_int_equal(out.encode_rank, offer_value.encode_rank);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden_register),
        cmocka_unit_test(test_golden_ask),
        cmocka_unit_test(test_golden_cancel),
        cmocka_unit_test(test_golden_status),
        cmocka_unit_test(test_golden_offer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
