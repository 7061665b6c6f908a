/*
 * watch_test.c: what is counted, timed and traced of admission, by value: ranks
 * are threads over a fake group. Requests land at once when their items were
 * received before, and fail when they can never fit.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "admission/admission_internal.h"
#include "base/clock.h"
#include "dataplane/loopback.h"
#include "testing/group_fake.h"

#define RANKS 3

typedef struct seen {
    epdx_status_t status;
    epi_metrics_t metrics; /* as they were at the end */
    uint64_t pending_ns;   /* of the oldest, while one was pending */
    uint64_t creation;
} seen_t;

static seen_t seen[RANKS];
static char text[1 << 20];

static int clear(void **state)
{
    (void)state;
    (void)unsetenv("EPDX_METRICS");
    (void)unsetenv("EPDX_TRACE_FILE");
    memset(seen, 0, sizeof(seen));
    return 0;
}

static epdx_status_t stage(epdx_admission_t *admission, const char *id,
                           uint64_t room, uint64_t span)
{
    epdx_item_t item = {.room = room, .span = span, .encode = "127.0.0.1:9"};
    epdx_request_t request = {.id = id, .items = &item, .item_count = 1};

    item.received = span == 1;
    return epdx_admission_stage(admission, &request);
}

/* One that lands, one that never fits, one that waits. */
static epdx_status_t act(epdx_admission_t *admission, seen_t *record)
{
    epdx_decisions_t decisions;
    epdx_status_t status = stage(admission, "lands", 1, 1);

    if (status == EPDX_OK) {
        status = stage(admission, "never fits", 2, 1 << 20);
    }
    if (status == EPDX_OK) {
        status = stage(admission, "waits", 3, 2);
    }
    if (status == EPDX_OK) {
        status = epdx_admission_drain(admission, &decisions);
    }
    record->pending_ns =
        epi_metric_get(&admission->watch.metrics, EPI_AD_OLDEST_NS);
    if (status == EPDX_OK) {
        status = epdx_admission_drain(admission, &decisions);
    }
    memcpy(&record->metrics, &admission->watch.metrics,
           sizeof(record->metrics));
    record->creation = admission->stats.collectives.creation;
    return status;
}

static void run_rank(void *context, epdx_group_t *group)
{
    epdx_admission_params_t params = {
        .struct_size = sizeof(params),
        .receiver = {.struct_size = sizeof(params.receiver),
                     .dtype = EPDX_FLOAT32,
                     .hidden = 64,
                     .progress = EPDX_PROGRESS_CALLER,
                     .host = "127.0.0.1",
                     .pool_bytes = 64 * 256}};
    seen_t *record = &seen[group->rank];
    epdx_admission_t *admission = NULL;
    epi_loopback_hub_t *hub = NULL;
    epi_dataplane_t *dp = NULL;

    (void)context;
    record->status = epi_loopback_hub_open(&hub);
    if (record->status == EPDX_OK) {
        record->status = epi_dataplane_loopback(hub, &dp);
    }
    if (record->status == EPDX_OK) {
        record->status =
            epi_admission_open_with(group, &params, dp, &admission);
    }
    if (record->status == EPDX_OK) {
        record->status = act(admission, record);
    }
    epdx_admission_close(admission);
    epi_loopback_hub_close(hub);
}

static void run(void)
{
    epi_group_fake_t *fake;

    assert_int_equal(epi_group_fake_open(RANKS, &fake), EPDX_OK);
    epi_group_fake_run(fake, run_rank, NULL);
    epi_group_fake_close(fake);
    for (uint32_t r = 0; r < RANKS; r++) {
        assert_int_equal(seen[r].status, EPDX_OK);
    }
}

static uint64_t times(const seen_t *record, uint32_t place)
{
    epi_histogram_view_t view;

    epi_histogram_read(&record->metrics.times[place], &view);
    return view.counts[EPI_BOUNDS];
}

