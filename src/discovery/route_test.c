/* route_test.c: urls and bodies byte for byte; hostile bodies are in
 * route_parse_test.c. The examples are those of docs/wire.md. */
#include "discovery/route.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void expect_query(const char *bootstrap, int64_t rank, int64_t group,
                         const char *url)
{
    char out[512] = "untouched";

    assert_int_equal(
        epi_route_query_url(bootstrap, rank, group, out, sizeof(out)), EPDX_OK);
    assert_string_equal(out, url);
}

static void query_url_bytes(void **state)
{
    (void)state;
    expect_query("127.0.0.1:8998", -1, -1,
                 "http://127.0.0.1:8998/route?engine_rank=-1"
                 "&target_dp_group=-1");
    expect_query("node-7.cluster:80", 3, 2,
                 "http://node-7.cluster:80/route?engine_rank=3"
                 "&target_dp_group=2");
    expect_query("[::1]:8998", 0, 0,
                 "http://[::1]:8998/route?engine_rank=0&target_dp_group=0");
    expect_query("fe80::1:8998", 0, 0,
                 "http://[fe80::1]:8998/route?engine_rank=0"
                 "&target_dp_group=0");
    expect_query("http://h:1", 0, 0,
                 "http://h:1/route?engine_rank=0&target_dp_group=0");
    expect_query("https://h:1", 0, 0,
                 "https://h:1/route?engine_rank=0&target_dp_group=0");
}

static void query_url_invalid(void **state)
{
    static const char *const bad[] = {
        "",          "h",         ":1",       "h:",
        "h:0",       "h:65536",   "h:01",     "h:-1",
        "h:1/",      "h:1/x",     "u@h:1",    "a b:1",
        "ftp://h:1", "0.0.0.0:1", "[::]:1",   "*:1",
        "[::1]",     "::zz:1",    "h\r\nx:1", "h\"x:1",
        "0:1",       "http://",   "h?a=b:1",  "http://http://h:1",
    };
    char out[64] = "untouched";

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(epi_route_query_url(bad[i], 0, 0, out, sizeof(out)),
                         EPDX_ERR_INVALID);
        assert_string_equal(out, "untouched");
    }
    assert_int_equal(epi_route_query_url("h:1", -1, 0, out, sizeof(out)),
                     EPDX_ERR_INVALID);
    assert_int_equal(epi_route_query_url("h:1", 0, -1, out, sizeof(out)),
                     EPDX_ERR_INVALID);
    assert_int_equal(epi_route_query_url("h:1", -2, -2, out, sizeof(out)),
                     EPDX_ERR_INVALID);
}

static void url_too_large(void **state)
{
    char out[64] = "untouched";

    (void)state;
    assert_int_equal(epi_route_put_url("h:1", out, sizeof("http://h:1/route")),
                     EPDX_OK);
    assert_string_equal(out, "http://h:1/route");
    assert_int_equal(
        epi_route_put_url("h:2", out, sizeof("http://h:1/route") - 1),
        EPDX_ERR_TOO_LARGE);
    assert_string_equal(out, "http://h:1/route");
}

static void put_and_delete_url_bytes(void **state)
{
    char out[512];

    (void)state;
    assert_int_equal(epi_route_put_url("[::1]:8998", out, sizeof(out)),
                     EPDX_OK);
    assert_string_equal(out, "http://[::1]:8998/route");
    assert_int_equal(epi_route_delete_url("127.0.0.1:8998", 3,
                                          "00c0ffee00c0ffee", out, sizeof(out)),
                     EPDX_OK);
    assert_string_equal(out, "http://127.0.0.1:8998/route?engine_rank=3"
                             "&instance_id=00c0ffee00c0ffee");
    assert_int_equal(
        epi_route_delete_url("127.0.0.1:8998", 0, "", out, sizeof(out)),
        EPDX_OK);
    assert_string_equal(out, "http://127.0.0.1:8998/route?engine_rank=0");
    assert_int_equal(
        epi_route_delete_url("127.0.0.1:8998", 0, "a&b", out, sizeof(out)),
        EPDX_ERR_INVALID);
}

