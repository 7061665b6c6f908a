/* announce_test.c: a sender's registration with a bootstrap server. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "discovery/http_test_server.h"
#include "epdx/log.h"
#include "sender/announce.h"

static epi_send_shared_t shared;
static epi_announce_t announce;
static int puts_seen, deletes_seen, refusals;

#define OK   "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nOK"
#define BUSY "HTTP/1.1 503 Busy\r\nContent-Length: 2\r\n\r\nno"

static test_answer_t script(const char *request)
{
    puts_seen += strncmp(request, "PUT /route ", 11) == 0;
    deletes_seen += strncmp(request, "DELETE /route?", 14) == 0;
    return (test_answer_t){.bytes = refusals-- > 0 ? BUSY : OK};
}

static int open_both(void **state)
{
    puts_seen = 0;
    deletes_seen = 0;
    refusals = 0;
    memset(&shared, 0, sizeof(shared));
    if (test_open_both(state) != 0) {
        return -1;
    }
    test_server.script = script;
    shared.config.lookup_timeout_ns = 20 * EPI_S;
    shared.config.world_size = 4;
    shared.config.dp_size = 2;
    shared.config.engine_rank = 3;
    strcpy(shared.config.host, "127.0.0.1");
    strcpy(shared.config.instance, "abcdef");
    strcpy(shared.config.token, "secret");
    (void)snprintf(shared.config.bootstrap, sizeof(shared.config.bootstrap),
                   "127.0.0.1:%u", (unsigned)test_server.port);
    return 0;
}

/** Let the exchange that is under way end. */
static void answer_from(test_server_t *server, uint64_t now)
{
    test_got_t got;
    epi_http_reply_t reply;

    test_run(test_http, server, &got, 1);
    reply = (epi_http_reply_t){
        .cookie = got.cookie, .code = got.code, .error = got.error};
    epi_announce_reply(&announce, &reply, now);
}

static void answer(uint64_t now)
{
    answer_from(&test_server, now);
}

static bool registered(void)
{
    return atomic_load(&shared.counters.registered);
}

static void test_registration_is_taken_and_refreshed(void **state)
{
    (void)state;
    assert_int_equal(epi_announce_init(&announce, &shared, test_http, 777),
                     EPDX_OK);
    assert_false(registered());
    assert_true(epi_announce_tick(&announce, 5));
    assert_false(epi_announce_tick(&announce, 6)); /* one at a time */
    answer(10 * EPI_S);
    assert_true(registered());
    assert_int_equal(puts_seen, 1);
    assert_non_null(
        strstr(test_server.last_request, "Authorization: Bearer secret"));
    assert_non_null(
        strstr(test_server.last_request,
               "{\"role\":\"Prefill\",\"world_size\":4,\"dp_size\":2,"
               "\"rank_ip\":\"127.0.0.1\",\"rank_port\":777,"
               "\"engine_rank\":3,\"instance_id\":\"abcdef\"}"));
    assert_false(epi_announce_tick(&announce, 20 * EPI_S - 1));
    assert_true(epi_announce_tick(&announce, 20 * EPI_S));
    answer(20 * EPI_S);
    assert_int_equal(puts_seen, 2);
}

static void test_refusals_are_tried_again_later_each_time(void **state)
{
    static const uint64_t pauses_ms[] = {100, 200, 400, 800, 1600, 2000, 2000};
    uint64_t now = EPI_S;

    (void)state;
    refusals = 7;
    assert_int_equal(epi_announce_init(&announce, &shared, test_http, 777),
                     EPDX_OK);
    for (size_t i = 0; i < 7; i++) {
        assert_true(epi_announce_tick(&announce, now));
        answer(now);
        assert_false(registered());
        now += pauses_ms[i] * EPI_MS;
        assert_false(epi_announce_tick(&announce, now - 1));
    }
    assert_true(epi_announce_tick(&announce, now));
    answer(now);
    assert_true(registered());
}

static void test_no_answer_is_tried_again(void **state)
{
    (void)state;
    test_server_close(&test_server);
    assert_int_equal(epi_announce_init(&announce, &shared, test_http, 777),
                     EPDX_OK);
    assert_true(epi_announce_tick(&announce, 1));
    answer_from(NULL, EPI_S);
    assert_false(registered());
    assert_true(epi_announce_tick(&announce, EPI_S + 100 * EPI_MS));
    test_server_open(&test_server, script);
}

/** Answer one request on the server's listener, as withdraw() waits itself. */
static void *answer_one(void *seen)
{
    char *request = seen;
    struct pollfd wait = {.fd = test_server.listener, .events = POLLIN};
    ssize_t got = 0;
    int fd;

    (void)poll(&wait, 1, 20000);
    fd = accept(test_server.listener, NULL, NULL);
    for (size_t used = 0; fd >= 0 && got >= 0 && used < 1000;
         used += (size_t)got) {
        got = read(fd, request + used, 1000 - used);
        if (got <= 0 || strstr(request, "\r\n\r\n") != NULL) {
            break;
        }
    }
    (void)!write(fd, OK, sizeof(OK) - 1);
    (void)close(fd);
    return NULL;
}

