/* http_test_server.c: accepts, reads one request a connection, and does what
 * the test's script says. Nothing here waits but test_run(). */
#include "discovery/http_test_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/text.h"

void test_server_open(test_server_t *server, test_script_t script)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t length = sizeof(address);

    memset(server, 0, sizeof(*server));
    for (size_t i = 0; i < TEST_CONNECTION_MAX; i++) {
        server->connections[i].fd = -1;
    }
    server->script = script;
    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    assert_true(server->listener >= 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(
        bind(server->listener, (struct sockaddr *)&address, sizeof(address)),
        0);
    assert_int_equal(listen(server->listener, TEST_CONNECTION_MAX), 0);
    assert_int_equal(
        getsockname(server->listener, (struct sockaddr *)&address, &length), 0);
    server->port = ntohs(address.sin_port);
}

static void drop(test_connection_t *connection)
{
    (void)close(connection->fd);
    connection->fd = -1;
}

void test_server_close(test_server_t *server)
{
    for (size_t i = 0; i < TEST_CONNECTION_MAX; i++) {
        if (server->connections[i].fd >= 0) {
            drop(&server->connections[i]);
        }
    }
    (void)close(server->listener);
}

void test_server_url(const test_server_t *server, const char *path, char *out,
                     size_t size)
{
    (void)snprintf(out, size, "http://127.0.0.1:%u%s", server->port, path);
}

static void accept_all(test_server_t *server)
{
    for (size_t i = 0; i < TEST_CONNECTION_MAX; i++) {
        test_connection_t *connection = &server->connections[i];

        if (connection->fd >= 0) {
            continue;
        }
        connection->fd = accept4(server->listener, NULL, NULL, SOCK_NONBLOCK);
        if (connection->fd < 0) {
            return;
        }
        connection->used = 0;
        connection->sent = 0;
        connection->answering = false;
        server->accepted++;
    }
}

static bool complete(const char *request)
{
    const char *end = strstr(request, "\r\n\r\n");
    const char *length = strstr(request, "Content-Length: ");

    if (end == NULL) {
        return false;
    }
    return length == NULL ||
           strlen(end + 4) >= (size_t)strtoul(length + 16, NULL, 10);
}

static void read_request(test_server_t *server, test_connection_t *connection)
{
    size_t room = TEST_REQUEST_MAX - 1 - connection->used;
    ssize_t got =
        recv(connection->fd, connection->request + connection->used, room, 0);

    if (got <= 0) {
        if (got == 0 || errno != EAGAIN) {
            drop(connection);
        }
        return;
    }
    connection->used += (size_t)got;
    connection->request[connection->used] = '\0';
    if (complete(connection->request)) {
        memcpy(server->last_request, connection->request, connection->used + 1);
        connection->answer = server->script(connection->request);
        connection->answering = true;
        if (connection->answer.bytes != NULL &&
            connection->answer.length == 0) {
            connection->answer.length = strlen(connection->answer.bytes);
        }
    }
}

static void write_answer(test_connection_t *connection)
{
    const test_answer_t *answer = &connection->answer;
    ssize_t sent = 0;

    if (answer->bytes == NULL) {
        return;
    }
    if (connection->sent < answer->length) {
        sent = send(connection->fd, answer->bytes + connection->sent,
                    answer->length - connection->sent, MSG_NOSIGNAL);
        connection->sent += sent > 0 ? (size_t)sent : 0;
    }
    if ((sent < 0 && errno != EAGAIN) ||
        (connection->sent == answer->length && answer->close)) {
        drop(connection);
    }
}

void test_server_step(test_server_t *server)
{
    accept_all(server);
    for (size_t i = 0; i < TEST_CONNECTION_MAX; i++) {
        test_connection_t *connection = &server->connections[i];

        if (connection->fd >= 0 && !connection->answering) {
            read_request(server, connection);
        }
        if (connection->fd >= 0 && connection->answering) {
            write_answer(connection);
        }
    }
}

