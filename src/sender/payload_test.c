/* payload_test.c: which bytes of a chunk a share is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sender/payload.h"

static uint8_t memory[4096];

/* 10 rows of 64 elements of 2 bytes, and a deepstack twice as wide. */
static const epi_array_t main_rows = {
    .base = memory, .rows = 10, .width = 64, .element_bytes = 2};
static const epi_array_t deepstack_rows = {
    .base = memory + 1280, .rows = 10, .width = 128, .element_bytes = 2};

static void assert_payload(const epi_array_t *array, epdx_rows_t share,
                           const uint8_t *source, uint64_t bytes)
{
    epi_payload_t payload = {.source = NULL, .bytes = UINT64_MAX};

    assert_true(epi_payload_rows(array, share, &payload));
    assert_ptr_equal(payload.source, source);
    assert_int_equal(payload.bytes, bytes);
}

static void assert_refused(const epi_array_t *array, epdx_rows_t share)
{
    epi_payload_t payload = {.source = memory, .bytes = 77};

    assert_false(epi_payload_rows(array, share, &payload));
    assert_ptr_equal(payload.source, memory);
    assert_int_equal(payload.bytes, 77);
}

static void test_identity_is_the_whole_chunk(void **state)
{
    (void)state;
    assert_payload(&main_rows, (epdx_rows_t){0, 10}, memory, 1280);
    assert_payload(&deepstack_rows, (epdx_rows_t){0, 10}, memory + 1280, 2560);
}

static void test_a_shard_is_offset_by_its_rows(void **state)
{
    (void)state;
    assert_payload(&main_rows, (epdx_rows_t){5, 3}, memory + 5 * 128, 3 * 128);
    assert_payload(&deepstack_rows, (epdx_rows_t){5, 3},
                   memory + 1280 + 5 * 256, 3 * 256);
}

static void test_the_last_row(void **state)
{
    (void)state;
    assert_payload(&main_rows, (epdx_rows_t){9, 1}, memory + 9 * 128, 128);
}

static void test_no_rows_are_no_bytes(void **state)
{
    (void)state;
    assert_payload(&main_rows, (epdx_rows_t){0, 0}, memory, 0);
    assert_payload(&main_rows, (epdx_rows_t){10, 0}, memory + 1280, 0);
}

static void test_refuses_rows_outside_of_the_chunk(void **state)
{
    (void)state;
    assert_refused(&main_rows, (epdx_rows_t){0, 11});
    assert_refused(&main_rows, (epdx_rows_t){5, 6});
    assert_refused(&main_rows, (epdx_rows_t){11, 0});
    assert_refused(&main_rows, (epdx_rows_t){UINT64_MAX, 1});
    assert_refused(&main_rows, (epdx_rows_t){5, UINT64_MAX - 2});
}

static void test_refuses_sizes_that_overflow(void **state)
{
    epi_array_t array = main_rows;

    (void)state;
    array.width = UINT64_MAX / 2 + 1; /* width * element_bytes */
    assert_refused(&array, (epdx_rows_t){0, 1});
    array.width = UINT64_MAX / 16; /* rows * row bytes */
    assert_refused(&array, (epdx_rows_t){0, 1});
    array.width = UINT64_MAX / 20; /* base + bytes */
    assert_refused(&array, (epdx_rows_t){0, 1});
}

static void test_refuses_an_array_without_memory(void **state)
{
    epi_array_t array = main_rows;

    (void)state;
    array.base = NULL;
    assert_refused(&array, (epdx_rows_t){0, 1});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_identity_is_the_whole_chunk),
        cmocka_unit_test(test_a_shard_is_offset_by_its_rows),
        cmocka_unit_test(test_the_last_row),
        cmocka_unit_test(test_no_rows_are_no_bytes),
        cmocka_unit_test(test_refuses_rows_outside_of_the_chunk),
        cmocka_unit_test(test_refuses_sizes_that_overflow),
        cmocka_unit_test(test_refuses_an_array_without_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