static epi_route_registration_t registration(void)
{
    epi_route_registration_t in = {
        .world_size = 4,
        .dp_size = 2,
        .engine_rank = 3,
        .address = {"10.1.2.3", 41999},
        .instance = "00c0ffee00c0ffee",
    };

    return in;
}

static void registration_bytes(void **state)
{
    epi_route_registration_t in = registration();
    char out[EPI_ROUTE_BODY_MAX];

    (void)state;
    assert_int_equal(epi_route_registration_format(&in, out, sizeof(out)),
                     EPDX_OK);
    assert_string_equal(out,
                        "{\"role\":\"Prefill\",\"world_size\":4,\"dp_size\":2,"
                        "\"rank_ip\":\"10.1.2.3\",\"rank_port\":41999,"
                        "\"engine_rank\":3,"
                        "\"instance_id\":\"00c0ffee00c0ffee\"}");
    in.instance[0] = '\0';
    (void)epi_text_copy(in.address.host, sizeof(in.address.host), "fd00::7");
    assert_int_equal(epi_route_registration_format(&in, out, sizeof(out)),
                     EPDX_OK);
    assert_string_equal(out,
                        "{\"role\":\"Prefill\",\"world_size\":4,\"dp_size\":2,"
                        "\"rank_ip\":\"fd00::7\",\"rank_port\":41999,"
                        "\"engine_rank\":3}");
}

#define KEY "Kn<}F>FWqS4)(bLrwzc4]s/R}1ACx$(BoHTO6yqo"

static void registration_with_a_curve_key_bytes(void **state)
{
    epi_route_registration_t in = registration();
    char out[EPI_ROUTE_BODY_MAX];

    (void)state;
    (void)epi_text_copy(in.curve_key, sizeof(in.curve_key), KEY);
    assert_int_equal(epi_route_registration_format(&in, out, sizeof(out)),
                     EPDX_OK);
    assert_string_equal(out,
                        "{\"role\":\"Prefill\",\"world_size\":4,\"dp_size\":2,"
                        "\"rank_ip\":\"10.1.2.3\",\"rank_port\":41999,"
                        "\"engine_rank\":3,"
                        "\"instance_id\":\"00c0ffee00c0ffee\","
                        "\"curve_public_key\":\"" KEY "\"}");
    in.instance[0] = '\0';
    assert_int_equal(epi_route_registration_format(&in, out, sizeof(out)),
                     EPDX_OK);
    assert_non_null(
        strstr(out, "\"engine_rank\":3,\"curve_public_key\":\"" KEY "\"}"));
    in.curve_key[3] = '"';
    assert_int_equal(epi_route_registration_format(&in, out, sizeof(out)),
                     EPDX_ERR_INVALID);
    (void)epi_text_copy(in.curve_key, sizeof(in.curve_key), "short");
    assert_int_equal(epi_route_registration_format(&in, out, sizeof(out)),
                     EPDX_ERR_INVALID);
}

static void rank_with_a_curve_key_bytes(void **state)
{
    epi_route_rank_t in = {.address = {"10.1.2.3", 41999},
                           .instance = "00c0ffee00c0ffee",
                           .curve_key = KEY};
    char out[EPI_ROUTE_BODY_MAX];

    (void)state;
    assert_int_equal(epi_route_rank_format(&in, out, sizeof(out)), EPDX_OK);
    assert_string_equal(out, "{\"rank_ip\":\"10.1.2.3\",\"rank_port\":41999,"
                             "\"instance_id\":\"00c0ffee00c0ffee\","
                             "\"curve_public_key\":\"" KEY "\"}");
}

static void expect_registration_invalid(const epi_route_registration_t *in)
{
    char out[EPI_ROUTE_BODY_MAX] = "untouched";

    assert_int_equal(epi_route_registration_format(in, out, sizeof(out)),
                     EPDX_ERR_INVALID);
    assert_string_equal(out, "untouched");
}

