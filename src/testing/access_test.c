/*
 * access_test.c: a real sender, a real receiver and a real bootstrap server in
 * one process, over UCX, with and without the right keys, tokens and
 * certificates. Each takes its settings from the environment as it is opened,
 * so every one of them can have its own. The test runs both loops.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "epdx/bootstrap.h"
#include "epdx/log.h"
#include "epdx/receiver.h"
#include "epdx/sender.h"
#include "testing/secrets.h"
#include "testing/until.h"

#define HIDDEN   64
#define ROWS     100
#define LIMIT_NS (60 * EPI_S)

static secrets_t secrets;
static epdx_bootstrap_t *bootstrap;
static epdx_sender_t *sender;
static epdx_receiver_t *receiver;
static char address[300]; /* of bootstrap */
static char log_text[65536];
static size_t log_used;

/* The bootstrap server's thread logs, too, so each line has its place. */
static void keep(void *context, epdx_log_level_t level, const char *text)
{
    size_t length = strlen(text);
    size_t at;

    (void)context;
    if (level > EPDX_LOG_WARN) {
        return;
    }
    at = __atomic_fetch_add(&log_used, length + 1, __ATOMIC_RELAXED);
    if (at + length + 1 < sizeof(log_text)) {
        memcpy(log_text + at, text, length);
        __atomic_store_n(&log_text[at + length], '\n', __ATOMIC_RELEASE);
    }
}

static bool logged(const char *words)
{
    static char copy[sizeof(log_text)];

    for (size_t i = 0; i < sizeof(copy); i++) {
        copy[i] = __atomic_load_n(&log_text[i], __ATOMIC_ACQUIRE);
    }
    copy[sizeof(copy) - 1] = '\0';
    return strstr(copy, words) != NULL;
}

static const char *const settings[] = {
    "EPDX_CURVE_KEY_FILE",   "EPDX_CURVE_ALLOWED_FILE", "EPDX_CA_FILE",
    "EPDX_TLS_CERT_FILE",    "EPDX_TLS_KEY_FILE",       "EPDX_BOOTSTRAP_TOKEN",
    "EPDX_LOOKUP_TIMEOUT_S",
};

static void unset_all(void)
{
    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
        (void)unsetenv(settings[i]);
    }
}

static void set(const char *setting, const char *value)
{
    assert_int_equal(setenv(setting, value, 1), 0);
}

static void set_file(const char *setting, const char *name)
{
    set(setting, secrets_at(&secrets, name).text);
}

static int open_world(void **state)
{
    (void)state;
    unset_all();
    memset(log_text, 0, sizeof(log_text));
    log_used = 0;
    epdx_log_set_sink(keep, NULL);
    secrets_open(&secrets);
    return 0;
}

static int close_world(void **state)
{
    (void)state;
    epdx_receiver_close(receiver);
    epdx_sender_close(sender);
    epdx_bootstrap_close(bootstrap);
    receiver = NULL;
    sender = NULL;
    bootstrap = NULL;
    epdx_log_set_sink(NULL, NULL);
    secrets_close(&secrets);
    unset_all();
    return 0;
}

static void open_bootstrap(void)
{
    epdx_bootstrap_params_t params = {.struct_size = sizeof(params),
                                      .listen = "127.0.0.1:0"};

    assert_int_equal(epdx_bootstrap_open(&params, &bootstrap), EPDX_OK);
    (void)snprintf(address, sizeof(address), "%s",
                   epdx_bootstrap_address(bootstrap));
}

static epdx_status_t try_sender(void)
{
    epdx_sender_params_t params = {
        .struct_size = sizeof(params),
        .dtype = EPDX_BFLOAT16,
        .hidden = HIDDEN,
        .progress = EPDX_PROGRESS_CALLER,
        .host = "127.0.0.1",
        .bootstrap = address,
        .ring_bytes = 1 << 20,
        .waiting_timeout_ns = 60 * EPI_S,
    };

    return epdx_sender_open(&params, &sender);
}

static void open_sender(void)
{
    assert_int_equal(try_sender(), EPDX_OK);
}

static void open_receiver(uint64_t bootstrap_timeout_ns)
{
    epdx_receiver_params_t params = {
        .struct_size = sizeof(params),
        .dtype = EPDX_BFLOAT16,
        .hidden = HIDDEN,
        .progress = EPDX_PROGRESS_CALLER,
        .host = "127.0.0.1",
        .pool_bytes = 1 << 20,
        .waiting_timeout_ns = 60 * EPI_S,
        .bootstrap_timeout_ns = bootstrap_timeout_ns,
    };

    assert_int_equal(epdx_receiver_open(&params, &receiver), EPDX_OK);
}

