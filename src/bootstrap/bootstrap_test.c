/* bootstrap_test.c: the server over real sockets: every route and code, with
 * its exact body. The examples are those of docs/wire.md. */
#include "epdx/bootstrap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bootstrap/raw_client.h"
#include "epdx/log.h"

#define WORLD      "GET /route?engine_rank=-1&target_dp_group=-1"
#define RANK(r, g) "GET /route?engine_rank=" #r "&target_dp_group=" #g
#define ENTRY(world, dp, port, engine, instance)                               \
    "{\"role\":\"Prefill\",\"world_size\":" #world ",\"dp_size\":" #dp         \
    ",\"rank_ip\":\"10.1.2.3\",\"rank_port\":" #port                           \
    ",\"engine_rank\":" #engine ",\"instance_id\":\"" instance "\"}"

static epdx_bootstrap_t *server;
static const char *address;
static raw_answer_t answer;

static int open_with(const char *listen, const char *token)
{
    epdx_bootstrap_params_t params = {
        .struct_size = sizeof(params), .listen = listen, .token = token};

    if (epdx_bootstrap_open(&params, &server) != EPDX_OK) {
        return -1;
    }
    address = epdx_bootstrap_address(server);
    return 0;
}

static int open_server(void **state)
{
    (void)state;
    return open_with("127.0.0.1:0", "");
}

static int open_guarded(void **state)
{
    (void)state;
    return open_with("127.0.0.1:0", "se-cret");
}

static int open_v6(void **state)
{
    (void)state;
    return open_with("[::1]:0", "");
}

static int close_server(void **state)
{
    (void)state;
    epdx_bootstrap_close(server);
    server = NULL;
    return 0;
}

static void expect(const char *line, int code, const char *body)
{
    raw_request(address, line, "", NULL, &answer);
    raw_expect(&answer, code, body);
}

static void put(const char *body, int code, const char *answer_body)
{
    raw_request(address, "PUT /route", "", body, &answer);
    raw_expect(&answer, code, answer_body);
}

static void expect_header(const char *header)
{
    char line[128];

    (void)snprintf(line, sizeof(line), "\r\n%s", header);
    if (strstr(answer.head, line) == NULL) {
        fail_msg("no '%s' in\n%s", header, answer.head);
    }
}

static void health(void **state)
{
    (void)state;
    expect("GET /health", 200, "OK");
    expect_header("Content-Type: text/plain");
}

static void route_of_a_whole_world(void **state)
{
    (void)state;
    put(ENTRY(2, 1, 41000, 0, "00c0ffee00c0ffee"), 200, "OK");
    put(ENTRY(2, 1, 41001, 1, ""), 200, "OK");
    expect(WORLD, 200, "{\"prefill_tp_size\":2,\"prefill_dp_size\":1}");
    expect_header("Content-Type: application/json");
    expect(RANK(0, 0), 200,
           "{\"rank_ip\":\"10.1.2.3\",\"rank_port\":41000,"
           "\"instance_id\":\"00c0ffee00c0ffee\"}");
    expect(RANK(1, 0), 200, "{\"rank_ip\":\"10.1.2.3\",\"rank_port\":41001}");
}

static void fields_in_any_order_and_others_are_ignored(void **state)
{
    (void)state;
    put(ENTRY(1, 1, 41000, 0, ""), 200, "OK");
    expect("GET /route?target_pp_rank=0&target_dp_group=0&x&engine_rank=%30",
           200, "{\"rank_ip\":\"10.1.2.3\",\"rank_port\":41000}");
}

static void dp_groups(void **state)
{
    (void)state;
    put(ENTRY(4, 2, 41000, 0, ""), 200, "OK");
    put(ENTRY(4, 2, 41001, 1, ""), 200, "OK");
    put(ENTRY(4, 2, 41002, 2, ""), 200, "OK");
    put(ENTRY(4, 2, 41003, 3, ""), 200, "OK");
    expect(WORLD, 200, "{\"prefill_tp_size\":4,\"prefill_dp_size\":2}");
    expect(RANK(1, 1), 200, "{\"rank_ip\":\"10.1.2.3\",\"rank_port\":41003}");
}

