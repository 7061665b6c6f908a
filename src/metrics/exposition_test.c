/* exposition_test.c: the text that Prometheus reads, byte by byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <locale.h>
#include <string.h>

#include "metrics/exposition.h"
#include "metrics/metrics.h"

#define MS UINT64_C(1000000)

/* The text of one family of a set, as of now. */
static void shown(const epi_metrics_t *metrics, const char *name, uint64_t now,
                  const char *want)
{
    size_t count;
    const epi_family_t *families = epi_families(metrics->owner, &count);
    char out[8192];
    epi_exposition_t text;

    epi_exposition_begin(&text, out, sizeof(out));
    for (size_t i = 0; i < count; i++) {
        if (strcmp(families[i].name, name) == 0) {
            epi_metrics_visit(metrics, &families[i], now, epi_exposition_add,
                              &text);
        }
    }
    assert_string_equal(out, want);
    assert_int_equal(text.used, strlen(want));
}

static void counters_and_gauges(void **state)
{
    epi_metrics_t metrics = {
        .owner = EPI_OWNER_RECEIVER, .rank = 3, .object = 1};

    (void)state;
    epi_metric_add(&metrics, EPI_RX_STAGED, 2);
    epi_metric_add(&metrics, EPI_RX_STAGED, 3);
    shown(&metrics, "epdx_receiver_requests_staged_total", 0,
          "# HELP epdx_receiver_requests_staged_total Requests taken by this "
          "rank.\n"
          "# TYPE epdx_receiver_requests_staged_total counter\n"
          "epdx_receiver_requests_staged_total{rank=\"3\",object=\"1\"} 5\n");
    epi_metric_set(&metrics, EPI_RX_POOL, UINT64_C(1) << 40);
    shown(&metrics, "epdx_receiver_pool_bytes", 0,
          "# HELP epdx_receiver_pool_bytes Size of the receive pool.\n"
          "# TYPE epdx_receiver_pool_bytes gauge\n"
          "epdx_receiver_pool_bytes{rank=\"3\",object=\"1\"} 1099511627776\n");
}

static void labels(void **state)
{
    epi_metrics_t metrics = {.owner = EPI_OWNER_SENDER};

    (void)state;
    epi_metric_add(&metrics, EPI_TX_DROPPED + 1, 7);
    shown(&metrics, "epdx_sender_frames_dropped_total", 0,
          "# HELP epdx_sender_frames_dropped_total Control messages that did "
          "not parse or were not believed, or did not fit a message.\n"
          "# TYPE epdx_sender_frames_dropped_total counter\n"
          "epdx_sender_frames_dropped_total{rank=\"0\",object=\"0\","
          "cause=\"malformed\"} 0\n"
          "epdx_sender_frames_dropped_total{rank=\"0\",object=\"0\","
          "cause=\"unfit\"} 7\n");
}

#define AGE_OF(value)                                                          \
    "# HELP epdx_admission_oldest_pending_seconds Age of the oldest pending "  \
    "request; 0 without one.\n"                                                \
    "# TYPE epdx_admission_oldest_pending_seconds gauge\n"                     \
    "epdx_admission_oldest_pending_seconds{rank=\"0\",object=\"0\"} " value    \
    "\n"

static void ages_grow_until_they_are_read(void **state)
{
    epi_metrics_t metrics = {.owner = EPI_OWNER_ADMISSION};
    const char *name = "epdx_admission_oldest_pending_seconds";

    (void)state;
    shown(&metrics, name, 1000 * MS, AGE_OF("0"));
    epi_metric_set(&metrics, EPI_AD_OLDEST_NS, 1000 * MS);
    shown(&metrics, name, 3500 * MS, AGE_OF("2.5"));
    shown(&metrics, name, 5000 * MS, AGE_OF("4"));
    shown(&metrics, name, 999 * MS, AGE_OF("0"));
}

