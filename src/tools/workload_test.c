/* workload_test.c: traces: what is read, and what each mistake says. */
#include "tools/workload.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tools/files_test.h"

static epi_workload_t workload;

static epdx_status_t load(const char *text, size_t limit)
{
    epi_workload_fini(&workload);
    return epi_workload_load(files_test_write("w.jsonl", text, strlen(text)),
                             limit, &workload);
}

static void assert_wrong(const char *text, const char *words)
{
    char expected[EPDX_REASON_MAX];

    assert_int_equal(load(text, 0), EPDX_ERR_MALFORMED);
    (void)snprintf(expected, sizeof(expected), "%s%s",
                   files_test_path("w.jsonl"), words);
    assert_string_equal(epdx_last_error(), expected);
    assert_int_equal(workload.count, 0);
}

static int teardown(void **state)
{
    epi_workload_fini(&workload);
    return files_test_teardown(state);
}

#define A "{\"t\": 0.0, \"id\": \"a\", \"images\": [144, 4294967296]}\n"
#define B "{\"images\":[1],\"t\":1.5,\"id\":\"b\"}"

static void requests_are_read_in_order(void **state)
{
    size_t index;

    (void)state;
    assert_int_equal(load(A B, 0), EPDX_OK);
    assert_int_equal(workload.count, 2);
    assert_string_equal(workload.requests[0].id, "a");
    assert_int_equal(workload.requests[0].due_ns, 0);
    assert_int_equal(workload.requests[0].count, 2);
    assert_string_equal(workload.requests[1].id, "b");
    assert_int_equal(workload.requests[1].due_ns, 1500000000);
    assert_int_equal(workload.requests[1].first, 2);
    assert_int_equal(workload.rows[0], 144);
    assert_int_equal(workload.rows[1], UINT64_C(4294967296));
    assert_int_equal(workload.rows[2], 1);
    assert_true(epi_workload_find(&workload, "b", &index));
    assert_int_equal(index, 1);
    assert_false(epi_workload_find(&workload, "c", &index));
}

static void a_last_line_end_is_no_request(void **state)
{
    (void)state;
    assert_int_equal(load(A B "\n", 0), EPDX_OK);
    assert_int_equal(workload.count, 2);
}

static void requests_past_the_limit_are_not_read(void **state)
{
    (void)state;
    assert_int_equal(load(A "nonsense\n", 1), EPDX_OK);
    assert_int_equal(workload.count, 1);
    assert_int_equal(load(A B, 9), EPDX_OK);
    assert_int_equal(workload.count, 2);
}

static void missing_file(void **state)
{
    (void)state;
    assert_int_equal(epi_workload_load(files_test_path("none"), 0, &workload),
                     EPDX_ERR_IO);
    assert_non_null(strstr(epdx_last_error(), "/none: No such file"));
    assert_int_equal(epi_workload_load(files_test_dir(), 0, &workload),
                     EPDX_ERR_IO);
    assert_non_null(strstr(epdx_last_error(), "Is a directory"));
}

static void empty_file(void **state)
{
    (void)state;
    assert_wrong("", ": has no requests");
}

static void not_json(void **state)
{
    (void)state;
    assert_wrong(A "{\"t\": 0, x}", ", line 2: not JSON, near column 11");
    assert_wrong("\n" A, ", line 1: not JSON, near column 1");
    assert_wrong(B B, ", line 1: not JSON, near column 32");
    assert_wrong("[1]", ", line 1: not a JSON object");
    assert_wrong("7\n", ", line 1: not a JSON object");
}

static void zero_bytes_and_characters(void **state)
{
    static const char text[] = "{\"t\":0,\0\"id\":\"a\",\"images\":[1]}";

    (void)state;
    (void)files_test_write("w.jsonl", text, sizeof(text));
    assert_int_equal(
        epi_workload_load(files_test_path("w.jsonl"), 0, &workload),
        EPDX_ERR_MALFORMED);
    assert_non_null(strstr(epdx_last_error(), "line 1: holds a zero byte"));
    assert_wrong("{\"t\":0,\"id\":\"a\\u0000b\",\"images\":[1]}",
                 ", line 1: holds a zero character");
}

