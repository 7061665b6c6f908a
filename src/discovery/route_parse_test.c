/* route_parse_test.c: what each parser takes and refuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "discovery/route.h"
#include "discovery/route_json.h"

#define REGISTRATION(world, dp, ip, port, engine, rest)                        \
    "{\"role\":\"Prefill\",\"world_size\":" world ",\"dp_size\":" dp           \
    ",\"rank_ip\":" ip ",\"rank_port\":" port ",\"engine_rank\":" engine rest  \
    "}"

/* The text in a block of its exact size, so that a sanitizer sees a read
 * beyond it: bodies are not closed by a zero. */
static char *exact(const char *text, size_t *length_p)
{
    char *copy;

    *length_p = strlen(text);
    copy = malloc(*length_p == 0 ? 1 : *length_p);
    assert_non_null(copy);
    memcpy(copy, text, *length_p);
    return copy;
}

static epdx_status_t parse_world(const char *text, epi_route_world_t *out_p)
{
    size_t length;
    char *copy = exact(text, &length);
    epdx_status_t status = epi_route_world_parse(copy, length, out_p);

    free(copy);
    return status;
}

static epdx_status_t parse_rank(const char *text, epi_route_rank_t *out_p)
{
    size_t length;
    char *copy = exact(text, &length);
    epdx_status_t status = epi_route_rank_parse(copy, length, out_p);

    free(copy);
    return status;
}

static epdx_status_t parse_registration(const char *text,
                                        epi_route_registration_t *out_p)
{
    size_t length;
    char *copy = exact(text, &length);
    epdx_status_t status = epi_route_registration_parse(copy, length, out_p);

    free(copy);
    return status;
}

static void expect_world(const char *text, uint32_t world_size,
                         uint32_t dp_size)
{
    epi_route_world_t out = {0};

    assert_int_equal(parse_world(text, &out), EPDX_OK);
    assert_int_equal(out.world_size, world_size);
    assert_int_equal(out.dp_size, dp_size);
}

static void world_taken(void **state)
{
    (void)state;
    expect_world("{\"prefill_tp_size\":4,\"prefill_dp_size\":2}", 4, 2);
    expect_world(
        " {\"prefill_tp_size\": \"4\", \"prefill_dp_size\": \" 1 \"}\n", 4, 1);
    expect_world("{\"prefill_dp_size\":1,\"x\":[{\"y\":null}],"
                 "\"prefill_tp_size\":4294967295}",
                 UINT32_MAX, 1);
    expect_world("{\"prefill_tp_size\":2.0,\"prefill_dp_size\":1e0}", 2, 1);
}

static void first_of_a_repeated_field_counts(void **state)
{
    (void)state;
    expect_world("{\"prefill_tp_size\":4,\"prefill_tp_size\":8,"
                 "\"prefill_dp_size\":1}",
                 4, 1);
}

static void world_in_progress(void **state)
{
    static const char *const texts[] = {
        "null",
        " null ",
        "{}",
        "{\"prefill_tp_size\":null,\"prefill_dp_size\":1}",
        "{\"prefill_tp_size\":4}",
        "{\"prefill_tp_size\":4,\"prefill_dp_size\":null}",
        "{\"Prefill_TP_Size\":4,\"prefill_dp_size\":1}",
    };
    epi_route_world_t out = {7, 7};

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_int_equal(parse_world(texts[i], &out), EPDX_IN_PROGRESS);
        assert_int_equal(out.world_size, 7);
    }
    assert_int_equal(parse_world(texts[4], &out), EPDX_IN_PROGRESS);
    assert_string_equal(epdx_last_error(), "prefill_dp_size is missing");
}

/* Each stands for prefill_tp_size. */
static void number_malformed(void **state)
{
    static const char *const values[] = {
        "0",
        "-1",
        "1.5",
        "1e99",
        "-0.5",
        "NaN",
        "nan",
        "Infinity",
        "4294967296",
        "1e400",
        "\"\"",
        "\" \"",
        "\"-1\"",
        "\"+1\"",
        "\"1.5\"",
        "\"01\"",
        "\"0x4\"",
        "\"4 4\"",
        "\"4x\"",
        "\"4294967296\"",
        "true",
        "false",
        "[]",
        "{}",
        "[4]",
        "01",
        "1.",
        "+1",
        ".5",
        "1e",
        "--1",
        "0x10",
        "\"1\\u00000\"",
        "-",
        "1e+",
    };
    epi_route_world_t out = {7, 7};
    char text[128];

    (void)state;
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        (void)snprintf(text, sizeof(text),
                       "{\"prefill_tp_size\":%s,\"prefill_dp_size\":1}",
                       values[i]);
        if (parse_world(text, &out) != EPDX_ERR_MALFORMED) {
            fail_msg("%s was taken", text);
        }
        assert_int_equal(out.world_size, 7);
    }
}

