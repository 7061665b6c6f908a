/*
 * observe_test.c: watches, as their owners and as readers see them: the calls
 * of epdx/metrics.h, the metrics server, the metrics file.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "bootstrap/raw_client.h"
#include "observe/observe.h"

#define SILENT 40

static char text[65536];
static char logged[4096];

static void keep_log(void *context, epdx_log_level_t level, const char *line)
{
    (void)context;
    (void)level;
    (void)snprintf(logged, sizeof(logged), "%s", line);
}

static int clear(void **state)
{
    (void)state;
    for (size_t i = 0; i < epi_option_count(); i++) {
        (void)unsetenv(epi_option_info(i)->name);
    }
    (void)unsetenv("OMPI_COMM_WORLD_LOCAL_RANK");
    logged[0] = '\0';
    return 0;
}

static void set(const char *name, const char *value)
{
    assert_int_equal(setenv(name, value, 1), 0);
}

static epdx_status_t open_watch(epi_watch_t *watch, epi_owner_t owner,
                                uint32_t rank)
{
    epi_options_t options;

    memset(watch, 0, sizeof(*watch));
    assert_int_equal(epi_options_load(&options), EPDX_OK);
    return epi_watch_open(watch, &(epi_watch_params_t){.options = &options,
                                                       .owner = owner,
                                                       .rank = rank,
                                                       .lane_max = 16});
}

static int times_shown(const char *part)
{
    int count = 0;

    (void)epdx_metrics_text(text, sizeof(text));
    for (const char *at = strstr(text, part); at != NULL;
         at = strstr(at + 1, part)) {
        count++;
    }
    return count;
}

#define BUILD                                                                  \
    "# HELP epdx_build_info 1, for its label: the version of epdx.\n"          \
    "# TYPE epdx_build_info gauge\n"                                           \
    "epdx_build_info{version=\"" EPDX_VERSION_STRING "\"} 1\n"

/* Runs first: what epdx_metrics_collect() began is never off again. */
static void nothing_is_collected_unless_asked_for(void **state)
{
    epi_watch_t watch;

    (void)state;
    assert_int_equal(open_watch(&watch, EPI_OWNER_RECEIVER, 0), EPDX_OK);
    assert_false(watch.on);
    assert_int_equal(epdx_metrics_text(text, sizeof(text)), strlen(BUILD));
    assert_string_equal(text, BUILD);
    epi_watch_close(&watch);
    epi_watch_close(&(epi_watch_t){0});
}

static void objects_of_a_kind_are_numbered(void **state)
{
    epi_watch_t watches[3];

    (void)state;
    set("EPDX_METRICS", "on");
    assert_int_equal(open_watch(&watches[0], EPI_OWNER_SENDER, 4), EPDX_OK);
    assert_int_equal(open_watch(&watches[1], EPI_OWNER_SENDER, 5), EPDX_OK);
    assert_int_equal(open_watch(&watches[2], EPI_OWNER_RECEIVER, 6), EPDX_OK);
    assert_true(watches[0].on && watches[0].counted);
    assert_null(watches[0].trace);
    assert_int_equal(times_shown("epdx_sender_peers{rank=\"4\",object=\"0\"} "),
                     1);
    assert_int_equal(times_shown("epdx_sender_peers{rank=\"5\",object=\"1\"} "),
                     1);
    assert_int_equal(
        times_shown("epdx_receiver_leases{rank=\"6\",object=\"0\"} "), 1);
    assert_int_equal(times_shown("# TYPE epdx_sender_peers gauge\n"), 1);
    /* The lowest number that is free comes next. */
    epi_watch_close(&watches[0]);
    assert_int_equal(times_shown("epdx_sender_peers{rank=\"4\""), 0);
    assert_int_equal(open_watch(&watches[0], EPI_OWNER_SENDER, 7), EPDX_OK);
    assert_int_equal(times_shown("epdx_sender_peers{rank=\"7\",object=\"0\"} "),
                     1);
    for (int i = 0; i < 3; i++) {
        epi_watch_close(&watches[i]);
    }
    assert_int_equal(times_shown("object="), 0);
}

static void bring_up_to_date(void *self, epi_metrics_t *metrics)
{
    epi_metric_set(metrics, EPI_RX_ROWS, *(uint64_t *)self);
}