static void not_ready_is_503(void **state)
{
    (void)state;
    expect(WORLD, 503, "{\"error\":\"no encode rank has registered yet\"}");
    expect(RANK(0, 0), 503,
           "{\"error\":\"no encode rank has registered yet\"}");
    put(ENTRY(2, 1, 41000, 0, ""), 200, "OK");
    expect(WORLD, 503, "{\"error\":\"1 of 2 encode ranks have registered\"}");
    expect(RANK(0, 0), 503,
           "{\"error\":\"1 of 2 encode ranks have registered\"}");
}

static void no_such_rank_is_404(void **state)
{
    (void)state;
    put(ENTRY(1, 1, 41000, 0, ""), 200, "OK");
    expect(RANK(1, 0), 404,
           "{\"error\":\"engine_rank 1 is not below the 1 ranks of a DP "
           "group\"}");
    expect(RANK(0, 1), 404,
           "{\"error\":\"target_dp_group 1 is not below dp_size 1\"}");
    expect("GET /rout", 404,
           "{\"error\":\"the paths are /route and /health\"}");
}

static void malformed_query_is_400(void **state)
{
    static const char *const lines[] = {
        "GET /route?engine_rank=0",
        "GET /route?engine_rank=&target_dp_group=0",
        "GET /route?engine_rank&target_dp_group=0",
        "GET /route?engine_rank=-2&target_dp_group=0",
        "GET /route?engine_rank=0x0&target_dp_group=0",
        "GET /route?engine_rank=1.0&target_dp_group=0",
        "GET /route?engine_rank=0%00&target_dp_group=0",
        "GET /route?engine_rank=4294967296&target_dp_group=0",
        "GET /route?engine_rank=0&target_dp_group=+0",
        "GET /route?engine_rank=-1&target_dp_group=0",
        "DELETE /route?instance_id=a",
        "DELETE /route?engine_rank=-1",
        "DELETE /route?engine_rank=0&instance_id=a%22",
        "DELETE /route?engine_rank=0&instance_id=a&instance_id=a",
        "DELETE /route?engine_rank=0&instance_id",
    };

    (void)state;
    put(ENTRY(1, 1, 41000, 0, "a"), 200, "OK");
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        raw_request(address, lines[i], "", NULL, &answer);
        if (answer.code != 400) {
            fail_msg("%s: %d %s", lines[i], answer.code, answer.body);
        }
    }
    expect("GET /route", 400, "{\"error\":\"engine_rank is missing\"}");
    expect("GET /route?engine_rank=x&target_dp_group=0", 400,
           "{\"error\":\"engine_rank is not -1 or a whole number up to "
           "4294967295\"}");
    expect("GET /route?engine_rank=0&target_dp_group=-1", 400,
           "{\"error\":\"engine_rank and target_dp_group are both -1, or "
           "neither is\"}");
    expect("GET /route?engine_rank=0&target_dp_group=0&engine_rank=0", 400,
           "{\"error\":\"engine_rank comes more than once\"}");
    expect(RANK(0, 0), 200,
           "{\"rank_ip\":\"10.1.2.3\",\"rank_port\":41000,"
           "\"instance_id\":\"a\"}");
}

static void malformed_body_is_400(void **state)
{
    (void)state;
    put("", 400, "{\"error\":\"not JSON: no complete value\"}");
    put("{\"role\":\"Decode\"}", 400,
        "{\"error\":\"role is not \\\"Prefill\\\"\"}");
    put(ENTRY(2, 1, 0, 0, ""), 400,
        "{\"error\":\"rank_port is not a whole number from 1 to 65535\"}");
    put(ENTRY(2, 1, 1, 2, ""), 400,
        "{\"error\":\"engine_rank 2 is not below world_size 2\"}");
    put(ENTRY(4097, 1, 1, 2, ""), 400,
        "{\"error\":\"world_size 4097 is over 4096\"}");
    expect(WORLD, 503, "{\"error\":\"no encode rank has registered yet\"}");
}

static void another_world_is_409(void **state)
{
    (void)state;
    put(ENTRY(2, 1, 41000, 0, "a"), 200, "OK");
    put(ENTRY(4, 1, 41000, 1, "a"), 409,
        "{\"error\":\"world_size 4 and dp_size 1 are 2 and 1 for the ranks "
        "already registered\"}");
}

