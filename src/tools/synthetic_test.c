/* synthetic_test.c: made-up rows: random access, and every wrong byte seen. */
#include "tools/synthetic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define ROWS 9

/* 7 columns of 2 bytes: the last word of a row is cut. */
static const epi_synthetic_t odd = {42, EPI_PART_MAIN, 7, 2};
static const epi_synthetic_t wide = {42, EPI_PART_DEEPSTACK, 12, 4};
static const epdx_rows_t all = {0, ROWS};

static void filled_rows_verify(void **state)
{
    uint8_t rows[ROWS * 48];
    epi_wrong_t wrong = {0, 0, 0};

    (void)state;
    epi_synthetic_fill(&odd, all, rows);
    assert_int_equal(epi_synthetic_verify(&odd, all, rows, &wrong), 0);
    epi_synthetic_fill(&wide, all, rows);
    assert_int_equal(epi_synthetic_verify(&wide, all, rows, &wrong), 0);
    assert_int_equal(wrong.bytes, 0);
}

static void fill_keeps_to_its_rows(void **state)
{
    uint8_t rows[3 * 14 + 1];
    const epdx_rows_t three = {0, 3};

    (void)state;
    memset(rows, 0x5a, sizeof(rows));
    epi_synthetic_fill(&odd, three, rows);
    assert_int_equal(rows[3 * 14], 0x5a);
}

static void any_row_can_be_made_alone(void **state)
{
    uint8_t rows[ROWS * 14];
    uint8_t row[14];

    (void)state;
    epi_synthetic_fill(&odd, all, rows);
    for (uint64_t i = 0; i < ROWS; i++) {
        const epdx_rows_t one = {i, 1};
        epi_wrong_t wrong = {0, 0, 0};

        epi_synthetic_fill(&odd, one, row);
        assert_memory_equal(row, rows + i * 14, 14);
        assert_int_equal(epi_synthetic_verify(&odd, one, row, &wrong), 0);
    }
}

/* Every byte of every row, also those past the last whole word. */
static void every_wrong_byte_is_counted_and_placed(void **state)
{
    uint8_t rows[ROWS * 14];

    (void)state;
    epi_synthetic_fill(&odd, all, rows);
    for (size_t i = 0; i < sizeof(rows); i++) {
        epi_wrong_t wrong = {0, 0, 0};

        rows[i] ^= 0x80;
        assert_int_equal(epi_synthetic_verify(&odd, all, rows, &wrong), 1);
        assert_int_equal(wrong.bytes, 1);
        assert_int_equal(wrong.first_row, i / 14);
        assert_int_equal(wrong.first_column, i % 14 / 2);
        rows[i] ^= 0x80;
    }
}

static void wrong_bytes_add_up_and_the_first_stays(void **state)
{
    uint8_t rows[ROWS * 14];
    const epdx_rows_t late = {3, ROWS};
    epi_wrong_t wrong = {0, 0, 0};

    (void)state;
    epi_synthetic_fill(&odd, late, rows);
    rows[2 * 14 + 5] ^= 1;
    rows[2 * 14 + 6] ^= 1;
    assert_int_equal(epi_synthetic_verify(&odd, late, rows, &wrong), 2);
    rows[0] ^= 1;
    assert_int_equal(epi_synthetic_verify(&odd, late, rows, &wrong), 3);
    assert_int_equal(wrong.bytes, 5);
    assert_int_equal(wrong.first_row, 5);
    assert_int_equal(wrong.first_column, 2);
}

/* About all bytes of the wrong rows differ; 1 in 256 agrees by chance. */
static void assert_foreign(const epi_synthetic_t *of, epdx_rows_t as,
                           const uint8_t *rows)
{
    epi_wrong_t wrong = {0, 0, 0};
    size_t bytes = (size_t)(of->columns * of->element_bytes * as.count);

    assert_true(epi_synthetic_verify(of, as, rows, &wrong) > bytes * 8 / 10);
}

static void rows_of_another_place_are_wrong(void **state)
{
    uint8_t rows[ROWS * 48];
    epi_synthetic_t other = wide;
    const epdx_rows_t next = {1, ROWS};

    (void)state;
    epi_synthetic_fill(&wide, all, rows);
    assert_foreign(&wide, next, rows);
    other.room++;
    assert_foreign(&other, all, rows);
    other = wide;
    other.part = EPI_PART_MAIN;
    assert_foreign(&other, all, rows);
}

static void shifted_rows_are_wrong(void **state)
{
    uint8_t rows[ROWS * 48 + 8];

    (void)state;
    epi_synthetic_fill(&wide, all, rows);
    memmove(rows + 8, rows, ROWS * 48);
    assert_foreign(&wide, all, rows);
}

static void the_function_does_not_change(void **state)
{
    static const uint8_t golden[14] = {0xd6, 0xdb, 0xf8, 0x66, 0x99,
                                       0x1a, 0x13, 0x06, 0x5c, 0x42,
                                       0xbc, 0xa2, 0x53, 0x94};
    const epdx_rows_t one = {5, 1};
    uint8_t row[14];

    (void)state;
    epi_synthetic_fill(&odd, one, row);
    assert_memory_equal(row, golden, sizeof(golden));
}

static void expected_bytes_are_compared(void **state)
{
    uint8_t want[ROWS * 14], have[ROWS * 14];
    const epdx_rows_t late = {10, ROWS};
    epi_wrong_t wrong = {0, 0, 0};

    (void)state;
    epi_synthetic_fill(&odd, all, want);
    memcpy(have, want, sizeof(want));
    assert_int_equal(epi_bytes_verify(&odd, late, want, have, &wrong), 0);
    have[4 * 14 + 3] ^= 1;
    have[8 * 14] ^= 1;
    assert_int_equal(epi_bytes_verify(&odd, late, want, have, &wrong), 2);
    assert_int_equal(wrong.bytes, 2);
    assert_int_equal(wrong.first_row, 14);
    assert_int_equal(wrong.first_column, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(filled_rows_verify),
        cmocka_unit_test(fill_keeps_to_its_rows),
        cmocka_unit_test(any_row_can_be_made_alone),
        cmocka_unit_test(every_wrong_byte_is_counted_and_placed),
        cmocka_unit_test(wrong_bytes_add_up_and_the_first_stays),
        cmocka_unit_test(rows_of_another_place_are_wrong),
        cmocka_unit_test(shifted_rows_are_wrong),
        cmocka_unit_test(the_function_does_not_change),
        cmocka_unit_test(expected_bytes_are_compared),
    };

    return cmocka_run_group_tests_name("synthetic", tests, NULL, NULL);
}
