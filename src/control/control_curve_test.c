/*
 * control_curve_test.c: control sockets with CURVE keys. Two of them, a server
 * and a client, are run by the test in turns: a handshake needs both.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <zmq.h>

#include "base/clock.h"
#include "control/access.h"
#include "control/control.h"
#include "epdx/log.h"
#include "testing/secrets.h"
#include "testing/until.h"

#define LIMIT_NS (20 * EPI_S)

_Static_assert(EPI_CONTROL_KEY == EPI_CURVE_KEY, "one length of keys");

static secrets_t secrets;
static epi_curve_pair_t server_pair, client_pair;
static epi_control_t *server, *client;
static epi_control_event_t got, came; /* the last of server, of client */
static int warnings;
static char line[1024]; /* the last warning */

static void keep(void *context, epdx_log_level_t level, const char *text)
{
    (void)context;
    if (level == EPDX_LOG_WARN) {
        warnings++;
        (void)snprintf(line, sizeof(line), "%s", text);
    }
}

static int open_folder(void **state)
{
    (void)state;
    warnings = 0;
    epdx_log_set_sink(keep, NULL);
    secrets_open(&secrets);
    server_pair = secrets_pair(&secrets, "server");
    client_pair = secrets_pair(&secrets, "client");
    secrets_write(&secrets, "both", 0644, server_pair.public_key);
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    epi_control_close(client);
    epi_control_close(server);
    client = NULL;
    server = NULL;
    epdx_log_set_sink(NULL, NULL);
    secrets_close(&secrets);
    return 0;
}

static epdx_status_t try_open(const char *key_file, const char *allowed_file,
                              epi_control_t **control_p)
{
    secrets_path_t key = secrets_at(&secrets, key_file != NULL ? key_file : "");
    secrets_path_t list =
        secrets_at(&secrets, allowed_file != NULL ? allowed_file : "");
    epi_control_params_t params = {
        .host = "127.0.0.1",
        .peer_max = 4,
        .key_file = key_file != NULL ? key.text : NULL,
        .allowed_file = allowed_file != NULL ? list.text : "",
    };

    return epi_control_open(&params, control_p);
}

static void open_both(const char *server_file, const char *server_list,
                      const char *client_file)
{
    assert_int_equal(try_open(server_file, server_list, &server), EPDX_OK);
    assert_int_equal(try_open(client_file, NULL, &client), EPDX_OK);
}

static void allow(const char *first, const char *second)
{
    char text[128];

    (void)snprintf(text, sizeof(text), "%s\n%s\n", first, second);
    secrets_write(&secrets, "list", 0644, text);
}

static uint32_t connect_to(epi_control_t *from, const epi_control_t *to,
                           const char *key)
{
    uint32_t peer = 99;

    assert_int_equal(epi_control_connect_key(from, "127.0.0.1",
                                             epi_control_port(to), key, &peer),
                     EPDX_OK);
    return peer;
}

static epdx_status_t try_send(epi_control_t *from, uint32_t peer,
                              uint64_t number)
{
    epi_message_t message;

    epi_message_clear(&message);
    assert_true(epi_message_add_u64(&message, number));
    return epi_control_send(from, peer, &message);
}

static void send_number(epi_control_t *from, uint32_t peer, uint64_t number)
{
    assert_int_equal(try_send(from, peer, number), EPDX_OK);
}

/* Look at both; sleep until one of them has something where neither had. */
static void turn(bool *got_p, bool *came_p)
{
    struct pollfd fds[2] = {{.events = POLLIN}, {.events = POLLIN}};
    bool ready = false;

    *got_p = epi_control_next(server, &got);
    *came_p = epi_control_next(client, &came);
    if (*got_p || *came_p) {
        return;
    }
    fds[0].fd = epi_control_wait_fd(server, &ready);
    fds[1].fd = epi_control_wait_fd(client, &ready);
    if (!ready) {
        (void)poll(fds, 2, 100);
    }
}