static size_t server_fds(const test_server_t *server, struct pollfd *fds)
{
    size_t count = 0;

    fds[count++] = (struct pollfd){.fd = server->listener, .events = POLLIN};
    for (size_t i = 0; i < TEST_CONNECTION_MAX; i++) {
        const test_connection_t *connection = &server->connections[i];
        bool writing = connection->answering &&
                       connection->answer.bytes != NULL &&
                       connection->sent < connection->answer.length;

        if (connection->fd >= 0 && (writing || !connection->answering)) {
            fds[count++] = (struct pollfd){
                .fd = connection->fd, .events = writing ? POLLOUT : POLLIN};
        }
    }
    return count;
}

static void keep(const epi_http_reply_t *reply, test_got_t *got)
{
    got->cookie = reply->cookie;
    got->code = reply->code;
    got->body_bytes = reply->body_bytes;
    assert_int_equal(reply->body[reply->body_bytes], '\0');
    (void)epi_text_copy(got->body, sizeof(got->body), reply->body);
    (void)epi_text_copy(got->error, sizeof(got->error), reply->error);
}

void test_run(epi_http_t *http, test_server_t *server, test_got_t *got,
              size_t count)
{
    struct pollfd fds[512];
    uint64_t deadline = epi_after(epi_now_ns(), 20 * EPI_S);
    epi_http_reply_t reply;
    size_t have = 0;

    while (have < count) {
        int timeout_ms = 1000;
        size_t fd_count;

        assert_true(epi_now_ns() < deadline);
        (void)epi_http_progress(http);
        if (server != NULL) {
            test_server_step(server);
        }
        if (epi_http_next(http, &reply)) {
            keep(&reply, &got[have++]);
            continue;
        }
        fd_count = epi_http_wait_fds(http, fds, 256, &timeout_ms);
        if (server != NULL) {
            fd_count += server_fds(server, fds + fd_count);
        }
        (void)poll(fds, (nfds_t)fd_count, timeout_ms);
    }
    assert_false(epi_http_next(http, &reply));
}

#define OK_ANSWER                                                              \
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"                    \
    "Content-Length: 4\r\n\r\nnull"

test_server_t test_server;
epi_http_t *test_http;

int test_open_both(void **state)
{
    (void)state;
    test_server_open(&test_server, NULL);
    return epi_http_open(16, &test_http) == EPDX_OK ? 0 : -1;
}

int test_close_both(void **state)
{
    (void)state;
    epi_http_close(test_http);
    test_server_close(&test_server);
    return 0;
}

void test_start(const char *path, uint64_t timeout_ns, uint64_t cookie)
{
    char url[128];
    epi_http_request_t request = {.method = "GET",
                                  .url = url,
                                  .timeout_ns = timeout_ns,
                                  .cookie = cookie};

    test_server_url(&test_server, path, url, sizeof(url));
    assert_int_equal(epi_http_start(test_http, &request), EPDX_OK);
}

/* One GET, answered by script. */
test_got_t test_get(test_script_t script)
{
    test_got_t got;

    test_server.script = script;
    test_start("/route?engine_rank=-1", 10 * EPI_S, 7);
    test_run(test_http, &test_server, &got, 1);
    assert_int_equal(got.cookie, 7);
    return got;
}

void test_expect_error(const test_got_t *got, const char *words)
{
    assert_int_equal(got->code, 0);
    assert_int_equal(got->body_bytes, 0);
    assert_string_equal(got->body, "");
    if (strstr(got->error, words) == NULL) {
        fail_msg("'%s' has no '%s'", got->error, words);
    }
}

void test_expect_answer(const test_got_t *got, int code, const char *body)
{
    assert_string_equal(got->error, "");
    assert_int_equal(got->code, code);
    assert_string_equal(got->body, body);
    assert_int_equal(got->body_bytes, strlen(body));
}

test_answer_t test_answer_ok(const char *request)
{
    (void)request;
    return (test_answer_t){.bytes = OK_ANSWER};
}

test_answer_t test_answer_never(const char *request)
{
    (void)request;
    return (test_answer_t){.bytes = NULL};
}
