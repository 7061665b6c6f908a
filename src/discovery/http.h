/*
 * http.h: HTTP exchanges without waiting: libcurl's multi interface. Only http
 * and https, no redirects, no proxy from the environment, no signals; answers
 * over 64 KiB are refused. One thread (the I/O thread); open and close may be
 * called before it starts and after it ended.
 */
#ifndef EPI_DISCOVERY_HTTP_H
#define EPI_DISCOVERY_HTTP_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "epdx/status.h"

#define EPI_HTTP_URL_MAX  512
#define EPI_HTTP_BODY_MAX 65536

typedef struct epi_http epi_http_t;

typedef struct epi_http_request {
    const char *method; /* "GET", "PUT", "DELETE" */
    const char *url;    /* copied */
    const char *body;   /* copied; NULL for none; sent as application/json */
    const char *token; /* copied; sent as "Authorization: Bearer"; NULL or "" */
    uint64_t timeout_ns; /* of the whole exchange, the look-up of the name
                            included */
    uint64_t cookie;
} epi_http_request_t;

/** How an exchange ended. error is "" when an answer came, of any code. The
 *  texts are valid until the next call on this http. */
typedef struct epi_http_reply {
    uint64_t cookie;
    int code;         /* 200, 404, ...; 0 when no answer came */
    const char *body; /* closed by a zero, which body_bytes does not count */
    size_t body_bytes;
    const char *error;
} epi_http_reply_t;

/** Everything for exchange_max exchanges at once is allocated here. Errors:
 *  EPDX_ERR_INVALID (0, or over 4096), _NO_MEMORY, _IO (libcurl). */
EPDX_MUST_CHECK epdx_status_t epi_http_open(size_t exchange_max,
                                            epi_http_t **http_p);

/** Check https servers against the certificates of this file (PEM) alone; ""
 *  leaves the system's. Before the first exchange. EPDX_ERR_INVALID with words:
 *  it cannot be read; _NO_MEMORY. */
EPDX_MUST_CHECK epdx_status_t epi_http_trust(epi_http_t *http,
                                             const char *ca_file);

/** Begin an exchange. EPDX_ERR_FULL (exchange_max under way or not taken yet),
 *  _INVALID (method, url, token, or a body over 16 KiB), _NO_MEMORY, _IO.
 *  Exactly one reply comes after EPDX_OK. */
EPDX_MUST_CHECK epdx_status_t epi_http_start(epi_http_t *http,
                                             const epi_http_request_t *request);

/** Carry exchanges on; true when something was done. Never waits. */
bool epi_http_progress(epi_http_t *http);

/** Take the next ended exchange; false when there is none. */
bool epi_http_next(epi_http_t *http, epi_http_reply_t *reply_p);

/** Fill fds with what to wait for; *timeout_ms_p is lowered to what libcurl
 *  asks for (it comes in as the caller's limit). */
size_t epi_http_wait_fds(epi_http_t *http, struct pollfd *fds, size_t fd_max,
                         int *timeout_ms_p);

/** Breaks off what is under way, without waiting for a name look-up that
 *  hangs for longer than libcurl itself does. NULL is allowed. */
void epi_http_close(epi_http_t *http);

#endif