static void histograms(void **state)
{
    epi_metrics_t metrics = {.owner = EPI_OWNER_ADMISSION};
    char out[8192];
    epi_exposition_t text;
    size_t count;
    const epi_family_t *families = epi_families(EPI_OWNER_ADMISSION, &count);
    const epi_family_t *drain = NULL;

    (void)state;
    for (size_t i = 0; i < count && drain == NULL; i++) {
        if (strcmp(families[i].name, "epdx_admission_drain_seconds") == 0) {
            drain = &families[i];
        }
    }
    assert_non_null(drain);
    epi_metric_time(&metrics, EPI_AD_DRAIN_S, 5 * MS, 6 * MS + MS / 2);
    epi_metric_time(&metrics, EPI_AD_DRAIN_S, 0, 400000 * MS);
    epi_metric_time(&metrics, EPI_AD_DRAIN_S, 5, 4); /* never below 0 */
    epi_exposition_begin(&text, out, sizeof(out));
    epi_metrics_visit(&metrics, drain, 0, epi_exposition_add, &text);
    assert_non_null(
        strstr(out, "# TYPE epdx_admission_drain_seconds histogram\n"
                    "epdx_admission_drain_seconds_bucket{rank=\"0\",object="
                    "\"0\",le=\"5e-05\"} 1\n"));
    assert_non_null(strstr(out, "le=\"0.001\"} 1\n"));
    assert_non_null(strstr(out, "le=\"0.0025\"} 2\n"));
    assert_non_null(
        strstr(out, "le=\"300\"} 2\n"
                    "epdx_admission_drain_seconds_bucket{rank=\"0\",object="
                    "\"0\",le=\"+Inf\"} 3\n"
                    "epdx_admission_drain_seconds_sum{rank=\"0\",object=\"0\"}"
                    " 400.0015\n"
                    "epdx_admission_drain_seconds_count{rank=\"0\",object="
                    "\"0\"} 3\n"));
}

static void what_does_not_fit_is_cut_and_measured(void **state)
{
    epdx_metric_t metric = {.name = "a",
                            .help = "H.",
                            .type = EPDX_METRIC_GAUGE,
                            .labels = "x=\"1\""};
    const char *whole = "# HELP a H.\n# TYPE a gauge\na{x=\"1\"} 0\n";
    char out[16];
    epi_exposition_t text;

    (void)state;
    epi_exposition_begin(&text, out, sizeof(out));
    epi_exposition_add(&text, &metric);
    assert_int_equal(text.used, strlen(whole));
    assert_int_equal(strlen(out), sizeof(out) - 1);
    assert_memory_equal(out, whole, sizeof(out) - 1);
    epi_exposition_begin(&text, NULL, 0);
    epi_exposition_add(&text, &metric);
    assert_int_equal(text.used, strlen(whole));
}

static void the_radix_is_a_point_in_every_locale(void **state)
{
    epdx_metric_t metric = {.name = "a",
                            .help = "H.",
                            .type = EPDX_METRIC_GAUGE,
                            .labels = "x=\"1\"",
                            .value = 0.5};
    char out[200];
    epi_exposition_t text;

    (void)state;
    if (setlocale(LC_NUMERIC, "de_DE.UTF-8") == NULL &&
        setlocale(LC_NUMERIC, "fr_FR.UTF-8") == NULL) {
        skip();
    }
    epi_exposition_begin(&text, out, sizeof(out));
    epi_exposition_add(&text, &metric);
    (void)setlocale(LC_NUMERIC, "C");
    assert_non_null(strstr(out, "a{x=\"1\"} 0.5\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counters_and_gauges),
        cmocka_unit_test(labels),
        cmocka_unit_test(ages_grow_until_they_are_read),
        cmocka_unit_test(histograms),
        cmocka_unit_test(what_does_not_fit_is_cut_and_measured),
        cmocka_unit_test(the_radix_is_a_point_in_every_locale),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