static void registration_invalid(void **state)
{
    static const char *const hosts[] = {"",        "0.0.0.0", "::",   "0",
                                        "[::1]",   "a\"b",    "a\\b", "a b",
                                        "x::y::z", "::0",     "*",    "h\n"};
    epi_route_registration_t in;

    (void)state;
    for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
        in = registration();
        (void)epi_text_copy(in.address.host, sizeof(in.address.host), hosts[i]);
        expect_registration_invalid(&in);
    }
    in = registration();
    in.engine_rank = 4;
    expect_registration_invalid(&in);
    in = registration();
    in.dp_size = 3;
    expect_registration_invalid(&in);
    in.dp_size = 0;
    expect_registration_invalid(&in);
    in = registration();
    in.world_size = 0;
    expect_registration_invalid(&in);
    in = registration();
    in.address.port = 0;
    expect_registration_invalid(&in);
    in = registration();
    in.instance[0] = '"';
    expect_registration_invalid(&in);
}

static void body_too_large(void **state)
{
    epi_route_registration_t in = registration();
    char out[EPI_ROUTE_BODY_MAX] = "untouched";

    (void)state;
    assert_int_equal(epi_route_registration_format(&in, out, 20),
                     EPDX_ERR_TOO_LARGE);
    assert_string_equal(out, "untouched");
    /* The longest host there can be fits. */
    memset(in.address.host, 'h', EPDX_ADDRESS_MAX);
    in.address.host[EPDX_ADDRESS_MAX] = '\0';
    assert_int_equal(epi_route_registration_format(&in, out, sizeof(out)),
                     EPDX_OK);
}

static void world_bytes(void **state)
{
    epi_route_world_t in = {.world_size = 4, .dp_size = 2};
    char out[EPI_ROUTE_BODY_MAX];

    (void)state;
    assert_int_equal(epi_route_world_format(&in, out, sizeof(out)), EPDX_OK);
    assert_string_equal(out, "{\"prefill_tp_size\":4,\"prefill_dp_size\":2}");
    in.dp_size = 3;
    assert_int_equal(epi_route_world_format(&in, out, sizeof(out)),
                     EPDX_ERR_INVALID);
}

static void rank_bytes(void **state)
{
    epi_route_rank_t in = {.address = {"10.1.2.3", 41999},
                           .instance = "00c0ffee00c0ffee"};
    char out[EPI_ROUTE_BODY_MAX];

    (void)state;
    assert_int_equal(epi_route_rank_format(&in, out, sizeof(out)), EPDX_OK);
    assert_string_equal(out, "{\"rank_ip\":\"10.1.2.3\",\"rank_port\":41999,"
                             "\"instance_id\":\"00c0ffee00c0ffee\"}");
    in.instance[0] = '\0';
    assert_int_equal(epi_route_rank_format(&in, out, sizeof(out)), EPDX_OK);
    assert_string_equal(out, "{\"rank_ip\":\"10.1.2.3\",\"rank_port\":41999}");
    in.address.port = 0;
    assert_int_equal(epi_route_rank_format(&in, out, sizeof(out)),
                     EPDX_ERR_INVALID);
}

static void error_bytes(void **state)
{
    char out[64];
    char tight[16];

    (void)state;
    epi_route_error_format("2 of 4", out, sizeof(out));
    assert_string_equal(out, "{\"error\":\"2 of 4\"}");
    epi_route_error_format("a\"b\\c\n\x01\xc3", out, sizeof(out));
    assert_string_equal(out, "{\"error\":\"a\\\"b\\\\c???\"}");
    epi_route_error_format("\"\"\"\"\"\"\"\"\"\"\"\"", tight, sizeof(tight));
    assert_string_equal(tight, "{\"error\":\"\\\"\"}");
    epi_route_error_format("", tight, sizeof(tight));
    assert_string_equal(tight, "{\"error\":\"\"}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(query_url_bytes),
        cmocka_unit_test(query_url_invalid),
        cmocka_unit_test(url_too_large),
        cmocka_unit_test(put_and_delete_url_bytes),
        cmocka_unit_test(registration_bytes),
        cmocka_unit_test(registration_with_a_curve_key_bytes),
        cmocka_unit_test(rank_with_a_curve_key_bytes),
        cmocka_unit_test(registration_invalid),
        cmocka_unit_test(body_too_large),
        cmocka_unit_test(world_bytes),
        cmocka_unit_test(rank_bytes),
        cmocka_unit_test(error_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