static void drains_are_counted_and_timed(void **state)
{
    (void)state;
    assert_int_equal(setenv("EPDX_METRICS", "on", 1), 0);
    run();
    for (uint32_t r = 0; r < RANKS; r++) {
        const epi_metrics_t *metrics = &seen[r].metrics;

        assert_int_equal(metrics->rank, r);
        assert_int_equal(epi_metric_get(metrics, EPI_AD_DRAINS), 2);
        assert_int_equal(epi_metric_get(metrics, EPI_AD_DRAINS_PENDING), 2);
        assert_int_equal(epi_metric_get(metrics, EPI_AD_ADMITTED), 1);
        assert_int_equal(
            epi_metric_get(metrics,
                           EPI_AD_FAILED + epi_cause(EPDX_ERR_TOO_LARGE)),
            1);
        assert_int_equal(epi_metric_get(metrics, EPI_AD_PENDING), 1);
        assert_true(seen[r].pending_ns > 0);
        assert_int_equal(epi_metric_get(metrics, EPI_AD_COLLECTIVES), 1);
        assert_int_equal(epi_metric_get(metrics, EPI_AD_COLLECTIVES + 1), 2);
        assert_int_equal(times(&seen[r], EPI_AD_DRAIN_S), 2);
        assert_int_equal(times(&seen[r], EPI_AD_AGREEMENT_S), 2);
        assert_int_equal(times(&seen[r], EPI_AD_REQUEST_S), 1);
        /* Its item was received before, so it did not land here. */
        assert_int_equal(times(&seen[r], EPI_AD_LANDED_S), 0);
        assert_int_equal(seen[r].creation, 1);
    }
}

static void off_costs_no_value(void **state)
{
    (void)state;
    run();
    for (uint32_t r = 0; r < RANKS; r++) {
        assert_int_equal(epi_metric_get(&seen[r].metrics, EPI_AD_DRAINS), 0);
        assert_int_equal(times(&seen[r], EPI_AD_DRAIN_S), 0);
        assert_int_equal(seen[r].pending_ns, 0);
        assert_int_equal(seen[r].creation, 1);
    }
}

static int occurs(const char *part)
{
    int count = 0;

    for (const char *at = strstr(text, part); at != NULL;
         at = strstr(at + 1, part)) {
        count++;
    }
    return count;
}

/* All ranks are of this process: the offset is 0, and the bound must hold. */
static void drains_are_traced_and_clocks_compared(void **state)
{
    char path[] = "/tmp/epdx_watch_XXXXXX";
    FILE *file;
    const char *at = text;
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(setenv("EPDX_TRACE_FILE", path, 1), 0);
    run();
    file = fdopen(fd, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    (void)fclose(file);
    assert_int_equal(unlink(path), 0);
    /* Of the two drains of each rank the second one decided nothing, and no
     * run of such ended before the close. */
    assert_int_equal(occurs("\"name\":\"drain\""), RANKS);
    assert_int_equal(occurs("\"name\":\"vote\""), RANKS);
    assert_int_equal(occurs("\"name\":\"reasons\""), RANKS);
    assert_int_equal(occurs("\"name\":\"undecided drains\""), RANKS);
    assert_int_equal(occurs("\"drains\":1"), RANKS);
    assert_int_equal(occurs("\"name\":\"epdx_clock\""), RANKS);
    for (uint32_t r = 0; r < RANKS; r++) {
        long long offset;
        long long error;

        assert_int_equal(seen[r].creation, 1 + 32 + 1);
        at = strstr(at, "\"offset_ns\":\"") + strlen("\"offset_ns\":\"");
        offset = strtoll(at, NULL, 10);
        at = strstr(at, "\"error_ns\":") + strlen("\"error_ns\":");
        error = strtoll(at, NULL, 10);
        assert_true(llabs(offset) <= error);
    }
}

#define TEST(name) cmocka_unit_test_setup(name, clear)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(drains_are_counted_and_timed),
        TEST(off_costs_no_value),
        TEST(drains_are_traced_and_clocks_compared),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
