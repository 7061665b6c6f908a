/* command_test.c: programs that end well, badly, never, and such that are not
 * there. */
#include "tools/command.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"

static epdx_status_t shell(const char *script, int fd, uint64_t timeout_ns,
                           char out[32], epi_command_end_t *end_p)
{
    const char *const argv[] = {"sh", "-c", script, NULL};
    const epi_command_t command = {argv, fd, timeout_ns};

    memset(out, 0, 32);
    return epi_command_run(&command, out, 31, end_p);
}

static void test_what_it_writes_is_read_with_its_status(void **state)
{
    epi_command_end_t end;
    char out[32];

    (void)state;
    assert_int_equal(
        shell("echo out; echo err >&2; exit 3", 1, 30 * EPI_S, out, &end),
        EPDX_OK);
    assert_string_equal(out, "out\nerr\n");
    assert_int_equal(end.bytes, 8);
    assert_int_equal(end.status, 3);
}

static void test_another_descriptor_is_read_alone(void **state)
{
    epi_command_end_t end;
    char out[32];

    (void)state;
    assert_int_equal(
        shell("echo here >&3; : not read", 3, 30 * EPI_S, out, &end), EPDX_OK);
    assert_string_equal(out, "here\n");
    assert_int_equal(end.status, 0);
}

static void test_more_than_there_is_room_for_is_thrown_away(void **state)
{
    epi_command_end_t end;
    char out[32];

    (void)state;
    assert_int_equal(shell("i=0; while [ $i -lt 9999 ]; do echo line $i; "
                           "i=$((i+1)); done",
                           1, 30 * EPI_S, out, &end),
                     EPDX_OK);
    assert_int_equal(end.bytes, 31);
    assert_int_equal(end.status, 0);
    assert_memory_equal(out, "line 0\nline 1\n", 14);
}

static void test_a_signal_is_told(void **state)
{
    epi_command_end_t end;
    char out[32];

    (void)state;
    assert_int_equal(shell("kill -KILL $$", 1, 30 * EPI_S, out, &end), EPDX_OK);
    assert_int_equal(end.status, 128 + 9);
}

static void test_err_timeout_of_one_that_never_ends(void **state)
{
    epi_command_end_t end = {.status = 77};
    char out[32];

    (void)state;
    assert_int_equal(shell("exec sleep 1000", 1, 50 * EPI_MS, out, &end),
                     EPDX_ERR_TIMEOUT);
    assert_non_null(strstr(epdx_last_error(), "sh did not end"));
    assert_int_equal(end.status, 77);
}

static void test_err_invalid_without_such_a_program(void **state)
{
    const char *const argv[] = {"there-is-no-such-program", NULL};
    const epi_command_t command = {argv, 1, EPI_S};
    epi_command_end_t end;
    char out[32];

    (void)state;
    assert_int_equal(epi_command_run(&command, out, sizeof(out), &end),
                     EPDX_ERR_INVALID);
    assert_non_null(strstr(epdx_last_error(), "there-is-no-such-program"));
}

static void test_the_own_path_is_known(void **state)
{
    (void)state;
    assert_non_null(strstr(epi_command_self(), "command_test"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_it_writes_is_read_with_its_status),
        cmocka_unit_test(test_another_descriptor_is_read_alone),
        cmocka_unit_test(test_more_than_there_is_room_for_is_thrown_away),
        cmocka_unit_test(test_a_signal_is_told),
        cmocka_unit_test(test_err_timeout_of_one_that_never_ends),
        cmocka_unit_test(test_err_invalid_without_such_a_program),
        cmocka_unit_test(test_the_own_path_is_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