static void restarted_rank_replaces_its_entry(void **state)
{
    (void)state;
    put(ENTRY(1, 1, 41000, 0, "a"), 200, "OK");
    put(ENTRY(1, 1, 41999, 0, "b"), 200, "OK");
    expect(RANK(0, 0), 200,
           "{\"rank_ip\":\"10.1.2.3\",\"rank_port\":41999,"
           "\"instance_id\":\"b\"}");
    /* The first instance's farewell comes late. */
    expect("DELETE /route?engine_rank=0&instance_id=a", 404,
           "{\"error\":\"engine_rank 0 is registered by another instance\"}");
    expect(WORLD, 200, "{\"prefill_tp_size\":1,\"prefill_dp_size\":1}");
}

static void deleted_rank_is_gone(void **state)
{
    (void)state;
    put(ENTRY(1, 1, 41000, 0, "a"), 200, "OK");
    expect("DELETE /route?engine_rank=0&instance_id=a", 200, "OK");
    expect(WORLD, 503, "{\"error\":\"no encode rank has registered yet\"}");
    expect("DELETE /route?engine_rank=0", 404,
           "{\"error\":\"engine_rank 0 is not registered\"}");
}

static void other_methods_are_405(void **state)
{
    (void)state;
    expect("POST /route", 405,
           "{\"error\":\"/route takes GET, PUT and DELETE\"}");
    expect_header("Allow: DELETE, GET, PUT");
    expect("PATCH /route", 405,
           "{\"error\":\"/route takes GET, PUT and DELETE\"}");
    expect("PUT /health", 405, "{\"error\":\"/health takes GET\"}");
    expect_header("Allow: GET");
}

static void without_the_token_is_401(void **state)
{
    static const char *const headers[] = {
        "",
        "Authorization: se-cret\r\n",
        "Authorization: Basic se-cret\r\n",
        "Authorization: Bearer\r\n",
        "Authorization: Bearer se-cre\r\n",
        "Authorization: Bearer se-cret2\r\n",
        "Authorization: Bearer Se-cret\r\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
        raw_request(address, "PUT /route", headers[i],
                    ENTRY(1, 1, 41000, 0, ""), &answer);
        raw_expect(&answer, 401,
                   "{\"error\":\"the bearer token is missing or wrong\"}");
        expect_header("WWW-Authenticate: Bearer");
    }
    expect("DELETE /route?engine_rank=0", 401,
           "{\"error\":\"the bearer token is missing or wrong\"}");
    /* Reading needs none. */
    expect(WORLD, 503, "{\"error\":\"no encode rank has registered yet\"}");
    expect("GET /health", 200, "OK");
}

static void with_the_token_is_200(void **state)
{
    (void)state;
    raw_request(address, "PUT /route", "Authorization: Bearer se-cret\r\n",
                ENTRY(1, 1, 41000, 0, "a"), &answer);
    raw_expect(&answer, 200, "OK");
    raw_request(address, "DELETE /route?engine_rank=0&instance_id=a",
                "authorization: bearer se-cret\r\n", NULL, &answer);
    raw_expect(&answer, 200, "OK");
}

#define KEY "Kn<}F>FWqS4)(bLrwzc4]s/R}1ACx$(BoHTO6yqo"

static void curve_key_goes_from_rank_to_asker(void **state)
{
    (void)state;
    put("{\"role\":\"Prefill\",\"world_size\":1,\"dp_size\":1,"
        "\"rank_ip\":\"10.1.2.3\",\"rank_port\":41000,\"engine_rank\":0,"
        "\"instance_id\":\"a\",\"curve_public_key\":\"" KEY "\"}",
        200, "OK");
    expect(RANK(0, 0), 200,
           "{\"rank_ip\":\"10.1.2.3\",\"rank_port\":41000,"
           "\"instance_id\":\"a\",\"curve_public_key\":\"" KEY "\"}");
    /* It restarts without keys: the old one must not be given out. */
    put(ENTRY(1, 1, 41000, 0, "b"), 200, "OK");
    expect(RANK(0, 0), 200,
           "{\"rank_ip\":\"10.1.2.3\",\"rank_port\":41000,"
           "\"instance_id\":\"b\"}");
}

static int lines_of_refusals;

static void count_line(void *context, epdx_log_level_t level, const char *text)
{
    (void)context;
    if (level == EPDX_LOG_WARN && strstr(text, "writes were refused")) {
        __atomic_fetch_add(&lines_of_refusals, 1, __ATOMIC_RELAXED);
    }
}

static uint64_t writes_refused(void)
{
    epdx_bootstrap_stats_t stats;

    epdx_bootstrap_stats(server, &stats);
    return stats.writes_refused;
}

