/* files_test.h: a folder of files for one test, gone when it ends. */
#ifndef EPI_TOOLS_FILES_TEST_H
#define EPI_TOOLS_FILES_TEST_H

#include <stddef.h>

#define FILES_TEST_PATH 256

/** cmocka setup and teardown: a fresh folder, and its end with all files. */
int files_test_setup(void **state);
int files_test_teardown(void **state);

/** The folder. */
const char *files_test_dir(void);

/** A path in it; the last four answers are valid. */
const char *files_test_path(const char *name);

/** Write a file there and give its path. */
const char *files_test_write(const char *name, const void *bytes, size_t count);

/** Whether two files there hold the same bytes. */
int files_test_same(const char *a, const char *b);

#endif
