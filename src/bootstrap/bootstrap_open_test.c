/* bootstrap_open_test.c: opening, and clients all at once. */
#include "epdx/bootstrap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* No name may have a label over 63 characters: it never resolves. */
#define LONG_LABEL                                                             \
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"                                         \
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

#include "base/clock.h"
#include "base/text.h"
#include "bootstrap/raw_client.h"
#include "discovery/http.h"
#include "discovery/route.h"

#define RANKS 16

static epdx_status_t open_at(const char *listen, const char *token,
                             epdx_bootstrap_t **server_p)
{
    epdx_bootstrap_params_t params = {
        .struct_size = sizeof(params), .listen = listen, .token = token};

    return epdx_bootstrap_open(&params, server_p);
}

static void open_invalid(void **state)
{
    static const char *const listens[] = {"",
                                          "127.0.0.1",
                                          ":0",
                                          "127.0.0.1:",
                                          "127.0.0.1:65536",
                                          "127.0.0.1:x",
                                          "not a host:0",
                                          LONG_LABEL ":0"};
    epdx_bootstrap_params_t params = {.struct_size = 1};
    epdx_bootstrap_t *server = NULL;
    char token[300];

    (void)state;
    for (size_t i = 0; i < sizeof(listens) / sizeof(listens[0]); i++) {
        assert_int_equal(open_at(listens[i], "", &server), EPDX_ERR_INVALID);
        assert_string_not_equal(epdx_last_error(), "");
    }
    assert_int_equal(open_at("127.0.0.1:0", "a b", &server), EPDX_ERR_INVALID);
    memset(token, 'x', sizeof(token) - 1);
    token[sizeof(token) - 1] = '\0';
    assert_int_equal(open_at("127.0.0.1:0", token, &server), EPDX_ERR_INVALID);
    assert_int_equal(epdx_bootstrap_open(&params, &server), EPDX_ERR_INVALID);
    params.struct_size = sizeof(params) + 8;
    assert_int_equal(epdx_bootstrap_open(&params, &server), EPDX_ERR_INVALID);
    assert_null(server);
}

static void null_arguments(void **state)
{
    epdx_bootstrap_params_t params = {.struct_size = sizeof(params)};
    epdx_bootstrap_stats_t stats;
    epdx_bootstrap_t *server = NULL;

    (void)state;
    assert_int_equal(epdx_bootstrap_open(NULL, &server), EPDX_ERR_INVALID);
    assert_int_equal(epdx_bootstrap_open(&params, NULL), EPDX_ERR_INVALID);
    assert_string_equal(epdx_last_error(),
                        "epdx_bootstrap_open: bootstrap_p is NULL");
    assert_string_equal(epdx_bootstrap_address(NULL), "");
    epdx_bootstrap_stats(NULL, &stats);
    assert_int_equal(open_at("127.0.0.1:0", "", &server), EPDX_OK);
    epdx_bootstrap_stats(server, NULL);
    epdx_bootstrap_close(server);
}

static void taken_address_is_io(void **state)
{
    epdx_bootstrap_t *first = NULL;
    epdx_bootstrap_t *second = NULL;

    (void)state;
    assert_int_equal(open_at("127.0.0.1:0", "", &first), EPDX_OK);
    assert_int_equal(open_at(epdx_bootstrap_address(first), "", &second),
                     EPDX_ERR_IO);
    assert_null(second);
    assert_non_null(strstr(epdx_last_error(), "Address already in use"));
    epdx_bootstrap_close(first);
}

static void reopened_at_once_on_its_port(void **state)
{
    epdx_bootstrap_t *server = NULL;
    raw_answer_t answer;
    char address[64];

    (void)state;
    assert_int_equal(open_at("127.0.0.1:0", "", &server), EPDX_OK);
    assert_true(epi_text_copy(address, sizeof(address),
                              epdx_bootstrap_address(server)));
    raw_request(address, "GET /health", "", NULL, &answer);
    raw_expect(&answer, 200, "OK");
    epdx_bootstrap_close(server);
    assert_int_equal(open_at(address, "", &server), EPDX_OK);
    raw_request(address, "GET /health", "", NULL, &answer);
    raw_expect(&answer, 200, "OK");
    epdx_bootstrap_close(server);
}

static void settings_stand_in_for_parameters(void **state)
{
    epdx_bootstrap_t *server = NULL;
    raw_answer_t answer;

    (void)state;
    assert_int_equal(setenv("EPDX_BOOTSTRAP_TOKEN", "of-env", 1), 0);
    assert_int_equal(setenv("EPDX_HOST", "localhost", 1), 0);
    assert_int_equal(open_at(NULL, NULL, &server), EPDX_OK);
    assert_int_equal(unsetenv("EPDX_BOOTSTRAP_TOKEN"), 0);
    assert_int_equal(unsetenv("EPDX_HOST"), 0);
    raw_request(epdx_bootstrap_address(server), "DELETE /route?engine_rank=0",
                "", NULL, &answer);
    assert_int_equal(answer.code, 401);
    raw_request(epdx_bootstrap_address(server), "DELETE /route?engine_rank=0",
                "Authorization: Bearer of-env\r\n", NULL, &answer);
    assert_int_equal(answer.code, 404);
    epdx_bootstrap_close(server);
}

