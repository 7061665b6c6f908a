/* http_server.h: HTTP over a listening socket of its own, on a thread of
 * libmicrohttpd. Only bootstrap.c. */
#ifndef EPI_BOOTSTRAP_HTTP_SERVER_H
#define EPI_BOOTSTRAP_HTTP_SERVER_H

#include "bootstrap/registry.h"

#define EPI_HTTP_SERVER_CONNECTION_MAX 256
#define EPI_HTTP_SERVER_IDLE_S         10
#define EPI_HTTP_SERVER_TOKEN_MAX      255

typedef struct epi_http_server epi_http_server_t;

typedef struct epi_http_server_params {
    const char *host;         /* numeric, no brackets; a wildcard is allowed */
    uint16_t port;            /* 0: a free one */
    const char *token;        /* "": none; copied */
    const char *tls_cert;     /* PEM; NULL: plain http. Must outlive it. */
    const char *tls_key;      /* PEM, of tls_cert */
    epi_registry_t *registry; /* the server thread's from open to close */
} epi_http_server_params_t;

/** EPDX_ERR_INVALID (token), _UNSUPPORTED (TLS), _NO_MEMORY, _IO (the address
 *  cannot be bound, or the certificate is none). */
EPDX_MUST_CHECK epdx_status_t epi_http_server_open(
    const epi_http_server_params_t *params, epi_http_server_t **server_p);

/** "host:port" as bound; with TLS "https://host:port". */
const char *epi_http_server_address(const epi_http_server_t *server);

/** Requests refused for their token. Any thread. */
uint64_t epi_http_server_refused(const epi_http_server_t *server);

/** Ends the thread; NULL is allowed. */
void epi_http_server_close(epi_http_server_t *server);

#endif
