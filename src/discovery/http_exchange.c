/*
 * http_exchange.c: what an exchange may do and how much it may take in. The
 * other end is hostile: headers and body are counted as they come, and the
 * exchange is broken off where they pass their bounds.
 */
#include "discovery/http_exchange.h"

#include <limits.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"

static bool method_known(const char *method)
{
    return method != NULL &&
           (strcmp(method, "GET") == 0 || strcmp(method, "PUT") == 0 ||
            strcmp(method, "DELETE") == 0);
}

static bool url_allowed(const char *url)
{
    size_t length;

    if (url == NULL) {
        return false;
    }
    length = strlen(url);
    return length < EPI_HTTP_URL_MAX && epi_text_printable(url, length) &&
           (strncmp(url, "http://", 7) == 0 ||
            strncmp(url, "https://", 8) == 0);
}

epdx_status_t epi_exchange_check(const epi_http_request_t *request)
{
    const char *token = request->token;

    if (!method_known(request->method)) {
        return epi_fail(EPDX_ERR_INVALID,
                        "http method is not GET, PUT or DELETE");
    }
    if (!url_allowed(request->url)) {
        return epi_fail(EPDX_ERR_INVALID,
                        "url is not http:// or https:// in less than %d "
                        "printable characters",
                        EPI_HTTP_URL_MAX);
    }
    /* A line end in a token would begin a header of its own. */
    if (token != NULL && token[0] != '\0' &&
        !epi_text_printable(token, strlen(token))) {
        return epi_fail(EPDX_ERR_INVALID,
                        "bearer token has a character that is not printable");
    }
    if (request->body != NULL && strlen(request->body) > EPI_HTTP_REQUEST_MAX) {
        return epi_fail(EPDX_ERR_INVALID, "http request body is over %d bytes",
                        EPI_HTTP_REQUEST_MAX);
    }
    return EPDX_OK;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *self)
{
    epi_exchange_t *exchange = self;
    size_t length = size * count; /* libcurl: at most CURL_MAX_WRITE_SIZE */

    if (length > EPI_HTTP_BODY_MAX - exchange->body_bytes) {
        exchange->refusal = "the answer is over 65536 bytes";
        return 0;
    }
    memcpy(exchange->body + exchange->body_bytes, bytes, length);
    exchange->body_bytes += length;
    return length;
}

static size_t on_header(char *bytes, size_t size, size_t count, void *self)
{
    epi_exchange_t *exchange = self;
    size_t length = size * count;

    (void)bytes;
    if (length > EPI_HTTP_HEADER_MAX - exchange->header_bytes) {
        exchange->refusal = "the answer's headers are over 16384 bytes";
        return 0;
    }
    exchange->header_bytes += length;
    return length;
}

static long whole_ms(uint64_t nanoseconds)
{
    uint64_t ms = nanoseconds / EPI_MS + (nanoseconds % EPI_MS != 0);

    /* To libcurl, 0 is "for ever". */
    return ms == 0 ? 1 : (ms > INT_MAX ? INT_MAX : (long)ms);
}

#define SET(easy, option, value)                                               \
    (curl_easy_setopt((easy), (option), (value)) != CURLE_OK)

