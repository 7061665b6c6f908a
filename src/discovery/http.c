/*
 * http.c: many exchanges at once over libcurl's multi interface, in its
 * socket-action form: libcurl says which descriptors and which moment it waits
 * for, and is called for those alone.
 *
 *     free --start--> running --libcurl is done--> ended --next--> taken
 *       \------------------------ the next call -----------------------/
 *
 * Every exchange has its easy handle and buffers from epi_http_open() on.
 *
 * Facts of libcurl 7.88 relied on: an exchange waits on at most three
 * descriptors (two connection attempts, one look-up's socket pair);
 * CURLOPT_QUICK_EXIT keeps a timed-out or broken off look-up from joining its
 * thread (lib/asyn-thread.c); a timer that fires early is announced again
 * (lib/multi.c, multi_socket()).
 */
#include "discovery/http.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "discovery/http_exchange.h"

#define EXCHANGE_LIMIT 4096
#define CA_BYTES_MAX   ((size_t)4 << 20)

struct epi_http {
    CURLM *multi;
    struct curl_slist *json_headers;
    char *ca_file; /* NULL: libcurl's own choice */
    epi_exchange_t *exchanges;
    size_t exchange_max;
    epi_exchange_t *free;
    epi_exchange_t *ended_first;
    epi_exchange_t *ended_last;
    epi_exchange_t *taken;
    struct pollfd *watched; /* what libcurl waits for */
    struct pollfd *polled;  /* a copy: libcurl changes watched when called */
    size_t watched_count;
    size_t watched_max;
    uint64_t timer_due;
};

static pthread_once_t global_once = PTHREAD_ONCE_INIT;
static CURLcode global_result;

/* Never undone: other libcurl users of the process may still be at work. */
static void global_init(void)
{
    global_result = curl_global_init(CURL_GLOBAL_DEFAULT);
}

static void unwatch(epi_http_t *http, curl_socket_t fd)
{
    for (size_t i = 0; i < http->watched_count; i++) {
        if (http->watched[i].fd == fd) {
            http->watched[i] = http->watched[--http->watched_count];
            return;
        }
    }
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *self,
                     void *of_socket)
{
    epi_http_t *http = self;
    struct pollfd *entry;

    (void)easy;
    (void)of_socket;
    unwatch(http, fd);
    if (what == CURL_POLL_REMOVE) {
        return 0;
    }
    if (http->watched_count == http->watched_max) {
        epi_log_error("http: libcurl waits for over %zu descriptors",
                      http->watched_max);
        return -1;
    }
    entry = &http->watched[http->watched_count++];
    *entry = (struct pollfd){.fd = fd};
    entry->events |= (what & CURL_POLL_IN) != 0 ? POLLIN : 0;
    entry->events |= (what & CURL_POLL_OUT) != 0 ? POLLOUT : 0;
    return 0;
}

static int on_timer(CURLM *multi, long timeout_ms, void *self)
{
    epi_http_t *http = self;

    (void)multi;
    http->timer_due =
        timeout_ms < 0 ? EPI_NEVER
                       : epi_after(epi_now_ns(), (uint64_t)timeout_ms * EPI_MS);
    return 0;
}

static bool open_multi(epi_http_t *http)
{
    CURLM *multi = curl_multi_init();

    http->multi = multi;
    return multi != NULL &&
           curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, on_socket) ==
               CURLM_OK &&
           curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, http) == CURLM_OK &&
           curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, on_timer) ==
               CURLM_OK &&
           curl_multi_setopt(multi, CURLMOPT_TIMERDATA, http) == CURLM_OK;
}

static bool open_headers(epi_http_t *http)
{
    struct curl_slist *list =
        curl_slist_append(NULL, "Content-Type: application/json");

    http->json_headers = list;
    /* No pause for a "100 Continue" before a body this small. */
    return list != NULL && curl_slist_append(list, "Expect:") != NULL;
}

static bool open_exchanges(epi_http_t *http)
{
    http->exchanges = calloc(http->exchange_max, sizeof(*http->exchanges));
    http->watched = calloc(http->watched_max, sizeof(*http->watched));
    http->polled = calloc(http->watched_max, sizeof(*http->polled));
    if (http->exchanges == NULL || http->watched == NULL ||
        http->polled == NULL) {
        return false;
    }
    for (size_t i = 0; i < http->exchange_max; i++) {
        epi_exchange_t *exchange = &http->exchanges[i];

        exchange->easy = curl_easy_init();
        if (exchange->easy == NULL) {
            return false;
        }
        exchange->next = http->free;
        http->free = exchange;
    }
    return true;
}

