/* resolve_test.c: numeric hosts, the local name, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/resolve.h"

static void numeric_hosts_stay_as_they_are(void **state)
{
    char out[64];

    (void)state;
    assert_int_equal(epi_resolve("127.0.0.1", out, sizeof(out)), EPDX_OK);
    assert_string_equal(out, "127.0.0.1");
    assert_int_equal(epi_resolve("::1", out, sizeof(out)), EPDX_OK);
    assert_string_equal(out, "::1");
    assert_int_equal(epi_resolve("[::1]", out, sizeof(out)), EPDX_OK);
    assert_string_equal(out, "::1");
}

static void localhost_is_a_loopback_address(void **state)
{
    char out[64];

    (void)state;
    assert_int_equal(epi_resolve("localhost", out, sizeof(out)), EPDX_OK);
    assert_true(strcmp(out, "::1") == 0 || strncmp(out, "127.", 4) == 0);
}

static void err_invalid_wildcard(void **state)
{
    static const char *const hosts[] = {
        "", "*", "0.0.0.0", "::", "[::]", "[]", "0"};
    char out[64] = "same";

    (void)state;
    for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
        assert_int_equal(epi_resolve(hosts[i], out, sizeof(out)),
                         EPDX_ERR_INVALID);
        assert_string_equal(out, "same");
        assert_non_null(strstr(epdx_last_error(), hosts[i]));
    }
    assert_int_equal(epi_resolve(NULL, out, sizeof(out)), EPDX_ERR_INVALID);
}

static void err_invalid_name_that_cannot_resolve(void **state)
{
    char out[64] = "same";
    char endless[400];

    (void)state;
    /* No name server is asked about a name with a space. */
    assert_int_equal(epi_resolve("no host", out, sizeof(out)),
                     EPDX_ERR_INVALID);
    assert_non_null(strstr(epdx_last_error(), "no host"));
    memset(endless, 'a', sizeof(endless) - 1);
    endless[sizeof(endless) - 1] = '\0';
    assert_int_equal(epi_resolve(endless, out, sizeof(out)), EPDX_ERR_INVALID);
    assert_string_equal(out, "same");
}

static void err_too_large_for_the_room_given(void **state)
{
    char out[16] = "same";

    (void)state;
    assert_int_equal(epi_resolve("127.0.0.1", out, 9), EPDX_ERR_TOO_LARGE);
    assert_string_equal(out, "same");
    assert_int_equal(epi_resolve("127.0.0.1", out, 10), EPDX_OK);
}

static void loopback_hosts(void **state)
{
    (void)state;
    assert_true(epi_host_loopback("127.0.0.1"));
    assert_true(epi_host_loopback("127.9.8.7"));
    assert_true(epi_host_loopback("::1"));
    assert_true(epi_host_loopback("::ffff:127.0.0.1"));
    assert_false(epi_host_loopback("10.1.2.3"));
    assert_false(epi_host_loopback("0.0.0.0"));
    assert_false(epi_host_loopback("::"));
    assert_false(epi_host_loopback("fd00::1"));
    assert_false(epi_host_loopback("localhost"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numeric_hosts_stay_as_they_are),
        cmocka_unit_test(localhost_is_a_loopback_address),
        cmocka_unit_test(loopback_hosts),
        cmocka_unit_test(err_invalid_wildcard),
        cmocka_unit_test(err_invalid_name_that_cannot_resolve),
        cmocka_unit_test(err_too_large_for_the_room_given),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
