/* announce.c: see announce.h. */
#include "sender/announce.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/text.h"

#define PAUSE_FIRST_NS (100 * EPI_MS)
#define PAUSE_LAST_NS  (2 * EPI_S)
#define REFRESH_NS     (10 * EPI_S)
#define WITHDRAW_NS    EPI_S

#define COOKIE_PUT     1
#define COOKIE_DELETE  2

static epdx_status_t write_texts(epi_announce_t *announce, uint16_t port)
{
    const epi_send_config_t *config = &announce->shared->config;
    epi_route_registration_t here = {
        .world_size = config->world_size,
        .dp_size = config->dp_size,
        .engine_rank = config->engine_rank,
        .address.port = port,
    };
    epdx_status_t status;

    (void)epi_text_copy(here.address.host, sizeof(here.address.host),
                        config->host);
    (void)epi_text_copy(here.instance, sizeof(here.instance), config->instance);
    (void)epi_text_copy(here.curve_key, sizeof(here.curve_key),
                        config->curve_key);
    status = epi_route_put_url(config->bootstrap, announce->put_url,
                               sizeof(announce->put_url));
    if (status == EPDX_OK) {
        status = epi_route_delete_url(config->bootstrap, config->engine_rank,
                                      config->instance, announce->delete_url,
                                      sizeof(announce->delete_url));
    }
    if (status == EPDX_OK) {
        status = epi_route_registration_format(&here, announce->body,
                                               sizeof(announce->body));
    }
    return status;
}

epdx_status_t epi_announce_init(epi_announce_t *announce,
                                epi_send_shared_t *shared, epi_http_t *http,
                                uint16_t port)
{
    *announce = (epi_announce_t){
        .shared = shared, .http = http, .pause_ns = PAUSE_FIRST_NS};
    if (shared->config.bootstrap[0] == '\0') {
        announce->due_ns = EPI_NEVER;
        atomic_store(&shared->counters.registered, true);
        return EPDX_OK;
    }
    return write_texts(announce, port);
}

/* The next try, later each time. */
static void try_later(epi_announce_t *announce, uint64_t now)
{
    announce->due_ns = epi_after(now, announce->pause_ns);
    announce->pause_ns *= 2;
    if (announce->pause_ns > PAUSE_LAST_NS) {
        announce->pause_ns = PAUSE_LAST_NS;
    }
}

bool epi_announce_tick(epi_announce_t *announce, uint64_t now)
{
    const epi_send_config_t *config = &announce->shared->config;
    epi_http_request_t request = {
        .method = "PUT",
        .url = announce->put_url,
        .body = announce->body,
        .token = config->token,
        .timeout_ns = config->lookup_timeout_ns,
        .cookie = COOKIE_PUT,
    };

    if (announce->under_way || now < announce->due_ns) {
        return false;
    }
    if (epi_http_start(announce->http, &request) != EPDX_OK) {
        epi_log_warn("registration with %s was not sent: %s", config->bootstrap,
                     epdx_last_error());
        try_later(announce, now);
        return true;
    }
    announce->under_way = true;
    announce->sent = true;
    announce->due_ns = EPI_NEVER;
    return true;
}

static void taken(epi_announce_t *announce, uint64_t now)
{
    const epi_send_config_t *config = &announce->shared->config;

    if (!atomic_exchange(&announce->shared->counters.registered, true) ||
        announce->complained) {
        epi_log_info("encode rank %" PRIu32 " is registered with %s",
                     config->engine_rank, config->bootstrap);
    }
    announce->complained = false;
    announce->pause_ns = PAUSE_FIRST_NS;
    announce->due_ns = epi_after(now, REFRESH_NS);
}

void epi_announce_reply(epi_announce_t *announce, const epi_http_reply_t *reply,
                        uint64_t now)
{
    const epi_send_config_t *config = &announce->shared->config;

    if (reply->cookie != COOKIE_PUT) {
        return;
    }
    announce->under_way = false;
    if (reply->code == 200) {
        taken(announce, now);
        return;
    }
    if (!announce->complained) {
        announce->complained = true;
        epi_log_warn("registration with %s was not taken, and is tried again: "
                     "code %d %s",
                     config->bootstrap, reply->code,
                     reply->code == 401
                         ? "the bearer token is missing or wrong "
                           "(EPDX_BOOTSTRAP_TOKEN)"
                         : reply->error);
    }
    try_later(announce, now);
}

static void wait_for(epi_http_t *http, uint64_t deadline)
{
    struct pollfd fds[16];
    int ms = epi_poll_ms(epi_now_ns(), deadline, 100);
    size_t count = epi_http_wait_fds(http, fds, 16, &ms);

    (void)poll(fds, count, ms);
}

void epi_announce_withdraw(epi_announce_t *announce)
{
    const epi_send_config_t *config = &announce->shared->config;
    uint64_t deadline = epi_after(epi_now_ns(), WITHDRAW_NS);
    epi_http_request_t request = {
        .method = "DELETE",
        .url = announce->delete_url,
        .token = config->token,
        .timeout_ns = WITHDRAW_NS,
        .cookie = COOKIE_DELETE,
    };
    epi_http_reply_t reply = {0};

    if (!announce->sent ||
        epi_http_start(announce->http, &request) != EPDX_OK) {
        return;
    }
    while (reply.cookie != COOKIE_DELETE && epi_now_ns() < deadline) {
        (void)epi_http_progress(announce->http);
        if (!epi_http_next(announce->http, &reply)) {
            wait_for(announce->http, deadline);
        }
    }
    if (reply.cookie != COOKIE_DELETE || reply.code != 200) {
        epi_log_info("%s was not told that encode rank %" PRIu32 " is gone",
                     config->bootstrap, config->engine_rank);
    }
}
