/* source_test.c: items of a trace and of arrays, made and checked. */
#include "tools/source.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "tools/files_test.h"
#include "tools/rooms.h"

#define TRACE                                                                  \
    "{\"t\":0,\"id\":\"a\",\"images\":[3,5]}\n"                                \
    "{\"t\":1,\"id\":\"b\",\"images\":[2]}\n"

static epi_source_t source;

static int teardown(void **state)
{
    epi_source_close(&source);
    return files_test_teardown(state);
}

static epi_source_params_t trace_params(void)
{
    epi_source_params_t params = EPI_SOURCE_PRESET;

    params.workload = files_test_write("w", TRACE, strlen(TRACE));
    return params;
}

static void a_trace_has_a_default_shape(void **state)
{
    epi_source_params_t params = trace_params();

    (void)state;
    assert_int_equal(epi_source_open(&params, &source), EPDX_OK);
    assert_int_equal(source.hidden, 3584);
    assert_int_equal(source.levels, 0);
    assert_int_equal(source.dtype, EPDX_BFLOAT16);
    assert_int_equal(source.main_row_bytes, 7168);
    assert_int_equal(source.deepstack_row_bytes, 0);
    assert_int_equal(source.workload.count, 2);
    assert_int_equal(epi_source_rows(&source, (epi_source_item_t){0, 1}), 5);
    assert_int_equal(epi_source_rows(&source, (epi_source_item_t){1, 0}), 2);
}

/* Both parts: how many bytes are wrong. */
static uint64_t verify(epi_source_item_t at, const void *main,
                       const void *deepstack, epi_wrong_t *wrong)
{
    return epi_source_verify_part(&source, at, EPI_PART_MAIN, main, wrong) +
           epi_source_verify_part(&source, at, EPI_PART_DEEPSTACK, deepstack,
                                  wrong);
}

static void items_of_a_trace_are_synthetic(void **state)
{
    const epi_source_item_t at = {0, 1};
    const epi_synthetic_t expected = {epi_room(0, 1), EPI_PART_DEEPSTACK, 12,
                                      4};
    epi_source_params_t params = trace_params();
    uint8_t main[5 * 6 * 4], deepstack[5 * 12 * 4];
    epi_wrong_t wrong = {0, 0, 0};
    const void *mapped_main, *mapped_deepstack;

    (void)state;
    params.hidden = 6;
    params.levels = 2;
    params.dtype = EPDX_FLOAT32;
    assert_int_equal(epi_source_open(&params, &source), EPDX_OK);
    assert_false(
        epi_source_mapped(&source, at, &mapped_main, &mapped_deepstack));
    epi_source_fill(&source, at, main, deepstack);
    assert_int_equal(verify(at, main, deepstack, &wrong), 0);
    assert_int_equal(
        epi_synthetic_verify(&expected, (epdx_rows_t){0, 5}, deepstack, &wrong),
        0);
    main[0] ^= 1;
    deepstack[239] ^= 1;
    assert_int_equal(verify(at, main, deepstack, &wrong), 2);
}

static void only_the_first_requests(void **state)
{
    epi_source_params_t params = trace_params();

    (void)state;
    params.requests = 1;
    assert_int_equal(epi_source_open(&params, &source), EPDX_OK);
    assert_int_equal(source.workload.count, 1);
}

static void write_arrays(void)
{
    const epi_npy_shape_t main = {3, 2, EPDX_FLOAT16};
    const epi_npy_shape_t deepstack = {3, 4, EPDX_FLOAT16};

    assert_int_equal(
        epi_npy_write(files_test_path("x.npy"), &main, "0123456789ab"),
        EPDX_OK);
    assert_int_equal(epi_npy_write(files_test_path("x.deepstack.npy"),
                                   &deepstack, "0123456789abcdefghijklmn"),
                     EPDX_OK);
}

static void arrays_are_items(void **state)
{
    const epi_source_item_t at = {0, 0};
    epi_source_params_t params = EPI_SOURCE_PRESET;
    char main[12], deepstack[24];
    const void *mapped_main, *mapped_deepstack;
    epi_wrong_t wrong = {0, 0, 0};

    (void)state;
    write_arrays();
    params.npy = files_test_dir();
    assert_int_equal(epi_source_open(&params, &source), EPDX_OK);
    assert_int_equal(source.workload.count, 1);
    assert_string_equal(source.workload.requests[0].id, "x");
    assert_int_equal(source.hidden, 2);
    assert_int_equal(source.levels, 2);
    assert_int_equal(source.deepstack_row_bytes, 8);
    epi_source_fill(&source, at, main, deepstack);
    assert_memory_equal(main, "0123456789ab", 12);
    assert_memory_equal(deepstack, "0123456789abcdefghijklmn", 24);
    assert_true(
        epi_source_mapped(&source, at, &mapped_main, &mapped_deepstack));
    assert_memory_equal(mapped_main, main, 12);
    assert_memory_equal(mapped_deepstack, deepstack, 24);
    assert_int_equal(verify(at, main, deepstack, &wrong), 0);
    deepstack[23] = 'x';
    assert_int_equal(verify(at, main, deepstack, &wrong), 1);
    assert_int_equal(wrong.first_row, 2);
    assert_int_equal(wrong.first_column, 3);
}

static void errors_pass_through(void **state)
{
    epi_source_params_t params = EPI_SOURCE_PRESET;

    (void)state;
    params.workload = files_test_path("none");
    assert_int_equal(epi_source_open(&params, &source), EPDX_ERR_IO);
    params.workload = NULL;
    params.npy = files_test_dir();
    assert_int_equal(epi_source_open(&params, &source), EPDX_ERR_INVALID);
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, files_test_setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_trace_has_a_default_shape), TEST(items_of_a_trace_are_synthetic),
        TEST(only_the_first_requests),     TEST(arrays_are_items),
        TEST(errors_pass_through),
    };

    return cmocka_run_group_tests_name("source", tests, NULL, NULL);
}
