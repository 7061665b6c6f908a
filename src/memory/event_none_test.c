/* event_none_test.c: a build without CUDA says so, and knows no event. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "memory/event.h"

static void test_no_event_is_done(void **state)
{
    bool done = false;

    (void)state;
    assert_int_equal(epi_event_done(NULL, &done), EPDX_OK);
    assert_true(done);
}

static void test_an_event_is_refused_in_words(void **state)
{
    int event = 0;
    bool done = false;

    (void)state;
    assert_int_equal(epi_event_done(&event, &done), EPDX_ERR_INVALID);
    assert_false(done);
    assert_non_null(strstr(epdx_last_error(), "-DEPDX_CUDA=ON"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_event_is_done),
        cmocka_unit_test(test_an_event_is_refused_in_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
