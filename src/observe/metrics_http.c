/* metrics_http.c: see metrics_http.h. */
#include "observe/metrics_http.h"

#include <microhttpd.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/listener.h"
#include "base/log.h"
#include "base/resolve.h"

/* Those who connect and say nothing shut nobody out for long. No limit for each
 * address: behind a proxy, or on one node, all have the same. */
#define CONNECTION_MAX         64U
#define IDLE_S                 2U
#define MEMORY_OF_A_CONNECTION ((size_t)16 * 1024)

#define CONTENT_TYPE           "text/plain; version=0.0.4; charset=utf-8"

struct epi_metrics_http {
    struct MHD_Daemon *daemon;
    epi_metrics_render_t render;
    char address[EPDX_ADDRESS_MAX + 1];
};

static enum MHD_Result answer(struct MHD_Connection *connection, unsigned code,
                              struct MHD_Response *response)
{
    enum MHD_Result result;

    if (response == NULL) {
        return MHD_NO; /* no memory: the connection is closed */
    }
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
                                  CONTENT_TYPE);
    result = MHD_queue_response(connection, code, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result answer_words(struct MHD_Connection *connection,
                                    unsigned code, const char *words)
{
    return answer(connection, code,
                  MHD_create_response_from_buffer(strlen(words),
                                                  (void *)(uintptr_t)words,
                                                  MHD_RESPMEM_PERSISTENT));
}

static enum MHD_Result on_request(void *self, struct MHD_Connection *connection,
                                  const char *url, const char *method,
                                  const char *version, const char *body,
                                  size_t *body_bytes, void **seen)
{
    epi_metrics_http_t *server = self;
    size_t bytes = 0;
    char *text;

    (void)version;
    (void)body;
    if (*seen == NULL) { /* headers only: what is answered now ends a body */
        *seen = server;
        if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 &&
            strcmp(method, MHD_HTTP_METHOD_HEAD) != 0) {
            return answer_words(connection, MHD_HTTP_METHOD_NOT_ALLOWED,
                                "only GET\n");
        }
        return MHD_YES;
    }
    if (*body_bytes > 0) {
        return MHD_NO; /* a GET has none */
    }
    if (strcmp(url, "/metrics") != 0) {
        return answer_words(connection, MHD_HTTP_NOT_FOUND,
                            "metrics are at /metrics\n");
    }
    text = server->render(&bytes);
    if (text == NULL) {
        return answer_words(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
                            "no memory\n");
    }
    return answer(
        connection, MHD_HTTP_OK,
        MHD_create_response_from_buffer(bytes, text, MHD_RESPMEM_MUST_FREE));
}

/* Signals are the program's: its own threads take them, not this one. */
static struct MHD_Daemon *start(epi_metrics_http_t *server, int fd)
{
    struct MHD_Daemon *daemon;
    sigset_t all;
    sigset_t before;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    daemon = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ITC, 0, NULL, NULL, on_request,
        server, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
        CONNECTION_MAX, MHD_OPTION_CONNECTION_TIMEOUT, IDLE_S,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, MEMORY_OF_A_CONNECTION,
        MHD_OPTION_END);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return daemon;
}

static epdx_status_t listen_at(const epi_address_t *address,
                               epi_listener_t *listener_p)
{
    char host[EPDX_ADDRESS_MAX + 1];
    epdx_status_t status = EPDX_OK;

    if (epi_address_wildcard(address->host)) {
        (void)epi_text_copy(host, sizeof(host),
                            strchr(address->host, ':') != NULL ? "::"
                                                               : "0.0.0.0");
    } else {
        status = epi_resolve(address->host, host, sizeof(host));
    }
    return status != EPDX_OK
               ? status
               : epi_listener_open(host, address->port, listener_p);
}

epdx_status_t epi_metrics_http_open(const epi_address_t *address,
                                    epi_metrics_render_t render,
                                    epi_metrics_http_t **server_p)
{
    epi_metrics_http_t *server = calloc(1, sizeof(*server));
    epi_listener_t listener;
    epdx_status_t status;

    if (server == NULL) {
        return epi_fail(EPDX_ERR_NO_MEMORY, "no memory for a metrics server");
    }
    status = listen_at(address, &listener);
    if (status != EPDX_OK) {
        free(server);
        return status;
    }
    server->render = render;
    (void)epi_text_copy(server->address, sizeof(server->address),
                        listener.address);
    server->daemon = start(server, listener.fd);
    if (server->daemon == NULL) {
        /* As in bootstrap/http_server.c, the socket may be closed already. */
        status = epi_fail(EPDX_ERR_IO,
                          "libmicrohttpd does not start on %s: no memory, "
                          "descriptors or threads left",
                          server->address);
        free(server);
        return status;
    }
    *server_p = server;
    return EPDX_OK;
}

const char *epi_metrics_http_address(const epi_metrics_http_t *server)
{
    return server->address;
}

void epi_metrics_http_close(epi_metrics_http_t *server)
{
    if (server != NULL) {
        MHD_stop_daemon(server->daemon);
        free(server);
    }
}
