/*
 * control_test.c: control sockets against raw ZeroMQ sockets and raw TCP, over
 * the loopback interface.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <zmq.h>

#include "base/clock.h"
#include "control/control.h"

#define LIMIT_NS (20 * EPI_S)

static epi_control_t *open_at(const char *host, size_t peer_max,
                              uint64_t heartbeat_ns)
{
    epi_control_params_t params = {
        .host = host, .peer_max = peer_max, .heartbeat_ns = heartbeat_ns};
    epi_control_t *control = NULL;

    assert_int_equal(epi_control_open(&params, &control), EPDX_OK);
    assert_non_null(control);
    assert_int_not_equal(epi_control_port(control), 0);
    return control;
}

/** The next event, slept for as the I/O loop does. */
static bool wait_event(epi_control_t *control, uint64_t deadline,
                       epi_control_event_t *event_p)
{
    for (;;) {
        struct pollfd fd = {.events = POLLIN};
        bool ready = false;

        if (epi_control_next(control, event_p)) {
            return true;
        }
        fd.fd = epi_control_wait_fd(control, &ready);
        if (!ready) {
            int ms = epi_poll_ms(epi_now_ns(), deadline, 60000);

            if (poll(&fd, 1, ms) == 0) {
                return false;
            }
        }
    }
}

static void expect_event(epi_control_t *control, epi_control_event_kind_t kind,
                         epi_control_event_t *event_p)
{
    assert_true(wait_event(control, epi_now_ns() + LIMIT_NS, event_p));
    assert_int_equal(event_p->kind, kind);
}

static void expect_turn(epi_control_t *control, epi_control_event_kind_t kind,
                        uint32_t peer)
{
    epi_control_event_t event;

    expect_event(control, kind, &event);
    assert_int_equal(event.peer, peer);
}

static void expect_number(epi_control_t *control, uint64_t number)
{
    epi_control_event_t event;
    uint64_t value = 0;

    do {
        assert_true(wait_event(control, epi_now_ns() + LIMIT_NS, &event));
    } while (event.kind != EPI_CONTROL_MESSAGE);
    assert_int_equal(event.message.count, 1);
    assert_true(epi_message_u64(&event.message, 0, UINT64_MAX, &value));
    assert_int_equal(value, number);
}

static epdx_status_t send_number(epi_control_t *control, uint32_t peer,
                                 uint64_t number)
{
    epi_message_t message;

    epi_message_clear(&message);
    assert_true(epi_message_add_u64(&message, number));
    return epi_control_send(control, peer, &message);
}

/** A raw socket at endpoint; *port_p is the port, in and out. */
static void *raw_bind(void *context, int type, uint16_t *port_p)
{
    char endpoint[128];
    size_t size = sizeof(endpoint);
    void *socket = zmq_socket(context, type);
    int limit_ms = (int)(LIMIT_NS / EPI_MS);
    int none = 0;
    int rc = -1;

    assert_non_null(socket);
    assert_int_equal(zmq_setsockopt(socket, ZMQ_LINGER, &none, sizeof(none)),
                     0);
    assert_int_equal(
        zmq_setsockopt(socket, ZMQ_RCVTIMEO, &limit_ms, sizeof(limit_ms)), 0);
    (void)snprintf(endpoint, sizeof(endpoint), "tcp://127.0.0.1:%u",
                   (unsigned)*port_p);
    /* The kernel may still hold the port for a moment after its close. */
    for (uint64_t limit = epi_now_ns() + LIMIT_NS;
         rc != 0 && epi_now_ns() < limit;) {
        rc = zmq_bind(socket, endpoint);
    }
    assert_int_equal(rc, 0);
    assert_int_equal(zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, endpoint, &size),
                     0);
    *port_p = (uint16_t)atoi(strrchr(endpoint, ':') + 1);
    return socket;
}

/** A raw PUSH socket connected to control. */
static void *raw_push(void *context, const epi_control_t *control)
{
    char endpoint[64];
    void *push = zmq_socket(context, ZMQ_PUSH);
    int linger = 1000;

    assert_non_null(push);
    assert_int_equal(zmq_setsockopt(push, ZMQ_LINGER, &linger, sizeof(linger)),
                     0);
    (void)snprintf(endpoint, sizeof(endpoint), "tcp://127.0.0.1:%u",
                   (unsigned)epi_control_port(control));
    assert_int_equal(zmq_connect(push, endpoint), 0);
    return push;
}

