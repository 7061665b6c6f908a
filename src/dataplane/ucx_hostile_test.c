/*
 * ucx_hostile_test.c: what the plane over UCX does with messages that no epdx
 * sends, with more offers than it holds, and with UCX's own log lines. The
 * sending end is UCX itself.
 */
#include "dataplane/ucx_fixture.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "epdx/log.h"

#define LIMIT_NS (30 * EPI_S)

typedef struct raw {
    epi_dataplane_t *dp;
    ucp_context_h context;
    ucp_worker_h worker;
    ucp_ep_h ep;
    size_t open; /* requests that have not completed */
    epi_record_t record;
} raw_t;

static size_t warnings;
static char last_warning[1024];

static void sink(void *context, epdx_log_level_t level, const char *line)
{
    (void)context;
    if (level <= EPDX_LOG_WARN) {
        warnings++;
        (void)snprintf(last_warning, sizeof(last_warning), "%s", line);
    }
}

static void on_error(void *arg, ucp_ep_h ep, ucs_status_t status)
{
    (void)arg;
    (void)ep;
    (void)status;
}

static void raw_connect(raw_t *raw)
{
    ucp_ep_params_t params = {
        .field_mask = UCP_EP_PARAM_FIELD_FLAGS | UCP_EP_PARAM_FIELD_SOCK_ADDR |
                      UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER,
        .flags = UCP_EP_PARAMS_FLAGS_CLIENT_SERVER,
        .err_mode = UCP_ERR_HANDLING_MODE_PEER,
        .err_handler.cb = on_error,
    };
    struct sockaddr_storage to;
    epi_address_t address;

    assert_true(epi_address_parse(raw->dp->ops->address(raw->dp), &address));
    assert_true(epi_ucx_sockaddr(address.host, address.port, &to,
                                 &params.sockaddr.addrlen));
    params.sockaddr.addr = (const struct sockaddr *)&to;
    assert_int_equal(ucp_ep_create(raw->worker, &params, &raw->ep), UCS_OK);
}

static int setup(void **state)
{
    epi_ucx_host_t host = {.loopback = true};
    ucp_worker_params_t params = {.field_mask = 0};
    raw_t *raw = calloc(1, sizeof(*raw));

    assert_non_null(raw);
    warnings = 0;
    epdx_log_set_sink(sink, NULL);
    assert_int_equal(epi_dataplane_ucx("127.0.0.1", &raw->dp), EPDX_OK);
    raw->dp->ops->admit(raw->dp, "127.0.0.1");
    assert_int_equal(epi_ucx_context(host, &raw->context), EPDX_OK);
    assert_int_equal(ucp_worker_create(raw->context, &params, &raw->worker),
                     UCS_OK);
    raw_connect(raw);
    *state = raw;
    return 0;
}

static int teardown(void **state)
{
    raw_t *raw = *state;

    raw->dp->ops->close(raw->dp);
    ucp_worker_destroy(raw->worker);
    ucp_cleanup(raw->context);
    epdx_log_set_sink(NULL, NULL);
    free(raw);
    return 0;
}

static void on_sent(void *request, ucs_status_t status, void *user_data)
{
    raw_t *raw = user_data;

    assert_int_equal(status, UCS_OK);
    raw->open--;
    ucp_request_free(request);
}

static void raw_send(raw_t *raw, unsigned id, size_t header_bytes,
                     size_t payload_bytes, unsigned flags)
{
    static const uint8_t bytes[100000];
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                        UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS,
        .cb.send = on_sent,
        .user_data = raw,
        .flags = flags,
    };
    ucs_status_ptr_t request = ucp_am_send_nbx(raw->ep, id, bytes, header_bytes,
                                               bytes, payload_bytes, &param);

    assert_false(UCS_PTR_IS_ERR(request));
    raw->open += request != NULL;
}

static void pump(raw_t *raw)
{
    (void)ucp_worker_progress(raw->worker);
    (void)raw->dp->ops->progress(raw->dp);
    epi_record_events(raw->dp, &raw->record);
}

