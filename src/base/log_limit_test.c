/* log_limit_test.c: how many lines of a kind come through. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/log_limit.h"

static const char room[] = "room %d failed";
static const char rank[] = "rank %d went away";

static epi_log_verdict_t line(epi_log_limit_t *limit, uint64_t now)
{
    uint32_t left_out;

    return epi_log_limit(limit, room, now, 3, &left_out);
}

static void a_burst_then_none(void **state)
{
    epi_log_limit_t limit = {0};
    uint32_t left_out = 9;

    (void)state;
    assert_int_equal(line(&limit, 5), EPI_LOG_WRITE);
    assert_int_equal(line(&limit, 6), EPI_LOG_WRITE);
    assert_int_equal(line(&limit, 7), EPI_LOG_WRITE_LAST);
    assert_int_equal(line(&limit, 8), EPI_LOG_LEAVE_OUT);
    assert_int_equal(line(&limit, 4 + EPI_LOG_WINDOW_NS), EPI_LOG_LEAVE_OUT);
    /* Another kind has a burst of its own. */
    assert_int_equal(epi_log_limit(&limit, rank, 8, 3, &left_out),
                     EPI_LOG_WRITE);
    assert_int_equal(left_out, 0);
}

static void the_next_window_tells_what_was_left_out(void **state)
{
    epi_log_limit_t limit = {0};
    uint32_t left_out = 9;

    (void)state;
    for (int i = 0; i < 10; i++) {
        (void)line(&limit, 5);
    }
    assert_int_equal(
        epi_log_limit(&limit, room, 5 + EPI_LOG_WINDOW_NS, 3, &left_out),
        EPI_LOG_WRITE);
    assert_int_equal(left_out, 7);
    assert_int_equal(
        epi_log_limit(&limit, room, 6 + EPI_LOG_WINDOW_NS, 3, &left_out),
        EPI_LOG_WRITE);
    assert_int_equal(left_out, 0);
}

static void no_burst_is_no_limit(void **state)
{
    epi_log_limit_t limit = {0};
    uint32_t left_out;

    (void)state;
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(epi_log_limit(&limit, room, 5, 0, &left_out),
                         EPI_LOG_WRITE);
    }
}

static void kinds_beyond_the_table_are_not_limited(void **state)
{
    static const char texts[8 * 64 * EPI_LOG_KINDS];
    epi_log_limit_t limit = {0};
    uint32_t left_out;
    int written = 0;

    (void)state;
    for (size_t i = 0; i < sizeof(texts); i += 8) {
        (void)epi_log_limit(&limit, &texts[i], 5, 1, &left_out);
    }
    for (int i = 0; i < 5; i++) {
        written +=
            epi_log_limit(&limit, rank, 5, 1, &left_out) != EPI_LOG_LEAVE_OUT;
    }
    assert_int_equal(written, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_burst_then_none),
        cmocka_unit_test(the_next_window_tells_what_was_left_out),
        cmocka_unit_test(no_burst_is_no_limit),
        cmocka_unit_test(kinds_beyond_the_table_are_not_limited),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