static void step(epdx_outcome_t *outcome)
{
    if (epdx_sender_poll(sender, outcome, 1) == 0) {
        (void)poll(NULL, 0, 1); /* the sockets' threads need a core */
    }
    if (receiver != NULL) {
        epdx_receiver_poll(receiver);
    }
}

#define UNTIL(condition)                                                       \
    do {                                                                       \
        epdx_outcome_t until_outcome;                                          \
        EPI_UNTIL(condition, LIMIT_NS, step(&until_outcome));                  \
    } while (0)

static epdx_job_t *stage(uint64_t room)
{
    epdx_item_t item = {.room = room, .span = ROWS, .encode = address};
    epdx_request_t request = {.id = "r", .items = &item, .item_count = 1};
    epdx_job_t *job = NULL;

    assert_int_equal(epdx_receiver_stage(receiver, &request, &job), EPDX_OK);
    return job;
}

static uint16_t value_of(uint64_t room, size_t index)
{
    return (uint16_t)(room * 7919 + index * 31 + 1);
}

static void send_room(uint64_t room)
{
    epdx_chunk_t chunk;
    uint16_t *rows;

    assert_int_equal(epdx_sender_lease(sender, ROWS, &chunk), EPDX_OK);
    rows = chunk.main;
    for (size_t i = 0; i < (size_t)ROWS * HIDDEN; i++) {
        rows[i] = value_of(room, i);
    }
    assert_int_equal(epdx_sender_send(sender, room, &chunk), EPDX_OK);
}

/* Rows go over. */
static void expect_transfer(uint64_t room)
{
    epdx_job_t *job = stage(room);
    const epdx_landed_t *items;
    const uint16_t *rows;
    const char *reason;
    size_t count;

    send_room(room);
    UNTIL(epdx_job_state(job) != EPDX_PENDING);
    (void)epdx_job_failure(job, &reason);
    assert_string_equal(reason, "");
    items = epdx_job_items(job, &count);
    rows = items[0].main;
    for (size_t i = 0; i < (size_t)ROWS * HIDDEN; i++) {
        assert_int_equal(rows[i], value_of(room, i));
    }
    epdx_job_release(job);
}

/* A status goes back: the encode rank has no rows, and says why. */
static void expect_status_back(uint64_t room)
{
    epdx_job_t *job = stage(room);
    const char *reason;

    assert_int_equal(epdx_sender_fail(sender, room, "the image is broken"),
                     EPDX_OK);
    UNTIL(epdx_job_state(job) != EPDX_PENDING);
    assert_int_equal(epdx_job_failure(job, &reason), EPDX_ERR_PEER);
    assert_non_null(strstr(reason, "the image is broken"));
    epdx_job_release(job);
}

/* The encode rank is not reached by the deadline; words say why. */
static void expect_unreachable(uint64_t room, const char *words)
{
    epdx_job_t *job = stage(room);
    const char *reason;

    UNTIL(epdx_job_state(job) != EPDX_PENDING);
    assert_int_equal(epdx_job_failure(job, &reason), EPDX_ERR_UNREACHABLE);
    if (strstr(reason, words) == NULL) {
        fail_msg("\"%s\" has no \"%s\"", reason, words);
    }
    epdx_job_release(job);
}

static epdx_sender_stats_t sent(void)
{
    epdx_sender_stats_t stats;

    epdx_sender_stats(sender, &stats);
    return stats;
}

static epdx_receiver_stats_t received(void)
{
    epdx_receiver_stats_t stats;

    epdx_receiver_stats(receiver, &stats);
    return stats;
}

static uint64_t writes_refused(void)
{
    epdx_bootstrap_stats_t stats;

    epdx_bootstrap_stats(bootstrap, &stats);
    return stats.writes_refused;
}

/* A key pair of each, and of each a list that has the other's. */
static void make_keys(void)
{
    epi_curve_pair_t encode = secrets_pair(&secrets, "encode");
    epi_curve_pair_t prefill = secrets_pair(&secrets, "prefill");
    epi_curve_pair_t stranger = secrets_pair(&secrets, "stranger");

    secrets_write(&secrets, "of-encode", 0644, prefill.public_key);
    secrets_write(&secrets, "of-prefill", 0644, encode.public_key);
    secrets_write(&secrets, "of-stranger", 0644, encode.public_key);
    (void)stranger;
}

static void open_sender_with_keys(void)
{
    set_file("EPDX_CURVE_KEY_FILE", "encode");
    set_file("EPDX_CURVE_ALLOWED_FILE", "of-encode");
    open_sender();
    UNTIL(epdx_sender_registered(sender));
}

