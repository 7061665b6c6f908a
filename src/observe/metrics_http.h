/*
 * metrics_http.h: metrics for Prometheus, GET /metrics, on a thread of
 * libmicrohttpd's own. It holds nothing but the function that makes the text.
 */
#ifndef EPI_OBSERVE_METRICS_HTTP_H
#define EPI_OBSERVE_METRICS_HTTP_H

#include "base/text.h"

typedef struct epi_metrics_http epi_metrics_http_t;

/** The text in memory of malloc(), and its bytes; NULL: no memory. Any
 *  thread. */
typedef char *(*epi_metrics_render_t)(size_t *bytes_p);

/** A wildcard host listens on every interface. Errors: EPDX_ERR_INVALID (host
 *  does not resolve), EPDX_ERR_IO, EPDX_ERR_NO_MEMORY. */
EPDX_MUST_CHECK epdx_status_t
epi_metrics_http_open(const epi_address_t *address, epi_metrics_render_t render,
                      epi_metrics_http_t **server_p);

/** "host:port" as bound. */
const char *epi_metrics_http_address(const epi_metrics_http_t *server);

/** Waits for answers that are being made. NULL is allowed. */
void epi_metrics_http_close(epi_metrics_http_t *server);

#endif