static int tcp_bind(uint16_t *port_p)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons(*port_p),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(at);
    int yes = 1;
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    assert_true(fd >= 0);
    assert_int_equal(
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)), 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &size), 0);
    *port_p = ntohs(at.sin_port);
    return fd;
}

/** A port that nobody listens on. While the socket given is open, listeners
 * that ask for this very port get it, and nobody is given it by chance: a port
 * merely let go may soon be that of another test. */
static int hold_port(uint16_t *port_p)
{
    *port_p = 0;
    return tcp_bind(port_p);
}

static void test_frames_arrive_byte_for_byte(void **state)
{
    epi_control_t *a = open_at("127.0.0.1", 4, 0);
    epi_control_t *b = open_at("127.0.0.1", 4, 0);
    epi_control_event_t event;
    epi_message_t message;
    uint8_t all[256];
    uint32_t peer = 99;

    (void)state;
    for (size_t i = 0; i < sizeof(all); i++) {
        all[i] = (uint8_t)i;
    }
    epi_message_clear(&message);
    assert_true(epi_message_add_text(&message, "None"));
    assert_true(epi_message_add(&message, "", 0));
    assert_true(epi_message_add(&message, all, sizeof(all)));
    assert_true(epi_message_add_pointer(&message, 0));
    assert_int_equal(
        epi_control_connect(a, "127.0.0.1", epi_control_port(b), &peer),
        EPDX_OK);
    assert_int_equal(epi_control_send(a, peer, &message), EPDX_OK);
    expect_event(b, EPI_CONTROL_MESSAGE, &event);
    assert_int_equal(event.message.count, 4);
    assert_int_equal(event.message.used, message.used);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(event.message.length[i], message.length[i]);
        assert_memory_equal(event.message.bytes + event.message.start[i],
                            message.bytes + message.start[i],
                            message.length[i]);
    }
    epi_control_close(a);
    epi_control_close(b);
}

static void test_messages_of_a_peer_keep_their_order(void **state)
{
    epi_control_t *a = open_at("127.0.0.1", 1, 0);
    epi_control_t *b = open_at("127.0.0.1", 1, 0);
    uint32_t peer = 0;

    (void)state;
    assert_int_equal(
        epi_control_connect(a, "127.0.0.1", epi_control_port(b), &peer),
        EPDX_OK);
    for (uint64_t i = 0; i < 500; i++) {
        assert_int_equal(send_number(a, peer, i), EPDX_OK);
    }
    for (uint64_t i = 0; i < 500; i++) {
        expect_number(b, i);
    }
    assert_int_equal(epi_control_dropped(b), 0);
    epi_control_close(a);
    epi_control_close(b);
}

static void test_messages_that_do_not_fit_are_dropped_whole(void **state)
{
    epi_control_t *control = open_at("127.0.0.1", 1, 0);
    void *context = zmq_ctx_new();
    void *push = raw_push(context, control);
    static const uint8_t large[2 * EPI_MESSAGE_MAX];

    (void)state;
    assert_int_equal(zmq_send(push, "1", 1, 0), 1);
    /* one frame too long, */
    assert_int_equal(zmq_send(push, large, EPI_MESSAGE_MAX + 1, 0),
                     EPI_MESSAGE_MAX + 1);
    /* frames that are too long together, */
    assert_int_equal(zmq_send(push, large, EPI_MESSAGE_MAX, ZMQ_SNDMORE),
                     EPI_MESSAGE_MAX);
    assert_int_equal(zmq_send(push, "9", 1, ZMQ_SNDMORE), 1);
    assert_int_equal(zmq_send(push, "9", 1, 0), 1);
    /* too many frames */
    for (int i = 0; i <= EPI_FRAME_MAX; i++) {
        int more = i < EPI_FRAME_MAX ? ZMQ_SNDMORE : 0;

        assert_int_equal(zmq_send(push, "7", 1, more), 1);
    }
    assert_int_equal(zmq_send(push, "2", 1, 0), 1);
    expect_number(control, 1);
    expect_number(control, 2);
    assert_int_equal(epi_control_dropped(control), 3);
    assert_int_equal(zmq_close(push), 0);
    assert_int_equal(zmq_ctx_term(context), 0);
    epi_control_close(control);
}

