/* raw_client.h: HTTP by hand over a blocking socket, for the tests: requests
 * byte for byte, answers split into what tests look at. */
#ifndef EPI_BOOTSTRAP_RAW_CLIENT_H
#define EPI_BOOTSTRAP_RAW_CLIENT_H

#include <stddef.h>

typedef struct raw_answer {
    int code;        /* 0: the connection ended without an answer */
    char head[1024]; /* status line and headers */
    char body[2048]; /* closed by a zero */
} raw_answer_t;

/** A connection to "host:port", numeric; receives give up after 20 s. */
int raw_connect(const char *address);

/** Send bytes and read until the peer closes; closes fd. The peer may close
 *  before all is sent. */
void raw_exchange(int fd, const char *bytes, size_t length,
                  raw_answer_t *answer_p);

/** One request: "METHOD TARGET", headers (each with its line end) or "", and a
 *  body or NULL. */
void raw_request(const char *address, const char *line, const char *headers,
                 const char *body, raw_answer_t *answer_p);

/** Fails the test unless the answer is of this code and exactly this body. */
void raw_expect(const raw_answer_t *answer, int code, const char *body);

#endif