static void values_kept_elsewhere_are_read_when_they_are_shown(void **state)
{
    epi_options_t options;
    uint64_t rows = 1;
    epi_watch_t watch = {0};

    (void)state;
    set("EPDX_METRICS", "on");
    assert_int_equal(epi_options_load(&options), EPDX_OK);
    assert_int_equal(
        epi_watch_open(&watch,
                       &(epi_watch_params_t){.options = &options,
                                             .owner = EPI_OWNER_RECEIVER,
                                             .refresh = bring_up_to_date,
                                             .self = &rows}),
        EPDX_OK);
    rows = 77;
    assert_int_equal(times_shown("epdx_receiver_rows_landed_total{rank=\"0\","
                                 "object=\"0\"} 77\n"),
                     1);
    epi_watch_close(&watch);
}

static void sum_up(void *context, const epdx_metric_t *metric)
{
    double *sum = context;

    if (strcmp(metric->name, "epdx_admission_drain_seconds") == 0) {
        assert_int_equal(metric->type, EPDX_METRIC_HISTOGRAM);
        assert_string_equal(metric->labels, "rank=\"2\",object=\"0\"");
        assert_int_equal(metric->bound_count, EPI_BOUNDS);
        assert_true(metric->bounds[4] == 0.001);
        assert_int_equal(metric->counts[3], 0);
        assert_int_equal(metric->counts[4], 1);
        assert_int_equal(metric->counts[EPI_BOUNDS], 1);
        *sum += metric->value;
    }
}

static void programs_get_numbers(void **state)
{
    epi_watch_t watch;
    double sum = 0;

    (void)state;
    set("EPDX_METRICS", "on");
    assert_int_equal(open_watch(&watch, EPI_OWNER_ADMISSION, 2), EPDX_OK);
    epi_metric_time(&watch.metrics, EPI_AD_DRAIN_S, 0, EPI_MS);
    epdx_metrics_each(sum_up, &sum);
    assert_true(sum == 0.001);
    epi_watch_close(&watch);
}

static void text_goes_to_a_file(void **state)
{
    FILE *file = tmpfile();
    char out[256] = "";

    (void)state;
    assert_non_null(file);
    assert_int_equal(epdx_metrics_print(file), EPDX_OK);
    rewind(file);
    (void)!fread(out, 1, sizeof(out) - 1, file);
    assert_string_equal(out, BUILD);
    (void)fclose(file);
}

static void err_io_of_print(void **state)
{
    FILE *full = fopen("/dev/full", "w");

    (void)state;
    if (full == NULL) {
        skip();
    }
    assert_int_equal(epdx_metrics_print(full), EPDX_ERR_IO);
    (void)fclose(full);
}

static void err_invalid_metrics(void **state)
{
    epi_watch_t watch;

    (void)state;
    set("EPDX_METRICS", "everywhere");
    assert_int_equal(open_watch(&watch, EPI_OWNER_SENDER, 0), EPDX_ERR_INVALID);
    assert_non_null(strstr(epdx_last_error(), "EPDX_METRICS is 'everywhere'"));
    assert_false(watch.on);
    epi_watch_close(&watch);
}

static int http_status(const char *request)
{
    char address[EPDX_ADDRESS_MAX + 1];
    size_t used = 0;
    ssize_t got;
    int fd;

    epdx_metrics_address(address, sizeof(address));
    fd = raw_connect(address);
    assert_int_equal(write(fd, request, strlen(request)), strlen(request));
    while ((got = read(fd, text + used, sizeof(text) - 1 - used)) > 0) {
        used += (size_t)got;
    }
    text[used] = '\0';
    (void)close(fd);
    assert_int_equal(strncmp(text, "HTTP/1.1 ", 9), 0);
    return (int)strtol(text + 9, NULL, 10);
}