static void json_malformed(void **state)
{
    static const char *const texts[] = {
        "",
        " ",
        "{",
        "}",
        "nul",
        "nullx",
        "null null",
        "{}{}",
        "{} x",
        "[]",
        "4",
        "\"text\"",
        "true",
        "{\"a\":1,}",
        "{,}",
        "{\"a\" 1}",
        "{'a':1}",
        "{a:1}",
        "{\"a\":}",
        "{\"a\":1",
        "{\"a",
        "{\"a\\",
        "{\"a\\\"",
        "{\"a\":\"\\x\"}",
        "{\"a\":\"\n\"}",
        "{}\x01",
        "\x0b{}",
        "\xef\xbb\xbf{}",
        "// x\n{}",
        "{\"a\\u0000\":1}",
        "{\"a\":\"\\ud800\"}",
    };
    epi_route_world_t out = {7, 7};

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (parse_world(texts[i], &out) != EPDX_ERR_MALFORMED) {
            fail_msg("'%s' was taken", texts[i]);
        }
        assert_int_equal(out.world_size, 7);
    }
    assert_int_equal(epi_route_world_parse("{}\0", 3, &out),
                     EPDX_ERR_MALFORMED);
}

static void nesting_over_8_is_malformed(void **state)
{
    epi_route_world_t out;
    char deep[4001];

    (void)state;
    assert_int_equal(parse_world("{\"a\":[[[[[[[]]]]]]]}", &out),
                     EPDX_IN_PROGRESS);
    assert_int_equal(parse_world("{\"a\":[[[[[[[[]]]]]]]]}", &out),
                     EPDX_ERR_MALFORMED);
    assert_non_null(strstr(epdx_last_error(), "nests deeper than 8"));
    assert_int_equal(parse_world("{\"a\":\"[[[[[[[[[[[[\"}", &out),
                     EPDX_IN_PROGRESS);
    memset(deep, '[', sizeof(deep) - 1);
    deep[sizeof(deep) - 1] = '\0';
    assert_int_equal(parse_world(deep, &out), EPDX_ERR_MALFORMED);
}

static void over_64_kib_is_malformed(void **state)
{
    static char text[EPI_JSON_BYTES_MAX + 1];
    epi_route_world_t out;

    (void)state;
    memset(text, ' ', sizeof(text));
    memcpy(text, "null", 4);
    assert_int_equal(epi_route_world_parse(text, EPI_JSON_BYTES_MAX, &out),
                     EPDX_IN_PROGRESS);
    assert_int_equal(epi_route_world_parse(text, sizeof(text), &out),
                     EPDX_ERR_MALFORMED);
}

static void world_not_a_multiple_is_malformed(void **state)
{
    epi_route_world_t out;

    (void)state;
    assert_int_equal(
        parse_world("{\"prefill_tp_size\":4,\"prefill_dp_size\":3}", &out),
        EPDX_ERR_MALFORMED);
}

static void expect_rank(const char *text, const char *host, uint16_t port,
                        const char *instance)
{
    epi_route_rank_t out = {0};

    assert_int_equal(parse_rank(text, &out), EPDX_OK);
    assert_string_equal(out.address.host, host);
    assert_int_equal(out.address.port, port);
    assert_string_equal(out.instance, instance);
}

static void rank_taken(void **state)
{
    (void)state;
    expect_rank("{\"rank_ip\":\"10.1.2.3\",\"rank_port\":41999}", "10.1.2.3",
                41999, "");
    expect_rank("{\"rank_ip\":\"node-7\",\"rank_port\":\"65535\","
                "\"instance_id\":\"ab\"}",
                "node-7", 65535, "ab");
    expect_rank("{\"rank_ip\":\"fd00::7\",\"rank_port\":1,"
                "\"instance_id\":null}",
                "fd00::7", 1, "");
    expect_rank("{\"rank_ip\":\"[fd00::7]\",\"rank_port\":1}", "fd00::7", 1,
                "");
}

static void rank_in_progress(void **state)
{
    epi_route_rank_t out;

    (void)state;
    assert_int_equal(parse_rank("null", &out), EPDX_IN_PROGRESS);
    assert_int_equal(parse_rank("{\"rank_port\":1}", &out), EPDX_IN_PROGRESS);
    assert_int_equal(parse_rank("{\"rank_ip\":null,\"rank_port\":1}", &out),
                     EPDX_IN_PROGRESS);
    assert_int_equal(parse_rank("{\"rank_ip\":\"h\"}", &out), EPDX_IN_PROGRESS);
}