static void test_rows_and_statuses_under_curve(void **state)
{
    (void)state;
    make_keys();
    open_bootstrap();
    open_sender_with_keys();
    set_file("EPDX_CURVE_KEY_FILE", "prefill");
    set_file("EPDX_CURVE_ALLOWED_FILE", "of-prefill");
    open_receiver(0);
    expect_transfer(1);
    expect_status_back(2);
    expect_transfer(3);
    assert_int_equal(received().handshakes_refused, 0);
    assert_int_equal(received().frames_dropped, 0);
    assert_int_equal(sent().handshakes_refused, 0);
    assert_int_equal(sent().frames_dropped, 0);
    assert_int_equal(sent().peers, 1);
    assert_false(logged("refused"));
}

static void test_a_prefill_rank_that_is_not_allowed(void **state)
{
    (void)state;
    make_keys();
    open_bootstrap();
    open_sender_with_keys();
    set_file("EPDX_CURVE_KEY_FILE", "stranger");
    set_file("EPDX_CURVE_ALLOWED_FILE", "of-stranger");
    open_receiver(EPI_S);
    expect_unreachable(1, "refused the connection");
    assert_true(sent().handshakes_refused > 0);
    assert_int_equal(sent().asks, 0);
    assert_int_equal(sent().peers, 0);
    assert_true(logged("EPDX_CURVE_ALLOWED_FILE does not have"));
}

static void test_a_prefill_rank_without_keys(void **state)
{
    (void)state;
    make_keys();
    open_bootstrap();
    open_sender_with_keys();
    unset_all();
    open_receiver(EPI_S);
    expect_unreachable(1, "set EPDX_CURVE_KEY_FILE");
    assert_int_equal(sent().asks, 0);
}

static void test_an_encode_rank_without_keys(void **state)
{
    (void)state;
    make_keys();
    open_bootstrap();
    open_sender();
    UNTIL(epdx_sender_registered(sender));
    set_file("EPDX_CURVE_KEY_FILE", "prefill");
    open_receiver(EPI_S);
    expect_unreachable(1, "the peer has no CURVE key");
    assert_int_equal(sent().asks, 0);
}

/* The prefill rank does not know this encode rank: rows may come, which it
 * asked for itself, but it hears no status. */
static void test_an_encode_rank_that_is_not_allowed(void **state)
{
    epdx_job_t *job;

    (void)state;
    make_keys();
    open_bootstrap();
    open_sender_with_keys();
    set_file("EPDX_CURVE_KEY_FILE", "prefill");
    set_file("EPDX_CURVE_ALLOWED_FILE", "of-encode"); /* not of the encode */
    open_receiver(0);
    job = stage(1);
    UNTIL(sent().asks > 0);
    assert_int_equal(epdx_sender_fail(sender, 1, "the image is broken"),
                     EPDX_OK);
    UNTIL(received().handshakes_refused > 0);
    UNTIL(logged("refused the connection back"));
    assert_int_equal(epdx_job_state(job), EPDX_PENDING);
    epdx_job_release(job);
}

static void test_a_key_is_allowed_while_all_run(void **state)
{
    epi_curve_pair_t stranger;
    epdx_job_t *job;
    const char *reason;

    (void)state;
    make_keys();
    stranger = secrets_pair(&secrets, "stranger");
    open_bootstrap();
    open_sender_with_keys();
    set_file("EPDX_CURVE_KEY_FILE", "stranger");
    set_file("EPDX_CURVE_ALLOWED_FILE", "of-stranger");
    open_receiver(60 * EPI_S);
    job = stage(1);
    send_room(1);
    UNTIL(sent().handshakes_refused > 0);
    secrets_write(&secrets, "of-encode", 0644, stranger.public_key);
    UNTIL(epdx_job_state(job) != EPDX_PENDING);
    (void)epdx_job_failure(job, &reason);
    assert_string_equal(reason, "");
    epdx_job_release(job);
}

static void test_files_that_are_none_are_named_at_open(void **state)
{
    (void)state;
    make_keys();
    address[0] = '\0';
    set_file("EPDX_CURVE_ALLOWED_FILE", "of-encode");
    assert_int_equal(try_sender(), EPDX_ERR_INVALID);
    assert_non_null(strstr(epdx_last_error(), "EPDX_CURVE_KEY_FILE is not"));
    set_file("EPDX_CURVE_KEY_FILE", "of-encode");
    assert_int_equal(try_sender(), EPDX_ERR_INVALID);
    assert_non_null(strstr(epdx_last_error(), "has mode 644"));
    unset_all();
    set_file("EPDX_CA_FILE", "nothing");
    assert_int_equal(try_sender(), EPDX_ERR_INVALID);
    assert_non_null(strstr(epdx_last_error(), "EPDX_CA_FILE"));
    assert_null(sender);
}