static void prometheus_is_answered(void **state)
{
    char address[EPDX_ADDRESS_MAX + 1] = "unset";
    epi_watch_t watches[2];

    (void)state;
    epdx_metrics_address(address, sizeof(address));
    assert_string_equal(address, "");
    set("EPDX_METRICS", "127.0.0.1:0");
    assert_int_equal(open_watch(&watches[0], EPI_OWNER_SENDER, 0), EPDX_OK);
    assert_int_equal(open_watch(&watches[1], EPI_OWNER_RECEIVER, 0), EPDX_OK);
    epi_metric_set(&watches[0].metrics, EPI_TX_SENT, 5);
    assert_int_equal(http_status("GET /metrics HTTP/1.1\r\nHost: h\r\n"
                                 "Connection: close\r\n\r\n"),
                     200);
    assert_non_null(strstr(text, "text/plain; version=0.0.4; charset=utf-8"));
    assert_non_null(strstr(text, "\r\n\r\n# HELP epdx_build_info"));
    assert_non_null(strstr(text, "epdx_sender_rooms_sent_total{rank=\"0\","
                                 "object=\"0\"} 5\n"));
    assert_int_equal(http_status("HEAD /metrics HTTP/1.1\r\nHost: h\r\n"
                                 "Connection: close\r\n\r\n"),
                     200);
    assert_int_equal(http_status("GET /other HTTP/1.1\r\nHost: h\r\n"
                                 "Connection: close\r\n\r\n"),
                     404);
    assert_int_equal(http_status("POST /metrics HTTP/1.1\r\nHost: h\r\n"
                                 "Content-Length: 2\r\n"
                                 "Connection: close\r\n\r\nxx"),
                     405);
    /* It goes on until the last object is closed. */
    epi_watch_close(&watches[0]);
    assert_int_equal(http_status("GET /metrics HTTP/1.1\r\nHost: h\r\n"
                                 "Connection: close\r\n\r\n"),
                     200);
    epi_watch_close(&watches[1]);
    epdx_metrics_address(address, sizeof(address));
    assert_string_equal(address, "");
}

/* Whether an answer comes while all that connected before, and say nothing, are
 * still connected. They are closed after a while, the first one first. */
static bool answered_beside_silent(const char *address)
{
    int silent[SILENT];
    char byte;
    bool open;

    for (size_t i = 0; i < SILENT; i++) {
        silent[i] = raw_connect(address);
        /* Half of them begin a request and stop. */
        if (i % 2 == 0) {
            assert_int_equal(write(silent[i], "GET /met", 8), 8);
        }
    }
    assert_int_equal(http_status("GET /metrics HTTP/1.1\r\nHost: h\r\n"
                                 "Connection: close\r\n\r\n"),
                     200);
    open = recv(silent[0], &byte, 1, MSG_DONTWAIT) == -1 && errno == EAGAIN;
    for (size_t i = 0; i < SILENT; i++) {
        (void)close(silent[i]);
    }
    return open;
}

static void silent_clients_hold_up_nobody(void **state)
{
    char address[EPDX_ADDRESS_MAX + 1];
    epi_watch_t watch;
    int tries = 5; /* a stalled machine may close them meanwhile */

    (void)state;
    set("EPDX_METRICS", "127.0.0.1:0");
    assert_int_equal(open_watch(&watch, EPI_OWNER_SENDER, 0), EPDX_OK);
    epdx_metrics_address(address, sizeof(address));
    while (!answered_beside_silent(address)) {
        assert_true(--tries > 0);
    }
    epi_watch_close(&watch);
}

static void null_arguments(void **state)
{
    (void)state;
    epdx_metrics_each(NULL, NULL);
    assert_true(epdx_metrics_text(NULL, 8) > 0);
    epdx_metrics_address(NULL, 8);
    assert_int_equal(epdx_metrics_print(NULL), EPDX_ERR_INVALID);
    assert_string_equal(epdx_last_error(), "epdx_metrics_print: file is NULL");
}

static void a_file_with_an_unknown_sequence_is_not_written(void **state)
{
    epi_watch_t watch;

    (void)state;
    set("EPDX_METRICS_FILE", "/tmp/epdx_%q.prom");
    epdx_log_set_sink(keep_log, NULL);
    assert_int_equal(open_watch(&watch, EPI_OWNER_SENDER, 0), EPDX_OK);
    assert_non_null(strstr(logged, "EPDX_METRICS_FILE has %q, which is none"));
    epi_watch_close(&watch);
    assert_int_equal(access("/tmp/epdx_%q.prom", F_OK), -1);
    epdx_log_set_sink(NULL, NULL);
}