#define UNTIL(condition)                                                       \
    do {                                                                       \
        bool has_got = false, has_come = false;                                \
        EPI_UNTIL(condition, LIMIT_NS, turn(&has_got, &has_come));             \
    } while (0)

#define UNTIL_GOT(what)  UNTIL(has_got &&got.kind == (what))
#define UNTIL_CAME(what) UNTIL(has_come &&came.kind == (what))

static void expect_number(const epi_control_event_t *event, uint64_t number)
{
    uint64_t value = 0;

    assert_true(epi_message_u64(&event->message, 0, UINT64_MAX, &value));
    assert_int_equal(value, number);
}

/* Of two ends with other mechanisms the one that reads first hangs up; the
 * client tries again with each send. */
static void send_until_refused(uint32_t peer)
{
    uint64_t limit = epi_now_ns() + LIMIT_NS;
    bool has_got, has_come;

    while (epi_control_refused(server) == 0) {
        assert_true(epi_now_ns() < limit);
        (void)!try_send(client, peer, 1);
        turn(&has_got, &has_come);
        assert_false(has_got);
    }
}

static void test_right_keys_there_and_back(void **state)
{
    uint32_t to_server;
    uint32_t to_client;

    (void)state;
    allow(client_pair.public_key, "# only");
    assert_int_equal(try_open("server", "list", &server), EPDX_OK);
    assert_int_equal(try_open("client", "both", &client), EPDX_OK);
    assert_string_equal(epi_control_key(server), server_pair.public_key);
    to_server = connect_to(client, server, server_pair.public_key);
    UNTIL_CAME(EPI_CONTROL_PEER_UP);
    assert_int_equal(came.peer, to_server);
    send_number(client, to_server, 1);
    UNTIL_GOT(EPI_CONTROL_MESSAGE);
    expect_number(&got, 1);
    /* The message tells whose it is: by that the way back is found. */
    assert_string_equal(got.key, client_pair.public_key);
    to_client = connect_to(server, client, got.key);
    send_number(server, to_client, 2);
    UNTIL_CAME(EPI_CONTROL_MESSAGE);
    expect_number(&came, 2);
    assert_string_equal(came.key, server_pair.public_key);
    assert_int_equal(epi_control_refused(server), 0);
    assert_int_equal(epi_control_refused(client), 0);
    assert_int_equal(epi_control_dropped(server), 0);
    assert_int_equal(warnings, 0);
}

static void test_without_keys_there_is_no_key(void **state)
{
    uint32_t peer;

    (void)state;
    open_both(NULL, NULL, NULL);
    assert_string_equal(epi_control_key(server), "");
    peer = connect_to(client, server, "");
    send_number(client, peer, 1);
    memset(&got, 'x', sizeof(got));
    UNTIL_GOT(EPI_CONTROL_MESSAGE);
    assert_string_equal(got.key, "");
}

static void test_any_key_is_taken_without_a_list(void **state)
{
    uint32_t peer;

    (void)state;
    open_both("server", NULL, "client");
    assert_int_equal(warnings, 2); /* both say so */
    assert_non_null(strstr(line, "EPDX_CURVE_ALLOWED_FILE"));
    peer = connect_to(client, server, server_pair.public_key);
    send_number(client, peer, 5);
    UNTIL_GOT(EPI_CONTROL_MESSAGE);
    expect_number(&got, 5);
    assert_string_equal(got.key, client_pair.public_key);
}

static void test_no_keys_against_a_server_with_keys(void **state)
{
    uint32_t peer = 99;

    (void)state;
    open_both("server", NULL, NULL);
    /* Whoever knows that the server has keys is told what is missing. */
    assert_int_equal(epi_control_connect_key(client, "127.0.0.1",
                                             epi_control_port(server),
                                             server_pair.public_key, &peer),
                     EPDX_ERR_INVALID);
    assert_non_null(strstr(epdx_last_error(), "EPDX_CURVE_KEY_FILE"));
    /* Whoever tries is refused. */
    peer = connect_to(client, server, "");
    send_number(client, peer, 1);
    UNTIL_CAME(EPI_CONTROL_PEER_REFUSED);
    assert_int_equal(came.peer, peer);
    send_until_refused(peer);
    assert_non_null(strstr(line, "1 control handshakes were refused"));
    assert_int_equal(epi_control_dropped(server), 0);
    UNTIL(!has_got && !has_come);
}

