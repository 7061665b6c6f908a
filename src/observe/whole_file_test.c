/* whole_file_test.c: a file is replaced whole or left alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "observe/whole_file.h"

static char folder[] = "/tmp/epdx_whole_XXXXXX";
static char path[64];

static int make(void **state)
{
    (void)state;
    (void)strcpy(folder + sizeof(folder) - 7, "XXXXXX");
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/m.prom", folder);
    return 0;
}

static int drop(void **state)
{
    (void)state;
    (void)unlink(path);
    (void)rmdir(path);
    return rmdir(folder);
}

static void holds(const char *name, const char *want)
{
    char text[64] = "";
    FILE *file = fopen(name, "r");

    assert_non_null(file);
    (void)!fread(text, 1, sizeof(text) - 1, file);
    (void)fclose(file);
    assert_string_equal(text, want);
}

static int files(void)
{
    DIR *listing = opendir(folder);
    int count = 0;

    assert_non_null(listing);
    while (readdir(listing) != NULL) {
        count++;
    }
    (void)closedir(listing);
    return count - 2; /* . and .. */
}

static void it_is_written_and_replaced(void **state)
{
    struct stat first;
    struct stat second;

    (void)state;
    assert_int_equal(epi_whole_file(path, "long text", 9), EPDX_OK);
    holds(path, "long text");
    assert_int_equal(stat(path, &first), 0);
    assert_int_equal(epi_whole_file(path, "new", 3), EPDX_OK);
    holds(path, "new");
    assert_int_equal(stat(path, &second), 0);
    assert_true(first.st_ino != second.st_ino); /* another file in its place */
    assert_int_equal(files(), 1);
}

static void err_io(void **state)
{
    (void)state;
    assert_int_equal(epi_whole_file("/nonexistent-dir/m.prom", "x", 1),
                     EPDX_ERR_IO);
    assert_non_null(strstr(epdx_last_error(), "/nonexistent-dir/m.prom"));
    /* What cannot be replaced stays, and nothing is left beside it. */
    assert_int_equal(mkdir(path, 0755), 0);
    assert_int_equal(epi_whole_file(path, "x", 1), EPDX_ERR_IO);
    assert_int_equal(files(), 1);
}

/* In a folder that others write to, the name beside the file can be guessed. */
static void a_planted_link_is_not_followed(void **state)
{
    char beside[128];
    char victim[128];

    (void)state;
    (void)snprintf(victim, sizeof(victim), "%s/victim", folder);
    assert_int_equal(epi_whole_file(victim, "precious", 8), EPDX_OK);
    (void)snprintf(beside, sizeof(beside), "%s.%ld.part", path, (long)getpid());
    assert_int_equal(symlink(victim, beside), 0);
    assert_int_equal(epi_whole_file(path, "new", 3), EPDX_OK);
    holds(victim, "precious");
    holds(path, "new");
    assert_int_equal(unlink(victim), 0);
    assert_int_equal(files(), 1);
}

/* What lies there and cannot be removed is left alone. */
static void what_is_in_the_way_is_not_written_to(void **state)
{
    char beside[128];

    (void)state;
    (void)snprintf(beside, sizeof(beside), "%s.%ld.part", path, (long)getpid());
    assert_int_equal(mkdir(beside, 0755), 0);
    assert_int_equal(epi_whole_file(path, "new", 3), EPDX_ERR_IO);
    assert_non_null(strstr(epdx_last_error(), "File exists"));
    assert_int_equal(rmdir(beside), 0);
    assert_int_equal(files(), 0);
}

static void err_too_large(void **state)
{
    char name[PATH_MAX + 1];

    (void)state;
    memset(name, 'a', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    assert_int_equal(epi_whole_file(name, "x", 1), EPDX_ERR_TOO_LARGE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make, drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(it_is_written_and_replaced),
        TEST(err_io),
        TEST(a_planted_link_is_not_followed),
        TEST(what_is_in_the_way_is_not_written_to),
        TEST(err_too_large),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
