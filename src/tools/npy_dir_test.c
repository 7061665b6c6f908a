/* npy_dir_test.c: directories of arrays that do and do not go together. */
#include "tools/npy_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tools/files_test.h"

static epi_npy_dir_t dir;

static int teardown(void **state)
{
    epi_npy_dir_close(&dir);
    return files_test_teardown(state);
}

static void array(const char *name, uint64_t rows, uint64_t columns,
                  epdx_dtype_t dtype)
{
    static const uint8_t zeros[4096];
    epi_npy_shape_t shape = {rows, columns, dtype};

    assert_true(rows * columns * 4 <= sizeof(zeros));
    assert_int_equal(epi_npy_write(files_test_path(name), &shape, zeros),
                     EPDX_OK);
}

static epdx_status_t open_dir(void)
{
    return epi_npy_dir_open(files_test_dir(), 0, &dir);
}

static void assert_fails(const char *file, const char *words)
{
    char expected[EPDX_REASON_MAX];

    assert_int_equal(open_dir(), EPDX_ERR_INVALID);
    (void)snprintf(expected, sizeof(expected), "%s%s%s: %s", files_test_dir(),
                   file[0] == '\0' ? "" : "/", file, words);
    assert_string_equal(epdx_last_error(), expected);
    assert_int_equal(dir.count, 0);
}

static void arrays_come_sorted_by_name(void **state)
{
    (void)state;
    array("b.npy", 2, 4, EPDX_FLOAT16);
    array("a-1.npy", 3, 4, EPDX_FLOAT16);
    array("a.npy", 1, 4, EPDX_FLOAT16);
    (void)files_test_write("notes.txt", "x", 1);
    assert_int_equal(open_dir(), EPDX_OK);
    assert_int_equal(dir.count, 3);
    assert_string_equal(dir.items[0].name, "a");
    assert_string_equal(dir.items[1].name, "a-1");
    assert_string_equal(dir.items[2].name, "b");
    assert_int_equal(dir.items[2].main.shape.rows, 2);
    assert_int_equal(dir.dtype, EPDX_FLOAT16);
    assert_int_equal(dir.hidden, 4);
    assert_int_equal(dir.levels, 0);
    assert_null(dir.items[0].deepstack.data);
}

static void deepstack_lies_beside(void **state)
{
    (void)state;
    array("a.npy", 3, 4, EPDX_FLOAT32);
    array("a.deepstack.npy", 3, 12, EPDX_FLOAT32);
    assert_int_equal(open_dir(), EPDX_OK);
    assert_int_equal(dir.count, 1);
    assert_int_equal(dir.levels, 3);
    assert_int_equal(dir.items[0].deepstack.shape.columns, 12);
    assert_non_null(dir.items[0].deepstack.data);
}

static void only_the_first_names_are_opened(void **state)
{
    (void)state;
    array("a.npy", 1, 4, EPDX_FLOAT16);
    (void)files_test_write("b.npy", "nonsense", 8);
    assert_int_equal(epi_npy_dir_open(files_test_dir(), 1, &dir), EPDX_OK);
    assert_int_equal(dir.count, 1);
}

static void no_directory(void **state)
{
    (void)state;
    assert_int_equal(epi_npy_dir_open(files_test_path("none"), 0, &dir),
                     EPDX_ERR_IO);
    assert_non_null(strstr(epdx_last_error(), "/none: No such file"));
}

static void no_arrays(void **state)
{
    (void)state;
    assert_fails("", "has no .npy files");
}

static void bad_file_is_named(void **state)
{
    (void)state;
    (void)files_test_write("b.npy", "nonsense", 8);
    array("a.npy", 1, 4, EPDX_FLOAT16);
    assert_int_equal(open_dir(), EPDX_ERR_MALFORMED);
    assert_non_null(strstr(epdx_last_error(), "/b.npy: not a .npy file"));
}

static void bad_name(void **state)
{
    const char *words =
        "its name is not 1 to 127 printable characters without space";

    (void)state;
    array("a b.npy", 1, 4, EPDX_FLOAT16);
    assert_fails("a b.npy", words);
}

static void only_a_suffix(void **state)
{
    (void)state;
    array(".npy", 1, 4, EPDX_FLOAT16);
    assert_fails(".npy",
                 "its name is not 1 to 127 printable characters without space");
}

