/* raw_client.c: fails the running test where a socket call fails. */
#include "bootstrap/raw_client.h"

#include <netdb.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/text.h"

int raw_connect(const char *address)
{
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
                             .ai_socktype = SOCK_STREAM};
    struct timeval limit = {.tv_sec = 20};
    struct addrinfo *found = NULL;
    epi_address_t parsed;
    char port[8];
    int fd;

    assert_true(epi_address_parse(address, &parsed));
    (void)snprintf(port, sizeof(port), "%u", parsed.port);
    assert_int_equal(getaddrinfo(parsed.host, port, &hints, &found), 0);
    fd = socket(found->ai_family, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, found->ai_addr, found->ai_addrlen), 0);
    freeaddrinfo(found);
    assert_int_equal(
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)), 0);
    return fd;
}

static void split(const char *text, raw_answer_t *answer_p)
{
    const char *end = strstr(text, "\r\n\r\n");

    memset(answer_p, 0, sizeof(*answer_p));
    if (strncmp(text, "HTTP/1.1 ", 9) != 0 || end == NULL) {
        return;
    }
    answer_p->code = (int)strtol(text + 9, NULL, 10);
    assert_true((size_t)(end - text) < sizeof(answer_p->head));
    memcpy(answer_p->head, text, (size_t)(end - text));
    assert_true(epi_text_copy(answer_p->body, sizeof(answer_p->body), end + 4));
}

void raw_exchange(int fd, const char *bytes, size_t length,
                  raw_answer_t *answer_p)
{
    static char text[4096];
    size_t sent = 0;
    size_t used = 0;
    ssize_t count;

    while (sent < length) {
        count = send(fd, bytes + sent, length - sent, MSG_NOSIGNAL);
        if (count <= 0) {
            break;
        }
        sent += (size_t)count;
    }
    while (used < sizeof(text) - 1) {
        count = recv(fd, text + used, sizeof(text) - 1 - used, 0);
        if (count <= 0) {
            break;
        }
        used += (size_t)count;
    }
    text[used] = '\0';
    (void)close(fd);
    split(text, answer_p);
}

void raw_request(const char *address, const char *line, const char *headers,
                 const char *body, raw_answer_t *answer_p)
{
    static char text[16384];
    char length[64] = "";
    int bytes;

    if (body != NULL) {
        (void)snprintf(length, sizeof(length), "Content-Length: %zu\r\n",
                       strlen(body));
    }
    bytes = snprintf(text, sizeof(text),
                     "%s HTTP/1.1\r\nHost: epdx\r\nConnection: close\r\n"
                     "%s%s\r\n%s",
                     line, headers, length, body == NULL ? "" : body);
    assert_true(bytes > 0 && (size_t)bytes < sizeof(text));
    raw_exchange(raw_connect(address), text, (size_t)bytes, answer_p);
}

void raw_expect(const raw_answer_t *answer, int code, const char *body)
{
    assert_string_equal(answer->body, body);
    assert_int_equal(answer->code, code);
}