static void test_keys_against_a_server_without(void **state)
{
    uint32_t peer = 99;

    (void)state;
    open_both(NULL, NULL, "client");
    assert_int_equal(epi_control_connect(client, "127.0.0.1",
                                         epi_control_port(server), &peer),
                     EPDX_ERR_INVALID);
    assert_non_null(strstr(epdx_last_error(), "the peer has no CURVE key"));
    assert_int_equal(epi_control_connect_key(client, "127.0.0.1",
                                             epi_control_port(server),
                                             "not a key", &peer),
                     EPDX_ERR_INVALID);
    assert_int_equal(peer, 99);
    peer = connect_to(client, server, server_pair.public_key);
    UNTIL_CAME(EPI_CONTROL_PEER_REFUSED);
    send_until_refused(peer);
    assert_non_null(strstr(line, "EPDX_CURVE_KEY_FILE"));
}

static void test_a_key_that_is_not_allowed(void **state)
{
    uint32_t peer;

    (void)state;
    allow(server_pair.public_key, "# another's");
    open_both("server", "list", "client");
    warnings = 0;
    peer = connect_to(client, server, server_pair.public_key);
    UNTIL_CAME(EPI_CONTROL_PEER_REFUSED);
    assert_int_equal(came.peer, peer);
    UNTIL(epi_control_refused(server) == 1);
    assert_int_equal(warnings, 1);
    /* What must be put on the list stands in the log. */
    assert_non_null(strstr(line, client_pair.public_key));
    assert_non_null(strstr(line, "from 127.0.0.1"));
    /* Each send tries again, and one line a minute is enough. */
    (void)!try_send(client, peer, 1);
    UNTIL(epi_control_refused(server) == 2);
    assert_int_equal(warnings, 1);
    assert_int_equal(epi_control_dropped(server), 0);
}

static void test_another_servers_key(void **state)
{
    epi_curve_pair_t other;
    uint32_t peer;

    (void)state;
    assert_int_equal(epi_curve_keypair(&other), EPDX_OK);
    open_both("server", NULL, "client");
    peer = connect_to(client, server, other.public_key);
    send_number(client, peer, 1);
    UNTIL(epi_control_refused(server) >= 1);
    UNTIL(!has_got && !has_come);
}

/* The list is looked at once a second, so these take more than one. */
static void test_a_key_that_is_allowed_later(void **state)
{
    uint32_t peer;

    (void)state;
    allow(server_pair.public_key, "# another's");
    open_both("server", "list", "client");
    peer = connect_to(client, server, server_pair.public_key);
    UNTIL_CAME(EPI_CONTROL_PEER_REFUSED);
    allow(server_pair.public_key, client_pair.public_key);
    for (uint64_t limit = epi_now_ns() + LIMIT_NS;;) {
        bool has_got = false, has_come = false;

        assert_true(epi_now_ns() < limit);
        (void)!try_send(client, peer, 3); /* connects again; may be lost */
        turn(&has_got, &has_come);
        if (has_got && got.kind == EPI_CONTROL_MESSAGE) {
            break;
        }
    }
    expect_number(&got, 3);
    assert_string_equal(got.key, client_pair.public_key);
}

static void test_a_key_that_is_taken_off_the_list(void **state)
{
    uint32_t peer, under_way = 0;

    (void)state;
    allow(client_pair.public_key, "# for now");
    open_both("server", "list", "client");
    peer = connect_to(client, server, server_pair.public_key);
    send_number(client, peer, 1);
    UNTIL_GOT(EPI_CONTROL_MESSAGE);
    allow(server_pair.public_key, "# no more");
    while (epi_control_dropped(server) == 0) {
        bool has_got = false, has_come = false;

        if (under_way < 64) { /* the list is read anew only now and then */
            send_number(client, peer, 2);
            under_way++;
        }
        turn(&has_got, &has_come);
        under_way -= has_got;
    }
    /* It holds on to its connection, in vain. */
    for (uint64_t sent = 0; sent < 100; sent++) {
        send_number(client, peer, 3);
    }
    UNTIL(epi_control_dropped(server) >= 100);
    UNTIL(!has_got);
}

