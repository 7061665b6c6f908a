/*
 * trace_test.c: a trace as it lies in its file: whose tracks, whole events,
 * bounds, and going on with a file. scripts/trace/ reads real ones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "observe/observe.h"
#include "testing/out_of_memory.h"

static char path[] = "/tmp/epdx_trace_XXXXXX";
static char text[2 * 1024 * 1024];
static char logged[1024];

static void keep_log(void *context, epdx_log_level_t level, const char *line)
{
    (void)context;
    (void)level;
    (void)snprintf(logged, sizeof(logged), "%s", line);
}

static int make(void **state)
{
    int fd;

    (void)state;
    for (size_t i = 0; i < epi_option_count(); i++) {
        (void)unsetenv(epi_option_info(i)->name);
    }
    (void)memcpy(path + sizeof(path) - 7, "XXXXXX", 6);
    fd = mkstemp(path);
    assert_true(fd >= 0);
    (void)close(fd);
    assert_int_equal(setenv("EPDX_TRACE_FILE", path, 1), 0);
    assert_int_equal(setenv("EPDX_TRACE_MB", "1", 1), 0);
    assert_int_equal(setenv("EPDX_TRACE_EVENTS", "64", 1), 0);
    return 0;
}

static int drop(void **state)
{
    (void)state;
    return unlink(path);
}

static epdx_status_t open_watch(epi_watch_t *watch, epi_owner_t owner,
                                epi_watch_t *same)
{
    epi_options_t options;

    memset(watch, 0, sizeof(*watch));
    assert_int_equal(epi_options_load(&options), EPDX_OK);
    return epi_watch_open(watch, &(epi_watch_params_t){.options = &options,
                                                       .owner = owner,
                                                       .rank = 3,
                                                       .lane_max = 16,
                                                       .same = same});
}

static void put_pull(epi_watch_t *watch, uint32_t slot, uint64_t begin_ns)
{
    epi_trace_event_t span = {.kind = EPI_TRACE_SPAN,
                              .name = EPI_NAME_PULL,
                              .lane = EPI_LANE_SLOT(slot),
                              .room = 42,
                              .begin_ns = begin_ns,
                              .end_ns = begin_ns + 1000};

    epi_watch_put(watch, &span);
}

static void read_file(void)
{
    FILE *file = fopen(path, "r");
    size_t length;

    assert_non_null(file);
    length = fread(text, 1, sizeof(text) - 1, file);
    text[length] = '\0';
    (void)fclose(file);
}

static int times(const char *part)
{
    int count = 0;

    for (const char *at = strstr(text, part); at != NULL;
         at = strstr(at + 1, part)) {
        count++;
    }
    return count;
}

/* A receiver and its admission have one track, a sender has its own. */
static void objects_have_tracks_and_lanes_have_names(void **state)
{
    epi_watch_t receiver;
    epi_watch_t admission;
    epi_watch_t sender;

    (void)state;
    assert_int_equal(open_watch(&receiver, EPI_OWNER_RECEIVER, NULL), EPDX_OK);
    assert_int_equal(open_watch(&admission, EPI_OWNER_ADMISSION, &receiver),
                     EPDX_OK);
    assert_int_equal(open_watch(&sender, EPI_OWNER_SENDER, NULL), EPDX_OK);
    assert_true(receiver.on && !receiver.counted);
    assert_int_equal(admission.track, receiver.track);
    assert_int_equal(sender.track, receiver.track + 1);
    put_pull(&receiver, 5, 1000);
    put_pull(&admission, 5, 3000);
    put_pull(&sender, 5, 5000);
    epi_watch_close(&admission);
    epi_watch_close(&sender);
    epi_watch_close(&receiver);
    read_file();
    assert_int_equal(strncmp(text, "{\"displayTimeUnit\":\"ns\",", 24), 0);
    assert_string_equal(text + strlen(text) - 4, "\n]}\n");
    assert_int_equal(times("\"name\":\"prefill rank 3\""), 1);
    assert_int_equal(times("\"name\":\"encode rank 3\""), 1);
    assert_int_equal(times("\"name\":\"item slot 5\""), 1);
    assert_int_equal(times("\"name\":\"room slot 5\""), 1);
    assert_int_equal(times("\"ts\":1.000,\"dur\":1.000"), 1);
    assert_int_equal(times("\"ts\":3.000,\"dur\":1.000"), 1);
    assert_int_equal(times("\"ts\":5.000,\"dur\":1.000"), 1);
    assert_int_equal(times("\"epdx_dropped\""), 3);
    assert_int_equal(times("\"args\":{\"events\":0}"), 3);
    assert_int_equal(times("\"boot_id\":\""), 1);
}

