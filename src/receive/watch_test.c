/*
 * watch_test.c: what is counted, timed and traced of a receiver, by value. The
 * test is the encode rank and runs the receiver's loop.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "receive/landing_fixture.h"
#include "receive/receiver_internal.h"

static char text[1 << 20];

static int clear(void **state)
{
    (void)state;
    (void)unsetenv("EPDX_METRICS");
    (void)unsetenv("EPDX_TRACE_FILE");
    return 0;
}

static int counted(void **state)
{
    (void)clear(state);
    return setenv("EPDX_METRICS", "on", 1);
}

static uint64_t value(const landing_t *landing, uint32_t place)
{
    return epi_metric_get(&landing->receiver->shared.watch.metrics, place);
}

static uint64_t times(const landing_t *landing, uint32_t place)
{
    epi_histogram_view_t view;

    epi_histogram_read(&landing->receiver->shared.watch.metrics.times[place],
                       &view);
    return view.counts[EPI_BOUNDS];
}

static void off_costs_no_value(void **state)
{
    epdx_receiver_params_t params = landing_params();
    landing_t *landing = landing_open(&params);
    epdx_job_t *job = landing_land(landing, "a", 4, 0);

    (void)state;
    assert_false(landing->receiver->shared.watch.on);
    assert_int_equal(value(landing, EPI_RX_STAGED), 0);
    assert_int_equal(times(landing, EPI_RX_ITEM_S), 0);
    epdx_job_release(job);
    landing_close(landing);
}

/* However often it was tried: the wait for an offer is one. */
static void an_ask_that_is_tried_again_is_timed_once(void **state)
{
    epdx_receiver_params_t params = landing_params();
    landing_t *landing = landing_open(&params);
    epdx_job_t *first = landing_stage(landing, "a", 4);
    const epi_item_slot_t *slots = landing->receiver->shared.slots;
    const epi_item_slot_t *held = &slots[first->first_slot];
    uint32_t *control, right;
    uint64_t due;
    epdx_job_t *job;

    (void)state;
    landing_until(landing, held->phase == EPI_ITEM_ASKED);
    control = &landing->receiver->io.nodes.peers[held->peer].control;
    right = *control;
    landing_send(landing, first, 0);
    *control = UINT32_MAX; /* as if its queue were full */
    job = landing_stage(landing, "b", 4);
    held = &slots[job->first_slot];
    landing_until(landing, held->phase == EPI_ITEM_ASKED);
    due = held->next_ask_ns;
    landing_until(landing, held->next_ask_ns != due);
    assert_int_equal(held->asks, 0);
    *control = right;
    landing_send(landing, job, 64);
    assert_int_equal(times(landing, EPI_RX_OFFER_S), 2);
    epdx_job_release(first);
    epdx_job_release(job);
    landing_close(landing);
}

static void a_landed_request_is_counted_and_timed(void **state)
{
    epdx_receiver_params_t params = landing_params();
    landing_t *landing = landing_open(&params);
    epdx_job_t *job = landing_land(landing, "a", 4, 0);

    (void)state;
    assert_int_equal(value(landing, EPI_RX_STAGED), 1);
    assert_int_equal(value(landing, EPI_RX_LANDED), 1);
    assert_int_equal(value(landing, EPI_RX_ITEMS), 1);
    for (uint32_t place = 0; place < EPI_RX_TIMES; place++) {
        assert_int_equal(times(landing, place), 1);
    }
    (void)epdx_metrics_text(text, sizeof(text));
    assert_non_null(strstr(text, "epdx_receiver_rows_landed_total{rank=\"0\","
                                 "object=\"0\"} 4\n"));
    assert_non_null(strstr(text, "epdx_receiver_landed_bytes_total{rank=\"0\","
                                 "object=\"0\"} 64\n"));
    assert_non_null(
        strstr(text, "epdx_receiver_asks_total{rank=\"0\",object=\"0\"} 1\n"));
    epdx_job_release(job);
    landing_close(landing);
}