static void test_a_handshake_waits_for_a_busy_server(void **state)
{
    uint32_t peer;

    (void)state;
    allow(client_pair.public_key, "# only");
    open_both("server", "list", "client");
    peer = connect_to(client, server, server_pair.public_key);
    send_number(client, peer, 7);
    /* The server does nothing: no answer, so no connection. */
    for (uint64_t limit = epi_now_ns() + 200 * EPI_MS; epi_now_ns() < limit;) {
        assert_false(epi_control_next(client, &came));
        (void)poll(NULL, 0, 1);
    }
    UNTIL_GOT(EPI_CONTROL_MESSAGE);
    expect_number(&got, 7);
    assert_int_equal(epi_control_refused(server), 0);
}

/* The server's question to the list is under way when all ends. */
static void test_close_in_the_middle_of_a_handshake(void **state)
{
    (void)state;
    allow(client_pair.public_key, "# only");
    for (int i = 0; i < 20; i++) {
        open_both("server", "list", "client");
        (void)connect_to(client, server, server_pair.public_key);
        for (int step = 0; step < i; step++) {
            (void)epi_control_next(client, &came);
            (void)poll(NULL, 0, step % 2);
        }
        epi_control_close(server);
        epi_control_close(client);
        server = NULL;
        client = NULL;
    }
}

static void expect_refused(const char *key_file, const char *allowed_file,
                           const char *words)
{
    epi_control_t *control = NULL;

    assert_int_equal(try_open(key_file, allowed_file, &control),
                     EPDX_ERR_INVALID);
    assert_null(control);
    if (strstr(epdx_last_error(), words) == NULL) {
        fail_msg("\"%s\" has no \"%s\"", epdx_last_error(), words);
    }
}

static void test_err_invalid_files(void **state)
{
    (void)state;
    secrets_write(&secrets, "garbage", 0600, "garbage");
    secrets_write(&secrets, "public", 0644, "garbage");
    expect_refused(NULL, "both", "EPDX_CURVE_KEY_FILE is not");
    expect_refused("nothing", NULL, "No such file");
    expect_refused("garbage", NULL, "line 1 is neither");
    expect_refused("public", NULL, "has mode 644");
    expect_refused("server", "garbage", "line 1 is neither");
    expect_refused("server", "nothing", "No such file");
}

static void test_the_log_tells_how_open_it_is(void **state)
{
    epi_access_t open_to_all = {.curve = false};

    (void)state;
    open_both(NULL, NULL, NULL);
    assert_int_equal(warnings, 0); /* loopback: nobody else reaches it */
    epi_access_tell(&open_to_all, "10.1.2.3");
    assert_int_equal(warnings, 1);
    assert_non_null(strstr(line, "10.1.2.3 is open"));
    assert_non_null(strstr(line, "EPDX_CURVE_KEY_FILE"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_folder, close_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_right_keys_there_and_back),
        TEST(test_without_keys_there_is_no_key),
        TEST(test_any_key_is_taken_without_a_list),
        TEST(test_no_keys_against_a_server_with_keys),
        TEST(test_keys_against_a_server_without),
        TEST(test_a_key_that_is_not_allowed),
        TEST(test_another_servers_key),
        TEST(test_a_key_that_is_allowed_later),
        TEST(test_a_key_that_is_taken_off_the_list),
        TEST(test_a_handshake_waits_for_a_busy_server),
        TEST(test_close_in_the_middle_of_a_handshake),
        TEST(test_err_invalid_files),
        TEST(test_the_log_tells_how_open_it_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
