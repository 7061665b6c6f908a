/* target_test.c: what EPDX_METRICS takes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "observe/target.h"

static void parsed(const char *text, unsigned local_rank, const char *host,
                   uint16_t port)
{
    epi_target_t target;

    assert_int_equal(epi_target_parse(text, "10.0.0.7", local_rank, &target),
                     EPDX_OK);
    assert_int_equal(target.kind, EPI_TARGET_SERVE);
    assert_string_equal(target.address.host, host);
    assert_int_equal(target.address.port, port);
}

static void off_and_on(void **state)
{
    epi_target_t target;

    (void)state;
    assert_int_equal(epi_target_parse("", "h", 3, &target), EPDX_OK);
    assert_int_equal(target.kind, EPI_TARGET_OFF);
    assert_int_equal(epi_target_parse("0", "h", 3, &target), EPDX_OK);
    assert_int_equal(target.kind, EPI_TARGET_OFF);
    assert_int_equal(epi_target_parse("on", "h", 3, &target), EPDX_OK);
    assert_int_equal(target.kind, EPI_TARGET_COLLECT);
}

static void ports_and_addresses(void **state)
{
    (void)state;
    parsed("9400", 0, "10.0.0.7", 9400);
    parsed("0.0.0.0:9400", 0, "0.0.0.0", 9400);
    parsed("[::1]:9400", 0, "::1", 9400);
}

static void ranks_of_a_host_have_ports_in_a_row(void **state)
{
    (void)state;
    parsed("9400", 3, "10.0.0.7", 9403);
    parsed("node1:9400", 3, "node1", 9403);
    parsed("node1:0", 3, "node1", 0); /* any free one */
}

static void err_invalid(void **state)
{
    static const char *const texts[] = {"yes",     "-1",      "65536",
                                        "host:",   ":9400",   "host:65536",
                                        "h:9400x", "http://h"};
    epi_target_t target = {.kind = EPI_TARGET_COLLECT};

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_int_equal(epi_target_parse(texts[i], "h", 0, &target),
                         EPDX_ERR_INVALID);
        assert_non_null(strstr(epdx_last_error(), "EPDX_METRICS"));
        assert_non_null(strstr(epdx_last_error(), texts[i]));
    }
    assert_int_equal(epi_target_parse("65535", "h", 1, &target),
                     EPDX_ERR_INVALID);
    assert_int_equal(target.kind, EPI_TARGET_COLLECT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(off_and_on),
        cmocka_unit_test(ports_and_addresses),
        cmocka_unit_test(ranks_of_a_host_have_ports_in_a_row),
        cmocka_unit_test(err_invalid),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
