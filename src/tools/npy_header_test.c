/* npy_header_test.c: heads of .npy files, with what NumPy 2.4 writes. */
#include "tools/npy_header.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define PAD10 "          "
#define PAD50 PAD10 PAD10 PAD10 PAD10 PAD10

/* np.lib.format.write_array_header_1_0(), 128 bytes each. */
static const char golden_f2[] =
    "\x93NUMPY\x01\x00v\x00{'descr': '<f2', 'fortran_order': False, 'shape': "
    "(3, 4), }" PAD50 "        \n";
static const char golden_u2[] =
    "\x93NUMPY\x01\x00v\x00{'descr': '<u2', 'fortran_order': False, 'shape': "
    "(100000, 10752), }" PAD10 PAD10 PAD10 PAD10 "         \n";
static const char golden_f4[] =
    "\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': "
    "(4294967296, 1048576), }" PAD10 PAD10 PAD10 PAD10 "   \n";

typedef struct head {
    uint8_t bytes[512];
    size_t size;
} head_t;

/* A head of a version around a dictionary. */
static head_t head_of(uint8_t major, const char *dictionary)
{
    head_t head = {"\x93NUMPY", 0};
    size_t length = strlen(dictionary);
    size_t start = major == 1 ? 10 : 12;

    head.bytes[6] = major;
    head.bytes[8] = (uint8_t)length;
    head.bytes[9] = (uint8_t)(length >> 8);
    memcpy(head.bytes + start, dictionary, length);
    head.size = start + length;
    return head;
}

static epdx_status_t read_head(const head_t *head, epi_npy_shape_t *shape_p)
{
    size_t offset = 0;
    epdx_status_t status =
        epi_npy_header_read(head->bytes, head->size, shape_p, &offset);

    assert_int_equal(offset, status == EPDX_OK ? head->size : 0);
    return status;
}

static epdx_status_t read_dictionary(const char *dictionary)
{
    head_t head = head_of(1, dictionary);
    epi_npy_shape_t shape;

    return read_head(&head, &shape);
}

#define ASSERT_FAILS(status, words, dictionary)                                \
    do {                                                                       \
        assert_int_equal(read_dictionary(dictionary), status);                 \
        assert_string_equal(epdx_last_error(), words);                         \
    } while (0)

static void assert_golden(const char *golden, size_t size,
                          epi_npy_shape_t shape)
{
    uint8_t written[EPI_NPY_WRITTEN_MAX];
    epi_npy_shape_t read;
    size_t offset;

    assert_int_equal(size, 128);
    assert_int_equal(epi_npy_header_write(&shape, written), 128);
    assert_memory_equal(written, golden, 128);
    assert_int_equal(
        epi_npy_header_read((const uint8_t *)golden, size, &read, &offset),
        EPDX_OK);
    assert_int_equal(offset, 128);
    assert_int_equal(read.rows, shape.rows);
    assert_int_equal(read.columns, shape.columns);
    assert_int_equal(read.dtype, shape.dtype);
}

static void heads_are_those_of_numpy(void **state)
{
    (void)state;
    assert_golden(golden_f2, sizeof(golden_f2) - 1,
                  (epi_npy_shape_t){3, 4, EPDX_FLOAT16});
    assert_golden(golden_u2, sizeof(golden_u2) - 1,
                  (epi_npy_shape_t){100000, 10752, EPDX_BFLOAT16});
    assert_golden(golden_f4, sizeof(golden_f4) - 1,
                  (epi_npy_shape_t){4294967296, 1048576, EPDX_FLOAT32});
}

static void the_largest_shape_is_written(void **state)
{
    uint8_t written[EPI_NPY_WRITTEN_MAX];
    epi_npy_shape_t shape = {UINT64_MAX, UINT64_MAX, EPDX_FLOAT32};
    epi_npy_shape_t read;
    size_t offset;
    size_t size = epi_npy_header_write(&shape, written);

    (void)state;
    assert_int_equal(size % 64, 0);
    assert_int_equal(written[size - 1], '\n');
    assert_int_equal(epi_npy_header_read(written, size, &read, &offset),
                     EPDX_OK);
    assert_true(read.rows == UINT64_MAX && read.columns == UINT64_MAX);
}

static void versions_2_and_3_are_read(void **state)
{
    const char *text =
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n";

    (void)state;
    for (uint8_t major = 2; major <= 3; major++) {
        head_t head = head_of(major, text);
        epi_npy_shape_t shape;

        assert_int_equal(read_head(&head, &shape), EPDX_OK);
        assert_int_equal(shape.rows, 2);
        assert_int_equal(shape.columns, 3);
        assert_int_equal(shape.dtype, EPDX_FLOAT32);
    }
}

static void other_spellings_are_read(void **state)
{
    (void)state;
    assert_int_equal(read_dictionary("{\"shape\":(2,3,),\"descr\":\"<u2\","
                                     "\"fortran_order\":False}"),
                     EPDX_OK);
}

static void not_a_npy_file(void **state)
{
    head_t head = head_of(1, "{}");
    epi_npy_shape_t shape;

    (void)state;
    head.bytes[0] = 'P';
    assert_int_equal(read_head(&head, &shape), EPDX_ERR_MALFORMED);
    assert_string_equal(epdx_last_error(),
                        "not a .npy file: it does not begin as one");
}