static void test_an_endless_frame_ends_its_connection_only(void **state)
{
    epi_control_t *control = open_at("127.0.0.1", 1, 0);
    void *context = zmq_ctx_new();
    void *bad = raw_push(context, control);
    void *good = raw_push(context, control);
    static const uint8_t large[64 * EPI_MESSAGE_MAX];

    (void)state;
    assert_int_equal(zmq_send(bad, large, sizeof(large), 0), sizeof(large));
    assert_int_equal(zmq_send(good, "5", 1, 0), 1);
    expect_number(control, 5);
    assert_int_equal(zmq_close(bad), 0);
    assert_int_equal(zmq_close(good), 0);
    assert_int_equal(zmq_ctx_term(context), 0);
    epi_control_close(control);
}

static void test_a_peer_that_comes_later_gets_what_was_sent(void **state)
{
    epi_control_t *control = open_at("127.0.0.1", 1, 0);
    void *context = zmq_ctx_new();
    uint16_t port;
    int held = hold_port(&port);
    char text[16];
    uint32_t peer = 0;
    void *pull;

    (void)state;
    assert_int_equal(epi_control_connect(control, "127.0.0.1", port, &peer),
                     EPDX_OK);
    assert_int_equal(send_number(control, peer, 41), EPDX_OK);
    assert_int_equal(send_number(control, peer, 42), EPDX_OK);
    pull = raw_bind(context, ZMQ_PULL, &port);
    assert_int_equal(zmq_recv(pull, text, sizeof(text), 0), 2);
    assert_memory_equal(text, "41", 2);
    assert_int_equal(zmq_recv(pull, text, sizeof(text), 0), 2);
    assert_memory_equal(text, "42", 2);
    expect_turn(control, EPI_CONTROL_PEER_UP, peer);
    assert_int_equal(zmq_close(pull), 0);
    assert_int_equal(zmq_ctx_term(context), 0);
    epi_control_close(control);
    (void)close(held);
}

static void test_full_when_the_queue_of_a_peer_is_full(void **state)
{
    epi_control_t *control = open_at("127.0.0.1", 1, 0);
    void *context = zmq_ctx_new();
    uint16_t port;
    int held = hold_port(&port);
    epdx_status_t status = EPDX_OK;
    uint32_t peer = 0;
    int sent = 0;

    (void)state;
    assert_int_equal(epi_control_connect(control, "127.0.0.1", port, &peer),
                     EPDX_OK);
    while (sent < 10000 && status == EPDX_OK) {
        status = send_number(control, peer, (uint64_t)sent);
        sent += status == EPDX_OK;
    }
    assert_int_equal(status, EPDX_ERR_FULL);
    assert_int_equal(sent, 4096);
    assert_non_null(strstr(epdx_last_error(), "is full"));
    assert_int_equal(zmq_ctx_term(context), 0);
    epi_control_close(control);
    (void)close(held);
}

static void test_a_peer_that_closes_and_comes_back(void **state)
{
    epi_control_t *control = open_at("127.0.0.1", 2, 0);
    void *context = zmq_ctx_new();
    uint16_t port;
    int held = hold_port(&port);
    void *pull = raw_bind(context, ZMQ_PULL, &port);
    char text[16];
    uint32_t peer = 99;

    (void)state;
    assert_int_equal(epi_control_connect(control, "127.0.0.1", port, &peer),
                     EPDX_OK);
    expect_turn(control, EPI_CONTROL_PEER_UP, peer);
    assert_int_equal(zmq_close(pull), 0);
    expect_turn(control, EPI_CONTROL_PEER_DOWN, peer);
    pull = raw_bind(context, ZMQ_PULL, &port);
    expect_turn(control, EPI_CONTROL_PEER_UP, peer);
    assert_int_equal(send_number(control, peer, 7), EPDX_OK);
    assert_int_equal(zmq_recv(pull, text, sizeof(text), 0), 1);
    assert_memory_equal(text, "7", 1);
    assert_int_equal(zmq_close(pull), 0);
    assert_int_equal(zmq_ctx_term(context), 0);
    epi_control_close(control);
    (void)close(held);
}