static void dtypes_differ(void **state)
{
    (void)state;
    array("a.npy", 1, 4, EPDX_FLOAT16);
    array("b.npy", 1, 4, EPDX_BFLOAT16);
    assert_fails("b.npy", "its dtype is not that of a");
}

static void hidden_differs(void **state)
{
    (void)state;
    array("a.npy", 1, 4, EPDX_FLOAT16);
    array("b.npy", 1, 5, EPDX_FLOAT16);
    assert_fails("b.npy", "its row length is not that of a");
}

static void deepstack_without_main(void **state)
{
    (void)state;
    array("a.npy", 1, 4, EPDX_FLOAT16);
    array("b.deepstack.npy", 1, 4, EPDX_FLOAT16);
    assert_fails("b.deepstack.npy", "there is no b.npy beside it");
}

static void main_without_deepstack(void **state)
{
    (void)state;
    array("a.npy", 1, 4, EPDX_FLOAT16);
    array("a.deepstack.npy", 1, 4, EPDX_FLOAT16);
    array("b.npy", 1, 4, EPDX_FLOAT16);
    assert_int_equal(open_dir(), EPDX_ERR_IO);
    assert_non_null(strstr(epdx_last_error(), "/b.deepstack.npy: No such"));
}

static void deepstack_rows_differ(void **state)
{
    (void)state;
    array("a.npy", 2, 4, EPDX_FLOAT16);
    array("a.deepstack.npy", 1, 4, EPDX_FLOAT16);
    assert_fails("a.deepstack.npy", "its number of rows is not that of a");
}

static void deepstack_dtype_differs(void **state)
{
    (void)state;
    array("a.npy", 1, 4, EPDX_FLOAT16);
    array("a.deepstack.npy", 1, 4, EPDX_BFLOAT16);
    assert_fails("a.deepstack.npy", "its dtype is not that of a");
}

static void deepstack_is_no_whole_levels(void **state)
{
    const char *words = "its rows are not 1 to 64 times as long as those of a";

    (void)state;
    array("a.npy", 1, 4, EPDX_FLOAT16);
    array("a.deepstack.npy", 1, 6, EPDX_FLOAT16);
    assert_fails("a.deepstack.npy", words);
    array("a.deepstack.npy", 1, 3, EPDX_FLOAT16);
    assert_fails("a.deepstack.npy", words);
    array("a.deepstack.npy", 1, 260, EPDX_FLOAT16);
    assert_fails("a.deepstack.npy", words);
    array("a.deepstack.npy", 1, 256, EPDX_FLOAT16);
    assert_int_equal(open_dir(), EPDX_OK);
}

static void levels_differ(void **state)
{
    (void)state;
    array("a.npy", 1, 4, EPDX_FLOAT16);
    array("a.deepstack.npy", 1, 8, EPDX_FLOAT16);
    array("b.npy", 1, 4, EPDX_FLOAT16);
    array("b.deepstack.npy", 1, 12, EPDX_FLOAT16);
    assert_fails("b.deepstack.npy", "its row length is not that of a");
}

static void paths(void **state)
{
    char out[32];

    (void)state;
    assert_true(epi_npy_dir_path("d", "a", false, out, sizeof(out)));
    assert_string_equal(out, "d/a.npy");
    assert_true(epi_npy_dir_path("d", "a", true, out, sizeof(out)));
    assert_string_equal(out, "d/a.deepstack.npy");
    assert_false(epi_npy_dir_path("d", "a", true, out, 17));
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, files_test_setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(arrays_come_sorted_by_name),
        TEST(deepstack_lies_beside),
        TEST(only_the_first_names_are_opened),
        TEST(no_directory),
        TEST(no_arrays),
        TEST(bad_file_is_named),
        TEST(bad_name),
        TEST(only_a_suffix),
        TEST(dtypes_differ),
        TEST(hidden_differs),
        TEST(deepstack_without_main),
        TEST(main_without_deepstack),
        TEST(deepstack_rows_differ),
        TEST(deepstack_dtype_differs),
        TEST(deepstack_is_no_whole_levels),
        TEST(levels_differ),
        TEST(paths),
    };

    return cmocka_run_group_tests_name("npy_dir", tests, NULL, NULL);
}
