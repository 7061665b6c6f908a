/* offer_test.c: the offer header, both directions, and every malformed one. */
#include "wire/offer.h"
#include "wire/wire_check.h"

static epi_offer_t sample(void)
{
    epi_offer_t offer = {
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

    return offer;
}

static void assert_round_trip(const epi_offer_t *in)
{
    uint8_t bytes[EPI_OFFER_BYTES];
    epi_offer_t out;

    epi_offer_pack(in, bytes);
    assert_int_equal(epi_offer_unpack(bytes, sizeof(bytes), &out), EPDX_OK);
    assert_int_equal(out.part, in->part);
    assert_int_equal(out.dtype, in->dtype);
    assert_int_equal(out.room, in->room);
    assert_int_equal(out.generation, in->generation);
    assert_int_equal(out.row_start, in->row_start);
    assert_int_equal(out.rows, in->rows);
    assert_int_equal(out.span, in->span);
    assert_int_equal(out.width, in->width);
    assert_int_equal(out.encode_rank, in->encode_rank);
}

static void test_round_trip(void **state)
{
    epi_offer_t offer = sample();

    (void)state;
    assert_round_trip(&offer);
    offer.part = EPI_PART_MAIN;
    offer.dtype = EPDX_FLOAT16;
    assert_round_trip(&offer);
    offer.dtype = EPDX_FLOAT32;
    assert_round_trip(&offer);
}

static void test_round_trip_at_full_bounds(void **state)
{
    epi_offer_t offer = sample();

    (void)state;
    offer.room = UINT64_MAX;
    offer.generation = UINT64_C(0xfedcba9876543210);
    offer.row_start = UINT64_MAX - 3;
    offer.span = UINT64_MAX;
    offer.width = UINT64_MAX;
    offer.encode_rank = UINT32_MAX;
    assert_round_trip(&offer);
}

static void test_round_trip_of_a_share_without_rows(void **state)
{
    epi_offer_t offer = sample();

    (void)state;
    offer.part = EPI_PART_MAIN;
    offer.rows = 0;
    offer.row_start = 10;
    assert_round_trip(&offer);
}

/** unpack refuses these bytes with these words; *offer_p is unchanged. */
static void assert_refused(const uint8_t *bytes, size_t length,
                           const char *words)
{
    epi_offer_t out;
    epi_offer_t before;

    memset(&out, 0xa5, sizeof(out));
    memset(&before, 0xa5, sizeof(before));
    assert_int_equal(epi_offer_unpack(bytes, length, &out), EPDX_ERR_MALFORMED);
    assert_string_equal(epdx_last_error(), words);
    assert_memory_equal(&out, &before, sizeof(out));
}

static void test_malformed_length(void **state)
{
    epi_offer_t offer = sample();
    uint8_t bytes[EPI_OFFER_BYTES + 1] = {0};

    (void)state;
    epi_offer_pack(&offer, bytes);
    assert_refused(bytes, 63, "offer: has 63 bytes, not 64");
    assert_refused(bytes, 65, "offer: has 65 bytes, not 64");
    assert_refused(NULL, 0, "offer: has 0 bytes, not 64");
}

static void test_malformed_bytes(void **state)
{
    static const struct {
        size_t at;
        uint8_t byte;
        const char *words;
    } bad[] = {
        {0, 'e', "offer byte 0 (magic): is not \"EPDX\""},
        {3, 'Y', "offer byte 0 (magic): is not \"EPDX\""},
        {4, 2,
         "offer byte 4 (version): is 2, not 1: the two ends run "
         "different versions of epdx"},
        {5, 1,
         "offer byte 4 (version): is 257, not 1: the two ends run "
         "different versions of epdx"},
        {6, 2, "offer byte 6 (part): is neither main nor deepstack"},
        {6, 255, "offer byte 6 (part): is neither main nor deepstack"},
        {7, 0, "offer byte 7 (dtype): is no known dtype"},
        {7, 4, "offer byte 7 (dtype): is no known dtype"},
        {60, 1, "offer byte 60 (reserved): is not zero"},
        {63, 128, "offer byte 60 (reserved): is not zero"},
        {24, 8,
         "offer byte 24 (row_start): 3 rows from 8 do not lie in the "
         "span of 10"},
        {32, 8,
         "offer byte 24 (row_start): 8 rows from 3 do not lie in the "
         "span of 10"},
        {40, 5,
         "offer byte 24 (row_start): 3 rows from 3 do not lie in the "
         "span of 5"},
    };
    epi_offer_t offer = sample();
    uint8_t bytes[EPI_OFFER_BYTES];
    size_t i;

    (void)state;
    for (i = 0; i < COUNT_OF(bad); i++) {
        epi_offer_pack(&offer, bytes);
        bytes[bad[i].at] = bad[i].byte;
        assert_refused(bytes, sizeof(bytes), bad[i].words);
    }
}

static void test_malformed_range_that_overflows(void **state)
{
    epi_offer_t offer = sample();
    uint8_t bytes[EPI_OFFER_BYTES];

    (void)state;
    offer.row_start = UINT64_MAX;
    epi_offer_pack(&offer, bytes);
    assert_refused(bytes, sizeof(bytes),
                   "offer byte 24 (row_start): 3 rows from "
                   "18446744073709551615 do not lie in the span of 10");
}

static void test_payload(void **state)
{
    epi_offer_t offer = sample();
    uint64_t bytes = 77;

    (void)state;
    assert_true(epi_offer_payload(&offer, &bytes));
    assert_int_equal(bytes, 3 * 6144 * 2);
    offer.dtype = EPDX_FLOAT32;
    assert_true(epi_offer_payload(&offer, &bytes));
    assert_int_equal(bytes, 3 * 6144 * 4);
    offer.rows = 0;
    assert_true(epi_offer_payload(&offer, &bytes));
    assert_int_equal(bytes, 0);
}

static void test_payload_overflow(void **state)
{
    epi_offer_t offer = sample();
    uint64_t bytes = 77;

    (void)state;
    offer.rows = UINT64_C(1) << 32;
    offer.width = UINT64_C(1) << 32;
    assert_false(epi_offer_payload(&offer, &bytes));
    /* The elements fit and the bytes do not. */
    offer.width = UINT64_C(1) << 31;
    assert_false(epi_offer_payload(&offer, &bytes));
    assert_int_equal(bytes, 77);
    offer.width = UINT64_C(1) << 30;
    assert_true(epi_offer_payload(&offer, &bytes));
    assert_int_equal(bytes, UINT64_C(1) << 63);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_round_trip_at_full_bounds),
        cmocka_unit_test(test_round_trip_of_a_share_without_rows),
        cmocka_unit_test(test_malformed_length),
        cmocka_unit_test(test_malformed_bytes),
        cmocka_unit_test(test_malformed_range_that_overflows),
        cmocka_unit_test(test_payload),
        cmocka_unit_test(test_payload_overflow),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
