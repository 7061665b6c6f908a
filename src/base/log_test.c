/*
 * log_test.c: levels, sinks and files. What is decided once in a process is
 * tried in a child: configured() runs a function there and reads what it wrote
 * to standard error.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"

typedef struct seen {
    int count;
    epdx_log_level_t level;
    char line[2048];
} seen_t;

static void keep(void *context, epdx_log_level_t level, const char *line)
{
    seen_t *seen = context;

    seen->count++;
    seen->level = level;
    (void)snprintf(seen->line, sizeof(seen->line), "%s", line);
}

/* Run body in a child; give what it wrote to standard error, and its id. */
static pid_t configured(void (*body)(void), char *out, size_t size)
{
    int ends[2];
    pid_t child;
    int result = -1;
    size_t used = 0;
    ssize_t got;

    assert_int_equal(pipe(ends), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)dup2(ends[1], STDERR_FILENO);
        (void)close(ends[0]);
        (void)close(ends[1]);
        body();
        _exit(0);
    }
    (void)close(ends[1]);
    while ((got = read(ends[0], out + used, size - 1 - used)) > 0) {
        used += (size_t)got;
    }
    out[used] = '\0';
    (void)close(ends[0]);
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_int_equal(result, 0);
    return child;
}

static void speak_at_every_level(void)
{
    epi_log_error("one");
    epi_log_warn("two");
    epi_log_info("three");
    epi_log_debug("four");
}

static void the_default_is_warn_to_standard_error(void **state)
{
    char out[1024];
    char want[1024];
    char host[65] = "";
    long pid;

    (void)state;
    pid = (long)configured(speak_at_every_level, out, sizeof(out));
    assert_int_equal(gethostname(host, sizeof(host) - 1), 0);
    (void)snprintf(want, sizeof(want),
                   "epdx: %s:%ld error: one\nepdx: %s:%ld warn: two\n", host,
                   pid, host, pid);
    assert_string_equal(out, want);
}

static void configure(epdx_log_level_t level, const char *file)
{
    epi_log_configure(&(epi_log_setup_t){.level = level, .file = file});
}

static void debug_level(void)
{
    configure(EPDX_LOG_DEBUG, "");
    speak_at_every_level();
}

static void the_setting_chooses_the_level(void **state)
{
    char out[1024];

    (void)state;
    (void)configured(debug_level, out, sizeof(out));
    assert_non_null(strstr(out, " error: one\n"));
    assert_non_null(strstr(out, " info: three\n"));
    assert_non_null(strstr(out, " debug: four\n"));
}

static void second_configure(void)
{
    configure(EPDX_LOG_ERROR, "");
    configure(EPDX_LOG_DEBUG, "");
    speak_at_every_level();
}

static void the_first_configure_wins(void **state)
{
    char out[1024];

    (void)state;
    (void)configured(second_configure, out, sizeof(out));
    assert_non_null(strstr(out, "one"));
    assert_null(strstr(out, "two"));
}

static void level_then_configure(void)
{
    /* The default itself, chosen: not to be mistaken for nobody's choice. */
    epdx_log_set_level(EPDX_LOG_WARN);
    configure(EPDX_LOG_DEBUG, "");
    speak_at_every_level();
}

static void set_level_wins_over_the_setting(void **state)
{
    char out[1024];

    (void)state;
    (void)configured(level_then_configure, out, sizeof(out));
    assert_non_null(strstr(out, "two"));
    assert_null(strstr(out, "three"));
}

static char file_pattern[512];

static void into_file(void)
{
    (void)setenv("OMPI_COMM_WORLD_RANK", "3", 1);
    configure(EPDX_LOG_WARN, file_pattern);
    epi_log_warn("in the file");
}

/* The one file in dir, read into out and removed with dir. */
static void read_only_file(const char *dir, const char *name, char *out,
                           size_t size)
{
    char path[600];
    ssize_t got;
    int fd;

    (void)snprintf(path, sizeof(path), "%s/%s", dir, name);
    fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    got = read(fd, out, size - 1);
    assert_true(got >= 0);
    out[got] = '\0';
    (void)close(fd);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(dir), 0);
}

static void a_file_is_named_by_host_pid_and_rank(void **state)
{
    char dir[] = "/tmp/epdx_log_XXXXXX";
    char host[65] = "";
    char name[160];
    char out[1024];
    pid_t child;

    (void)state;
    assert_non_null(mkdtemp(dir));
    (void)snprintf(file_pattern, sizeof(file_pattern), "%s/%%h.%%p.%%r.%%%%x",
                   dir);
    child = configured(into_file, out, sizeof(out));
    assert_string_equal(out, "");
    assert_int_equal(gethostname(host, sizeof(host) - 1), 0);
    (void)snprintf(name, sizeof(name), "%s.%ld.3.%%x", host, (long)child);
    read_only_file(dir, name, out, sizeof(out));
    assert_non_null(strstr(out, " warn: in the file\n"));
}