/** A message as it should be; what was sent before it has come by then. */
static void flush_by_offer(raw_t *raw)
{
    size_t offers = raw->record.offers;
    uint64_t limit = epi_after(epi_now_ns(), LIMIT_NS);

    raw_send(raw, EPI_UCX_OFFER_ID, 5, 0, UCP_AM_SEND_FLAG_REPLY);
    while ((raw->record.offers == offers || raw->open > 0) &&
           epi_now_ns() < limit) {
        pump(raw);
    }
    assert_int_equal(raw->open, 0);
    assert_int_equal(raw->record.offers, offers + 1);
    assert_int_equal(raw->record.offer[offers].header_bytes, 5);
    raw->dp->ops->refuse(raw->dp, raw->record.offer[offers].offer);
}

static void test_payload_sent_unasked_is_refused(void **state)
{
    raw_t *raw = *state;
    const epi_ucx_conn_t *link;

    raw_send(raw, EPI_UCX_OFFER_ID, 5, 10, UCP_AM_SEND_FLAG_REPLY);
    raw_send(raw, EPI_UCX_OFFER_ID, 5, 100000,
             UCP_AM_SEND_FLAG_REPLY | UCP_AM_SEND_FLAG_EAGER);
    raw_send(raw, EPI_UCX_OFFER_ID, 0, 1, UCP_AM_SEND_FLAG_REPLY);
    flush_by_offer(raw);
    link =
        epi_ucx_conn_of_link(epi_ucx_plane(raw->dp), raw->record.offer[0].link);
    assert_non_null(link);
    assert_int_equal(link->complaints, 3);
    assert_int_equal(warnings, 1); /* once a link */
    assert_non_null(strstr(last_warning, "sent unasked"));
    raw->dp->ops->drop(raw->dp, raw->record.offer[0].link);
    assert_int_equal(warnings, 2);
    assert_non_null(strstr(last_warning, "3 messages"));
}

static void test_long_header_is_refused(void **state)
{
    raw_t *raw = *state;

    raw_send(raw, EPI_UCX_OFFER_ID, EPI_DP_HEADER_MAX + 1, 0,
             UCP_AM_SEND_FLAG_REPLY);
    raw_send(raw, EPI_UCX_OFFER_ID, EPI_DP_HEADER_MAX + 1, 5000,
             UCP_AM_SEND_FLAG_REPLY | UCP_AM_SEND_FLAG_RNDV);
    flush_by_offer(raw);
    assert_int_equal(warnings, 1);
    assert_non_null(strstr(last_warning, "a header of 129 bytes"));
    assert_int_equal(epi_ucx_plane(raw->dp)->parked, 0);
}

static void test_message_of_no_link_is_refused(void **state)
{
    raw_t *raw = *state;

    raw_send(raw, EPI_UCX_OFFER_ID, 5, 0, 0);
    raw_send(raw, EPI_UCX_OFFER_ID, 5, 5000, UCP_AM_SEND_FLAG_RNDV);
    flush_by_offer(raw);
    assert_int_equal(epi_ucx_plane(raw->dp)->parked, 0);
}

static void test_empty_rendezvous_is_a_header(void **state)
{
    raw_t *raw = *state;

    raw_send(raw, EPI_UCX_OFFER_ID, 7, 0,
             UCP_AM_SEND_FLAG_REPLY | UCP_AM_SEND_FLAG_RNDV);
    for (uint64_t limit = epi_after(epi_now_ns(), LIMIT_NS);
         (raw->record.offers == 0 || raw->open > 0) && epi_now_ns() < limit;) {
        pump(raw);
    }
    assert_int_equal(raw->record.offers, 1);
    assert_int_equal(raw->record.offer[0].payload_bytes, 0);
    assert_int_equal(raw->dp->ops->pull(raw->dp, raw->record.offer[0].offer,
                                        &(epi_dp_target_t){.region = NULL,
                                                           .at = NULL,
                                                           .bytes = 0,
                                                           .cookie = 3}),
                     EPDX_OK);
    pump(raw);
    assert_int_equal(raw->record.pulled_ok, 1);
    flush_by_offer(raw);
}

