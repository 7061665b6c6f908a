/* version_test.c: the version is the one the build was given. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "epdx/epdx.h"

static void version_is_the_projects(void **state)
{
    (void)state;
    assert_string_equal(epdx_version(), EPDX_VERSION_STRING);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(version_is_the_projects),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