/** A child that listens, tells its port, and then does nothing. */
static pid_t start_silent_child(uint16_t *port_p)
{
    int ends[2];
    pid_t child;

    assert_int_equal(pipe(ends), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        void *context = zmq_ctx_new();
        uint16_t port = 0;

        (void)raw_bind(context, ZMQ_PULL, &port);
        if (write(ends[1], &port, sizeof(port)) == sizeof(port)) {
            (void)alarm(120); /* lest it outlive a test that died */
            (void)pause();
        }
        _exit(0);
    }
    (void)close(ends[1]);
    assert_int_equal(read(ends[0], port_p, sizeof(*port_p)), sizeof(*port_p));
    (void)close(ends[0]);
    return child;
}

static void test_a_silent_peer_is_down(void **state)
{
    uint16_t port = 0;
    pid_t child = start_silent_child(&port);
    epi_control_t *control = open_at("127.0.0.1", 1, 600 * EPI_MS);
    uint32_t peer = 99;

    (void)state;
    assert_int_equal(epi_control_connect(control, "127.0.0.1", port, &peer),
                     EPDX_OK);
    expect_turn(control, EPI_CONTROL_PEER_UP, peer);
    assert_int_equal(kill(child, SIGSTOP), 0);
    expect_turn(control, EPI_CONTROL_PEER_DOWN, peer);
    assert_int_equal(kill(child, SIGCONT), 0);
    expect_turn(control, EPI_CONTROL_PEER_UP, peer);
    assert_int_equal(kill(child, SIGKILL), 0);
    expect_turn(control, EPI_CONTROL_PEER_DOWN, peer);
    assert_int_equal(waitpid(child, NULL, 0), child);
    epi_control_close(control);
}

static int tcp_listen(uint16_t *port_p)
{
    int fd = tcp_bind(port_p);

    assert_int_equal(listen(fd, 4), 0);
    return fd;
}

/* libzmq gives a connection up for good when the other end asks for another
 * security mechanism; the right peer on that port is found by a later send. */
static void test_a_stranger_on_the_port_is_got_over(void **state)
{
    static const char words[64] = "\xff\0\0\0\0\0\0\0\0\x7f\3\0STRANGE";
    epi_control_t *control = open_at("127.0.0.1", 1, 0);
    void *context = zmq_ctx_new();
    uint16_t port;
    int held = hold_port(&port);
    int listener = tcp_listen(&port);
    char text[64];
    uint32_t peer = 0;
    int stranger;
    ssize_t got;
    void *pull;

    (void)state;
    assert_int_equal(epi_control_connect(control, "127.0.0.1", port, &peer),
                     EPDX_OK);
    stranger = accept(listener, NULL, NULL);
    assert_true(stranger >= 0);
    assert_int_equal(write(stranger, words, sizeof(words)), sizeof(words));
    do {
        got = read(stranger, text, sizeof(text));
    } while (got > 0); /* until libzmq has closed its end */
    (void)close(stranger);
    (void)close(listener);
    pull = raw_bind(context, ZMQ_PULL, &port);
    for (int tries = 0;; tries++) {
        epi_control_event_t event;
        int limit = 50;

        assert_true(tries < 200);
        assert_false(epi_control_next(control, &event) &&
                     event.kind == EPI_CONTROL_PEER_DOWN);
        (void)!send_number(control, peer, 3);
        assert_int_equal(
            zmq_setsockopt(pull, ZMQ_RCVTIMEO, &limit, sizeof(limit)), 0);
        if (zmq_recv(pull, text, sizeof(text), 0) == 1) {
            break;
        }
    }
    assert_memory_equal(text, "3", 1);
    assert_int_equal(zmq_close(pull), 0);
    assert_int_equal(zmq_ctx_term(context), 0);
    epi_control_close(control);
    (void)close(held);
}

static void test_disconnect_forgets_the_peer(void **state)
{
    epi_control_t *control = open_at("127.0.0.1", 1, 0);
    void *context = zmq_ctx_new();
    uint16_t port = 0;
    void *pull = raw_bind(context, ZMQ_PULL, &port);
    epi_control_event_t event;
    uint32_t peer = 99;
    uint32_t again = 98;

    (void)state;
    assert_int_equal(epi_control_connect(control, "127.0.0.1", port, &peer),
                     EPDX_OK);
    assert_int_equal(epi_control_connect(control, "127.0.0.1", port, &again),
                     EPDX_ERR_FULL);
    assert_int_equal(again, 98);
    expect_turn(control, EPI_CONTROL_PEER_UP, peer);
    assert_int_equal(zmq_close(pull), 0);
    /* Its going down is on the way, and must not come any more. */
    epi_control_disconnect(control, peer);
    epi_control_disconnect(control, peer);
    epi_control_disconnect(control, 12345);
    assert_int_equal(send_number(control, peer, 1), EPDX_ERR_INVALID);
    pull = raw_bind(context, ZMQ_PULL, &port);
    assert_int_equal(epi_control_connect(control, "127.0.0.1", port, &again),
                     EPDX_OK);
    assert_int_equal(again, peer); /* the number is used again */
    expect_event(control, EPI_CONTROL_PEER_UP, &event);
    assert_int_equal(zmq_close(pull), 0);
    assert_int_equal(zmq_ctx_term(context), 0);
    epi_control_close(control);
}