#define REFUSED "HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno"

static test_answer_t refuse(const char *request)
{
    (void)request;
    puts_seen++;
    return (test_answer_t){.bytes = REFUSED};
}

static char line[1024]; /* the last of the log, and how many */
static int lines;

static void keep(void *context, epdx_log_level_t level, const char *text)
{
    (void)context;
    (void)level;
    lines++;
    (void)snprintf(line, sizeof(line), "%s", text);
}

static void test_a_wrong_token_is_told_and_tried_again(void **state)
{
    (void)state;
    lines = 0;
    epdx_log_set_sink(keep, NULL);
    test_server.script = refuse;
    assert_int_equal(epi_announce_init(&announce, &shared, test_http, 777),
                     EPDX_OK);
    for (uint64_t now = EPI_S; now < 5 * EPI_S; now += EPI_S) {
        assert_true(epi_announce_tick(&announce, now));
        answer(now);
    }
    assert_int_equal(puts_seen, 4);
    assert_int_equal(lines, 1);
    assert_non_null(strstr(line, "code 401"));
    assert_non_null(strstr(line, "EPDX_BOOTSTRAP_TOKEN"));
    assert_null(strstr(line, "secret"));
    assert_false(registered());
    epdx_log_set_sink(NULL, NULL);
}

static void test_the_curve_key_is_published(void **state)
{
    (void)state;
    strcpy(shared.config.curve_key, "Kn<}F>FWqS4)(bLrwzc4]s/R}1ACx$(BoHTO6yqo");
    assert_int_equal(epi_announce_init(&announce, &shared, test_http, 777),
                     EPDX_OK);
    assert_true(epi_announce_tick(&announce, 5));
    answer(10 * EPI_S);
    assert_non_null(strstr(test_server.last_request,
                           "\"instance_id\":\"abcdef\",\"curve_public_key\":"
                           "\"Kn<}F>FWqS4)(bLrwzc4]s/R}1ACx$(BoHTO6yqo\"}"));
}

static void test_withdraw_takes_the_registration_back(void **state)
{
    char request[1024] = "";
    pthread_t server;

    (void)state;
    assert_int_equal(epi_announce_init(&announce, &shared, test_http, 777),
                     EPDX_OK);
    assert_true(epi_announce_tick(&announce, 1));
    answer(EPI_S);
    test_server_close(&test_server); /* libcurl would keep its connection */
    test_server_open(&test_server, script);
    (void)snprintf(shared.config.bootstrap, sizeof(shared.config.bootstrap),
                   "127.0.0.1:%u", (unsigned)test_server.port);
    assert_int_equal(epi_announce_init(&announce, &shared, test_http, 777),
                     EPDX_OK);
    announce.sent = true;
    assert_int_equal(pthread_create(&server, NULL, answer_one, request), 0);
    epi_announce_withdraw(&announce);
    assert_int_equal(pthread_join(server, NULL), 0);
    assert_non_null(
        strstr(request, "DELETE /route?engine_rank=3&instance_id=abcdef HTTP"));
    assert_non_null(strstr(request, "Authorization: Bearer secret"));
}

static void test_withdraw_of_what_was_never_sent(void **state)
{
    (void)state;
    assert_int_equal(epi_announce_init(&announce, &shared, test_http, 777),
                     EPDX_OK);
    epi_announce_withdraw(&announce);
    assert_int_equal(deletes_seen, 0);
}

static void test_without_a_server_nothing_is_sent(void **state)
{
    (void)state;
    shared.config.bootstrap[0] = '\0';
    assert_int_equal(epi_announce_init(&announce, &shared, test_http, 777),
                     EPDX_OK);
    assert_true(registered());
    assert_false(epi_announce_tick(&announce, EPI_NEVER - 1));
}

static void test_an_address_that_is_none(void **state)
{
    (void)state;
    strcpy(shared.config.bootstrap, "nowhere at all");
    assert_int_equal(epi_announce_init(&announce, &shared, test_http, 777),
                     EPDX_ERR_INVALID);
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, open_both, test_close_both)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_registration_is_taken_and_refreshed),
        TEST(test_refusals_are_tried_again_later_each_time),
        TEST(test_a_wrong_token_is_told_and_tried_again),
        TEST(test_the_curve_key_is_published),
        TEST(test_no_answer_is_tried_again),
        TEST(test_withdraw_takes_the_registration_back),
        TEST(test_withdraw_of_what_was_never_sent),
        TEST(test_without_a_server_nothing_is_sent),
        TEST(test_an_address_that_is_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
