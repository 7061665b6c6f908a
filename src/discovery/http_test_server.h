/* http_test_server.h: a scripted peer on raw sockets, progressed by the test's
 * own thread. Only the http tests, and the receiver's against hostile nodes. */
#ifndef EPI_DISCOVERY_HTTP_TEST_SERVER_H
#define EPI_DISCOVERY_HTTP_TEST_SERVER_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "discovery/http.h"

#define TEST_CONNECTION_MAX 64
#define TEST_REQUEST_MAX    24576

/** What the peer does with one request. */
typedef struct test_answer {
    const char *bytes; /* NULL: never answers */
    size_t length;     /* 0: all of bytes */
    bool close;        /* after the last byte */
} test_answer_t;

/** request is closed by a zero. */
typedef test_answer_t (*test_script_t)(const char *request);

typedef struct test_connection {
    int fd; /* -1: unused */
    size_t used;
    bool answering;
    test_answer_t answer;
    size_t sent;
    char request[TEST_REQUEST_MAX];
} test_connection_t;

typedef struct test_server {
    int listener;
    uint16_t port;
    test_script_t script;
    size_t accepted;
    char last_request[TEST_REQUEST_MAX];
    test_connection_t connections[TEST_CONNECTION_MAX];
} test_server_t;

/** What came back, copied. */
typedef struct test_got {
    uint64_t cookie;
    int code;
    size_t body_bytes;
    char body[256];
    char error[256];
} test_got_t;

void test_server_open(test_server_t *server, test_script_t script);
void test_server_close(test_server_t *server);

/** Accept, read and answer what can be without waiting. */
void test_server_step(test_server_t *server);

/** "http://127.0.0.1:PORT" path. */
void test_server_url(const test_server_t *server, const char *path, char *out,
                     size_t size);

/** Run http and server until count replies are there; fails the test after
 *  twenty seconds. server may be NULL. */
void test_run(epi_http_t *http, test_server_t *server, test_got_t *got,
              size_t count);

/*
 * One peer and one http of 16 exchanges, opened and closed around a test.
 */
extern test_server_t test_server;
extern epi_http_t *test_http;

int test_open_both(void **state);
int test_close_both(void **state);

/** Start a GET of path at the peer. */
void test_start(const char *path, uint64_t timeout_ns, uint64_t cookie);

/** One GET of "/route?engine_rank=-1", answered by script. */
test_got_t test_get(test_script_t script);

/** No answer came, and these words say why. */
void test_expect_error(const test_got_t *got, const char *words);
void test_expect_answer(const test_got_t *got, int code, const char *body);

/** Scripts: 200 with "null"; nothing at all. */
test_answer_t test_answer_ok(const char *request);
test_answer_t test_answer_never(const char *request);

#endif