static void test_ipv6(void **state)
{
    epi_control_params_t params = {.host = "::1", .peer_max = 1};
    epi_control_t *control = NULL;
    uint32_t peer = 0;

    (void)state;
    if (epi_control_open(&params, &control) != EPDX_OK) {
        print_message("no IPv6 loopback here: %s\n", epdx_last_error());
        skip();
    }
    assert_int_equal(
        epi_control_connect(control, "::1", epi_control_port(control), &peer),
        EPDX_OK);
    assert_int_equal(send_number(control, peer, 6), EPDX_OK);
    expect_number(control, 6);
    epi_control_close(control);
}

static void test_invalid_hosts_are_named(void **state)
{
    static const char *const hosts[] = {"0.0.0.0",   "::", "*",          "",
                                        "localhost", "lo", "127.0.0.1:7"};
    epi_control_params_t params = {.peer_max = 1};
    epi_control_t *control = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
        params.host = hosts[i];
        assert_int_equal(epi_control_open(&params, &control), EPDX_ERR_INVALID);
        assert_non_null(strstr(epdx_last_error(), hosts[i]));
    }
    params.host = "127.0.0.1";
    params.peer_max = 0;
    assert_int_equal(epi_control_open(&params, &control), EPDX_ERR_INVALID);
    assert_null(control);
}

static void test_an_address_of_another_machine_gives_words(void **state)
{
    /* 192.0.2.0/24 is for documentation: no interface has it. */
    epi_control_params_t params = {.host = "192.0.2.1", .peer_max = 1};
    epi_control_t *control = NULL;

    (void)state;
    assert_int_equal(epi_control_open(&params, &control), EPDX_ERR_IO);
    assert_non_null(strstr(epdx_last_error(), "192.0.2.1"));
    assert_null(control);
}

static void test_invalid_peers_are_refused(void **state)
{
    static const char *const hosts[] = {"",    "*",      "127.0.0.1;127.0.0.1",
                                        "a b", "eth0%1", "0.0.0.0"};
    epi_control_t *control = open_at("127.0.0.1", 1, 0);
    uint32_t peer = 77;

    (void)state;
    for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
        assert_int_equal(epi_control_connect(control, hosts[i], 5, &peer),
                         EPDX_ERR_INVALID);
    }
    assert_int_equal(epi_control_connect(control, "127.0.0.1", 0, &peer),
                     EPDX_ERR_INVALID);
    assert_int_equal(peer, 77);
    epi_control_close(control);
}

static void test_wait_fds_wake_a_sleeper(void **state)
{
    epi_control_t *control = open_at("127.0.0.1", 1, 0);
    void *context = zmq_ctx_new();
    void *push = raw_push(context, control);
    struct pollfd fd = {.events = POLLIN};
    epi_control_event_t event;
    bool ready = false;

    (void)state;
    for (uint64_t i = 0; i < 200; i++) {
        assert_int_equal(zmq_send(push, "8", 1, ZMQ_SNDMORE), 1);
        assert_int_equal(zmq_send(push, "9", 1, 0), 1);
        expect_event(control, EPI_CONTROL_MESSAGE, &event);
        assert_int_equal(event.message.count, 2);
    }
    /* Two messages: what is left after the first must not be slept over. */
    assert_int_equal(zmq_send(push, "1", 1, 0), 1);
    assert_int_equal(zmq_send(push, "2", 1, 0), 1);
    expect_number(control, 1);
    for (uint64_t limit = epi_now_ns() + LIMIT_NS;
         !ready && epi_now_ns() < limit;) {
        fd.fd = epi_control_wait_fd(control, &ready);
        if (!ready) {
            assert_true(poll(&fd, 1, 20000) > 0);
        }
    }
    assert_true(ready);
    expect_number(control, 2);
    assert_int_equal(zmq_close(push), 0);
    assert_int_equal(zmq_ctx_term(context), 0);
    epi_control_close(control);
}