static void a_port_in_use_fails_nothing(void **state)
{
    char address[EPDX_ADDRESS_MAX + 1];
    epi_watch_t watch;
    epi_watch_t other;

    (void)state;
    set("EPDX_METRICS", "192.0.2.1:9400"); /* of nobody here */
    epdx_log_set_sink(keep_log, NULL);
    assert_int_equal(open_watch(&watch, EPI_OWNER_SENDER, 0), EPDX_OK);
    assert_non_null(strstr(logged, "no metrics by EPDX_METRICS: 192.0.2.1"));
    assert_true(watch.counted);
    epdx_metrics_address(address, sizeof(address));
    assert_string_equal(address, "");
    /* What is opened next may try again. */
    set("EPDX_METRICS", "127.0.0.1:0");
    assert_int_equal(open_watch(&other, EPI_OWNER_SENDER, 0), EPDX_OK);
    epdx_metrics_address(address, sizeof(address));
    assert_string_not_equal(address, "");
    epi_watch_close(&other);
    epi_watch_close(&watch);
    epdx_log_set_sink(NULL, NULL);
}

/* Whether a file has that text, within a time that is ample. */
static bool comes_to_hold(const char *path, const char *part)
{
    uint64_t limit = epi_after(epi_now_ns(), 20 * EPI_S);

    do {
        FILE *file = fopen(path, "r");
        size_t length = 0;

        if (file != NULL) {
            length = fread(text, 1, sizeof(text) - 1, file);
            (void)fclose(file);
        }
        text[length] = '\0';
        if (strstr(text, part) != NULL) {
            return true;
        }
        (void)sched_yield();
    } while (epi_now_ns() < limit);
    return false;
}

static void the_file_is_written_at_its_interval_and_at_the_end(void **state)
{
    char pattern[] = "/tmp/epdx_metrics_XXXXXX";
    char path[64];
    char setting[64];
    epi_watch_t watch;
    int fd = mkstemp(pattern);

    (void)state;
    assert_true(fd >= 0);
    (void)close(fd);
    (void)snprintf(setting, sizeof(setting), "%s.%%p", pattern);
    (void)snprintf(path, sizeof(path), "%s.%ld", pattern, (long)getpid());
    set("EPDX_METRICS_FILE", setting);
    set("EPDX_METRICS_INTERVAL_S", "0.01");
    assert_int_equal(open_watch(&watch, EPI_OWNER_SENDER, 0), EPDX_OK);
    assert_true(watch.counted);
    epi_metric_set(&watch.metrics, EPI_TX_SENT, 5);
    assert_true(comes_to_hold(path, "epdx_sender_rooms_sent_total{rank=\"0\","
                                    "object=\"0\"} 5\n"));
    epi_metric_set(&watch.metrics, EPI_TX_SENT, 6);
    epi_watch_close(&watch);
    assert_true(comes_to_hold(path, "epdx_sender_rooms_sent_total{rank=\"0\","
                                    "object=\"0\"} 6\n"));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(unlink(pattern), 0);
}

static void a_file_that_cannot_be_written_fails_nothing(void **state)
{
    epi_watch_t watch;

    (void)state;
    set("EPDX_METRICS_FILE", "/nonexistent-dir/m.prom");
    epdx_log_set_sink(keep_log, NULL);
    assert_int_equal(open_watch(&watch, EPI_OWNER_SENDER, 0), EPDX_OK);
    epi_watch_close(&watch);
    epdx_log_set_sink(NULL, NULL);
    assert_non_null(
        strstr(logged, "EPDX_METRICS_FILE: /nonexistent-dir/m.prom"));
}

/* Last of those that look at what is off. */
static void a_call_collects_without_a_setting(void **state)
{
    epi_watch_t watch;

    (void)state;
    epdx_metrics_collect();
    assert_int_equal(open_watch(&watch, EPI_OWNER_SENDER, 0), EPDX_OK);
    assert_true(watch.counted);
    assert_int_equal(times_shown("epdx_sender_peers{"), 1);
    epi_watch_close(&watch);
}

#define TEST(name) cmocka_unit_test_setup(name, clear)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_is_collected_unless_asked_for),
        TEST(objects_of_a_kind_are_numbered),
        TEST(values_kept_elsewhere_are_read_when_they_are_shown),
        TEST(programs_get_numbers),
        TEST(text_goes_to_a_file),
        TEST(err_io_of_print),
        TEST(err_invalid_metrics),
        TEST(prometheus_is_answered),
        TEST(silent_clients_hold_up_nobody),
        TEST(null_arguments),
        TEST(a_file_with_an_unknown_sequence_is_not_written),
        TEST(a_port_in_use_fails_nothing),
        TEST(the_file_is_written_at_its_interval_and_at_the_end),
        TEST(a_file_that_cannot_be_written_fails_nothing),
        TEST(a_call_collects_without_a_setting),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
