/* stats_test.c: the figures that epdx_bench reports. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench/stats.h"

static bool near(double value, double expected)
{
    double off = value > expected ? value - expected : expected - value;

    return off < 1e-6;
}

static void test_median(void **state)
{
    double odd[] = {5, 1, 9};
    double even[] = {4, 1, 2, 100};

    (void)state;
    assert_true(near(epi_stats_median(odd, 3), 5));
    assert_true(near(epi_stats_median(even, 4), 3));
    assert_true(near(epi_stats_median(even, 0), 0));
}

static void test_percentile(void **state)
{
    double values[100];

    (void)state;
    for (size_t i = 0; i < 100; i++) {
        values[i] = (double)(100 - i);
    }
    assert_true(near(epi_stats_percentile(values, 100, 50), 50));
    assert_true(near(epi_stats_percentile(values, 100, 99), 99));
    assert_true(near(epi_stats_percentile(values, 100, 0), 1));
    assert_true(near(epi_stats_percentile(values, 0, 50), 0));
}

static void test_ratio_is_of_pairs(void **state)
{
    /* Medians would say 2; each pair says 1/2. */
    const double ours[] = {1, 2, 100};
    const double theirs[] = {2, 4, 200};
    const double nothing[] = {0, 0, 0};
    double scratch[3];

    (void)state;
    assert_true(near(epi_stats_ratio(ours, theirs, 3, scratch), 0.5));
    assert_true(near(epi_stats_ratio(ours, nothing, 3, scratch), 0));
}

static void check_law(epi_law_t law, const double *cost, double at_1024)
{
    const double n[] = {1, 2, 4, 8, 16, 32};
    epi_fit_t fit = epi_stats_fit(n, cost, 6);

    assert_int_equal(fit.law, law);
    assert_true(near(epi_stats_at(&fit, 1024), at_1024));
    assert_true(near(fit.r2, 1));
}

static void test_fit_finds_the_law(void **state)
{
    const double constant[] = {7, 7, 7, 7, 7, 7};
    const double linear[] = {13, 16, 22, 34, 58, 106};
    const double n_log_n[] = {1, 5, 17, 49, 129, 321};
    const double square[] = {6, 9, 21, 69, 261, 1029};

    (void)state;
    check_law(EPI_LAW_CONSTANT, constant, 7);
    check_law(EPI_LAW_LINEAR, linear, 10 + 3 * 1024);
    check_law(EPI_LAW_N_LOG_N, n_log_n, 1 + 2 * 10240);
    check_law(EPI_LAW_SQUARE, square, 5 + 1024 * 1024);
}

static void test_noise_is_not_growth(void **state)
{
    const double n[] = {1, 2, 4, 8, 16, 32};
    const double cost[] = {100, 101, 99.5, 100.2, 100.9, 101.2};

    (void)state;
    assert_int_equal(epi_stats_fit(n, cost, 6).law, EPI_LAW_CONSTANT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_median),
        cmocka_unit_test(test_percentile),
        cmocka_unit_test(test_ratio_is_of_pairs),
        cmocka_unit_test(test_fit_finds_the_law),
        cmocka_unit_test(test_noise_is_not_growth),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
