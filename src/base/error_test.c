/* error_test.c: the last error is kept per thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <string.h>

#include "base/error.h"
#include "epdx/log.h"
#include "epdx/types.h"

static void words_are_empty_before_any_failure(void **state)
{
    (void)state;
    assert_string_equal(epdx_last_error(), "");
}

static void fail_keeps_the_words_and_gives_the_status(void **state)
{
    (void)state;
    assert_int_equal(epi_fail(EPDX_ERR_FULL, "room %d is %s", 42, "full"),
                     EPDX_ERR_FULL);
    assert_string_equal(epdx_last_error(), "room 42 is full");
}

static void words_may_quote_the_last_words(void **state)
{
    (void)state;
    (void)epi_fail(EPDX_ERR_IO, "inner");
    (void)epi_fail(EPDX_ERR_IO, "outer: %s", epdx_last_error());
    assert_string_equal(epdx_last_error(), "outer: inner");
}

static void words_are_cut_to_their_room(void **state)
{
    char text[2 * EPDX_REASON_MAX];

    (void)state;
    memset(text, 'a', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    (void)epi_fail(EPDX_ERR_IO, "%s", text);
    assert_int_equal(strlen(epdx_last_error()), EPDX_REASON_MAX - 1);
}

static void *other_thread(void *seen_p)
{
    /* Read before and after this thread's own failure. */
    *(int *)seen_p = epdx_last_error()[0] == '\0';
    (void)epi_fail(EPDX_ERR_IO, "theirs");
    return NULL;
}

static void threads_do_not_share_words(void **state)
{
    pthread_t thread;
    int was_empty = 0;

    (void)state;
    (void)epi_fail(EPDX_ERR_IO, "mine");
    assert_int_equal(pthread_create(&thread, NULL, other_thread, &was_empty),
                     0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(was_empty);
    assert_string_equal(epdx_last_error(), "mine");
}

static void keep_line(void *context, epdx_log_level_t level, const char *line)
{
    char *kept = context;

    assert_int_equal(level, EPDX_LOG_ERROR);
    assert_true(strlen(line) < 256);
    memcpy(kept, line, strlen(line) + 1);
}

static void a_failure_that_cannot_be_is_logged(void **state)
{
    char line[256] = "";

    (void)state;
    epdx_log_set_sink(keep_line, line);
    epi_expect(EPDX_OK, "table add");
    assert_string_equal(line, "");
    epi_expect(epi_fail(EPDX_ERR_FULL, "table of 4"), "table add");
    assert_string_equal(line, "defect: table add: no room now; try again later "
                              "(table of 4)");
    epdx_log_set_sink(NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_empty_before_any_failure),
        cmocka_unit_test(fail_keeps_the_words_and_gives_the_status),
        cmocka_unit_test(words_may_quote_the_last_words),
        cmocka_unit_test(words_are_cut_to_their_room),
        cmocka_unit_test(threads_do_not_share_words),
        cmocka_unit_test(a_failure_that_cannot_be_is_logged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
