/* npy_test.c: .npy files read and written. */
#include "tools/npy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tools/files_test.h"

#define ROWS    3
#define COLUMNS 5

static const epi_npy_shape_t shape = {ROWS, COLUMNS, EPDX_FLOAT32};

static void fill(uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bytes[i] = (uint8_t)(i * 7 + 1);
    }
}

/* A file of a head and as many bytes as are given. */
static const char *file_of(epi_npy_shape_t of, size_t data_bytes)
{
    static uint8_t bytes[EPI_NPY_WRITTEN_MAX + 1024];
    size_t head = epi_npy_header_write(&of, bytes);

    fill(bytes + head, data_bytes);
    return files_test_write("a.npy", bytes, head + data_bytes);
}

static void assert_fails(const char *path, epdx_status_t status,
                         const char *words)
{
    char expected[EPDX_REASON_MAX];
    epi_npy_t npy = {0};

    (void)snprintf(expected, sizeof(expected), "%s: %s", path, words);
    assert_int_equal(epi_npy_open(path, &npy), status);
    assert_string_equal(epdx_last_error(), expected);
    assert_null(npy.map);
}

static void arrays_in_arrays_out(void **state)
{
    static const epdx_dtype_t dtypes[] = {EPDX_FLOAT16, EPDX_FLOAT32,
                                          EPDX_BFLOAT16};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        epi_npy_shape_t of = {ROWS, COLUMNS, dtypes[i]};
        size_t bytes = ROWS * COLUMNS * epdx_dtype_bytes(dtypes[i]);
        uint8_t data[ROWS * COLUMNS * 4];
        epi_npy_t npy;

        fill(data, bytes);
        assert_int_equal(epi_npy_open(file_of(of, bytes), &npy), EPDX_OK);
        assert_int_equal(npy.shape.rows, ROWS);
        assert_int_equal(npy.shape.columns, COLUMNS);
        assert_int_equal(npy.shape.dtype, dtypes[i]);
        assert_int_equal(npy.data_bytes, bytes);
        assert_memory_equal(npy.data, data, bytes);
        assert_int_equal(
            epi_npy_write(files_test_path("b.npy"), &npy.shape, npy.data),
            EPDX_OK);
        assert_true(files_test_same("a.npy", "b.npy"));
        epi_npy_close(&npy);
        assert_null(npy.map);
    }
}

static void a_longer_file_is_replaced(void **state)
{
    uint8_t data[ROWS * COLUMNS * 4];

    (void)state;
    fill(data, sizeof(data));
    (void)file_of(shape, sizeof(data));
    (void)files_test_write("b.npy", file_of, 1000);
    assert_int_equal(epi_npy_write(files_test_path("b.npy"), &shape, data),
                     EPDX_OK);
    assert_true(files_test_same("a.npy", "b.npy"));
}

static void cut_short(void **state)
{
    (void)state;
    assert_fails(file_of(shape, 59), EPDX_ERR_MALFORMED,
                 "it is cut short: its shape (3, 5) takes 60 bytes, and 59 "
                 "are there");
    assert_fails(files_test_write("a.npy", "\x93NUM", 4), EPDX_ERR_MALFORMED,
                 "not a .npy file: it is cut short");
    assert_fails(files_test_write("a.npy", "", 0), EPDX_ERR_MALFORMED,
                 "it is empty");
}

static void too_long(void **state)
{
    (void)state;
    assert_fails(file_of(shape, 61), EPDX_ERR_MALFORMED,
                 "it is too long: its shape (3, 5) takes 60 bytes, and 61 are "
                 "there");
}

static void shape_overflows(void **state)
{
    (void)state;
    assert_fails(
        file_of((epi_npy_shape_t){UINT64_C(1) << 62, 4, EPDX_FLOAT16}, 60),
        EPDX_ERR_MALFORMED,
        "its shape (4611686018427387904, 4) is more than 2^64 bytes");
    assert_fails(
        file_of((epi_npy_shape_t){UINT64_C(1) << 62, 2, EPDX_FLOAT16}, 60),
        EPDX_ERR_MALFORMED,
        "its shape (4611686018427387904, 2) is more than 2^64 bytes");
}

static void shape_larger_than_the_file(void **state)
{
    (void)state;
    assert_fails(
        file_of((epi_npy_shape_t){UINT64_C(1) << 40, 4, EPDX_FLOAT16}, 60),
        EPDX_ERR_MALFORMED,
        "it is cut short: its shape (1099511627776, 4) takes "
        "8796093022208 bytes, and 60 are there");
}

static void empty_shape(void **state)
{
    (void)state;
    assert_fails(file_of((epi_npy_shape_t){0, 4, EPDX_FLOAT16}, 0),
                 EPDX_ERR_INVALID, "its shape (0, 4) is empty");
    assert_fails(file_of((epi_npy_shape_t){4, 0, EPDX_FLOAT16}, 0),
                 EPDX_ERR_INVALID, "its shape (4, 0) is empty");
}

static void no_regular_file(void **state)
{
    const char *path = files_test_path("fifo");

    (void)state;
    assert_fails(files_test_path("none"), EPDX_ERR_IO,
                 "No such file or directory");
    assert_fails(files_test_dir(), EPDX_ERR_IO, "not a regular file");
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_fails(path, EPDX_ERR_IO, "not a regular file");
}

static void write_fails(void **state)
{
    const char *path = files_test_path("missing/b.npy");
    uint8_t data[60];

    (void)state;
    fill(data, sizeof(data));
    assert_int_equal(epi_npy_write(path, &shape, data), EPDX_ERR_IO);
    assert_non_null(strstr(epdx_last_error(), "missing/b.npy: No such file"));
    /* A full device: what was begun is taken away again. */
    if (access("/dev/full", W_OK) == 0 &&
        symlink("/dev/full", files_test_path("full.npy")) == 0) {
        assert_int_equal(
            epi_npy_write(files_test_path("full.npy"), &shape, data),
            EPDX_ERR_IO);
        assert_non_null(strstr(epdx_last_error(), "No space left"));
        assert_int_not_equal(access(files_test_path("full.npy"), F_OK), 0);
    }
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, files_test_setup, files_test_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(arrays_in_arrays_out),
        TEST(a_longer_file_is_replaced),
        TEST(cut_short),
        TEST(too_long),
        TEST(shape_overflows),
        TEST(shape_larger_than_the_file),
        TEST(empty_shape),
        TEST(no_regular_file),
        TEST(write_fails),
    };

    return cmocka_run_group_tests_name("npy", tests, NULL, NULL);
}