/** A socket of host that begins to connect to port of 127.0.0.1. */
static int begin_connect(const char *host, uint16_t port)
{
    struct sockaddr_in from = {.sin_family = AF_INET};
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

    assert_true(fd >= 0);
    assert_int_equal(inet_pton(AF_INET, host, &from.sin_addr), 1);
    assert_int_equal(inet_pton(AF_INET, "127.0.0.1", &to.sin_addr), 1);
    assert_int_equal(bind(fd, (struct sockaddr *)&from, sizeof(from)), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), -1);
    assert_int_equal(errno, EINPROGRESS);
    return fd;
}

/** Whether a connection was answered; over loopback it is at once. */
static bool connected(int fd)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLOUT};

    return poll(&poll_fd, 1, 0) == 1 && (poll_fd.revents & POLLERR) == 0;
}

static void send_junk(raw_t *raw, uint16_t port, const void *junk, size_t bytes)
{
    int fd = begin_connect("127.0.0.1", port);

    assert_true(connected(fd));
    (void)send(fd, junk, bytes, MSG_NOSIGNAL);
    flush_by_offer(raw);
    assert_int_equal(close(fd), 0);
    flush_by_offer(raw);
}

static uint16_t listener_port(raw_t *raw)
{
    epi_address_t address;

    assert_true(epi_address_parse(raw->dp->ops->address(raw->dp), &address));
    return address.port;
}

/** What UCX 1.13 makes of such bytes ends the process: they must not come to
 *  it. The gate admits 127.0.0.1 alone. */
static void test_strangers_do_not_reach_the_listener(void **state)
{
    raw_t *raw = *state;
    uint16_t port = listener_port(raw);
    int stranger = begin_connect("127.0.0.2", port);
    int known = begin_connect("127.0.0.1", port);

    assert_true(connected(known));
    assert_false(connected(stranger));
    flush_by_offer(raw);
    assert_false(connected(stranger));
    assert_int_equal(close(stranger), 0);

    raw->dp->ops->admit(raw->dp, "127.0.0.2");
    raw->dp->ops->admit(raw->dp, "127.0.0.2");
    assert_int_equal(epi_ucx_plane(raw->dp)->gate.count, 2);
    stranger = begin_connect("127.0.0.2", port);
    assert_true(connected(stranger));
    assert_int_equal(close(stranger), 0);
    assert_int_equal(close(known), 0);
    assert_int_equal(warnings, 0);
    flush_by_offer(raw);
}

/** A gate that cannot tell hosts apart says so, and is open. */
static void test_gate_that_must_stay_open(void **state)
{
    static const char *const hosts[] = {"a.name", "::1"};
    raw_t *raw = *state;

    for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
        epi_dataplane_t *dp;
        epi_address_t address;
        int fd;

        assert_int_equal(epi_dataplane_ucx("127.0.0.1", &dp), EPDX_OK);
        assert_true(epi_address_parse(dp->ops->address(dp), &address));
        fd = begin_connect("127.0.0.1", address.port);
        assert_false(connected(fd)); /* nobody is admitted at first */
        assert_int_equal(close(fd), 0);
        dp->ops->admit(dp, hosts[i]);
        assert_int_equal(warnings, i + 1);
        assert_non_null(strstr(last_warning, "from every host"));
        dp->ops->admit(dp, hosts[i]);
        assert_int_equal(warnings, i + 1);
        fd = begin_connect("127.0.0.1", address.port);
        assert_true(connected(fd));
        assert_int_equal(close(fd), 0);
        dp->ops->close(dp);
    }
    flush_by_offer(raw);
}