static void a_failed_request_is_counted_by_its_reason(void **state)
{
    epdx_receiver_params_t params = landing_params();
    landing_t *landing = landing_open(&params);
    uint32_t cancelled = EPI_RX_FAILED + epi_cause(EPDX_ERR_CANCELLED);

    (void)state;
    epdx_job_release(landing_stage(landing, "a", 4));
    assert_int_equal(value(landing, cancelled), 1);
    assert_int_equal(value(landing, EPI_RX_LANDED), 0);
    for (uint32_t place = EPI_RX_FAILED; place < EPI_RX_PENDING; place++) {
        assert_int_equal(value(landing, place), place == cancelled);
    }
    assert_int_equal(times(landing, EPI_RX_REQUEST_S), 0);
    assert_int_equal(times(landing, EPI_RX_ITEM_S), 0);
    landing_close(landing);
}

static void gauges_are_those_of_the_last_look(void **state)
{
    epdx_receiver_params_t params = landing_params();
    landing_t *landing = landing_open(&params);
    epdx_job_t *jobs[3];
    uint64_t before = epi_now_ns();

    (void)state;
    jobs[0] = landing_stage(landing, "a", 1000); /* all but all of the pool */
    jobs[1] = landing_stage(landing, "b", 1000);
    jobs[2] = landing_stage(landing, "c", 1000);
    landing->receiver->show_due_ns = 0;
    epdx_receiver_poll(landing->receiver);
    assert_int_equal(value(landing, EPI_RX_PENDING), 3);
    assert_int_equal(value(landing, EPI_RX_LEASED), 1);
    assert_int_equal(value(landing, EPI_RX_WAITING), 2);
    assert_int_equal(value(landing, EPI_RX_POOL), 16 * 1024);
    assert_int_equal(value(landing, EPI_RX_POOL_LEASED), 16128);
    assert_true(value(landing, EPI_RX_OLDEST_NS) >= before);
    assert_true(value(landing, EPI_RX_OLDEST_NS) <= epi_now_ns());
    /* Not looked at again so soon. */
    epdx_job_release(jobs[0]);
    epdx_receiver_poll(landing->receiver);
    assert_int_equal(value(landing, EPI_RX_PENDING), 3);
    landing->receiver->show_due_ns = 0;
    epdx_receiver_poll(landing->receiver);
    assert_int_equal(value(landing, EPI_RX_PENDING), 2);
    epdx_job_release(jobs[1]);
    epdx_job_release(jobs[2]);
    landing->receiver->show_due_ns = 0;
    epdx_receiver_poll(landing->receiver);
    assert_int_equal(value(landing, EPI_RX_OLDEST_NS), 0);
    landing_close(landing);
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

/* The phases of an item that lands and of one that is given up. */
static void items_are_traced_phase_by_phase(void **state)
{
    char path[] = "/tmp/epdx_watch_XXXXXX";
    epdx_receiver_params_t params = landing_params();
    landing_t *landing;
    epdx_job_t *job;
    FILE *file;
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(setenv("EPDX_TRACE_FILE", path, 1), 0);
    landing = landing_open(&params);
    job = landing_land(landing, "a", 4, 0);
    assert_true(landing->receiver->shared.slots[0].landed_ns > 0);
    epdx_job_release(job);
    epdx_job_release(landing_stage(landing, "b", 4));
    landing_until(landing, landing->receiver->io.intake.open == 0);
    landing_close(landing);
    file = fdopen(fd, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    (void)fclose(file);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(occurs("\"name\":\"look-up\""), 2);
    assert_int_equal(occurs("\"name\":\"ask\",\"cat\":\"item\""), 2);
    assert_int_equal(occurs("\"name\":\"ask\",\"cat\":\"flow\",\"ph\":\"s\""),
                     2);
    assert_int_equal(occurs("\"name\":\"rows\",\"cat\":\"flow\",\"ph\":\"f\""),
                     1);
    assert_int_equal(occurs("\"name\":\"pull\""), 1);
    assert_int_equal(occurs("\"name\":\"item\""), 2);
    assert_int_equal(occurs("\"status\":\"EPDX_ERR_CANCELLED\""), 2);
    assert_int_equal(occurs("\"bytes\":64"), 3); /* item, pull; item */
    assert_int_equal(occurs("\"name\":\"ending\""), 0);
}

#define TEST(name, setup) cmocka_unit_test_setup(name, setup)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(off_costs_no_value, clear),
        TEST(a_landed_request_is_counted_and_timed, counted),
        TEST(an_ask_that_is_tried_again_is_timed_once, counted),
        TEST(a_failed_request_is_counted_by_its_reason, counted),
        TEST(gauges_are_those_of_the_last_look, counted),
        TEST(items_are_traced_phase_by_phase, clear),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