static void line_too_long(void **state)
{
    size_t length = EPI_WORKLOAD_LINE_MAX + 1;
    char *text = malloc(length + 1);

    (void)state;
    assert_non_null(text);
    memset(text, ' ', length);
    text[length] = '\0';
    assert_wrong(text, ", line 1: longer than 1048576 bytes");
    free(text);
}

static void fields(void **state)
{
    (void)state;
    assert_wrong("{\"id\":\"a\",\"images\":[1]}", ", line 1: has no \"t\"");
    assert_wrong("{\"t\":0,\"images\":[1]}", ", line 1: has no \"id\"");
    assert_wrong("{\"t\":0,\"id\":\"a\"}", ", line 1: has no \"images\"");
    assert_wrong("{\"t\":0,\"t\":0,\"id\":\"a\",\"images\":[1]}",
                 ", line 1: has \"t\" twice");
    assert_wrong("{\"t\":0,\"id\":\"a\",\"images\":[1],\"n\":1}",
                 ", line 1: unknown field \"n\"");
}

static void time(void **state)
{
    const char *words =
        ", line 1: \"t\" is not a number of seconds from 0 to 1e9";

    (void)state;
    assert_wrong("{\"t\":\"0\",\"id\":\"a\",\"images\":[1]}", words);
    assert_wrong("{\"t\":-1,\"id\":\"a\",\"images\":[1]}", words);
    assert_wrong("{\"t\":1e999,\"id\":\"a\",\"images\":[1]}", words);
    assert_wrong(B "\n" A,
                 ", line 2: \"t\" is before that of the request above");
}

static void id(void **state)
{
    char text[256];
    char name[EPDX_ID_MAX + 2];
    const char *words = ", line 1: the id is not 1 to 127 printable "
                        "characters without space";

    (void)state;
    assert_wrong("{\"t\":0,\"id\":7,\"images\":[1]}",
                 ", line 1: \"id\" is not a text");
    assert_wrong("{\"t\":0,\"id\":\"\",\"images\":[1]}", words);
    assert_wrong("{\"t\":0,\"id\":\"a b\",\"images\":[1]}", words);
    memset(name, 'x', sizeof(name));
    name[EPDX_ID_MAX + 1] = '\0';
    (void)snprintf(text, sizeof(text), "{\"t\":0,\"id\":\"%s\",\"images\":[1]}",
                   name);
    assert_wrong(text, words);
    (void)snprintf(text, sizeof(text), "{\"t\":0,\"id\":\"%s\",\"images\":[1]}",
                   name + 1);
    assert_int_equal(load(text, 0), EPDX_OK);
}

static void images(void **state)
{
    (void)state;
    assert_wrong("{\"t\":0,\"id\":\"a\",\"images\":5}",
                 ", line 1: \"images\" is not an array");
    assert_wrong("{\"t\":0,\"id\":\"a\",\"images\":[]}",
                 ", line 1: 0 images; 1 to 4096 are allowed");
}

static void rows(void **state)
{
    static const char *const wrong[] = {"0",     "-1",         "1.5",
                                        "\"1\"", "4294967297", "null"};

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        char text[128];

        (void)snprintf(text, sizeof(text),
                       "{\"t\":0,\"id\":\"a\",\"images\":[1,%s]}", wrong[i]);
        assert_wrong(text, ", line 1: image 1 is not a whole number of rows "
                           "from 1 to 4294967296");
    }
}

static void images_up_to_the_limit(void **state)
{
    static char text[3 * EPI_WORKLOAD_ITEMS_MAX + 64];
    size_t used = (size_t)sprintf(text, "{\"t\":0,\"id\":\"a\",\"images\":[1");

    (void)state;
    for (size_t i = 1; i < EPI_WORKLOAD_ITEMS_MAX; i++) {
        used += (size_t)sprintf(text + used, ",1");
    }
    (void)strcpy(text + used, "]}");
    assert_int_equal(load(text, 0), EPDX_OK);
    assert_int_equal(workload.rows_count, EPI_WORKLOAD_ITEMS_MAX);
    (void)strcpy(text + used, ",1]}");
    assert_wrong(text, ", line 1: more than 4096 images");
}

