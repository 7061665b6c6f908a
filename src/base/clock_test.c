/* clock_test.c: time goes forward; deadlines become poll(2) times. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <limits.h>

#include "base/clock.h"

static void time_never_goes_back(void **state)
{
    uint64_t before = epi_now_ns();

    (void)state;
    assert_true(before > 0);
    for (int i = 0; i < 1000; i++) {
        uint64_t now = epi_now_ns();

        assert_true(now >= before);
        before = now;
    }
}

static void after_stops_at_never(void **state)
{
    (void)state;
    assert_int_equal(epi_after(5, 7), 12);
    assert_int_equal(epi_after(5, UINT64_MAX - 5), EPI_NEVER);
    assert_int_equal(epi_after(5, UINT64_MAX - 4), EPI_NEVER);
    assert_int_equal(epi_after(EPI_NEVER, 1), EPI_NEVER);
}

static void poll_time_is_rounded_up_and_bounded(void **state)
{
    (void)state;
    assert_int_equal(epi_poll_ms(10, 10, 1000), 0);
    assert_int_equal(epi_poll_ms(11, 10, 1000), 0);
    assert_int_equal(epi_poll_ms(10, 11, 1000), 1);
    assert_int_equal(epi_poll_ms(0, EPI_MS, 1000), 1);
    assert_int_equal(epi_poll_ms(0, EPI_MS + 1, 1000), 2);
    assert_int_equal(epi_poll_ms(0, EPI_S, 1000), 1000);
    assert_int_equal(epi_poll_ms(0, EPI_S + 1, 1000), 1000);
    assert_int_equal(epi_poll_ms(0, EPI_NEVER, INT_MAX), INT_MAX);
    assert_int_equal(epi_poll_ms(0, EPI_NEVER, 0), 0);
}

static void wall_time_is_written_in_utc(void **state)
{
    char out[EPI_WALL_TEXT];

    (void)state;
    epi_wall_text(0, out);
    assert_string_equal(out, "1970-01-01T00:00:00.000000Z");
    epi_wall_text(UINT64_C(1767323045) * EPI_S + 999999999, out);
    assert_string_equal(out, "2026-01-02T03:04:05.999999Z");
    assert_true(epi_wall_ns() > UINT64_C(1700000000) * EPI_S);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_never_goes_back),
        cmocka_unit_test(after_stops_at_never),
        cmocka_unit_test(poll_time_is_rounded_up_and_bounded),
        cmocka_unit_test(wall_time_is_written_in_utc),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