static void rank_ip_malformed(void **state)
{
    static const char *const values[] = {
        "\"\"",
        "\"0.0.0.0\"",
        "\"::\"",
        "\"[::]\"",
        "\"*\"",
        "\"0\"",
        "\"0x0\"",
        "\"00.0.0.0\"",
        "\"0:0:0:0:0:0:0:0\"",
        "\"::ffff:0.0.0.0\"",
        "\"[10.1.2.3]\"",
        "\"a b\"",
        "\"a/b\"",
        "\"a\\u0000b\"",
        "\"h:1\"",
        "\"fe80::1%eth0\"",
        "\"h\\\"x\"",
        "7",
        "[]",
        "\"[]\"",
        "\"\\u00e9\"",
    };
    epi_route_rank_t out = {0};
    char text[128];

    (void)state;
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        (void)snprintf(text, sizeof(text), "{\"rank_ip\":%s,\"rank_port\":1}",
                       values[i]);
        if (parse_rank(text, &out) != EPDX_ERR_MALFORMED) {
            fail_msg("%s was taken", text);
        }
    }
    assert_string_equal(out.address.host, "");
}

static void rank_ip_over_255_is_malformed(void **state)
{
    epi_route_rank_t out;
    char text[400];

    (void)state;
    (void)snprintf(text, sizeof(text),
                   "{\"rank_ip\":\"%0255d\","
                   "\"rank_port\":1}",
                   1);
    assert_int_equal(parse_rank(text, &out), EPDX_OK);
    (void)snprintf(text, sizeof(text),
                   "{\"rank_ip\":\"%0256d\","
                   "\"rank_port\":1}",
                   1);
    assert_int_equal(parse_rank(text, &out), EPDX_ERR_MALFORMED);
}

static void port_out_of_range_is_malformed(void **state)
{
    static const char *const ports[] = {"0",     "65536",     "-1",
                                        "\"0\"", "\"65536\"", "1e9"};
    epi_route_rank_t out;
    char text[128];

    (void)state;
    for (size_t i = 0; i < sizeof(ports) / sizeof(ports[0]); i++) {
        (void)snprintf(text, sizeof(text),
                       "{\"rank_ip\":\"h\","
                       "\"rank_port\":%s}",
                       ports[i]);
        assert_int_equal(parse_rank(text, &out), EPDX_ERR_MALFORMED);
        assert_string_equal(epdx_last_error(),
                            "rank_port is not a whole number from 1 to 65535");
    }
}

static void instance_malformed(void **state)
{
    static const char *const values[] = {
        "7", "\"a b\"", "\"a&b\"", "\"012345678901234567890123456789012\"",
        "[]"};
    epi_route_rank_t out;
    char text[128];

    (void)state;
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        (void)snprintf(text, sizeof(text),
                       "{\"rank_ip\":\"h\",\"rank_port\":1,"
                       "\"instance_id\":%s}",
                       values[i]);
        assert_int_equal(parse_rank(text, &out), EPDX_ERR_MALFORMED);
    }
}

#define KEY "Kn<}F>FWqS4)(bLrwzc4]s/R}1ACx$(BoHTO6yqo"

static void curve_key_taken(void **state)
{
    epi_route_registration_t in;
    epi_route_rank_t out;

    (void)state;
    assert_int_equal(parse_rank("{\"rank_ip\":\"h\",\"rank_port\":1,"
                                "\"curve_public_key\":\"" KEY "\"}",
                                &out),
                     EPDX_OK);
    assert_string_equal(out.curve_key, KEY);
    assert_int_equal(parse_rank("{\"rank_ip\":\"h\",\"rank_port\":1,"
                                "\"curve_public_key\":null}",
                                &out),
                     EPDX_OK);
    assert_string_equal(out.curve_key, "");
    assert_int_equal(
        parse_registration(REGISTRATION("4", "2", "\"h\"", "5", "3",
                                        ",\"curve_public_key\":\"" KEY "\""),
                           &in),
        EPDX_OK);
    assert_string_equal(in.curve_key, KEY);
}

