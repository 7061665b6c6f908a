/* http_exchange.h: one exchange: its easy handle and what it receives. Only
 * http.c. */
#ifndef EPI_DISCOVERY_HTTP_EXCHANGE_H
#define EPI_DISCOVERY_HTTP_EXCHANGE_H

#include <curl/curl.h>

#include "discovery/http.h"

#define EPI_HTTP_HEADER_MAX  16384 /* bytes of an answer's headers */
#define EPI_HTTP_REQUEST_MAX 16384 /* bytes of a request's body */

typedef enum epi_exchange_state {
    EPI_EXCHANGE_FREE,
    EPI_EXCHANGE_RUNNING,
    EPI_EXCHANGE_ENDED, /* its reply was not taken yet */
    EPI_EXCHANGE_TAKEN, /* its reply is with the caller until the next call */
} epi_exchange_state_t;

typedef struct epi_exchange {
    CURL *easy;
    epi_exchange_state_t state;
    struct epi_exchange *next; /* free, or ended after this one */
    uint64_t cookie;
    int code;
    size_t body_bytes;
    size_t header_bytes;
    const char *refusal; /* why we broke it off; NULL */
    char error[CURL_ERROR_SIZE];
    char body[EPI_HTTP_BODY_MAX + 1];
} epi_exchange_t;

/** EPDX_ERR_INVALID: method, url, token, or the body's size; with words. */
EPDX_MUST_CHECK epdx_status_t
epi_exchange_check(const epi_http_request_t *request);

/** Set a checked request on the easy handle, nothing of the last one left.
 *  json_headers stays the caller's; ca_file NULL: libcurl's choice.
 *  EPDX_ERR_NO_MEMORY, _IO. */
EPDX_MUST_CHECK epdx_status_t epi_exchange_prepare(
    epi_exchange_t *exchange, const epi_http_request_t *request,
    struct curl_slist *json_headers, const char *ca_file);

/** Turn libcurl's result into the reply's fields. */
void epi_exchange_finish(epi_exchange_t *exchange, CURLcode result);

#endif
