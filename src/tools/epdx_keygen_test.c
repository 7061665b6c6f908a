/* epdx_keygen_test.c: the program as a user starts it. EPDX_PROGRAM is its
 * path. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "control/curve.h"
#include "testing/secrets.h"

extern char **environ;

static secrets_t secrets;

static int open_folder(void **state)
{
    (void)state;
    secrets_open(&secrets);
    return 0;
}

static int close_folder(void **state)
{
    (void)state;
    secrets_close(&secrets);
    return 0;
}

static void read_all(int fd, char *text, size_t size)
{
    size_t used = 0;
    ssize_t got;

    while ((got = read(fd, text + used, size - 1 - used)) > 0) {
        used += (size_t)got;
    }
    assert_int_equal(got, 0);
    text[used] = '\0';
    (void)close(fd);
}

/* Run the program; its exit status, and what it wrote. */
static int run(char *const *argv, char out[1024], char err[1024])
{
    posix_spawn_file_actions_t actions;
    int outs[2], errs[2];
    int status = 0;
    pid_t child;

    assert_int_equal(pipe2(outs, O_CLOEXEC), 0);
    assert_int_equal(pipe2(errs, O_CLOEXEC), 0);
    assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
    assert_int_equal(posix_spawn_file_actions_adddup2(&actions, outs[1], 1), 0);
    assert_int_equal(posix_spawn_file_actions_adddup2(&actions, errs[1], 2), 0);
    assert_int_equal(
        posix_spawn(&child, EPDX_PROGRAM, &actions, NULL, argv, environ), 0);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)close(outs[1]);
    (void)close(errs[1]);
    read_all(outs[0], out, 1024);
    read_all(errs[0], err, 1024);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static char name[] = "epdx_keygen";

static void a_pair_is_made_once(void **state)
{
    secrets_path_t path = secrets_at(&secrets, "key");
    char *argv[] = {name, path.text, NULL};
    char out[1024], err[1024];
    epi_curve_pair_t pair, again;
    struct stat about;

    (void)state;
    assert_int_equal(run(argv, out, err), 0);
    assert_string_equal(err, "");
    assert_int_equal(stat(path.text, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0600);
    assert_int_equal(epi_curve_read(path.text, &pair), EPDX_OK);
    assert_int_equal(strlen(out), EPI_CURVE_KEY + 1);
    assert_memory_equal(out, pair.public_key, EPI_CURVE_KEY);
    assert_null(strstr(out, pair.secret_key));
    /* Another process may live by it. */
    assert_int_equal(run(argv, out, err), 1);
    assert_string_equal(out, "");
    assert_non_null(strstr(err, "File exists"));
    assert_int_equal(epi_curve_read(path.text, &again), EPDX_OK);
    assert_memory_equal(&pair, &again, sizeof(pair));
}

static void a_folder_that_is_not_there(void **state)
{
    secrets_path_t path = secrets_at(&secrets, "no/key");
    char *argv[] = {name, path.text, NULL};
    char out[1024], err[1024];

    (void)state;
    assert_int_equal(run(argv, out, err), 1);
    assert_non_null(strstr(err, "No such file"));
    assert_string_equal(out, "");
}

static void wrong_arguments(void **state)
{
    static char one[] = "one", two[] = "two", option[] = "--force",
                empty[] = "";
    char *argvs[][4] = {
        {name, NULL},        {name, one, two, NULL},    {name, option, NULL},
        {name, empty, NULL}, {name, one, option, NULL},
    };
    char out[1024], err[1024];

    (void)state;
    for (size_t i = 0; i < sizeof(argvs) / sizeof(argvs[0]); i++) {
        assert_int_equal(run(argvs[i], out, err), 2);
        assert_string_equal(out, "");
        assert_non_null(strstr(err, "see --help"));
    }
}

static void help_and_version(void **state)
{
    static char help[] = "--help", version[] = "--version";
    char out[1024], err[1024];

    (void)state;
    assert_int_equal(run((char *[]){name, help, NULL}, out, err), 0);
    assert_non_null(strstr(out, "usage: epdx_keygen FILE"));
    assert_non_null(strstr(out, "EPDX_CURVE_ALLOWED_FILE"));
    assert_int_equal(run((char *[]){name, version, NULL}, out, err), 0);
    assert_non_null(strstr(out, "epdx_keygen "));
    assert_string_equal(err, "");
}

#define TEST(function)                                                         \
    cmocka_unit_test_setup_teardown(function, open_folder, close_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_pair_is_made_once),
        TEST(a_folder_that_is_not_there),
        TEST(wrong_arguments),
        TEST(help_and_version),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