static void a_file_that_was_closed_is_gone_on_with(void **state)
{
    epi_watch_t watch;

    (void)state;
    for (int i = 1; i <= 3; i++) {
        assert_int_equal(open_watch(&watch, EPI_OWNER_SENDER, NULL), EPDX_OK);
        put_pull(&watch, 0, (uint64_t)i * 1000);
        epi_watch_close(&watch);
    }
    read_file();
    assert_int_equal(times("displayTimeUnit"), 1);
    assert_int_equal(times("\"name\":\"pull\""), 3);
    assert_int_equal(times("]}"), 1);
    assert_string_equal(text + strlen(text) - 4, "\n]}\n");
}

/* More than the ring holds or the file may have: counted, and told. */
static void it_is_bounded_and_says_so(void **state)
{
    epi_watch_t watch;
    struct stat about;
    const uint64_t put = 100000;
    const char *told;

    (void)state;
    assert_int_equal(open_watch(&watch, EPI_OWNER_SENDER, NULL), EPDX_OK);
    for (uint64_t i = 0; i < put; i++) {
        put_pull(&watch, (uint32_t)(i % 8), i * 1000);
    }
    epi_watch_close(&watch);
    assert_int_equal(stat(path, &about), 0);
    assert_true(about.st_size < 1100 * 1024);
    read_file();
    told = strstr(text, "\"args\":{\"events\":");
    assert_non_null(told);
    assert_int_equal(
        strtoull(told + strlen("\"args\":{\"events\":"), NULL, 10) +
            (uint64_t)times("\"name\":\"pull\""),
        put);
}

/* Of a lane past those that it was told of no name is kept. */
static void lanes_past_the_last_one_are_written(void **state)
{
    epi_watch_t watch;

    (void)state;
    assert_int_equal(open_watch(&watch, EPI_OWNER_SENDER, NULL), EPDX_OK);
    put_pull(&watch, 4000000000U, 1000);
    epi_watch_close(&watch);
    read_file();
    assert_int_equal(times("\"tid\":4000000001"), 1);
    assert_int_equal(times("thread_name"), 0);
}

/* No trace, and words in the log; opening goes on. */
static void expect_no_trace(const char *file, const char *words)
{
    epi_watch_t watch;

    assert_int_equal(setenv("EPDX_TRACE_FILE", file, 1), 0);
    epdx_log_set_sink(keep_log, NULL);
    assert_int_equal(open_watch(&watch, EPI_OWNER_SENDER, NULL), EPDX_OK);
    epdx_log_set_sink(NULL, NULL);
    assert_non_null(strstr(logged, words));
    assert_false(watch.on);
    epi_watch_close(&watch);
}

static void a_trace_that_cannot_be_written_fails_nothing(void **state)
{
    (void)state;
    expect_no_trace("/nonexistent-dir/t", "EPDX_TRACE_FILE /nonexistent-dir/t");
}

static void a_file_with_an_unknown_sequence_is_not_written(void **state)
{
    (void)state;
    expect_no_trace("/tmp/x%q.json", "no trace: EPDX_TRACE_FILE has %q, which");
    assert_int_equal(access("/tmp/x%q.json", F_OK), -1);
}

static void err_no_memory(void **state)
{
    epi_watch_t watch;
    epdx_status_t status;
    int left = 0;

    (void)state;
    do {
        epi_options_t options;

        memset(&watch, 0, sizeof(watch));
        assert_int_equal(epi_options_load(&options), EPDX_OK);
        test_calloc_left = left++;
        status = epi_watch_open(&watch,
                                &(epi_watch_params_t){.options = &options,
                                                      .owner = EPI_OWNER_SENDER,
                                                      .lane_max = 16});
        test_calloc_left = -1;
        /* Without memory for the file there is just no trace. */
        assert_true(status == EPDX_OK || status == EPDX_ERR_NO_MEMORY);
        epi_watch_close(&watch);
    } while (status != EPDX_OK || !watch.on);
    assert_true(left > 3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make, drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(objects_have_tracks_and_lanes_have_names),
        TEST(a_file_that_was_closed_is_gone_on_with),
        TEST(it_is_bounded_and_says_so),
        TEST(lanes_past_the_last_one_are_written),
        TEST(a_trace_that_cannot_be_written_fails_nothing),
        TEST(a_file_with_an_unknown_sequence_is_not_written),
        TEST(err_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
