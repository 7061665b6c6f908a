/* epdx_bootstrap_test.c: the program as a user starts it. EPDX_PROGRAM is its
 * path. */
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "bootstrap/raw_client.h"

#define LISTENING "epdx_bootstrap: listening on "

extern char **environ;

/* The program, its standard output and its standard error. */
typedef struct program {
    pid_t pid;
    int out;
    int err;
} program_t;

static program_t start(char *const *argv)
{
    posix_spawn_file_actions_t actions;
    program_t program;
    int out[2];
    int err[2];

    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    assert_int_equal(pipe2(err, O_CLOEXEC), 0);
    assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
    assert_int_equal(posix_spawn_file_actions_adddup2(&actions, out[1], 1), 0);
    assert_int_equal(posix_spawn_file_actions_adddup2(&actions, err[1], 2), 0);
    assert_int_equal(
        posix_spawn(&program.pid, EPDX_PROGRAM, &actions, NULL, argv, environ),
        0);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)close(out[1]);
    (void)close(err[1]);
    program.out = out[0];
    program.err = err[0];
    return program;
}

/* What comes until the end, or until the first line's with line set. */
static void read_text(int fd, bool line, char *text, size_t size)
{
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    size_t used = 0;
    ssize_t got;

    do {
        assert_true(used + 1 < size);
        assert_int_equal(poll(&wait, 1, 20000), 1);
        got = read(fd, text + used, line ? 1 : size - 1 - used);
        assert_true(got >= 0);
        used += (size_t)got;
    } while (got > 0 && !(line && text[used - 1] == '\n'));
    text[used] = '\0';
}

static int finish(const program_t *program)
{
    int status = 0;

    assert_int_equal(waitpid(program->pid, &status, 0), program->pid);
    (void)close(program->out);
    (void)close(program->err);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void expect_usage_error(char *const *argv, const char *words)
{
    program_t program = start(argv);
    char text[1024];

    read_text(program.out, false, text, sizeof(text));
    assert_string_equal(text, "");
    read_text(program.err, false, text, sizeof(text));
    if (strstr(text, words) == NULL) {
        fail_msg("'%s' has no '%s'", text, words);
    }
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
    assert_int_equal(finish(&program), 2);
}

static void wrong_arguments(void **state)
{
    static char name[] = "epdx_bootstrap";
    static char listen[] = "--listen";
    static char here[] = "127.0.0.1:0";
    static char nowhere[] = "127.0.0.1";
    static char file[] = "--token-file";
    static char missing[] = "/dev/null/none";
    static char empty[] = "/dev/null";
    static char unknown[] = "--what";

    (void)state;
    expect_usage_error((char *[]){name, NULL}, "--listen");
    expect_usage_error((char *[]){name, listen, NULL}, "--listen");
    expect_usage_error((char *[]){name, listen, nowhere, NULL},
                       "'127.0.0.1' is not HOST:PORT");
    expect_usage_error((char *[]){name, unknown, NULL}, "--what");
    expect_usage_error((char *[]){name, listen, here, file, missing, NULL},
                       "cannot be read: Not a directory");
    expect_usage_error((char *[]){name, listen, here, file, empty, NULL},
                       "printable characters");
}

static void help_and_version(void **state)
{
    static char name[] = "epdx_bootstrap";
    static char help[] = "--help";
    static char version[] = "--version";
    program_t program = start((char *[]){name, help, NULL});
    char text[4096];

    (void)state;
    read_text(program.out, false, text, sizeof(text));
    assert_non_null(strstr(text, "--token-file FILE"));
    assert_int_equal(finish(&program), 0);
    program = start((char *[]){name, version, NULL});
    read_text(program.out, false, text, sizeof(text));
    assert_memory_equal(text, "epdx_bootstrap ", 15);
    assert_int_equal(finish(&program), 0);
}

static void write_token(char *path)
{
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, "se-cret\n", 8), 8);
    (void)close(fd);
}

static void serves_until_signal(int number)
{
    static char name[] = "epdx_bootstrap";
    static char listen[] = "--listen";
    static char here[] = "127.0.0.1:0";
    static char file[] = "--token-file";
    char path[] = "/tmp/epdx_bootstrap_test.XXXXXX";
    program_t program;
    raw_answer_t answer;
    char line[256];
    char *address = line + strlen(LISTENING);

    write_token(path);
    program = start((char *[]){name, listen, here, file, path, NULL});
    read_text(program.out, true, line, sizeof(line));
    (void)unlink(path);
    assert_memory_equal(line, LISTENING, strlen(LISTENING));
    line[strlen(line) - 1] = '\0';
    raw_request(address, "GET /health", "", NULL, &answer);
    raw_expect(&answer, 200, "OK");
    raw_request(address, "DELETE /route?engine_rank=0", "", NULL, &answer);
    assert_int_equal(answer.code, 401);
    raw_request(address, "DELETE /route?engine_rank=0",
                "Authorization: Bearer se-cret\r\n", NULL, &answer);
    assert_int_equal(answer.code, 404);
    assert_int_equal(kill(program.pid, number), 0);
    assert_int_equal(finish(&program), 0);
}

static void serves_until_sigint(void **state)
{
    (void)state;
    serves_until_signal(SIGINT);
}

static void serves_until_sigterm(void **state)
{
    (void)state;
    serves_until_signal(SIGTERM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_arguments),
        cmocka_unit_test(help_and_version),
        cmocka_unit_test(serves_until_sigint),
        cmocka_unit_test(serves_until_sigterm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
