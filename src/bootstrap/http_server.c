/*
 * http_server.c: libmicrohttpd carries bytes, answer.c decides. One thread of
 * libmicrohttpd's own serves every connection and owns the registry, so that a
 * client which sends nothing holds up nobody and nothing needs a lock.
 *
 * libmicrohttpd calls on_request() for a request once when its headers are
 * there, once for each piece of its body, and once when that has ended.
 */
#include "bootstrap/http_server.h"

#include <inttypes.h>
#include <microhttpd.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/listener.h"
#include "base/log.h"
#include "base/seldom.h"
#include "bootstrap/answer.h"

#define MEMORY_OF_A_CONNECTION ((size_t)16384)
/* GnuTLS's default without the versions that are no longer safe. */
#define TLS_PRIORITIES "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"
/* A body over its bound is read up to here, so that the client is there to
 * read why; a longer one loses its connection. */
#define DISCARD_MAX ((size_t)65536)

struct epi_http_server {
    struct MHD_Daemon *daemon;
    epi_registry_t *registry;
    char token[EPI_HTTP_SERVER_TOKEN_MAX + 1];
    char address[EPDX_ADDRESS_MAX + sizeof("https://")];
    _Atomic uint64_t refused;
    epi_seldom_t refused_lines;
    pthread_t opener;
    char opening[256]; /* libmicrohttpd's last words to the opener */
};

/* A request's body as it comes in; at most one a connection. */
typedef struct upload {
    size_t received;
    char body[EPI_ANSWER_BODY_MAX];
} upload_t;

static enum MHD_Result on_query_field(void *self, enum MHD_ValueKind kind,
                                      const char *key, size_t key_size,
                                      const char *value, size_t value_size)
{
    epi_query_t *query = self;
    struct {
        const char *name;
        epi_query_field_t *field;
    } known[] = {
        {"engine_rank", &query->engine_rank},
        {"target_dp_group", &query->target_dp_group},
        {"instance_id", &query->instance_id},
    };

    (void)kind;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (key_size == strlen(known[i].name) &&
            memcmp(key, known[i].name, key_size) == 0) {
            known[i].field->text = value;
            known[i].field->length = value == NULL ? 0 : value_size;
            known[i].field->count++;
        }
    }
    return MHD_YES;
}

static enum MHD_Result queue(struct MHD_Connection *connection,
                             const epi_answer_t *answer)
{
    struct MHD_Response *response = MHD_create_response_from_buffer(
        strlen(answer->body), (void *)(uintptr_t)answer->body,
        MHD_RESPMEM_MUST_COPY);
    enum MHD_Result result = MHD_NO;
    bool good;

    if (response == NULL) {
        return MHD_NO;
    }
    good = MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
                                   answer->content_type) == MHD_YES;
    if (answer->allow != NULL) {
        good = good && MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW,
                                               answer->allow) == MHD_YES;
    }
    if (answer->code == MHD_HTTP_UNAUTHORIZED) {
        good = good && MHD_add_response_header(response,
                                               MHD_HTTP_HEADER_WWW_AUTHENTICATE,
                                               "Bearer") == MHD_YES;
    }
    if (good) {
        result = MHD_queue_response(connection, answer->code, response);
    }
    MHD_destroy_response(response);
    return result;
}

/* Strangers come often, and must not fill the log. */
static void count_refusal(epi_http_server_t *server)
{
    uint64_t refused = 1 + atomic_fetch_add_explicit(&server->refused, 1,
                                                     memory_order_relaxed);

    if (epi_seldom(&server->refused_lines, epi_now_ns())) {
        epi_log_warn("bootstrap: %" PRIu64 " writes were refused so far: their "
                     "bearer token is missing or wrong (EPDX_BOOTSTRAP_TOKEN)",
                     refused);
    }
}

static enum MHD_Result respond(epi_http_server_t *server,
                               struct MHD_Connection *connection,
                               epi_request_t *request)
{
    epi_answer_t answer;

    request->authorization = MHD_lookup_connection_value(
        connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_AUTHORIZATION);
    (void)MHD_get_connection_values_n(connection, MHD_GET_ARGUMENT_KIND,
                                      on_query_field, &request->query);
    epi_answer(server->registry, server->token, request, &answer);
    if (answer.code == MHD_HTTP_UNAUTHORIZED) {
        count_refusal(server);
    }
    return queue(connection, &answer);
}

static bool announces_too_much(struct MHD_Connection *connection)
{
    const char *length = MHD_lookup_connection_value(
        connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);
    uint64_t bytes = 0;

    return length != NULL && epi_text_number(length, UINT64_MAX, &bytes) &&
           bytes > DISCARD_MAX;
}

/* False: it is far over what it may be. */
static bool take(upload_t *upload, const char *bytes, size_t length)
{
    size_t room = upload->received < sizeof(upload->body)
                      ? sizeof(upload->body) - upload->received
                      : 0;

    memcpy(upload->body + sizeof(upload->body) - room, bytes,
           length < room ? length : room);
    upload->received += length;
    return upload->received <= DISCARD_MAX;
}

