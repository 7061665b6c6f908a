/* listen_address_test.c: nothing is bound here, so any address will do. */
#include "bootstrap/listen_address.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* No name may have a label over 63 characters: it never resolves. */
#define LONG_LABEL                                                             \
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"                                         \
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static void expect_address(const char *listen, const char *host, uint16_t port)
{
    epi_address_t address = {.port = 7};

    assert_int_equal(epi_listen_address(listen, "127.0.0.9", &address),
                     EPDX_OK);
    assert_string_equal(address.host, host);
    assert_int_equal(address.port, port);
}

static void addresses(void **state)
{
    (void)state;
    expect_address(NULL, "127.0.0.9", 0);
    expect_address("127.0.0.1:8998", "127.0.0.1", 8998);
    expect_address("[::1]:0", "::1", 0);
    expect_address("0.0.0.0:8998", "0.0.0.0", 8998);
    expect_address("*:8998", "0.0.0.0", 8998);
    expect_address("[::]:8998", "::", 8998);
}

static void wildcard_of_the_settings(void **state)
{
    epi_address_t address = {.port = 7};

    (void)state;
    assert_int_equal(epi_listen_address(NULL, "::", &address), EPDX_OK);
    assert_string_equal(address.host, "::");
    assert_int_equal(address.port, 0);
}

static void invalid(void **state)
{
    static const char *const listens[] = {
        "",           "127.0.0.1",       ":0",
        "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:x",
        "a b:0",      LONG_LABEL ":0"};
    epi_address_t address = {.host = "untouched", .port = 7};

    (void)state;
    for (size_t i = 0; i < sizeof(listens) / sizeof(listens[0]); i++) {
        assert_int_equal(epi_listen_address(listens[i], "127.0.0.1", &address),
                         EPDX_ERR_INVALID);
        assert_string_not_equal(epdx_last_error(), "");
    }
    assert_string_equal(address.host, "untouched");
}

static void open_without_a_token_beyond_loopback(void **state)
{
    static const char *const others[] = {
        "0.0.0.0", "::", "10.1.2.3", "fd00::7", "128.0.0.1", "::ffff:10.1.2.3"};
    static const char *const own[] = {"127.0.0.1", "127.8.8.8", "::1",
                                      "::ffff:127.0.0.1"};

    (void)state;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        assert_true(epi_listen_is_open(others[i], ""));
        assert_false(epi_listen_is_open(others[i], "se-cret"));
    }
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        assert_false(epi_listen_is_open(own[i], ""));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses),
        cmocka_unit_test(wildcard_of_the_settings),
        cmocka_unit_test(invalid),
        cmocka_unit_test(open_without_a_token_beyond_loopback),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