static void an_id_twice(void **state)
{
    (void)state;
    assert_wrong("{\"t\":0,\"id\":\"b\",\"images\":[1]}\n"
                 "{\"t\":0,\"id\":\"a\",\"images\":[1]}\n"
                 "{\"t\":0,\"id\":\"b\",\"images\":[1]}\n",
                 ": the id \"b\" of request 3 is that of request 1 too (a "
                 "request is a line)");
}

static void sizes_follow_the_item_layout(void **state)
{
    const uint64_t first[] = {1, 100};
    const uint64_t second[] = {128};
    epi_workload_sizes_t sizes;

    (void)state;
    assert_int_equal(epi_workload_add(&workload, "a", 0, first, 2), EPDX_OK);
    assert_int_equal(epi_workload_add(&workload, "b", 0, second, 1), EPDX_OK);
    /* Rows of 10 and 30 bytes; each part on 256: 256 + 256, 1024 + 3072;
     * 1280 + 3840. */
    assert_int_equal(epi_workload_sizes(&workload, 10, 30, &sizes), EPDX_OK);
    assert_int_equal(sizes.item_bytes, 1280 + 3840);
    assert_int_equal(sizes.request_bytes, 1280 + 3840);
    assert_int_equal(sizes.total_rows, 229);
    assert_int_equal(epi_workload_sizes(&workload, 10, 0, &sizes), EPDX_OK);
    assert_int_equal(sizes.item_bytes, 1280);
    assert_int_equal(sizes.request_bytes, 1280);
    assert_int_equal(epi_workload_sizes(&workload, 2, 0, &sizes), EPDX_OK);
    assert_int_equal(sizes.request_bytes, 512);
}

static void sizes_that_overflow(void **state)
{
    const uint64_t many = EPI_WORKLOAD_ROWS_MAX;
    epi_workload_sizes_t sizes = {1, 2, 3};

    (void)state;
    assert_int_equal(epi_workload_add(&workload, "a", 0, &many, 1), EPDX_OK);
    assert_int_equal(
        epi_workload_sizes(&workload, UINT64_C(1) << 32, 0, &sizes),
        EPDX_ERR_TOO_LARGE);
    assert_string_equal(epdx_last_error(),
                        "request \"a\" has more than 2^64 bytes");
    assert_int_equal(sizes.item_bytes, 1);
}

static void a_refused_request_changes_nothing(void **state)
{
    const uint64_t good = 1;
    const uint64_t none = 0;

    (void)state;
    assert_int_equal(epi_workload_add(&workload, "a", 5, &good, 1), EPDX_OK);
    assert_int_equal(epi_workload_add(&workload, "b", 4, &good, 1),
                     EPDX_ERR_INVALID);
    assert_int_equal(epi_workload_add(&workload, "b", 5, &none, 1),
                     EPDX_ERR_INVALID);
    assert_string_equal(epdx_last_error(),
                        "image 0 has 0 rows; 1 to 4294967296 are allowed");
    assert_int_equal(workload.count, 1);
    assert_int_equal(workload.rows_count, 1);
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, files_test_setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(requests_are_read_in_order),
        TEST(a_last_line_end_is_no_request),
        TEST(requests_past_the_limit_are_not_read),
        TEST(missing_file),
        TEST(empty_file),
        TEST(not_json),
        TEST(zero_bytes_and_characters),
        TEST(line_too_long),
        TEST(fields),
        TEST(time),
        TEST(id),
        TEST(images),
        TEST(rows),
        TEST(images_up_to_the_limit),
        TEST(an_id_twice),
        TEST(sizes_follow_the_item_layout),
        TEST(sizes_that_overflow),
        TEST(a_refused_request_changes_nothing),
    };

    return cmocka_run_group_tests_name("workload", tests, NULL, NULL);
}