/* The signature is libmicrohttpd's. */
static enum MHD_Result on_request(void *self, struct MHD_Connection *connection,
                                  const char *url, const char *method,
                                  const char *version, const char *bytes,
                                  size_t *bytes_length, void **upload_p)
{
    epi_request_t request = {.method = method, .path = url, .body = ""};
    upload_t *upload = *upload_p;

    (void)version;
    if (upload == NULL) {
        upload = calloc(1, sizeof(*upload));
        if (upload == NULL) {
            return MHD_NO;
        }
        *upload_p = upload;
        request.body_too_large = announces_too_much(connection);
        return request.body_too_large ? respond(self, connection, &request)
                                      : MHD_YES;
    }
    if (*bytes_length > 0) {
        size_t length = *bytes_length;

        *bytes_length = 0;
        return take(upload, bytes, length) ? MHD_YES : MHD_NO;
    }
    request.body = upload->body;
    request.body_bytes = upload->received;
    if (upload->received > sizeof(upload->body)) {
        request.body_too_large = true;
        request.body_bytes = sizeof(upload->body);
    }
    return respond(self, connection, &request);
}

static void on_completed(void *self, struct MHD_Connection *connection,
                         void **upload_p, enum MHD_RequestTerminationCode cause)
{
    (void)self;
    (void)connection;
    (void)cause;
    free(*upload_p);
    *upload_p = NULL;
}

__attribute__((format(printf, 2, 0))) static void on_log(void *self,
                                                         const char *format,
                                                         va_list arguments)
{
    epi_http_server_t *server = self;
    char line[512];
    int length = vsnprintf(line, sizeof(line), format, arguments);

    if (length <= 0) {
        return;
    }
    line[strcspn(line, "\r\n")] = '\0';
    epi_log_debug("bootstrap: libmicrohttpd: %s", line);
    if (pthread_equal(pthread_self(), server->opener) != 0) {
        (void)epi_text_copy(server->opening, sizeof(server->opening), line);
    }
}

/* Signals are the program's: its own threads take them, not this one. */
static struct MHD_Daemon *start(epi_http_server_t *server,
                                const epi_http_server_params_t *params, int fd)
{
    struct MHD_OptionItem tls[] = {
        {MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)(uintptr_t)params->tls_cert},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)(uintptr_t)params->tls_key},
        {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t)TLS_PRIORITIES},
        {MHD_OPTION_END, 0, NULL},
    };
    struct MHD_OptionItem none[] = {{MHD_OPTION_END, 0, NULL}};
    bool secure = params->tls_cert != NULL;
    struct MHD_Daemon *daemon;
    sigset_t all;
    sigset_t before;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    daemon = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ITC | MHD_USE_ERROR_LOG |
            (secure ? MHD_USE_TLS : 0U),
        0, NULL, NULL, on_request, server, MHD_OPTION_EXTERNAL_LOGGER, on_log,
        server, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_ARRAY,
        secure ? tls : none, MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)EPI_HTTP_SERVER_CONNECTION_MAX,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)EPI_HTTP_SERVER_IDLE_S,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, MEMORY_OF_A_CONNECTION,
        MHD_OPTION_END);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return daemon;
}

epdx_status_t epi_http_server_open(const epi_http_server_params_t *params,
                                   epi_http_server_t **server_p)
{
    epi_http_server_t *server;
    epi_listener_t listener;
    epdx_status_t status;

    if (strlen(params->token) > EPI_HTTP_SERVER_TOKEN_MAX ||
        (params->token[0] != '\0' &&
         !epi_text_printable(params->token, strlen(params->token)))) {
        return epi_fail(EPDX_ERR_INVALID,
                        "the bearer token is not 1 to %d printable characters "
                        "without space",
                        EPI_HTTP_SERVER_TOKEN_MAX);
    }
    if (params->tls_cert != NULL &&
        MHD_is_feature_supported(MHD_FEATURE_TLS) != MHD_YES) {
        return epi_fail(EPDX_ERR_UNSUPPORTED,
                        "EPDX_TLS_CERT_FILE is set, and this libmicrohttpd was "
                        "built without TLS");
    }
    server = calloc(1, sizeof(*server));
    if (server == NULL) {
        return epi_fail(EPDX_ERR_NO_MEMORY, "no memory for a bootstrap server");
    }
    status = epi_listener_open(params->host, params->port, &listener);
    if (status != EPDX_OK) {
        free(server);
        return status;
    }
    server->registry = params->registry;
    (void)epi_text_copy(server->token, sizeof(server->token), params->token);
    epi_text_format(server->address, sizeof(server->address), "%s%s",
                    params->tls_cert != NULL ? "https://" : "",
                    listener.address);
    server->opener = pthread_self();
    server->daemon = start(server, params, listener.fd);
    if (server->daemon == NULL) {
        /* Some failures of libmicrohttpd close the socket and some do not;
         * closing it twice could close another thread's. */
        status = epi_fail(
            EPDX_ERR_IO, "libmicrohttpd does not start on %s: %s%s",
            server->address,
            server->opening[0] != '\0'
                ? server->opening
                : "no memory, descriptors or threads left",
            params->tls_cert != NULL
                ? " Is EPDX_TLS_KEY_FILE the key of EPDX_TLS_CERT_FILE?"
                : "");
        free(server);
        return status;
    }
    *server_p = server;
    return EPDX_OK;
}

const char *epi_http_server_address(const epi_http_server_t *server)
{
    return server->address;
}

uint64_t epi_http_server_refused(const epi_http_server_t *server)
{
    return atomic_load_explicit((_Atomic uint64_t *)&server->refused,
                                memory_order_relaxed);
}

void epi_http_server_close(epi_http_server_t *server)
{
    if (server != NULL) {
        MHD_stop_daemon(server->daemon);
        free(server);
    }
}
