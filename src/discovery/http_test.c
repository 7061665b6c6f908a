/* http_test.c: exchanges with a scripted peer, good and bad. */
#include "discovery/http.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/text.h"
#include "discovery/http_test_server.h"

static void answer_with_body(void **state)
{
    test_got_t got = test_get(test_answer_ok);

    (void)state;
    test_expect_answer(&got, 200, "null");
    assert_memory_equal(test_server.last_request,
                        "GET /route?engine_rank=-1 HTTP/1.1\r\n", 36);
    assert_null(strstr(test_server.last_request, "Authorization"));
    assert_null(strstr(test_server.last_request, "Content-"));
}

static test_answer_t answer_404(const char *request)
{
    (void)request;
    return (test_answer_t){
        .bytes = "HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}"};
}

static void answer_404_is_an_answer(void **state)
{
    test_got_t got = test_get(answer_404);

    (void)state;
    test_expect_answer(&got, 404, "{}");
}

static test_answer_t answer_503(const char *request)
{
    (void)request;
    return (test_answer_t){.bytes = "HTTP/1.1 503 Service Unavailable\r\n"
                                    "Transfer-Encoding: chunked\r\n\r\n"
                                    "3\r\n{\"e\r\n5\r\n\":1}\n\r\n0\r\n\r\n"};
}

static void answer_503_is_an_answer(void **state)
{
    test_got_t got = test_get(answer_503);

    (void)state;
    test_expect_answer(&got, 503, "{\"e\":1}\n");
}

static void put_arrives_byte_for_byte(void **state)
{
    static char body[8193];
    char url[128];
    epi_http_request_t request = {.method = "PUT",
                                  .url = url,
                                  .body = body,
                                  .token = "se-cret",
                                  .timeout_ns = 10 * EPI_S};
    test_got_t got;
    char expected[256];
    const char *end;

    (void)state;
    for (size_t i = 0; i + 1 < sizeof(body); i++) {
        body[i] = (char)('!' + i % 90);
    }
    test_server.script = test_answer_ok;
    test_server_url(&test_server, "/route", url, sizeof(url));
    assert_int_equal(epi_http_start(test_http, &request), EPDX_OK);
    test_run(test_http, &test_server, &got, 1);
    test_expect_answer(&got, 200, "null");
    (void)snprintf(expected, sizeof(expected),
                   "PUT /route HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n"
                   "Authorization: Bearer se-cret\r\n",
                   test_server.port);
    assert_memory_equal(test_server.last_request, expected, strlen(expected));
    assert_non_null(strstr(test_server.last_request,
                           "\r\nContent-Type: application/json\r\n"));
    assert_non_null(
        strstr(test_server.last_request, "\r\nContent-Length: 8192\r\n"));
    assert_null(strstr(test_server.last_request, "Expect:"));
    end = strstr(test_server.last_request, "\r\n\r\n");
    assert_non_null(end);
    assert_string_equal(end + 4, body);
}

/* The exchange that carried a body and a token is used again. */
static void nothing_of_an_earlier_request_is_left(void **state)
{
    char url[128];
    epi_http_request_t request = {.method = "PUT",
                                  .url = url,
                                  .body = "{}",
                                  .token = "se-cret",
                                  .timeout_ns = 10 * EPI_S};
    test_got_t got;

    (void)state;
    epi_http_close(test_http);
    assert_int_equal(epi_http_open(1, &test_http), EPDX_OK);
    test_server.script = test_answer_ok;
    test_server_url(&test_server, "/route", url, sizeof(url));
    assert_int_equal(epi_http_start(test_http, &request), EPDX_OK);
    test_run(test_http, &test_server, &got, 1);
    request = (epi_http_request_t){
        .method = "DELETE", .url = url, .timeout_ns = 10 * EPI_S};
    assert_int_equal(epi_http_start(test_http, &request), EPDX_OK);
    test_run(test_http, &test_server, &got, 1);
    test_expect_answer(&got, 200, "null");
    assert_memory_equal(test_server.last_request, "DELETE /route HTTP/1.1\r\n",
                        24);
    assert_null(strstr(test_server.last_request, "Authorization"));
    assert_null(strstr(test_server.last_request, "Content-"));
    got = test_get(test_answer_ok);
    assert_memory_equal(test_server.last_request, "GET /route?", 11);
}

static char large[EPI_HTTP_BODY_MAX + 256];

static test_answer_t answer_large(const char *request)
{
    size_t head =
        (size_t)snprintf(large, sizeof(large), "HTTP/1.1 200 OK\r\n\r\n");
    size_t body = EPI_HTTP_BODY_MAX + (strstr(request, "-1") != NULL);

    memset(large + head, 'x', body);
    return (test_answer_t){
        .bytes = large, .length = head + body, .close = true};
}

static void answer_of_64_kib_is_taken(void **state)
{
    test_got_t got;

    (void)state;
    test_server.script = answer_large;
    test_start("/", 10 * EPI_S, 1);
    test_run(test_http, &test_server, &got, 1);
    assert_string_equal(got.error, "");
    assert_int_equal(got.code, 200);
    assert_int_equal(got.body_bytes, EPI_HTTP_BODY_MAX);
}

static void answer_over_64_kib_is_refused(void **state)
{
    test_got_t got = test_get(answer_large);

    (void)state;
    test_expect_error(&got, "over 65536 bytes");
}

