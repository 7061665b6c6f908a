/* files_test.c: a folder of files for one test. */
#include "tools/files_test.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[FILES_TEST_PATH / 2];

int files_test_setup(void **state)
{
    const char *base = getenv("TMPDIR");

    (void)state;
    (void)snprintf(folder, sizeof(folder), "%s/epdx-test-XXXXXX",
                   base == NULL ? "/tmp" : base);
    return mkdtemp(folder) == NULL ? -1 : 0;
}

int files_test_teardown(void **state)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;

    (void)state;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        (void)unlink(files_test_path(entry->d_name));
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    return rmdir(folder);
}

const char *files_test_dir(void)
{
    return folder;
}

const char *files_test_path(const char *name)
{
    static char paths[4][FILES_TEST_PATH];
    static unsigned next;
    char *path = paths[next++ % 4];

    (void)snprintf(path, FILES_TEST_PATH, "%s/%.100s", folder, name);
    return path;
}

const char *files_test_write(const char *name, const void *bytes, size_t count)
{
    const char *path = files_test_path(name);
    FILE *file = fopen(path, "we");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
    return path;
}

int files_test_same(const char *a, const char *b)
{
    FILE *left = fopen(files_test_path(a), "re");
    FILE *right = fopen(files_test_path(b), "re");
    int c, d;

    assert_non_null(left);
    assert_non_null(right);
    do {
        c = getc(left);
        d = getc(right);
    } while (c == d && c != EOF);
    (void)fclose(left);
    (void)fclose(right);
    return c == d;
}