static void close_null(void **state)
{
    (void)state;
    epdx_bootstrap_close(NULL);
}

static void start_put(epi_http_t *http, const char *address, uint32_t rank)
{
    epi_route_registration_t entry = {.world_size = RANKS,
                                      .dp_size = 2,
                                      .engine_rank = rank,
                                      .address = {"10.1.2.3", 0},
                                      .instance = "a"};
    char url[EPI_HTTP_URL_MAX];
    char body[EPI_ROUTE_BODY_MAX];
    epi_http_request_t request = {.method = "PUT",
                                  .url = url,
                                  .body = body,
                                  .token = "se-cret",
                                  .timeout_ns = 20 * EPI_S,
                                  .cookie = rank};

    entry.address.port = (uint16_t)(42000 + rank);
    assert_int_equal(epi_route_put_url(address, url, sizeof(url)), EPDX_OK);
    assert_int_equal(epi_route_registration_format(&entry, body, sizeof(body)),
                     EPDX_OK);
    assert_int_equal(epi_http_start(http, &request), EPDX_OK);
}

static epi_http_reply_t next_reply(epi_http_t *http)
{
    uint64_t deadline = epi_after(epi_now_ns(), 20 * EPI_S);
    struct pollfd fds[4 * RANKS];
    epi_http_reply_t reply;

    while (!epi_http_next(http, &reply)) {
        int timeout_ms = 1000;
        size_t count;

        assert_true(epi_now_ns() < deadline);
        count = epi_http_wait_fds(http, fds, 4 * RANKS, &timeout_ms);
        (void)poll(fds, (nfds_t)count, timeout_ms);
        (void)epi_http_progress(http);
    }
    assert_string_equal(reply.error, "");
    return reply;
}

static void expect_rank(epi_http_t *http, const char *address, uint32_t rank)
{
    char url[EPI_HTTP_URL_MAX];
    epi_http_request_t request = {
        .method = "GET", .url = url, .timeout_ns = 20 * EPI_S};
    epi_http_reply_t reply;
    epi_route_rank_t route;

    assert_int_equal(epi_route_query_url(address, rank % (RANKS / 2),
                                         rank / (RANKS / 2), url, sizeof(url)),
                     EPDX_OK);
    assert_int_equal(epi_http_start(http, &request), EPDX_OK);
    reply = next_reply(http);
    assert_int_equal(reply.code, 200);
    assert_int_equal(epi_route_rank_parse(reply.body, reply.body_bytes, &route),
                     EPDX_OK);
    assert_int_equal(route.address.port, 42000 + rank);
}

static void ranks_register_all_at_once(void **state)
{
    epdx_bootstrap_t *server = NULL;
    epi_http_t *http = NULL;
    const char *address;

    (void)state;
    assert_int_equal(open_at("127.0.0.1:0", "se-cret", &server), EPDX_OK);
    assert_int_equal(epi_http_open(RANKS, &http), EPDX_OK);
    address = epdx_bootstrap_address(server);
    for (uint32_t i = 0; i < RANKS; i++) {
        start_put(http, address, i);
    }
    for (uint32_t i = 0; i < RANKS; i++) {
        assert_int_equal(next_reply(http).code, 200);
    }
    for (uint32_t i = 0; i < RANKS; i++) {
        expect_rank(http, address, i);
    }
    epi_http_close(http);
    epdx_bootstrap_close(server);
}

static void silent_clients_hold_up_nobody(void **state)
{
    epdx_bootstrap_t *server = NULL;
    raw_answer_t answer;
    int silent[32];

    (void)state;
    assert_int_equal(open_at("127.0.0.1:0", "", &server), EPDX_OK);
    for (size_t i = 0; i < 32; i++) {
        silent[i] = raw_connect(epdx_bootstrap_address(server));
        /* Half of them begin a request and stop. */
        if (i % 2 == 0) {
            assert_int_equal(write(silent[i], "PUT /rou", 8), 8);
        }
    }
    raw_request(epdx_bootstrap_address(server), "GET /health", "", NULL,
                &answer);
    raw_expect(&answer, 200, "OK");
    /* Closes while they are still connected. */
    epdx_bootstrap_close(server);
    for (size_t i = 0; i < 32; i++) {
        (void)close(silent[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(open_invalid),
        cmocka_unit_test(null_arguments),
        cmocka_unit_test(taken_address_is_io),
        cmocka_unit_test(reopened_at_once_on_its_port),
        cmocka_unit_test(settings_stand_in_for_parameters),
        cmocka_unit_test(close_null),
        cmocka_unit_test(ranks_register_all_at_once),
        cmocka_unit_test(silent_clients_hold_up_nobody),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
