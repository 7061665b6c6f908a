/* http_many_test.c: exchanges side by side, and what a start refuses. */
#include "discovery/http.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "discovery/http_test_server.h"

static void many_at_once(void **state)
{
    test_got_t got[16];
    bool seen[16] = {false};

    (void)state;
    test_server.script = test_answer_ok;
    for (uint64_t round = 0; round < 4; round++) {
        memset(seen, 0, sizeof(seen));
        for (uint64_t i = 0; i < 16; i++) {
            test_start("/", 10 * EPI_S, i);
        }
        test_run(test_http, &test_server, got, 16);
        for (size_t i = 0; i < 16; i++) {
            test_expect_answer(&got[i], 200, "null");
            assert_false(seen[got[i].cookie]);
            seen[got[i].cookie] = true;
        }
    }
}

static test_answer_t answer_fast_only(const char *request)
{
    return strstr(request, "/slow") != NULL ? test_answer_never(request)
                                            : test_answer_ok(request);
}

static void slow_peer_does_not_delay_a_fast_one(void **state)
{
    test_got_t got;

    (void)state;
    test_server.script = answer_fast_only;
    test_start("/slow", EPI_NEVER, 1);
    for (uint64_t i = 2; i < 10; i++) {
        test_start("/fast", 10 * EPI_S, i);
        test_run(test_http, &test_server, &got, 1);
        assert_int_equal(got.cookie, i);
        test_expect_answer(&got, 200, "null");
    }
    /* Closed with /slow still under way. */
}

static void full(void **state)
{
    epi_http_request_t request = {.method = "GET",
                                  .url = "http://127.0.0.1:1/",
                                  .timeout_ns = 10 * EPI_S};
    test_got_t got[16];

    (void)state;
    test_server.script = test_answer_ok;
    for (uint64_t i = 0; i < 16; i++) {
        test_start("/", 10 * EPI_S, i);
    }
    assert_int_equal(epi_http_start(test_http, &request), EPDX_ERR_FULL);
    test_run(test_http, &test_server, got, 16);
    test_start("/", 10 * EPI_S, 16);
    test_run(test_http, &test_server, got, 1);
    assert_int_equal(got[0].cookie, 16);
}

static void expect_invalid(const epi_http_request_t *request)
{
    assert_int_equal(epi_http_start(test_http, request), EPDX_ERR_INVALID);
}

static void invalid(void **state)
{
    static const char *const urls[] = {
        "",         "h:1/",        "file:///etc/passwd",
        "ftp://h/", "http://h/ x", "http://h/\r\nX: y"};
    static char long_text[EPI_HTTP_URL_MAX * 64];
    epi_http_request_t good = {
        .method = "GET", .url = "http://127.0.0.1:1/", .timeout_ns = EPI_S};
    epi_http_request_t request = good;
    epi_http_t *untouched = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
        request.url = urls[i];
        expect_invalid(&request);
    }
    memset(long_text, 'x', sizeof(long_text) - 1);
    memcpy(long_text, "http://", 7);
    request.url = long_text;
    expect_invalid(&request);
    request = good;
    request.method = "POST";
    expect_invalid(&request);
    request = good;
    request.token = "a\r\nX-Evil: 1";
    expect_invalid(&request);
    request = good;
    request.body = long_text;
    expect_invalid(&request);
    assert_int_equal(epi_http_open(0, &untouched), EPDX_ERR_INVALID);
    assert_null(untouched);
}

static void too_few_descriptors_do_not_starve(void **state)
{
    int timeout_ms = -1;
    struct pollfd fds[1];
    test_got_t got[4];

    (void)state;
    assert_int_equal(epi_http_wait_fds(test_http, fds, 1, &timeout_ms), 0);
    assert_int_equal(timeout_ms, -1);
    test_server.script = test_answer_never;
    for (uint64_t i = 0; i < 3; i++) {
        test_start("/", 10 * EPI_S, i);
    }
    (void)epi_http_progress(test_http);
    timeout_ms = -1;
    assert_int_equal(epi_http_wait_fds(test_http, fds, 1, &timeout_ms), 1);
    assert_in_range(timeout_ms, 0, 10);
    test_start("/", 30 * EPI_MS, 3);
    test_run(test_http, &test_server, got, 1);
    assert_int_equal(got[0].cookie, 3);
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, test_open_both, test_close_both)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(many_at_once),
        TEST(slow_peer_does_not_delay_a_fast_one),
        TEST(full),
        TEST(invalid),
        TEST(too_few_descriptors_do_not_starve),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