static void test_gate_of_too_many_hosts(void **state)
{
    raw_t *raw = *state;
    const epi_ucx_plane_t *plane = epi_ucx_plane(raw->dp);
    char host[32];
    int fd;

    for (unsigned i = 1; i < EPI_UCX_HOSTS_MAX; i++) {
        (void)snprintf(host, sizeof(host), "127.1.%u.%u", i / 256, i % 256);
        raw->dp->ops->admit(raw->dp, host);
    }
    assert_int_equal(plane->gate.count, EPI_UCX_HOSTS_MAX);
    assert_int_equal(warnings, 0);
    fd = begin_connect(host, listener_port(raw)); /* the last one */
    assert_true(connected(fd));
    assert_int_equal(close(fd), 0);
    fd = begin_connect("127.0.0.2", listener_port(raw));
    assert_false(connected(fd));
    assert_int_equal(close(fd), 0);
    raw->dp->ops->admit(raw->dp, "127.2.0.1");
    assert_int_equal(warnings, 1);
    assert_non_null(strstr(last_warning, "more hosts"));
    assert_int_equal(plane->gate.fd, -1);
    flush_by_offer(raw);
}

/** An IPv6 filter compares four words: each must count. */
static void test_gate_ipv6(void **state)
{
    struct sockaddr_in6 to = {.sin6_family = AF_INET6,
                              .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    socklen_t bytes = sizeof(to);
    epi_ucx_plane_t plane = {.family = AF_INET6};
    int fd;

    (void)state;
    plane.gate.fd = socket(AF_INET6, SOCK_STREAM, 0);
    if (plane.gate.fd < 0 ||
        bind(plane.gate.fd, (struct sockaddr *)&to, sizeof(to)) != 0) {
        (void)close(plane.gate.fd);
        skip(); /* a host without IPv6 */
    }
    assert_int_equal(listen(plane.gate.fd, 8), 0);
    assert_int_equal(getsockname(plane.gate.fd, (struct sockaddr *)&to, &bytes),
                     0);
    epi_ucx_admit(&plane.base, "fd00::1"); /* differs in the first word */
    epi_ucx_admit(&plane.base, "::2");     /* in the last */
    fd = socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), -1);
    assert_false(connected(fd));
    assert_int_equal(close(fd), 0);
    epi_ucx_admit(&plane.base, "::1");
    fd = socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK, 0);
    (void)connect(fd, (struct sockaddr *)&to, sizeof(to));
    assert_true(connected(fd));
    assert_int_equal(close(fd), 0);
    assert_int_equal(close(plane.gate.fd), 0);
}

/** The ports that this process listens on, but for one: TCP's own. */
static size_t other_ports(uint16_t but, uint16_t *ports, size_t max)
{
    size_t count = 0;

    for (int fd = 3; fd < 1024 && count < max; fd++) {
        struct sockaddr_in bound = {0};
        socklen_t bytes = sizeof(bound);
        int listening = 0;
        socklen_t size = sizeof(listening);

        if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) == 0 &&
            listening != 0 &&
            getsockname(fd, (struct sockaddr *)&bound, &bytes) == 0 &&
            bound.sin_family == AF_INET && ntohs(bound.sin_port) != but) {
            ports[count++] = ntohs(bound.sin_port);
        }
    }
    return count;
}

/** The ports of TCP's that UCX opens beside the listener are open to all, and
 *  take junk without harm. */