epdx_status_t epi_http_open(size_t exchange_max, epi_http_t **http_p)
{
    epi_http_t *http;

    if (exchange_max == 0 || exchange_max > EXCHANGE_LIMIT) {
        return epi_fail(EPDX_ERR_INVALID,
                        "%zu http exchanges at once are not 1 to %d",
                        exchange_max, EXCHANGE_LIMIT);
    }
    (void)pthread_once(&global_once, global_init);
    if (global_result != CURLE_OK) {
        return epi_fail(EPDX_ERR_IO, "libcurl does not start: %s",
                        curl_easy_strerror(global_result));
    }
    http = calloc(1, sizeof(*http));
    if (http == NULL) {
        return epi_fail(EPDX_ERR_NO_MEMORY, "no memory for http exchanges");
    }
    http->exchange_max = exchange_max;
    http->watched_max = 4 * exchange_max + 8;
    http->timer_due = EPI_NEVER;
    if (!open_multi(http) || !open_headers(http) || !open_exchanges(http)) {
        epi_http_close(http);
        return epi_fail(EPDX_ERR_NO_MEMORY, "no memory for %zu http exchanges",
                        exchange_max);
    }
    *http_p = http;
    return EPDX_OK;
}

static epdx_status_t check_ca_file(const char *ca_file)
{
    epi_file_text_t text;
    epdx_status_t status = epi_file_read("EPDX_CA_FILE", ca_file,
                                         EPI_FILE_TRUSTED, CA_BYTES_MAX, &text);

    if (status != EPDX_OK) {
        return status;
    }
    if (strstr(text.text, "-----BEGIN ") == NULL) {
        status = epi_fail(EPDX_ERR_INVALID,
                          "EPDX_CA_FILE: '%.300s' has no certificate in PEM",
                          ca_file);
    }
    epi_file_wipe(&text);
    return status;
}

epdx_status_t epi_http_trust(epi_http_t *http, const char *ca_file)
{
    epdx_status_t status = EPDX_OK;

    if (ca_file[0] != '\0') {
        status = check_ca_file(ca_file);
    } else {
        /* Named, so that libcurl reads it once and not for each exchange. */
        ca_file = curl_version_info(CURLVERSION_NOW)->cainfo;
    }
    if (status != EPDX_OK || ca_file == NULL) {
        return status;
    }
    free(http->ca_file);
    http->ca_file = strdup(ca_file);
    return http->ca_file != NULL
               ? EPDX_OK
               : epi_fail(EPDX_ERR_NO_MEMORY, "no memory for http exchanges");
}

static void put_back(epi_http_t *http, epi_exchange_t *exchange)
{
    exchange->state = EPI_EXCHANGE_FREE;
    exchange->next = http->free;
    http->free = exchange;
}

/* The reply that the caller had is its no more. */
static void release_taken(epi_http_t *http)
{
    if (http->taken != NULL) {
        put_back(http, http->taken);
        http->taken = NULL;
    }
}

epdx_status_t epi_http_start(epi_http_t *http,
                             const epi_http_request_t *request)
{
    epi_exchange_t *exchange;
    epdx_status_t status = epi_exchange_check(request);
    CURLMcode code;

    if (status != EPDX_OK) {
        return status;
    }
    release_taken(http);
    exchange = http->free;
    if (exchange == NULL) {
        return epi_fail(EPDX_ERR_FULL, "%zu http exchanges are under way",
                        http->exchange_max);
    }
    status = epi_exchange_prepare(exchange, request, http->json_headers,
                                  http->ca_file);
    if (status != EPDX_OK) {
        return status;
    }
    code = curl_multi_add_handle(http->multi, exchange->easy);
    if (code != CURLM_OK) {
        return epi_fail(EPDX_ERR_IO, "an http exchange does not start: %s",
                        curl_multi_strerror(code));
    }
    http->free = exchange->next;
    exchange->next = NULL;
    exchange->state = EPI_EXCHANGE_RUNNING;
    return EPDX_OK;
}

static void append_ended(epi_http_t *http, epi_exchange_t *exchange)
{
    exchange->next = NULL;
    if (http->ended_first == NULL) {
        http->ended_first = exchange;
    } else {
        http->ended_last->next = exchange;
    }
    http->ended_last = exchange;
}

