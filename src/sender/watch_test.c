/* watch_test.c: what is counted, timed and traced of a sender, by value. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "epdx/metrics.h"
#include "sender/sender_test_world.h"

static char text[1 << 20];

static int counted(void **state)
{
    (void)state;
    (void)unsetenv("EPDX_TRACE_FILE");
    return setenv("EPDX_METRICS", "on", 1);
}

/* Exactly one line of the metrics is name, with these more labels, and that
 * value. */
static void shows(const char *name, const char *more, const char *value)
{
    char line[256];

    (void)epdx_metrics_text(text, sizeof(text));
    (void)snprintf(line, sizeof(line), "\n%s{rank=\"0\",object=\"0\"%s} %s\n",
                   name, more, value);
    if (strstr(text, line) == NULL) {
        fail_msg("no %s in:\n%s", line, text);
    }
}

static void a_delivered_room_is_counted_and_timed(void **state)
{
    world_t world;
    epdx_sender_params_t params = world_params();

    (void)state;
    world_open(&world, &params);
    rank_open(&world, 0);
    rank_open(&world, 1);
    rank_ask_shard(&world, 0, 7, 10, 2);
    rank_ask_shard(&world, 1, 7, 10, 2);
    world_send(&world, 7, 10, false);
    WORLD_UNTIL(&world, world.outcome_count == 1);
    world_expect(&world, 7, EPDX_OK, "");
    shows("epdx_sender_rooms_done_total", "", "1");
    shows("epdx_sender_asks_total", "", "2");
    shows("epdx_sender_offered_bytes_total", "", "160");
    shows("epdx_sender_peers", "", "2");
    shows("epdx_sender_registered", "", "1"); /* it has no server */
    shows("epdx_sender_rows_wait_seconds_count", "", "1");
    shows("epdx_sender_asks_wait_seconds_count", "", "1");
    shows("epdx_sender_deliver_seconds_count", "", "1");
    shows("epdx_sender_room_seconds_count", "", "1");
    rank_close(&world, 0);
    rank_close(&world, 1);
    world_close(&world);
}

static void what_fails_is_counted_by_its_reason(void **state)
{
    world_t world;
    epdx_sender_params_t params = world_params();
    epi_message_t nonsense = {0};

    (void)state;
    world_open(&world, &params);
    rank_open(&world, 0);
    assert_int_equal(epdx_sender_fail(world.sender, 8, "the tower failed"),
                     EPDX_OK);
    WORLD_UNTIL(&world, world.outcome_count == 1);
    shows("epdx_sender_rooms_failed_total", ",reason=\"cancelled\"", "1");
    shows("epdx_sender_rooms_failed_total", ",reason=\"timeout\"", "0");
    shows("epdx_sender_room_seconds_count", "", "0");
    assert_true(epi_message_add_text(&nonsense, "nonsense"));
    rank_send(&world, 0, &nonsense);
    WORLD_UNTIL(&world, world_stats(&world).frames_dropped == 1);
    shows("epdx_sender_frames_dropped_total", ",cause=\"malformed\"", "1");
    shows("epdx_sender_frames_dropped_total", ",cause=\"unfit\"", "0");
    rank_close(&world, 0);
    world_close(&world);
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

static void rooms_are_traced_phase_by_phase(void **state)
{
    char path[] = "/tmp/epdx_watch_XXXXXX";
    world_t world;
    epdx_sender_params_t params = world_params();
    FILE *file;
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(setenv("EPDX_TRACE_FILE", path, 1), 0);
    world_open(&world, &params);
    rank_open(&world, 0);
    rank_ask_whole(&world, 0, 7, 10);
    WORLD_UNTIL(&world, world_stats(&world).asks == 1);
    world_send(&world, 7, 10, false);
    WORLD_UNTIL(&world, world.outcome_count == 1);
    rank_close(&world, 0);
    world_close(&world);
    file = fdopen(fd, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    (void)fclose(file);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(occurs("\"name\":\"encode rank 0\""), 1);
    assert_int_equal(occurs("\"name\":\"room\""), 1);
    assert_int_equal(occurs("\"name\":\"chunk\""), 1);
    assert_int_equal(occurs("\"name\":\"fan-out wait\""), 1);
    assert_int_equal(occurs("\"name\":\"deliver\""), 1);
    assert_int_equal(occurs("\"name\":\"ask\",\"cat\":\"flow\",\"ph\":\"f\""),
                     1);
    assert_int_equal(occurs("\"name\":\"rows\",\"cat\":\"flow\",\"ph\":\"s\""),
                     1);
}

#define TEST(name) cmocka_unit_test_setup(name, counted)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_delivered_room_is_counted_and_timed),
        TEST(what_fails_is_counted_by_its_reason),
        TEST(rooms_are_traced_phase_by_phase),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