static void other_version(void **state)
{
    head_t head = head_of(4, "{}");
    epi_npy_shape_t shape;

    (void)state;
    assert_int_equal(read_head(&head, &shape), EPDX_ERR_UNSUPPORTED);
    assert_string_equal(epdx_last_error(),
                        "its format is version 4.0; 1.0, 2.0 or 3.0 is needed");
}

/* Every shorter part of a head is an error, never a read past its end. */
static void cut_short(void **state)
{
    (void)state;
    for (size_t size = 0; size < 128; size++) {
        epi_npy_shape_t shape;
        size_t offset;

        assert_int_equal(epi_npy_header_read((const uint8_t *)golden_f2, size,
                                             &shape, &offset),
                         EPDX_ERR_MALFORMED);
        assert_string_equal(epdx_last_error(),
                            size < 12
                                ? "not a .npy file: it is cut short"
                                : "not a .npy file: it is cut short in its "
                                  "header");
    }
}

static void header_too_long(void **state)
{
    head_t head = head_of(2, "{}");
    epi_npy_shape_t shape;

    (void)state;
    head.bytes[11] = 1;
    assert_int_equal(read_head(&head, &shape), EPDX_ERR_MALFORMED);
    assert_string_equal(epdx_last_error(),
                        "not a .npy file: its header is too long");
}

static void wrong_dictionaries(void **state)
{
    static const char *const wrong[] = {
        "",
        "(1, 2)",
        "{",
        "{}",
        "{'descr': '<f2', 'fortran_order': False}",
        "{'descr': '<f2', 'fortran_order': False, 'shape': (2, 3)",
        "{'descr': '<f2', 'fortran_order': False, 'shape': (2, 3} ",
        "{'descr': '<f2', 'fortran_order': False, 'shape': (2, 3)} x",
        "{'descr': '<f2', 'fortran_order': 0, 'shape': (2, 3)}",
        "{'descr': '<f2', 'fortran_order': False, 'shape': (2, -3)}",
        "{'descr': '<f2', 'fortran_order': False, 'shape': (2, x)}",
        "{'descr': '<f2', 'fortran_order': False, 'shape': [2, 3]}",
        "{'descr': '<f2', 'fortran_order': False, 'shape': (2 3)}",
        "{'descr': '<f2, 'fortran_order': False, 'shape': (2, 3)}",
        "{'descr': '<f2', 'descr': '<f2', 'fortran_order': False, 'shape': "
        "(2, 3)}",
        "{'descr': '<f2', 'fortran_order': False, 'shape': (2, 3), 'x': 1}",
        "{'descr': [('a', '<f2')], 'fortran_order': False, 'shape': (2, 3)}",
        "{'descr': '<f2', 'fortran_order': False, 'shape': "
        "(2, 18446744073709551616)}",
        "{'descr': '<f2', 'fortran_order': False, 'shape': "
        "(1, 1, 1, 1, 1, 1, 1, 1, 1)}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        char padded[256];

        (void)snprintf(padded, sizeof(padded), "%s  ", wrong[i]);
        assert_int_equal(read_dictionary(padded), EPDX_ERR_MALFORMED);
        assert_non_null(strstr(epdx_last_error(), "its header"));
    }
}

static void fortran_order(void **state)
{
    (void)state;
    ASSERT_FAILS(EPDX_ERR_UNSUPPORTED,
                 "it is in Fortran order; C order is needed",
                 "{'descr': '<f2', 'fortran_order': True, 'shape': (2, 3), }");
}

static void big_endian(void **state)
{
    (void)state;
    ASSERT_FAILS(EPDX_ERR_UNSUPPORTED,
                 "its elements are big endian ('>f4'); little endian is "
                 "needed",
                 "{'descr': '>f4', 'fortran_order': False, 'shape': (2, 3)}");
}

static void other_dtype(void **state)
{
    (void)state;
    ASSERT_FAILS(EPDX_ERR_UNSUPPORTED,
                 "its elements are '<f8'; '<f2' (float16), '<f4' (float32) or "
                 "'<u2' (bfloat16) is needed",
                 "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3)}");
}

static void other_dimensions(void **state)
{
    (void)state;
    ASSERT_FAILS(EPDX_ERR_UNSUPPORTED,
                 "it has 1 dimensions; 2 are needed, (rows, hidden)",
                 "{'descr': '<f2', 'fortran_order': False, 'shape': (2,)}");
    ASSERT_FAILS(EPDX_ERR_UNSUPPORTED,
                 "it has 0 dimensions; 2 are needed, (rows, hidden)",
                 "{'descr': '<f2', 'fortran_order': False, 'shape': ()}  ");
    ASSERT_FAILS(EPDX_ERR_UNSUPPORTED,
                 "it has 3 dimensions; 2 are needed, (rows, hidden)",
                 "{'descr': '<f2', 'fortran_order': False, 'shape': (2,3,4)}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heads_are_those_of_numpy),
        cmocka_unit_test(the_largest_shape_is_written),
        cmocka_unit_test(versions_2_and_3_are_read),
        cmocka_unit_test(other_spellings_are_read),
        cmocka_unit_test(not_a_npy_file),
        cmocka_unit_test(other_version),
        cmocka_unit_test(cut_short),
        cmocka_unit_test(header_too_long),
        cmocka_unit_test(wrong_dictionaries),
        cmocka_unit_test(fortran_order),
        cmocka_unit_test(big_endian),
        cmocka_unit_test(other_dtype),
        cmocka_unit_test(other_dimensions),
    };

    return cmocka_run_group_tests_name("npy_header", tests, NULL, NULL);
}