static void a_file_that_cannot_be_opened_is_told(void **state)
{
    char out[2048];

    (void)state;
    (void)snprintf(file_pattern, sizeof(file_pattern), "/nonexistent-dir/file");
    (void)configured(into_file, out, sizeof(out));
    assert_non_null(strstr(out, "EPDX_LOG_FILE /nonexistent-dir/file cannot be "
                                "opened: No such file or directory; logging"));
    assert_non_null(strstr(out, " warn: in the file\n"));
}

static void a_file_with_an_unknown_sequence_is_not_written(void **state)
{
    char out[2048];

    (void)state;
    (void)snprintf(file_pattern, sizeof(file_pattern), "/tmp/epdx_log_%%z");
    (void)configured(into_file, out, sizeof(out));
    assert_non_null(strstr(out, "EPDX_LOG_FILE has %z, which is none of %h"));
    assert_non_null(strstr(out, " warn: in the file\n"));
    assert_int_equal(access("/tmp/epdx_log_%z", F_OK), -1);
}

static void speak_often(void)
{
    epi_log_configure(&(epi_log_setup_t){
        .level = EPDX_LOG_DEBUG, .file = "", .form = EPI_LOG_JSON, .burst = 2});
    for (int i = 0; i < 5; i++) {
        epi_log_warn("room %d failed", i);
        epi_log_debug("step %d", i);
    }
}

static void json_lines_of_which_repeats_are_left_out(void **state)
{
    char out[8192];

    (void)state;
    (void)configured(speak_often, out, sizeof(out));
    assert_int_equal(strncmp(out, "{\"time\":\"20", 11), 0);
    assert_non_null(strstr(out, "\"text\":\"room 0 failed\"}\n"));
    assert_non_null(strstr(out, "\"text\":\"room 1 failed (more like this one "
                                "are left out for up to 10 s: "
                                "EPDX_LOG_BURST)\"}\n"));
    assert_null(strstr(out, "room 2"));
    assert_non_null(strstr(out, "\"text\":\"step 4\"}\n"));
}

static void a_sink_gets_the_bare_line(void **state)
{
    seen_t seen = {0};

    (void)state;
    epdx_log_set_sink(keep, &seen);
    epi_log_warn("room %d slot %d", 42, 3);
    assert_int_equal(seen.count, 1);
    assert_int_equal(seen.level, EPDX_LOG_WARN);
    assert_string_equal(seen.line, "room 42 slot 3");
    epi_log_info("dropped");
    assert_int_equal(seen.count, 1);
    epdx_log_set_level(EPDX_LOG_DEBUG);
    assert_true(epi_log_on(EPDX_LOG_DEBUG));
    epi_log_debug("kept");
    assert_string_equal(seen.line, "kept");
    epdx_log_set_level(EPDX_LOG_WARN);
    assert_true(epi_log_on(EPDX_LOG_WARN));
    assert_false(epi_log_on(EPDX_LOG_INFO));
    epdx_log_set_sink(NULL, NULL);
}

static void hostile_text_stays_one_line(void **state)
{
    seen_t seen = {0};

    (void)state;
    epdx_log_set_sink(keep, &seen);
    epi_log_warn("peer said '%s'", "a\nepdx: error: forged\x1b[2J\x7f\xc3\xb6");
    assert_string_equal(seen.line,
                        "peer said 'a?epdx: error: forged?[2J?\xc3\xb6'");
    epdx_log_set_sink(NULL, NULL);
}

static void a_line_is_cut_at_1_kib(void **state)
{
    seen_t seen = {0};
    char text[3000];

    (void)state;
    memset(text, 'a', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    epdx_log_set_sink(keep, &seen);
    epi_log_warn("%s", text);
    assert_int_equal(strlen(seen.line), 1023);
    epdx_log_set_sink(NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_default_is_warn_to_standard_error),
        cmocka_unit_test(the_setting_chooses_the_level),
        cmocka_unit_test(the_first_configure_wins),
        cmocka_unit_test(set_level_wins_over_the_setting),
        cmocka_unit_test(a_file_is_named_by_host_pid_and_rank),
        cmocka_unit_test(a_file_that_cannot_be_opened_is_told),
        cmocka_unit_test(a_file_with_an_unknown_sequence_is_not_written),
        cmocka_unit_test(json_lines_of_which_repeats_are_left_out),
        cmocka_unit_test(a_sink_gets_the_bare_line),
        cmocka_unit_test(hostile_text_stays_one_line),
        cmocka_unit_test(a_line_is_cut_at_1_kib),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