static test_answer_t answer_announced_large(const char *request)
{
    (void)request;
    return (test_answer_t){
        .bytes = "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\nx"};
}

static void announced_over_64_kib_is_refused(void **state)
{
    test_got_t got = test_get(answer_announced_large);

    (void)state;
    test_expect_error(&got, "over 65536 bytes");
}

static test_answer_t answer_header_flood(const char *request)
{
    size_t used = (size_t)snprintf(large, sizeof(large), "HTTP/1.1 200 OK\r\n");

    (void)request;
    while (used < 20000) {
        used += (size_t)snprintf(large + used, sizeof(large) - used,
                                 "X-Flood: %0100d\r\n", 0);
    }
    return (test_answer_t){.bytes = large, .length = used};
}

static void header_flood_is_refused(void **state)
{
    test_got_t got = test_get(answer_header_flood);

    (void)state;
    test_expect_error(&got, "headers are over 16384 bytes");
}

static void silence_ends_by_timeout(void **state)
{
    test_got_t got;

    (void)state;
    test_server.script = test_answer_never;
    test_start("/", 50 * EPI_MS, 9);
    test_run(test_http, &test_server, &got, 1);
    assert_int_equal(got.cookie, 9);
    test_expect_error(&got, "imed out");
}

static test_answer_t answer_never_ends(const char *request)
{
    (void)request;
    return (test_answer_t){
        .bytes = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"};
}

static void half_an_answer_ends_by_timeout(void **state)
{
    test_got_t got;

    (void)state;
    test_server.script = answer_never_ends;
    test_start("/", 50 * EPI_MS, 9);
    test_run(test_http, &test_server, &got, 1);
    test_expect_error(&got, "imed out");
}

static void refused_connection(void **state)
{
    test_got_t got;

    (void)state;
    test_start("/", 10 * EPI_S, 3);
    test_server_close(&test_server);
    test_run(test_http, NULL, &got, 1);
    assert_int_equal(got.cookie, 3);
    test_expect_error(&got, "onnect");
    test_server_open(&test_server, NULL);
}

static test_answer_t answer_redirect(const char *request)
{
    (void)request;
    return (test_answer_t){.bytes =
                               "HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\n"
                               "Content-Length: 0\r\n\r\n"};
}

static void redirect_is_not_followed(void **state)
{
    test_got_t got = test_get(answer_redirect);

    (void)state;
    test_expect_answer(&got, 302, "");
    assert_int_equal(test_server.accepted, 1);
}

static test_answer_t answer_garbage(const char *request)
{
    (void)request;
    return (test_answer_t){.bytes = "\x01\x02 no http at all\r\n\r\n",
                           .close = true};
}

static void garbage_is_an_error(void **state)
{
    test_got_t got = test_get(answer_garbage);

    (void)state;
    test_expect_error(&got, "HTTP");
}

static test_answer_t answer_half(const char *request)
{
    (void)request;
    return (test_answer_t){
        .bytes = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf",
        .close = true};
}

static void closed_half_way_is_an_error(void **state)
{
    test_got_t got = test_get(answer_half);

    (void)state;
    test_expect_error(&got, "5 bytes remaining");
}

static test_answer_t answer_nothing(const char *request)
{
    (void)request;
    return (test_answer_t){.bytes = "", .close = true};
}

static void closed_without_a_word_is_an_error(void **state)
{
    test_got_t got = test_get(answer_nothing);

    (void)state;
    test_expect_error(&got, "mpty reply");
}

static void proxy_of_the_environment_is_not_used(void **state)
{
    test_got_t got;

    (void)state;
    assert_int_equal(setenv("http_proxy", "http://127.0.0.1:1", 1), 0);
    got = test_get(test_answer_ok);
    assert_int_equal(unsetenv("http_proxy"), 0);
    test_expect_answer(&got, 200, "null");
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, test_open_both, test_close_both)

static void expect_no_trust(const char *path, const char *words)
{
    assert_int_equal(epi_http_trust(test_http, path), EPDX_ERR_INVALID);
    assert_non_null(strstr(epdx_last_error(), "EPDX_CA_FILE"));
    assert_non_null(strstr(epdx_last_error(), words));
}

static void trust_invalid(void **state)
{
    (void)state;
    assert_int_equal(epi_http_trust(test_http, ""), EPDX_OK);
    expect_no_trust("/dev/null/none", "cannot be read");
    expect_no_trust("/dev/null", "is no file");
    expect_no_trust("/proc/self/cmdline", "has no certificate");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(trust_invalid),
        TEST(answer_with_body),
        TEST(answer_404_is_an_answer),
        TEST(answer_503_is_an_answer),
        TEST(put_arrives_byte_for_byte),
        TEST(nothing_of_an_earlier_request_is_left),
        TEST(answer_of_64_kib_is_taken),
        TEST(answer_over_64_kib_is_refused),
        TEST(announced_over_64_kib_is_refused),
        TEST(header_flood_is_refused),
        TEST(silence_ends_by_timeout),
        TEST(half_an_answer_ends_by_timeout),
        TEST(refused_connection),
        TEST(redirect_is_not_followed),
        TEST(garbage_is_an_error),
        TEST(closed_half_way_is_an_error),
        TEST(closed_without_a_word_is_an_error),
        TEST(proxy_of_the_environment_is_not_used),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
