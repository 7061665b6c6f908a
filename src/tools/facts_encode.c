/* facts_encode.c: asks a bootstrap server what prefill ranks ask it, and knocks
 * at the door of its first encode rank. */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/resolve.h"
#include "base/text.h"
#include "discovery/http.h"
#include "discovery/route.h"
#include "tools/facts.h"

/** An answer, or why there is none. */
typedef struct answer {
    int code;
    size_t bytes;
    char body[EPI_ROUTE_BODY_MAX];
    char error[EPI_FACT_TEXT];
} answer_t;

static void wait_for(epi_http_t *http)
{
    struct pollfd fds[16];
    int timeout_ms = 1000;
    size_t count = epi_http_wait_fds(http, fds, 16, &timeout_ms);

    (void)poll(fds, (nfds_t)count, timeout_ms);
}

static void take(const epi_http_reply_t *reply, answer_t *answer)
{
    answer->code = reply->code;
    answer->bytes = reply->body_bytes < sizeof(answer->body)
                        ? reply->body_bytes
                        : sizeof(answer->body) - 1;
    memcpy(answer->body, reply->body, answer->bytes);
    answer->body[answer->bytes] = '\0';
    (void)epi_text_copy(answer->error, sizeof(answer->error), reply->error);
}

/** One exchange; it ends by its own deadline. */
static epdx_status_t ask(epi_http_t *http, const epi_http_request_t *request,
                         answer_t *answer)
{
    epdx_status_t status = epi_http_start(http, request);
    epi_http_reply_t reply;

    while (status == EPDX_OK && !epi_http_next(http, &reply)) {
        if (!epi_http_progress(http)) {
            wait_for(http);
        }
    }
    if (status == EPDX_OK) {
        take(&reply, answer);
    }
    return status;
}

/** GET of a rank of a group; -1: of the world. */
static epdx_status_t look_up(const epi_options_t *options,
                             const char *bootstrap, int64_t rank,
                             answer_t *answer)
{
    char url[EPI_HTTP_URL_MAX];
    epi_http_request_t request = {
        .method = "GET", .url = url, .timeout_ns = options->lookup_timeout_ns};
    epi_http_t *http = NULL;
    epdx_status_t status = epi_route_query_url(
        bootstrap, rank, rank < 0 ? -1 : 0, url, sizeof(url));

    if (status == EPDX_OK) {
        status = epi_http_open(1, &http);
    }
    if (status == EPDX_OK) {
        status = epi_http_trust(http, options->files.ca);
    }
    if (status == EPDX_OK) {
        status = ask(http, &request, answer);
    }
    epi_http_close(http);
    return status;
}

/** Whether a connection comes about in time; else words. */
static void knock(const epi_address_t *to, uint64_t timeout_ns, char *error,
                  size_t size)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    struct pollfd wait = {.fd = -1, .events = POLLOUT};
    socklen_t bytes = sizeof(int);
    char port[8];
    int code;

    (void)snprintf(port, sizeof(port), "%u", to->port);
    code = getaddrinfo(to->host, port, &hints, &found);
    if (code != 0) {
        (void)epi_text_copy(error, size, gai_strerror(code));
        return;
    }
    wait.fd =
        socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    code = 0;
    if (wait.fd < 0 ||
        connect(wait.fd, found->ai_addr, found->ai_addrlen) != 0) {
        code = errno;
    }
    if (code == EINPROGRESS) {
        int ready = poll(&wait, 1, epi_poll_ms(0, timeout_ns, 60000));

        code = ETIMEDOUT;
        if (ready == 1) {
            (void)getsockopt(wait.fd, SOL_SOCKET, SO_ERROR, &code, &bytes);
        }
    }
    if (code != 0) {
        (void)epi_text_copy(error, size, strerror(code));
    }
    if (wait.fd >= 0) {
        (void)close(wait.fd);
    }
    freeaddrinfo(found);
}

static void find_rank(const epi_options_t *options, epi_encode_facts_t *facts)
{
    answer_t answer = {.code = 0};
    epi_route_rank_t rank;
    char numeric[EPDX_ADDRESS_MAX + 1];

    if (look_up(options, facts->bootstrap, 0, &answer) != EPDX_OK ||
        answer.code != 200 ||
        epi_route_rank_parse(answer.body, answer.bytes, &rank) != EPDX_OK ||
        !epi_address_format(rank.address.host, rank.address.port, facts->rank,
                            sizeof(facts->rank))) {
        facts->rank[0] = '\0';
        return;
    }
    facts->rank_loopback =
        epi_resolve(rank.address.host, numeric, sizeof(numeric)) == EPDX_OK &&
        epi_host_loopback(numeric);
    knock(&rank.address, options->lookup_timeout_ns, facts->rank_error,
          sizeof(facts->rank_error));
}

/** The host of "https://host:port", as a numeric address. */
static bool is_remote(const char *bootstrap)
{
    const char *scheme = strstr(bootstrap, "://");
    char numeric[EPDX_ADDRESS_MAX + 1];
    epi_address_t address;

    return epi_address_parse(scheme == NULL ? bootstrap : scheme + 3,
                             &address) &&
           epi_resolve(address.host, numeric, sizeof(numeric)) == EPDX_OK &&
           !epi_host_loopback(numeric);
}

/** What the answer for the whole world says. */
static void read_world(const answer_t *answer, epi_encode_facts_t *facts)
{
    epi_route_world_t world;
    epdx_status_t status;

    facts->code = answer->code;
    (void)epi_text_copy(facts->error, sizeof(facts->error),
                        answer->code == 0 ? answer->error : answer->body);
    if (answer->code != 200) {
        return;
    }
    status = epi_route_world_parse(answer->body, answer->bytes, &world);
    if (status == EPDX_OK) {
        facts->ready = true;
        facts->ranks = world.world_size;
        facts->groups = world.dp_size;
    } else if (status != EPDX_IN_PROGRESS) {
        facts->malformed = true;
        (void)epi_text_copy(facts->error, sizeof(facts->error),
                            epdx_last_error());
    }
}

void epi_facts_encode(const epi_options_t *options, const char *bootstrap,
                      epi_encode_facts_t *facts_p)
{
    epi_encode_facts_t facts = {.bootstrap = bootstrap};
    answer_t answer = {.code = 0};

    facts.remote = is_remote(bootstrap);
    if (look_up(options, bootstrap, -1, &answer) != EPDX_OK) {
        (void)epi_text_copy(facts.error, sizeof(facts.error),
                            epdx_last_error());
    } else {
        read_world(&answer, &facts);
    }
    if (facts.ready) {
        find_rank(options, &facts);
    }
    *facts_p = facts;
}
