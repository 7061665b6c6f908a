/* histogram_test.c: which bucket a time falls into. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "metrics/histogram.h"

#define MS UINT64_C(1000000)
#define S  UINT64_C(1000000000)

static void bounds_ascend_and_are_the_same_in_seconds(void **state)
{
    (void)state;
    for (size_t i = 0; i < EPI_BOUNDS; i++) {
        uint64_t again = (uint64_t)(epi_bounds_s[i] * 1e9 + 0.5);

        assert_int_equal(epi_bounds_ns[i], again);
        if (i > 0) {
            assert_true(epi_bounds_ns[i] > epi_bounds_ns[i - 1]);
        }
    }
}

static void a_bound_belongs_to_its_bucket(void **state)
{
    (void)state;
    assert_int_equal(epi_histogram_bucket(0), 0);
    for (size_t i = 0; i < EPI_BOUNDS; i++) {
        assert_int_equal(epi_histogram_bucket(epi_bounds_ns[i]), i);
        assert_int_equal(epi_histogram_bucket(epi_bounds_ns[i] + 1), i + 1);
    }
    assert_int_equal(epi_histogram_bucket(UINT64_MAX), EPI_BOUNDS);
}

static void counts_are_cumulative(void **state)
{
    epi_histogram_t histogram = {0};
    epi_histogram_view_t view;

    (void)state;
    epi_histogram_add(&histogram, 1);
    epi_histogram_add(&histogram, MS);
    epi_histogram_add(&histogram, MS + 1);
    epi_histogram_add(&histogram, 301 * S);
    epi_histogram_read(&histogram, &view);
    assert_int_equal(view.counts[0], 1); /* 50 us */
    assert_int_equal(view.counts[3], 1); /* 500 us */
    assert_int_equal(view.counts[4], 2); /* 1 ms */
    assert_int_equal(view.counts[5], 3); /* 2.5 ms */
    assert_int_equal(view.counts[EPI_BOUNDS - 1], 3);
    assert_int_equal(view.counts[EPI_BOUNDS], 4);
    assert_true(view.sum_s == 301.002000002);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds_ascend_and_are_the_same_in_seconds),
        cmocka_unit_test(a_bound_belongs_to_its_bucket),
        cmocka_unit_test(counts_are_cumulative),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