static void curve_key_malformed(void **state)
{
    static const char *const values[] = {
        "7",
        "[]",
        "\"short\"",
        "\"" KEY "1\"",
        "\"Kn<}F>FWqS4)(bLrwzc4]s/R}1ACx$(BoHTO6yq~\"",
        "\"Kn<}F>FWqS4)(bLrwzc4]s/R}1ACx$(BoHTO6yq\\\"\"",
        "\"Kn<}F>FWqS4)(bLrwzc4]s/R}1ACx$(BoHTO6yq \"",
    };
    epi_route_rank_t out;
    char text[160];

    (void)state;
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        (void)snprintf(text, sizeof(text),
                       "{\"rank_ip\":\"h\",\"rank_port\":1,"
                       "\"curve_public_key\":%s}",
                       values[i]);
        assert_int_equal(parse_rank(text, &out), EPDX_ERR_MALFORMED);
        assert_non_null(strstr(epdx_last_error(), "curve_public_key"));
    }
}

static void registration_taken(void **state)
{
    epi_route_registration_t out = {0};

    (void)state;
    assert_int_equal(
        parse_registration(REGISTRATION("4", "\"2\"", "\"[::1]\"", "5", "3",
                                        ",\"instance_id\":\"ab\",\"more\":{}"),
                           &out),
        EPDX_OK);
    assert_int_equal(out.world_size, 4);
    assert_int_equal(out.dp_size, 2);
    assert_int_equal(out.engine_rank, 3);
    assert_string_equal(out.address.host, "::1");
    assert_int_equal(out.address.port, 5);
    assert_string_equal(out.instance, "ab");
}

static void registration_round_trip(void **state)
{
    epi_route_registration_t in = {.world_size = 8,
                                   .dp_size = 4,
                                   .engine_rank = 0,
                                   .address = {"fd00::7", 65535},
                                   .instance = "0123456789abcdef"};
    epi_route_registration_t out = {0};
    char body[EPI_ROUTE_BODY_MAX];

    (void)state;
    assert_int_equal(epi_route_registration_format(&in, body, sizeof(body)),
                     EPDX_OK);
    assert_int_equal(parse_registration(body, &out), EPDX_OK);
    assert_memory_equal(&in, &out, sizeof(in));
}

static void registration_malformed(void **state)
{
    static const char *const texts[] = {
        "null",
        "{}",
        REGISTRATION("4", "2", "\"h\"", "5", "4", ""),
        REGISTRATION("4", "2", "\"h\"", "5", "-1", ""),
        REGISTRATION("4", "3", "\"h\"", "5", "0", ""),
        REGISTRATION("0", "1", "\"h\"", "5", "0", ""),
        REGISTRATION("4", "0", "\"h\"", "5", "0", ""),
        REGISTRATION("null", "1", "\"h\"", "5", "0", ""),
        REGISTRATION("4", "null", "\"h\"", "5", "0", ""),
        REGISTRATION("4", "1", "null", "5", "0", ""),
        REGISTRATION("4", "1", "\"h\"", "null", "0", ""),
        REGISTRATION("4", "1", "\"h\"", "5", "null", ""),
        REGISTRATION("4", "1", "\"0.0.0.0\"", "5", "0", ""),
        REGISTRATION("4", "1", "\"h\"", "0", "0", ""),
        REGISTRATION("4", "1", "\"h\"", "5", "0", ",\"instance_id\":1"),
        "{\"role\":\"Decode\",\"world_size\":1,\"dp_size\":1,"
        "\"rank_ip\":\"h\",\"rank_port\":1,\"engine_rank\":0}",
        "{\"world_size\":1,\"dp_size\":1,\"rank_ip\":\"h\",\"rank_port\":1,"
        "\"engine_rank\":0}",
    };
    epi_route_registration_t out = {.world_size = 7};

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (parse_registration(texts[i], &out) != EPDX_ERR_MALFORMED) {
            fail_msg("%s was taken", texts[i]);
        }
        assert_int_equal(out.world_size, 7);
    }
    assert_string_equal(epdx_last_error(), "role is not \"Prefill\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(world_taken),
        cmocka_unit_test(first_of_a_repeated_field_counts),
        cmocka_unit_test(world_in_progress),
        cmocka_unit_test(number_malformed),
        cmocka_unit_test(json_malformed),
        cmocka_unit_test(nesting_over_8_is_malformed),
        cmocka_unit_test(over_64_kib_is_malformed),
        cmocka_unit_test(world_not_a_multiple_is_malformed),
        cmocka_unit_test(rank_taken),
        cmocka_unit_test(rank_in_progress),
        cmocka_unit_test(rank_ip_malformed),
        cmocka_unit_test(rank_ip_over_255_is_malformed),
        cmocka_unit_test(port_out_of_range_is_malformed),
        cmocka_unit_test(instance_malformed),
        cmocka_unit_test(curve_key_taken),
        cmocka_unit_test(curve_key_malformed),
        cmocka_unit_test(registration_taken),
        cmocka_unit_test(registration_round_trip),
        cmocka_unit_test(registration_malformed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