static void test_the_right_token(void **state)
{
    (void)state;
    set("EPDX_BOOTSTRAP_TOKEN", "right");
    open_bootstrap();
    open_sender();
    UNTIL(epdx_sender_registered(sender));
    open_receiver(0);
    expect_transfer(1); /* looking up needs none */
    assert_int_equal(writes_refused(), 0);
    /* The DELETE at its end carries the token, too. */
    epdx_receiver_close(receiver);
    receiver = NULL;
    epdx_sender_close(sender);
    sender = NULL;
    assert_int_equal(writes_refused(), 0);
    assert_false(logged("bearer token"));
}

static void refuse_token(const char *token)
{
    set("EPDX_BOOTSTRAP_TOKEN", "right");
    open_bootstrap();
    set("EPDX_BOOTSTRAP_TOKEN", token);
    open_sender();
    UNTIL(writes_refused() >= 2); /* it goes on trying */
    assert_false(epdx_sender_registered(sender));
    UNTIL(logged("code 401 the bearer token is missing or wrong"));
    UNTIL(logged("bootstrap: 1 writes were refused so far"));
    assert_false(logged("right"));
    open_receiver(EPI_S);
    expect_unreachable(1, "not all encode ranks are in");
}

static void test_a_wrong_token(void **state)
{
    (void)state;
    refuse_token("wrong");
}

static void test_a_missing_token(void **state)
{
    (void)state;
    refuse_token("");
}

static void need_certificates(void)
{
    if (!secrets_certificate(&secrets, "ours") ||
        !secrets_certificate(&secrets, "theirs")) {
        print_message("no openssl(1) here\n");
        skip();
    }
}

static void open_secure_bootstrap(void)
{
    set_file("EPDX_TLS_CERT_FILE", "ours-cert.pem");
    set_file("EPDX_TLS_KEY_FILE", "ours-key.pem");
    open_bootstrap();
    unset_all();
    assert_int_equal(strncmp(address, "https://127.0.0.1:", 18), 0);
}

static void test_discovery_over_https(void **state)
{
    (void)state;
    need_certificates();
    open_secure_bootstrap();
    set_file("EPDX_CA_FILE", "ours-ca.pem");
    open_sender();
    UNTIL(epdx_sender_registered(sender));
    open_receiver(0);
    expect_transfer(1);
    expect_status_back(2);
}

static void test_everything_at_once(void **state)
{
    (void)state;
    need_certificates();
    make_keys();
    set("EPDX_BOOTSTRAP_TOKEN", "right");
    set_file("EPDX_TLS_CERT_FILE", "ours-cert.pem");
    set_file("EPDX_TLS_KEY_FILE", "ours-key.pem");
    open_bootstrap();
    set_file("EPDX_CA_FILE", "ours-ca.pem");
    open_sender_with_keys();
    set_file("EPDX_CURVE_KEY_FILE", "prefill");
    set_file("EPDX_CURVE_ALLOWED_FILE", "of-prefill");
    open_receiver(0);
    expect_transfer(1);
    expect_status_back(2);
}

static void test_a_wrong_ca_is_refused(void **state)
{
    (void)state;
    need_certificates();
    open_secure_bootstrap();
    set_file("EPDX_CA_FILE", "theirs-ca.pem");
    open_sender();
    UNTIL(logged("certificate"));
    assert_false(epdx_sender_registered(sender));
    open_receiver(EPI_S);
    expect_unreachable(1, "certificate");
}

/* Without a CA file the system's count, which know nothing of this server. */
static void test_no_ca_is_refused(void **state)
{
    (void)state;
    need_certificates();
    open_secure_bootstrap();
    /* The sanitizers take seconds to read all that a system trusts. */
    set("EPDX_LOOKUP_TIMEOUT_S", "60");
    open_sender();
    UNTIL(logged("certificate"));
    assert_false(epdx_sender_registered(sender));
    assert_int_equal(writes_refused(), 0);
}

static void test_http_to_an_https_server(void **state)
{
    (void)state;
    need_certificates();
    open_secure_bootstrap();
    memmove(address, address + 8, strlen(address + 8) + 1);
    set_file("EPDX_CA_FILE", "ours-ca.pem");
    open_sender();
    UNTIL(logged("was not taken, and is tried again"));
    assert_false(epdx_sender_registered(sender));
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, open_world, close_world)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_rows_and_statuses_under_curve),
        TEST(test_a_prefill_rank_that_is_not_allowed),
        TEST(test_a_prefill_rank_without_keys),
        TEST(test_an_encode_rank_without_keys),
        TEST(test_an_encode_rank_that_is_not_allowed),
        TEST(test_a_key_is_allowed_while_all_run),
        TEST(test_files_that_are_none_are_named_at_open),
        TEST(test_the_right_token),
        TEST(test_a_wrong_token),
        TEST(test_a_missing_token),
        TEST(test_discovery_over_https),
        TEST(test_everything_at_once),
        TEST(test_a_wrong_ca_is_refused),
        TEST(test_no_ca_is_refused),
        TEST(test_http_to_an_https_server),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
