/* bootstrap_tls_test.c: the server with a certificate, asked by libcurl as
 * ranks ask it. */
#include "epdx/bootstrap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "bootstrap/raw_client.h"
#include "discovery/http.h"
#include "testing/secrets.h"

static secrets_t secrets;
static epdx_bootstrap_t *server;
static epi_http_t *http;
static char error[256]; /* of the last exchange */

static int open_all(void **state)
{
    (void)state;
    secrets_open(&secrets);
    return epi_http_open(1, &http) == EPDX_OK ? 0 : -1;
}

static int close_all(void **state)
{
    (void)state;
    epi_http_close(http);
    epdx_bootstrap_close(server);
    server = NULL;
    secrets_close(&secrets);
    return 0;
}

static void need_certificate(const char *name)
{
    if (!secrets_certificate(&secrets, name)) {
        print_message("no openssl(1) here\n");
        skip();
    }
}

static epdx_status_t open_at(const char *listen, const char *cert,
                             const char *key)
{
    secrets_path_t cert_path = secrets_at(&secrets, cert != NULL ? cert : "");
    secrets_path_t key_path = secrets_at(&secrets, key != NULL ? key : "");
    epdx_bootstrap_params_t params = {
        .struct_size = sizeof(params),
        .listen = listen,
        .tls_cert_file = cert != NULL ? cert_path.text : "",
        .tls_key_file = key != NULL ? key_path.text : "",
    };

    return epdx_bootstrap_open(&params, &server);
}

/* The code of GET path at url, 0 without an answer. */
static int get(const char *base, const char *path)
{
    char url[EPI_HTTP_URL_MAX];
    epi_http_request_t request = {
        .method = "GET", .url = url, .timeout_ns = 60 * EPI_S};
    uint64_t limit = epi_now_ns() + 90 * EPI_S;
    epi_http_reply_t reply;

    (void)snprintf(url, sizeof(url), "%s%s", base, path);
    assert_int_equal(epi_http_start(http, &request), EPDX_OK);
    while (!epi_http_next(http, &reply)) {
        struct pollfd fds[16];
        int ms = 1000;
        size_t count = epi_http_wait_fds(http, fds, 16, &ms);

        assert_true(epi_now_ns() < limit);
        (void)poll(fds, count, ms);
        (void)epi_http_progress(http);
    }
    (void)snprintf(error, sizeof(error), "%s", reply.error);
    return reply.code;
}

static void trust(const char *name)
{
    assert_int_equal(epi_http_trust(http, secrets_at(&secrets, name).text),
                     EPDX_OK);
}

static void https_answers(void **state)
{
    const char *address;

    (void)state;
    need_certificate("a");
    assert_int_equal(open_at("127.0.0.1:0", "a-cert.pem", "a-key.pem"),
                     EPDX_OK);
    address = epdx_bootstrap_address(server);
    assert_int_equal(strncmp(address, "https://127.0.0.1:", 18), 0);
    trust("a-ca.pem");
    assert_int_equal(get(address, "/health"), 200);
    assert_string_equal(error, "");
    assert_int_equal(get(address, "/route?engine_rank=0"), 400);
}

static void https_answers_v6(void **state)
{
    (void)state;
    need_certificate("a");
    if (open_at("[::1]:0", "a-cert.pem", "a-key.pem") != EPDX_OK) {
        print_message("no IPv6 loopback here: %s\n", epdx_last_error());
        skip();
    }
    trust("a-ca.pem");
    assert_int_equal(get(epdx_bootstrap_address(server), "/health"), 200);
}

static void another_authority_is_refused(void **state)
{
    (void)state;
    need_certificate("a");
    need_certificate("b");
    assert_int_equal(open_at("127.0.0.1:0", "a-cert.pem", "a-key.pem"),
                     EPDX_OK);
    trust("b-ca.pem");
    assert_int_equal(get(epdx_bootstrap_address(server), "/health"), 0);
    assert_non_null(strstr(error, "certificate"));
}

static void no_authority_is_refused(void **state)
{
    (void)state;
    need_certificate("a");
    assert_int_equal(open_at("127.0.0.1:0", "a-cert.pem", "a-key.pem"),
                     EPDX_OK);
    assert_int_equal(get(epdx_bootstrap_address(server), "/health"), 0);
    assert_non_null(strstr(error, "certificate"));
}

/* The right authority, but the certificate is for other hosts. */
static void another_host_is_refused(void **state)
{
    (void)state;
    need_certificate("a");
    assert_int_equal(open_at("127.0.0.2:0", "a-cert.pem", "a-key.pem"),
                     EPDX_OK);
    trust("a-ca.pem");
    assert_int_equal(get(epdx_bootstrap_address(server), "/health"), 0);
    assert_non_null(strstr(error, "subject name"));
}

static void plain_http_gets_no_answer(void **state)
{
    raw_answer_t answer;

    (void)state;
    need_certificate("a");
    assert_int_equal(open_at("127.0.0.1:0", "a-cert.pem", "a-key.pem"),
                     EPDX_OK);
    raw_request(epdx_bootstrap_address(server) + strlen("https://"),
                "GET /health", "", NULL, &answer);
    assert_int_equal(answer.code, 0);
}

static void expect_refused(const char *cert, const char *key,
                           epdx_status_t status, const char *words)
{
    assert_int_equal(open_at("127.0.0.1:0", cert, key), status);
    assert_null(server);
    if (strstr(epdx_last_error(), words) == NULL) {
        fail_msg("\"%s\" has no \"%s\"", epdx_last_error(), words);
    }
}

static void files_invalid(void **state)
{
    (void)state;
    need_certificate("a");
    need_certificate("b");
    secrets_write(&secrets, "garbage", 0600, "garbage\n");
    secrets_write(&secrets, "public", 0644, "garbage\n");
    secrets_write(&secrets, "writable", 0666, "garbage\n");
    expect_refused("a-cert.pem", NULL, EPDX_ERR_INVALID, "go together");
    expect_refused(NULL, "a-key.pem", EPDX_ERR_INVALID, "go together");
    expect_refused("none", "a-key.pem", EPDX_ERR_INVALID, "EPDX_TLS_CERT_FILE");
    expect_refused("a-cert.pem", "none", EPDX_ERR_INVALID, "EPDX_TLS_KEY_FILE");
    expect_refused("writable", "a-key.pem", EPDX_ERR_INVALID,
                   "others can change it");
    expect_refused("a-cert.pem", "public", EPDX_ERR_INVALID, "has mode 644");
    expect_refused("garbage", "a-key.pem", EPDX_ERR_IO, "TLS");
    expect_refused("a-cert.pem", "garbage", EPDX_ERR_IO, "TLS");
    expect_refused("a-cert.pem", "b-key.pem", EPDX_ERR_IO,
                   "Is EPDX_TLS_KEY_FILE the key");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_all, close_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(https_answers),
        TEST(https_answers_v6),
        TEST(another_authority_is_refused),
        TEST(no_authority_is_refused),
        TEST(another_host_is_refused),
        TEST(plain_http_gets_no_answer),
        TEST(files_invalid),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
