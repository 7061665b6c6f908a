/* log_form_test.c: the three ways in which a line is written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/clock.h"
#include "base/log_form.h"

/* 2026-01-02 03:04:05.000006 UTC. */
#define WALL_NS (UINT64_C(1767323045) * EPI_S + 6 * EPI_US)

static void formed(epi_log_form_t form, const char *text, const char *want)
{
    epi_log_line_t line = {.form = form,
                           .level = EPDX_LOG_WARN,
                           .host = "node1",
                           .pid = 42,
                           .rank = "3",
                           .wall_ns = WALL_NS,
                           .text = text};
    char out[EPI_LOG_FORM_BYTES];
    size_t length = epi_log_form(&line, out);

    assert_int_equal(length, strlen(want));
    assert_memory_equal(out, want, length);
}

static void text_and_time(void **state)
{
    (void)state;
    formed(EPI_LOG_TEXT, "room 7 failed",
           "epdx: node1:42 warn: room 7 failed\n");
    formed(EPI_LOG_TIMED, "room 7 failed",
           "2026-01-02T03:04:05.000006Z epdx: node1:42 warn: room 7 failed\n");
}

#define JSON(text)                                                             \
    "{\"time\":\"2026-01-02T03:04:05.000006Z\",\"level\":\"warn\","            \
    "\"host\":\"node1\",\"pid\":42,\"rank\":\"3\",\"text\":\"" text "\"}\n"

static void json_is_quoted(void **state)
{
    (void)state;
    formed(EPI_LOG_JSON, "room 7 failed", JSON("room 7 failed"));
    formed(EPI_LOG_JSON, "a \"b\" c:\\d", JSON("a \\\"b\\\" c:\\\\d"));
    formed(EPI_LOG_JSON, "", JSON(""));
}

static void json_is_utf_8(void **state)
{
    (void)state;
    formed(EPI_LOG_JSON, "\xc3\xb6 \xe2\x82\xac \xf0\x9f\x98\x80",
           JSON("\xc3\xb6 \xe2\x82\xac \xf0\x9f\x98\x80"));
    /* Stray, cut off, too long a form, a half of a pair, past the last one. */
    formed(EPI_LOG_JSON, "\x80|\xc3|\xc0\xaf|\xed\xa0\x80|\xf4\x90\x80\x80",
           JSON("?|?|??|???|????"));
    formed(EPI_LOG_JSON, "\xe2\x82", JSON("??"));
}

static void the_longest_line_fits(void **state)
{
    char text[1024];
    epi_log_line_t line = {
        .form = EPI_LOG_JSON, .host = "h", .rank = "0", .text = text};
    char out[EPI_LOG_FORM_BYTES];

    (void)state;
    memset(text, '"', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    assert_true(epi_log_form(&line, out) > 2 * strlen(text));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_and_time),
        cmocka_unit_test(json_is_quoted),
        cmocka_unit_test(json_is_utf_8),
        cmocka_unit_test(the_longest_line_fits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