/* Take what libcurl has done with. */
static bool collect(epi_http_t *http)
{
    bool worked = false;
    int left = 0;
    CURLMsg *message;

    while ((message = curl_multi_info_read(http->multi, &left)) != NULL) {
        CURL *easy = message->easy_handle;
        CURLcode result = message->data.result;
        char *private = NULL;

        if (message->msg != CURLMSG_DONE) {
            continue;
        }
        /* The message dies with the handle's removal. */
        (void)curl_easy_getinfo(easy, CURLINFO_PRIVATE, &private);
        (void)curl_multi_remove_handle(http->multi, easy);
        epi_exchange_finish((epi_exchange_t *)(void *)private, result);
        append_ended(http, (epi_exchange_t *)(void *)private);
        worked = true;
    }
    return worked;
}

static void act(epi_http_t *http, curl_socket_t fd, int events)
{
    int running = 0;
    CURLMcode code =
        curl_multi_socket_action(http->multi, fd, events, &running);

    if (code != CURLM_OK) {
        epi_log_error("http: libcurl fails: %s", curl_multi_strerror(code));
    }
}

static int curl_events(short revents)
{
    int events = 0;

    events |= (revents & (POLLIN | POLLHUP)) != 0 ? CURL_CSELECT_IN : 0;
    events |= (revents & POLLOUT) != 0 ? CURL_CSELECT_OUT : 0;
    events |= (revents & (POLLERR | POLLNVAL)) != 0 ? CURL_CSELECT_ERR : 0;
    return events;
}

static bool act_on_ready(epi_http_t *http)
{
    size_t count = http->watched_count;
    bool worked = false;

    if (count == 0) {
        return false;
    }
    memcpy(http->polled, http->watched, count * sizeof(*http->polled));
    if (poll(http->polled, (nfds_t)count, 0) <= 0) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        /* One that an earlier call has closed is unknown to libcurl, which
         * then does nothing. */
        if (http->polled[i].revents != 0) {
            act(http, http->polled[i].fd, curl_events(http->polled[i].revents));
            worked = true;
        }
    }
    return worked;
}

bool epi_http_progress(epi_http_t *http)
{
    bool worked;

    release_taken(http);
    worked = act_on_ready(http);
    if (http->timer_due <= epi_now_ns()) {
        http->timer_due = EPI_NEVER;
        act(http, CURL_SOCKET_TIMEOUT, 0);
        worked = true;
    }
    return collect(http) || worked;
}

bool epi_http_next(epi_http_t *http, epi_http_reply_t *reply_p)
{
    epi_exchange_t *exchange = http->ended_first;

    release_taken(http);
    if (exchange == NULL) {
        return false;
    }
    http->ended_first = exchange->next;
    exchange->state = EPI_EXCHANGE_TAKEN;
    http->taken = exchange;
    *reply_p = (epi_http_reply_t){
        .cookie = exchange->cookie,
        .code = exchange->code,
        .body = exchange->body,
        .body_bytes = exchange->body_bytes,
        .error = exchange->error,
    };
    return true;
}

size_t epi_http_wait_fds(epi_http_t *http, struct pollfd *fds, size_t fd_max,
                         int *timeout_ms_p)
{
    size_t count = http->watched_count;
    int limit_ms = *timeout_ms_p < 0 ? INT32_MAX : *timeout_ms_p;

    if (count > fd_max) {
        /* What is not waited for is looked at now and then. */
        count = fd_max;
        limit_ms = limit_ms < 10 ? limit_ms : 10;
        *timeout_ms_p = limit_ms;
    }
    if (count > 0) {
        memcpy(fds, http->watched, count * sizeof(*fds));
    }
    if (http->ended_first != NULL) {
        *timeout_ms_p = 0;
    } else if (http->timer_due != EPI_NEVER) {
        *timeout_ms_p = epi_poll_ms(epi_now_ns(), http->timer_due, limit_ms);
    }
    return count;
}

static void close_exchange(epi_http_t *http, epi_exchange_t *exchange)
{
    if (exchange->easy == NULL) {
        return;
    }
    if (exchange->state == EPI_EXCHANGE_RUNNING) {
        (void)curl_multi_remove_handle(http->multi, exchange->easy);
    }
    curl_easy_cleanup(exchange->easy);
}

void epi_http_close(epi_http_t *http)
{
    if (http == NULL) {
        return;
    }
    for (size_t i = 0; http->exchanges != NULL && i < http->exchange_max; i++) {
        close_exchange(http, &http->exchanges[i]);
    }
    if (http->multi != NULL) {
        (void)curl_multi_cleanup(http->multi);
    }
    curl_slist_free_all(http->json_headers);
    free(http->ca_file);
    free(http->polled);
    free(http->watched);
    free(http->exchanges);
    free(http);
}
