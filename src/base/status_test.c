/* status_test.c: every code has its name and its sentence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "epdx/status.h"

static void every_code_has_its_name_and_sentence(void **state)
{
    (void)state;
#define CHECK(name, value, text)                                               \
    assert_int_equal(name, value);                                             \
    assert_string_equal(epdx_status_name(name), #name);                        \
    assert_string_equal(epdx_status_text(name), text);
    EPDX_STATUS_LIST(CHECK)
#undef CHECK
}

static void codes_say_by_sign_what_they_are(void **state)
{
    (void)state;
    assert_int_equal(EPDX_OK, 0);
    assert_int_equal(EPDX_IN_PROGRESS, 1);
    assert_true(EPDX_ERR_INVALID < 0);
    assert_true(EPDX_ERR_IO < 0);
}

static void unknown_codes_are_called_unknown(void **state)
{
    (void)state;
    assert_string_equal(epdx_status_text((epdx_status_t)-9999),
                        "unknown status");
    assert_string_equal(epdx_status_name((epdx_status_t)-9999), "EPDX_UNKNOWN");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_has_its_name_and_sentence),
        cmocka_unit_test(codes_say_by_sign_what_they_are),
        cmocka_unit_test(unknown_codes_are_called_unknown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