/* Where the request goes and what it may reach. */
static bool set_limits(epi_exchange_t *exchange, const char *url,
                       uint64_t timeout_ns)
{
    CURL *easy = exchange->easy;
    long timeout_ms = whole_ms(timeout_ns);
    bool bad = false;

    bad |= SET(easy, CURLOPT_NOSIGNAL, 1L);
    /* A look-up that hangs is left behind, not waited for. */
    bad |= SET(easy, CURLOPT_QUICK_EXIT, 1L);
    bad |= SET(easy, CURLOPT_URL, url);
    bad |= SET(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    bad |= SET(easy, CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
    bad |= SET(easy, CURLOPT_FOLLOWLOCATION, 0L);
    bad |= SET(easy, CURLOPT_PROXY, "");
    bad |= SET(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    /* Look-ups are rare and the peer may restart between two of them. */
    bad |= SET(easy, CURLOPT_FORBID_REUSE, 1L);
    bad |= SET(easy, CURLOPT_DNS_CACHE_TIMEOUT, 5L);
    bad |= SET(easy, CURLOPT_CONNECTTIMEOUT_MS, timeout_ms);
    bad |= SET(easy, CURLOPT_TIMEOUT_MS, timeout_ms);
    bad |= SET(easy, CURLOPT_MAXFILESIZE, (long)EPI_HTTP_BODY_MAX);
    return !bad;
}

/* Whom an https server must be known by. Never less than that. */
static bool set_trust(epi_exchange_t *exchange, const char *ca_file)
{
    CURL *easy = exchange->easy;
    bool bad = false;

    bad |= SET(easy, CURLOPT_SSL_VERIFYPEER, 1L);
    bad |= SET(easy, CURLOPT_SSL_VERIFYHOST, 2L);
    bad |= SET(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    if (ca_file != NULL) {
        bad |= SET(easy, CURLOPT_CAINFO, ca_file);
        /* The system's folder would be asked beside the file, and keep libcurl
         * 7.88 from keeping what the file holds. */
        bad |= SET(easy, CURLOPT_CAPATH, NULL);
    }
    return !bad;
}

static bool set_request(epi_exchange_t *exchange,
                        const epi_http_request_t *request,
                        struct curl_slist *json_headers)
{
    CURL *easy = exchange->easy;
    const char *body = request->body;
    bool bad = false;

    bad |= SET(easy, CURLOPT_USERAGENT, "epdx/" EPDX_VERSION_STRING);
    if (body != NULL || strcmp(request->method, "PUT") == 0) {
        body = body == NULL ? "" : body;
        bad |= SET(easy, CURLOPT_HTTPHEADER, json_headers);
        bad |= SET(easy, CURLOPT_POSTFIELDSIZE, (long)strlen(body));
        bad |= SET(easy, CURLOPT_COPYPOSTFIELDS, body);
    }
    bad |= SET(easy, CURLOPT_CUSTOMREQUEST, request->method);
    if (request->token != NULL && request->token[0] != '\0') {
        bad |= SET(easy, CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER);
        bad |= SET(easy, CURLOPT_XOAUTH2_BEARER, request->token);
    }
    return !bad;
}

static bool set_receive(epi_exchange_t *exchange)
{
    CURL *easy = exchange->easy;
    bool bad = false;

    bad |= SET(easy, CURLOPT_PRIVATE, exchange);
    bad |= SET(easy, CURLOPT_ERRORBUFFER, exchange->error);
    bad |= SET(easy, CURLOPT_WRITEFUNCTION, on_body);
    bad |= SET(easy, CURLOPT_WRITEDATA, exchange);
    bad |= SET(easy, CURLOPT_HEADERFUNCTION, on_header);
    bad |= SET(easy, CURLOPT_HEADERDATA, exchange);
    return !bad;
}

epdx_status_t epi_exchange_prepare(epi_exchange_t *exchange,
                                   const epi_http_request_t *request,
                                   struct curl_slist *json_headers,
                                   const char *ca_file)
{
    curl_easy_reset(exchange->easy);
    if (!set_limits(exchange, request->url, request->timeout_ns) ||
        !set_trust(exchange, ca_file) ||
        !set_request(exchange, request, json_headers) ||
        !set_receive(exchange)) {
        return epi_fail(EPDX_ERR_NO_MEMORY,
                        "libcurl did not take a request's options");
    }
    exchange->cookie = request->cookie;
    exchange->code = 0;
    exchange->body_bytes = 0;
    exchange->header_bytes = 0;
    exchange->refusal = NULL;
    exchange->error[0] = '\0';
    return EPDX_OK;
}

static const char *words_of(const epi_exchange_t *exchange, CURLcode result)
{
    if (exchange->refusal != NULL) {
        return exchange->refusal;
    }
    if (result == CURLE_FILESIZE_EXCEEDED) {
        return "the answer is over 65536 bytes";
    }
    return exchange->error[0] != '\0' ? exchange->error
                                      : curl_easy_strerror(result);
}

void epi_exchange_finish(epi_exchange_t *exchange, CURLcode result)
{
    char words[CURL_ERROR_SIZE];
    long code = 0;

    if (result == CURLE_OK) {
        (void)curl_easy_getinfo(exchange->easy, CURLINFO_RESPONSE_CODE, &code);
        exchange->error[0] = '\0';
    } else {
        (void)epi_text_copy(words, sizeof(words), words_of(exchange, result));
        (void)epi_text_copy(exchange->error, sizeof(exchange->error), words);
        exchange->body_bytes = 0;
    }
    exchange->code = (int)code;
    exchange->body[exchange->body_bytes] = '\0';
    exchange->state = EPI_EXCHANGE_ENDED;
}