/* Atomic: a thread of libzmq that is just starting may take one. */
static atomic_uint alarms;

static void on_alarm(int signal)
{
    (void)signal;
    (void)atomic_fetch_add_explicit(&alarms, 1, memory_order_relaxed);
}

/* As a profiler has them. Nothing is lost, cut or slept over, though nobody
 * asks what to wait for, as where the caller runs the loop. */
static void test_signals_break_nothing_off(void **state)
{
    enum { MESSAGES = 4000, FRAMES = 16, UNDER_WAY = 200 };
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
    epi_control_t *from = open_at("127.0.0.1", 1, 0);
    epi_control_t *to = open_at("127.0.0.1", 1, 0);
    uint64_t limit = epi_now_ns() + LIMIT_NS;
    epi_control_event_t event;
    epi_message_t message;
    uint32_t peer = 0;
    int sent = 0, got = 0;

    (void)state;
    epi_message_clear(&message);
    for (int i = 0; i < FRAMES; i++) {
        assert_true(epi_message_add_text(&message, "a frame"));
    }
    assert_int_equal(
        epi_control_connect(from, "127.0.0.1", epi_control_port(to), &peer),
        EPDX_OK);
    assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
    while (got < MESSAGES && epi_now_ns() < limit) {
        if (sent < MESSAGES && sent - got < UNDER_WAY) {
            assert_int_equal(epi_control_send(from, peer, &message), EPDX_OK);
            sent++;
        }
        (void)epi_control_next(from, &event);
        while (epi_control_next(to, &event)) {
            if (event.kind == EPI_CONTROL_MESSAGE) {
                assert_int_equal(event.message.count, FRAMES);
                got++;
            }
        }
    }
    assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
    assert_int_equal(got, MESSAGES);
    assert_true(atomic_load(&alarms) > 0);
    epi_control_close(from);
    epi_control_close(to);
}

static void test_many_peers(void **state)
{
    enum { PEERS = 40 };
    epi_control_t *hub = open_at("127.0.0.1", PEERS, 0);
    epi_control_t *other = open_at("127.0.0.1", 1, 0);
    bool up[PEERS] = {false};
    uint32_t peer = 0;

    (void)state;
    for (uint64_t i = 0; i < PEERS; i++) {
        assert_int_equal(epi_control_connect(hub, "127.0.0.1",
                                             epi_control_port(other), &peer),
                         EPDX_OK);
        assert_int_equal(peer, i);
    }
    for (size_t i = 0; i < PEERS; i++) {
        epi_control_event_t event;

        expect_event(hub, EPI_CONTROL_PEER_UP, &event);
        assert_true(event.peer < PEERS);
        assert_false(up[event.peer]);
        up[event.peer] = true;
    }
    epi_control_close(other);
    for (size_t i = 0; i < PEERS; i++) {
        epi_control_event_t event;

        expect_event(hub, EPI_CONTROL_PEER_DOWN, &event);
        assert_true(up[event.peer]);
        up[event.peer] = false;
    }
    epi_control_close(hub);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_silent_peer_is_down),
        cmocka_unit_test(test_frames_arrive_byte_for_byte),
        cmocka_unit_test(test_messages_of_a_peer_keep_their_order),
        cmocka_unit_test(test_messages_that_do_not_fit_are_dropped_whole),
        cmocka_unit_test(test_an_endless_frame_ends_its_connection_only),
        cmocka_unit_test(test_a_peer_that_comes_later_gets_what_was_sent),
        cmocka_unit_test(test_full_when_the_queue_of_a_peer_is_full),
        cmocka_unit_test(test_a_peer_that_closes_and_comes_back),
        cmocka_unit_test(test_a_stranger_on_the_port_is_got_over),
        cmocka_unit_test(test_disconnect_forgets_the_peer),
        cmocka_unit_test(test_ipv6),
        cmocka_unit_test(test_invalid_hosts_are_named),
        cmocka_unit_test(test_an_address_of_another_machine_gives_words),
        cmocka_unit_test(test_invalid_peers_are_refused),
        cmocka_unit_test(test_wait_fds_wake_a_sleeper),
        cmocka_unit_test(test_signals_break_nothing_off),
        cmocka_unit_test(test_many_peers),
    };

    epi_control_close(NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
