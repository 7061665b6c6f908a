/* file_test.c: files that are read, and files that are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/seldom.h"

static char folder[64];
static char path[128];

static int open_folder(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof(folder), "/tmp/epdx-file-XXXXXX");
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    (void)snprintf(path, sizeof(path), "%s/file", folder);
    return 0;
}

static int close_folder(void **state)
{
    (void)state;
    (void)unlink(path);
    return rmdir(folder);
}

static void put(const char *text, size_t bytes, mode_t mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, bytes), bytes);
    assert_int_equal(fchmod(fd, mode), 0);
    (void)close(fd);
}

static epdx_status_t get(epi_file_kind_t kind, size_t bytes_max,
                         epi_file_text_t *text_p)
{
    return epi_file_read("EPDX_X", path, kind, bytes_max, text_p);
}

static void expect_refused(epi_file_kind_t kind, size_t bytes_max,
                           const char *words)
{
    epi_file_text_t text = {.bytes = 77};

    assert_int_equal(get(kind, bytes_max, &text), EPDX_ERR_INVALID);
    assert_int_equal(text.bytes, 77);
    assert_null(text.text);
    assert_non_null(strstr(epdx_last_error(), "EPDX_X"));
    assert_non_null(strstr(epdx_last_error(), words));
}

static void expect_taken(epi_file_kind_t kind)
{
    epi_file_text_t text;

    assert_int_equal(get(kind, 10, &text), EPDX_OK);
    assert_int_equal(text.bytes, 3);
    assert_string_equal(text.text, "one");
    epi_file_wipe(&text);
    assert_null(text.text);
    epi_file_wipe(&text);
}

static void a_file_is_read_whole(void **state)
{
    epi_file_text_t text;

    (void)state;
    put("a\0b\n", 4, 0600);
    assert_int_equal(get(EPI_FILE_SECRET, 4, &text), EPDX_OK);
    assert_int_equal(text.bytes, 4);
    assert_memory_equal(text.text, "a\0b\n", 5);
    epi_file_wipe(&text);
    put("", 0, 0644);
    assert_int_equal(get(EPI_FILE_PLAIN, 4, &text), EPDX_OK);
    assert_int_equal(text.bytes, 0);
    assert_string_equal(text.text, "");
    epi_file_wipe(&text);
}

static void err_invalid_no_file(void **state)
{
    (void)state;
    expect_refused(EPI_FILE_PLAIN, 10, "No such file");
    assert_int_equal(mkdir(path, 0700), 0);
    expect_refused(EPI_FILE_PLAIN, 10, "is no file");
    assert_int_equal(rmdir(path), 0);
    /* Nobody writes to it: must not be waited for. */
    assert_int_equal(mkfifo(path, 0600), 0);
    expect_refused(EPI_FILE_PLAIN, 10, "is no file");
}

static void err_invalid_too_large(void **state)
{
    (void)state;
    put("12345", 5, 0600);
    expect_refused(EPI_FILE_PLAIN, 4, "is over 4 bytes");
}

static void err_invalid_mode_of_a_secret(void **state)
{
    static const mode_t modes[] = {0604, 0602, 0644, 0666, 0620};

    (void)state;
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        put("one", 3, modes[i]);
        expect_refused(EPI_FILE_SECRET, 10, "chmod 600");
    }
    put("one", 3, 0400);
    expect_taken(EPI_FILE_SECRET);
}

static void a_group_may_read_the_secrets_of_root_only(void **state)
{
    (void)state;
    put("one", 3, 0640);
    if (geteuid() == 0) {
        expect_taken(EPI_FILE_SECRET);
        assert_int_equal(chown(path, 65534, (gid_t)-1), 0);
    }
    expect_refused(EPI_FILE_SECRET, 10, "has mode 640");
}

static void err_invalid_mode_of_a_trusted_file(void **state)
{
    (void)state;
    put("one", 3, 0646);
    expect_refused(EPI_FILE_TRUSTED, 10, "others can change it");
    put("one", 3, 0664);
    expect_taken(EPI_FILE_TRUSTED);
    put("one", 3, 0666);
    expect_taken(EPI_FILE_PLAIN);
}

static void a_mark_tells_of_a_change(void **state)
{
    epi_file_mark_t none = epi_file_mark(path);
    epi_file_mark_t first;
    epi_file_mark_t second;
    struct timespec times[2] = {{5, 0}, {5, 0}};

    (void)state;
    put("one", 3, 0600);
    first = epi_file_mark(path);
    assert_false(epi_file_same(&none, &first));
    second = epi_file_mark(path);
    assert_true(epi_file_same(&first, &second));
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    second = epi_file_mark(path);
    assert_false(epi_file_same(&first, &second));
    put("four", 4, 0600);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    first = epi_file_mark(path);
    assert_false(epi_file_same(&first, &second));
}

static void seldom_is_once_a_minute(void **state)
{
    epi_seldom_t seldom = {0};

    (void)state;
    assert_true(epi_seldom(&seldom, 5));
    assert_false(epi_seldom(&seldom, 5));
    assert_false(epi_seldom(&seldom, 4 + EPI_SELDOM_NS));
    assert_true(epi_seldom(&seldom, 5 + EPI_SELDOM_NS));
    assert_false(epi_seldom(&seldom, 6 + EPI_SELDOM_NS));
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, open_folder, close_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_file_is_read_whole),
        TEST(err_invalid_no_file),
        TEST(err_invalid_too_large),
        TEST(err_invalid_mode_of_a_secret),
        TEST(a_group_may_read_the_secrets_of_root_only),
        TEST(err_invalid_mode_of_a_trusted_file),
        TEST(a_mark_tells_of_a_change),
        cmocka_unit_test(seldom_is_once_a_minute),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