static void refused_writes_are_counted_and_told_once(void **state)
{
    (void)state;
    lines_of_refusals = 0;
    epdx_log_set_sink(count_line, NULL);
    assert_int_equal(writes_refused(), 0);
    for (int i = 0; i < 5; i++) {
        raw_request(address, "PUT /route", "", ENTRY(1, 1, 1, 0, "a"), &answer);
        assert_int_equal(answer.code, 401);
        raw_request(address, "DELETE /route?engine_rank=0",
                    "Authorization: Bearer wrong\r\n", NULL, &answer);
        assert_int_equal(answer.code, 401);
    }
    assert_int_equal(writes_refused(), 10);
    raw_request(address, "PUT /route", "Authorization: Bearer se-cret\r\n",
                ENTRY(1, 1, 1, 0, "a"), &answer);
    assert_int_equal(answer.code, 200);
    assert_int_equal(writes_refused(), 10);
    assert_int_equal(__atomic_load_n(&lines_of_refusals, __ATOMIC_RELAXED), 1);
    epdx_log_set_sink(NULL, NULL);
}

static void body_over_4096_is_413(void **state)
{
    static char body[4098];

    (void)state;
    memset(body, ' ', sizeof(body) - 1);
    memcpy(body, ENTRY(1, 1, 41000, 0, ""), strlen(ENTRY(1, 1, 41000, 0, "")));
    put(body, 413, "{\"error\":\"the body is over 4096 bytes\"}");
    body[4096] = '\0';
    put(body, 200, "OK");
}

static void announced_huge_body_is_413(void **state)
{
    static const char text[] = "PUT /route HTTP/1.1\r\nHost: epdx\r\n"
                               "Content-Length: 99999999999\r\n\r\n";

    (void)state;
    raw_exchange(raw_connect(address), text, strlen(text), &answer);
    raw_expect(&answer, 413, "{\"error\":\"the body is over 4096 bytes\"}");
}

static void endless_body_loses_its_connection(void **state)
{
    static const char head[] = "PUT /route HTTP/1.1\r\nHost: epdx\r\n"
                               "Transfer-Encoding: chunked\r\n\r\n";
    static char text[400000];
    size_t used = strlen(head);

    (void)state;
    memcpy(text, head, used);
    while (used + 1100 < sizeof(text)) {
        used += (size_t)snprintf(text + used, sizeof(text) - used,
                                 "400\r\n%01024d\r\n", 0);
    }
    raw_exchange(raw_connect(address), text, used, &answer);
    assert_int_equal(answer.code, 0);
    expect("GET /health", 200, "OK");
}

static void ipv6(void **state)
{
    (void)state;
    assert_memory_equal(address, "[::1]:", 6);
    raw_request(address, "PUT /route", "",
                "{\"role\":\"Prefill\",\"world_size\":\"1\",\"dp_size\":\"1\","
                "\"rank_ip\":\"[fd00::7]\",\"rank_port\":\"41000\","
                "\"engine_rank\":\"0\"}",
                &answer);
    raw_expect(&answer, 200, "OK");
    expect(RANK(0, 0), 200, "{\"rank_ip\":\"fd00::7\",\"rank_port\":41000}");
}

#define TEST(name, open)                                                       \
    cmocka_unit_test_setup_teardown(name, open, close_server)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(health, open_server),
        TEST(route_of_a_whole_world, open_server),
        TEST(fields_in_any_order_and_others_are_ignored, open_server),
        TEST(dp_groups, open_server),
        TEST(not_ready_is_503, open_server),
        TEST(no_such_rank_is_404, open_server),
        TEST(malformed_query_is_400, open_server),
        TEST(malformed_body_is_400, open_server),
        TEST(another_world_is_409, open_server),
        TEST(restarted_rank_replaces_its_entry, open_server),
        TEST(deleted_rank_is_gone, open_server),
        TEST(other_methods_are_405, open_server),
        TEST(curve_key_goes_from_rank_to_asker, open_server),
        TEST(without_the_token_is_401, open_guarded),
        TEST(refused_writes_are_counted_and_told_once, open_guarded),
        TEST(with_the_token_is_200, open_guarded),
        TEST(body_over_4096_is_413, open_server),
        TEST(announced_huge_body_is_413, open_server),
        TEST(endless_body_loses_its_connection, open_server),
        TEST(ipv6, open_v6),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
