/* proxy_find.c: see proxy_find.h. */
#include "proxy_find.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/random.h"
#include "base/text.h"
#include "discovery/http.h"
#include "discovery/route.h"

#define LIMIT_NS (20 * EPI_S)

static void must(bool held, const char *what)
{
    if (!held) {
        (void)fprintf(stderr, "proxy: %s: %s\n", what, epdx_last_error());
        abort();
    }
}

/* One exchange; the reply is valid until the next. */
static epi_http_reply_t exchange(epi_http_t *http,
                                 const epi_http_request_t *request)
{
    epi_http_reply_t reply = {0};

    must(epi_http_start(http, request) == EPDX_OK, "exchange");
    while (!epi_http_next(http, &reply)) {
        (void)epi_http_progress(http);
        (void)sched_yield();
    }
    return reply;
}

uint16_t proxy_find_encode(const proxy_params_t *params)
{
    uint64_t limit = epi_now_ns() + LIMIT_NS;
    char url[EPI_HTTP_URL_MAX];
    epi_http_request_t request = {
        .method = "GET", .url = url, .timeout_ns = LIMIT_NS};
    epi_route_rank_t rank = {0};
    epi_http_t *http;
    bool found = false;

    must(epi_http_open(1, &http) == EPDX_OK, "http");
    must(epi_route_query_url(params->hidden, params->engine_rank, 0, url,
                             sizeof(url)) == EPDX_OK,
         "url");
    while (!found && epi_now_ns() < limit) {
        epi_http_reply_t reply = exchange(http, &request);

        found = reply.code == 200 &&
                epi_route_rank_parse(reply.body, reply.body_bytes, &rank) ==
                    EPDX_OK;
    }
    must(found, "the encode rank does not register");
    epi_http_close(http);
    return rank.address.port;
}

void proxy_publish(const proxy_params_t *params, uint16_t port)
{
    epi_route_registration_t in = {.world_size = params->world_size,
                                   .dp_size = 1,
                                   .engine_rank = params->engine_rank,
                                   .address = {.port = port}};
    char url[EPI_HTTP_URL_MAX];
    char body[EPI_ROUTE_BODY_MAX];
    epi_http_request_t request = {
        .method = "PUT", .url = url, .body = body, .timeout_ns = LIMIT_NS};
    epi_http_t *http;

    (void)epi_text_copy(in.address.host, sizeof(in.address.host), "127.0.0.1");
    (void)snprintf(in.instance, sizeof(in.instance), "%016" PRIx64,
                   epi_random_u64());
    must(epi_http_open(1, &http) == EPDX_OK, "http");
    must(epi_route_put_url(params->bootstrap, url, sizeof(url)) == EPDX_OK &&
             epi_route_registration_format(&in, body, sizeof(body)) == EPDX_OK,
         "registration");
    must(exchange(http, &request).code == 200, "PUT was not answered 200");
    epi_http_close(http);
}
