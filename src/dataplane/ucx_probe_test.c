/* ucx_probe_test.c: what UCX makes of this machine, and what it writes of
 * itself. */
#include "dataplane/ucx_probe.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"

static const char info[] =
    "#\n# UCP context\n#\n"
    "#     component 1  :  tcp\n"
    "#            md 1  :  component 1  tcp \n"
    "#\n"
    "#      resource 0  :  md 0  dev 0  flags -- self/memory0\n"
    "#      resource 1  :  md 1  dev 1  flags -- tcp/eth0\n"
    "#      resource 2  :  md 1  dev 2  flags -- tcp/lo\n"
    "#      resource 3  :  md 4  dev 4  flags -- rc_mlx5/mlx5_0:1\n"
    "#      resource 4  :  md 4  dev 4  flags -a rdmacm/sockaddr\n"
    "#\n";

static void test_resources_are_told_but_self(void **state)
{
    char out[64];

    (void)state;
    epi_ucx_resources_parse(info, out, sizeof(out));
    assert_string_equal(out, "tcp/eth0,tcp/lo,rc_mlx5/mlx5_0:1");
    epi_ucx_resources_parse("", out, sizeof(out));
    assert_string_equal(out, "");
    epi_ucx_resources_parse("nothing of the kind", out, sizeof(out));
    assert_string_equal(out, "");
}

static void test_a_resource_that_does_not_fit_is_left_out(void **state)
{
    char out[16];

    (void)state;
    epi_ucx_resources_parse(info, out, sizeof(out));
    assert_string_equal(out, "tcp/eth0,tcp/lo");
}

static void test_bytes_come_over_on_the_own_host(void **state)
{
    epi_ucx_facts_t facts;

    (void)state;
    epi_ucx_probe("127.0.0.1", 30 * EPI_S, &facts);
    assert_string_equal(facts.error, "");
    assert_int_not_equal(facts.version[0], '\0');
    assert_non_null(strstr(facts.resources, "tcp/lo"));
    assert_null(strstr(facts.resources, "self/"));
    assert_int_not_equal(facts.transport[0], '\0');
    assert_string_not_equal(facts.transport, "mapped/memory");
    assert_string_equal(facts.shared_transport, "mapped/memory");
    assert_false(facts.cuda);
}

static void test_an_address_of_nobody_is_told_in_words(void **state)
{
    epi_ucx_facts_t facts;

    (void)state;
    epi_ucx_probe("203.0.113.1", 30 * EPI_S, &facts);
    assert_int_not_equal(facts.error[0], '\0');
    assert_string_equal(facts.transport, "");
    assert_int_not_equal(facts.version[0], '\0');
}

static void test_the_time_limit_is_kept(void **state)
{
    epi_ucx_facts_t facts;

    (void)state;
    epi_ucx_probe("127.0.0.1", 0, &facts);
    assert_non_null(strstr(facts.error, "time limit"));
    assert_string_equal(facts.transport, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resources_are_told_but_self),
        cmocka_unit_test(test_a_resource_that_does_not_fit_is_left_out),
        cmocka_unit_test(test_bytes_come_over_on_the_own_host),
        cmocka_unit_test(test_an_address_of_nobody_is_told_in_words),
        cmocka_unit_test(test_the_time_limit_is_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