static void test_bytes_that_are_not_ucx(void **state)
{
    static const char http[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    raw_t *raw = *state;
    uint8_t zeros[64] = {0};
    uint8_t ones[16];
    uint8_t noise[5000];
    uint16_t ports[16];
    size_t count = other_ports(listener_port(raw), ports, 16);

    memset(ones, 0xff, sizeof(ones));
    epi_test_fill(noise, sizeof(noise), 11);
    assert_true(count >= 2); /* the plane's and raw's */
    for (size_t i = 0; i < count; i++) {
        send_junk(raw, ports[i], "", 0);
        send_junk(raw, ports[i], "x", 1);
        send_junk(raw, ports[i], http, sizeof(http));
        send_junk(raw, ports[i], zeros, sizeof(zeros));
        send_junk(raw, ports[i], ones, sizeof(ones));
        send_junk(raw, ports[i], noise, sizeof(noise));
    }
}

static void test_parked_offers_are_bounded(void **state)
{
    enum { EXTRA = 10 };
    raw_t *raw = *state;
    const epi_ucx_plane_t *plane = epi_ucx_plane(raw->dp);
    epi_dp_offer_t **parked = calloc(EPI_UCX_PARKED_MAX, sizeof(*parked));
    size_t count = 0;
    size_t made = 0;
    epi_dp_event_t event;

    assert_non_null(parked);
    for (uint64_t limit = epi_after(epi_now_ns(), 2 * LIMIT_NS);
         (made < EPI_UCX_PARKED_MAX + EXTRA || raw->open > 0) &&
         epi_now_ns() < limit;) {
        for (size_t i = 0; made < EPI_UCX_PARKED_MAX + EXTRA && i < 32; i++) {
            bool late = made++ >= EPI_UCX_PARKED_MAX;

            raw_send(raw, EPI_UCX_OFFER_ID, 5, late ? 5000 : 0,
                     UCP_AM_SEND_FLAG_REPLY |
                         (late ? UCP_AM_SEND_FLAG_RNDV : 0));
        }
        (void)ucp_worker_progress(raw->worker);
        (void)raw->dp->ops->progress(raw->dp);
        while (raw->dp->ops->next(raw->dp, &event)) {
            assert_int_equal(event.kind, EPI_DP_OFFER);
            assert_true(count < EPI_UCX_PARKED_MAX);
            parked[count++] = event.offer;
        }
    }
    /* The last ones had payloads, which completed: they were refused. */
    assert_int_equal(raw->open, 0);
    assert_int_equal(count, EPI_UCX_PARKED_MAX);
    assert_int_equal(plane->parked, EPI_UCX_PARKED_MAX);
    assert_int_equal(warnings, 1);
    assert_non_null(strstr(last_warning, "limit of offers"));
    while (count > 0) {
        raw->dp->ops->refuse(raw->dp, parked[--count]);
    }
    flush_by_offer(raw);
    free(parked);
}

/** UCX writes to standard output; what it has to say comes to our log. */
static void test_ucx_log_is_ours(void **state)
{
    raw_t *raw = *state;
    FILE *captured = tmpfile();
    int saved = dup(STDOUT_FILENO);
    epi_dataplane_t *dp = NULL;
    epdx_status_t status;
    long written;

    (void)raw;
    if (getenv("UCX_LOG_FILE") != NULL) {
        skip();
    }
    assert_non_null(captured);
    assert_true(saved >= 0);
    (void)fflush(stdout);
    assert_true(dup2(fileno(captured), STDOUT_FILENO) >= 0);
    /* No address of this host: UCX logs that it cannot bind. */
    status = epi_dataplane_ucx("192.0.2.1", &dp);
    (void)fflush(stdout);
    assert_true(dup2(saved, STDOUT_FILENO) >= 0);
    assert_int_equal(close(saved), 0);
    written = lseek(fileno(captured), 0, SEEK_END);
    assert_int_equal(fclose(captured), 0);
    assert_int_equal(status, EPDX_ERR_IO);
    assert_int_equal(written, 0);
    assert_true(warnings > 0);
    assert_non_null(strstr(last_warning, "ucx: "));
}

#define RAW_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RAW_TEST(test_payload_sent_unasked_is_refused),
        RAW_TEST(test_long_header_is_refused),
        RAW_TEST(test_message_of_no_link_is_refused),
        RAW_TEST(test_empty_rendezvous_is_a_header),
        RAW_TEST(test_strangers_do_not_reach_the_listener),
        RAW_TEST(test_gate_that_must_stay_open),
        RAW_TEST(test_gate_of_too_many_hosts),
        RAW_TEST(test_gate_ipv6),
        RAW_TEST(test_bytes_that_are_not_ucx),
        RAW_TEST(test_parked_offers_are_bounded),
        RAW_TEST(test_ucx_log_is_ours),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
