/* corpus_test.c: every file of a corpus through the fuzz program it is linked
 * with, so that what fuzzing has found stays found in ordinary builds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>

#define FILE_MAX 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void run_file(const char *name)
{
    uint8_t bytes[FILE_MAX];
    char path[FILE_MAX];
    size_t size;
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", EPDX_CORPUS, name);
    file = fopen(path, "rb");
    assert_non_null(file);
    size = fread(bytes, 1, sizeof(bytes), file);
    fclose(file);
    assert_int_equal(LLVMFuzzerTestOneInput(bytes, size), 0);
}

static void test_corpus(void **state)
{
    size_t count = 0;
    struct dirent *entry;
    DIR *directory;

    (void)state;
    directory = opendir(EPDX_CORPUS);
    assert_non_null(directory);
    while ((entry = readdir(directory)) != NULL) {
        if (entry->d_name[0] != '.') {
            run_file(entry->d_name);
            count++;
        }
    }
    closedir(directory);
    assert_true(count >= 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_corpus)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
