/* report_test.c: percentiles, JSON, the progress line's pace. */
#include "tools/report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"

static void percentiles_are_exact(void **state)
{
    epi_latencies_t latencies;

    (void)state;
    assert_int_equal(epi_latencies_init(&latencies, 200), EPDX_OK);
    for (uint64_t i = 200; i > 0; i--) {
        epi_latencies_add(&latencies, i * EPI_MS);
    }
    assert_true(epi_latencies_ms(&latencies, 50) == 100.0);
    assert_true(epi_latencies_ms(&latencies, 99) == 198.0);
    assert_true(epi_latencies_ms(&latencies, 100) == 200.0);
    assert_true(epi_latencies_ms(&latencies, 0) == 1.0);
    epi_latencies_fini(&latencies);
}

static void percentiles_of_few(void **state)
{
    epi_latencies_t latencies;

    (void)state;
    assert_int_equal(epi_latencies_init(&latencies, 2), EPDX_OK);
    assert_true(epi_latencies_ms(&latencies, 99) == 0.0);
    epi_latencies_add(&latencies, 7 * EPI_MS);
    assert_true(epi_latencies_ms(&latencies, 50) == 7.0);
    assert_true(epi_latencies_ms(&latencies, 99) == 7.0);
    epi_latencies_add(&latencies, 9 * EPI_MS);
    assert_true(epi_latencies_ms(&latencies, 50) == 7.0);
    assert_true(epi_latencies_ms(&latencies, 51) == 9.0);
    epi_latencies_add(&latencies, 100 * EPI_MS);
    assert_true(epi_latencies_ms(&latencies, 99) == 9.0);
    epi_latencies_fini(&latencies);
}

static void json_is_one_line_in_order(void **state)
{
    static const uint64_t values[] = {1, 2, UINT64_MAX};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    epi_json_t json;

    (void)state;
    epi_json_begin(&json, out);
    epi_json_u64(&json, "a", UINT64_MAX);
    epi_json_double(&json, "b", 0.125);
    epi_json_double(&json, "inf", 1.0 / 0.0);
    epi_json_text(&json, "c", "q\"\\\n\x01");
    epi_json_array(&json, "d", values, 3);
    epi_json_array(&json, "none", values, 0);
    epi_json_open(&json, "e", '{');
    epi_json_u64(&json, "x", 0);
    epi_json_bool(&json, "y", true);
    epi_json_close(&json, '{');
    epi_json_open(&json, "f", '[');
    epi_json_open(&json, NULL, '{');
    epi_json_close(&json, '{');
    epi_json_open(&json, NULL, '{');
    epi_json_close(&json, '{');
    epi_json_close(&json, '[');
    epi_json_bool(&json, "g", false);
    epi_json_end(&json);
    (void)fclose(out);
    assert_string_equal(
        text, "{\"a\":18446744073709551615,\"b\":0.125,\"inf\":0,"
              "\"c\":\"q\\\"\\\\\\u000a\\u0001\","
              "\"d\":[1,2,18446744073709551615],\"none\":[],"
              "\"e\":{\"x\":0,\"y\":true},\"f\":[{},{}],\"g\":false}\n");
    free(text);
}

static void rows_of_a_table(void **state)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    (void)state;
    epi_report_row(out, "name", "%d of %s", 3, "x");
    (void)fclose(out);
    assert_string_equal(text, "  name                  3 of x\n");
    free(text);
}

/* What a progress line writes to standard error, kept in a file. */
static long written(const epi_progress_line_t *preset,
                    void (*use)(epi_progress_line_t *))
{
    epi_progress_line_t progress = *preset;
    FILE *file = tmpfile();
    int saved = dup(STDERR_FILENO);
    long size;

    assert_non_null(file);
    (void)fflush(stderr);
    (void)dup2(fileno(file), STDERR_FILENO);
    use(&progress);
    (void)fflush(stderr);
    (void)dup2(saved, STDERR_FILENO);
    (void)close(saved);
    size = (long)lseek(fileno(file), 0, SEEK_END);
    (void)fclose(file);
    return size;
}

static void show_once(epi_progress_line_t *progress)
{
    epi_progress_show(progress, EPI_S, 1, 0);
}

static void show_twice_at_once(epi_progress_line_t *progress)
{
    epi_progress_show(progress, EPI_S, 1, 0);
    epi_progress_show(progress, EPI_S + 199 * EPI_MS, 2, 0);
}

static void show_again_later(epi_progress_line_t *progress)
{
    epi_progress_show(progress, EPI_S, 1, 0);
    epi_progress_show(progress, EPI_S + 200 * EPI_MS, 2, 0);
}

static void clear_only(epi_progress_line_t *progress)
{
    epi_progress_clear(progress);
}

static void progress_has_its_pace(void **state)
{
    epi_progress_line_t progress;
    long once;

    (void)state;
    epi_progress_init(&progress, "prog", "requests", 5, true);
    once = written(&progress, show_once);
    assert_int_equal(once, strlen("\r\033[Kprog: 1 of 5 requests, 0 failed"));
    assert_int_equal(written(&progress, show_twice_at_once), once);
    assert_int_equal(written(&progress, show_again_later), 2 * once);
    assert_int_equal(written(&progress, clear_only), 0);
}

static void init_off(epi_progress_line_t *progress)
{
    /* Standard error is a file here. */
    epi_progress_init(progress, "prog", "requests", 5, false);
    epi_progress_show(progress, EPI_S, 1, 0);
    epi_progress_clear(progress);
}

static void no_progress_without_a_terminal(void **state)
{
    epi_progress_line_t progress;

    (void)state;
    memset(&progress, 0, sizeof(progress));
    assert_int_equal(written(&progress, init_off), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(percentiles_are_exact),
        cmocka_unit_test(percentiles_of_few),
        cmocka_unit_test(json_is_one_line_in_order),
        cmocka_unit_test(rows_of_a_table),
        cmocka_unit_test(progress_has_its_pace),
        cmocka_unit_test(no_progress_without_a_terminal),
    };

    return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
