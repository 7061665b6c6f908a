/*
 * hostile_test.c: a whole receiver, its I/O thread and all, given requests of
 * nodes whose bootstrap servers do everything wrong, and of good ones. The good
 * ones land; each of the others fails by its own deadline and says which
 * address did what; and the caller's thread does no I/O in the meantime.
 * That is counted by testing/io_calls.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "dataplane/dataplane.h"
#include "discovery/http_test_server.h"
#include "epdx/receiver.h"
#include "testing/fake_encode.h"
#include "testing/io_calls.h"
#include "testing/until.h"

#define HIDDEN     8
#define ROW_BYTES  (HIDDEN * 2)
#define ROWS       4
#define GOOD_MAX   6
#define HUGE_BYTES ((size_t)10 << 20)
#define DEEP       10000

/* The peers' scripts. */

#define OK_HEAD    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
#define CLOSE_HEAD OK_HEAD "Connection: close\r\n\r\n"

static char huge_text[HUGE_BYTES + sizeof(CLOSE_HEAD)];
static char deep_text[DEEP + sizeof(CLOSE_HEAD)];
static char rank_text[512];
static char redirect_text[512];

static bool asks_world(const char *request)
{
    return strstr(request, "engine_rank=-1") != NULL;
}

static test_answer_t answer(const char *bytes)
{
    return (test_answer_t){.bytes = bytes, .close = true};
}

static test_answer_t answer_huge(const char *request)
{
    (void)request;
    return answer(huge_text);
}

static test_answer_t answer_deep(const char *request)
{
    (void)request;
    return answer(deep_text);
}

static test_answer_t answer_html(const char *request)
{
    (void)request;
    return answer(CLOSE_HEAD "<html><body>It works!</body></html>");
}

static test_answer_t answer_null(const char *request)
{
    (void)request;
    return answer(CLOSE_HEAD "null");
}

static test_answer_t answer_numbers_as_text(const char *request)
{
    return answer(asks_world(request) ? CLOSE_HEAD
                      "{\"prefill_tp_size\": \"1\", \"prefill_dp_size\": \"1\"}"
                                      : rank_text);
}

static test_answer_t answer_port_too_large(const char *request)
{
    return answer(asks_world(request) ? CLOSE_HEAD
                      "{\"prefill_tp_size\": 1, \"prefill_dp_size\": 1}"
                                      : CLOSE_HEAD
                      "{\"rank_ip\": \"127.0.0.1\", \"rank_port\": 65536}");
}

static test_answer_t answer_port_negative(const char *request)
{
    return answer(asks_world(request) ? CLOSE_HEAD
                      "{\"prefill_tp_size\": 1, \"prefill_dp_size\": 1}"
                                      : CLOSE_HEAD
                      "{\"rank_ip\": \"127.0.0.1\", \"rank_port\": -1}");
}

static test_answer_t answer_redirect(const char *request)
{
    (void)request;
    return answer(redirect_text);
}

static test_answer_t answer_half(const char *request)
{
    (void)request;
    return answer(OK_HEAD "Content-Length: 100\r\n\r\n{\"prefill");
}

static test_answer_t answer_nothing(const char *request)
{
    (void)request;
    return answer("");
}

/* More is given by drip(). */
static test_answer_t answer_drip(const char *request)
{
    (void)request;
    return (test_answer_t){.bytes = OK_HEAD "Content-Length: 60000\r\n\r\n"
                                            "                                ",
                           .length = 1};
}

typedef struct node {
    const char *what;
    test_script_t script;
    const char *address; /* of one without a peer */
    const char *words;   /* of its reason; NULL: it works */
} node_t;

static const node_t nodes[] = {
    {"never answers", test_answer_never, NULL, "timed out"},
    {"drips", answer_drip, NULL, "timed out"},
    {"answers 10 MB", answer_huge, NULL, "the answer is over 65536 bytes"},
    {"answers HTML", answer_html, NULL, "answered nonsense: not JSON"},
    {"answers deep JSON", answer_deep, NULL,
     "answered nonsense: not JSON: it nests deeper than 8"},
    {"answers null", answer_null, NULL, "is not ready"},
    {"numbers as text", answer_numbers_as_text, NULL, NULL},
    {"port too large", answer_port_too_large, NULL,
     "answered nonsense: rank_port is not a whole number from 1 to 65535"},
    {"port negative", answer_port_negative, NULL,
     "answered nonsense: rank_port is not a whole number from 1 to 65535"},
    {"redirects", answer_redirect, NULL, "answered HTTP 302"},
    {"closes half-way", answer_half, NULL, "remaining to read"},
    {"closes at once", answer_nothing, NULL, "Empty reply from server"},
    {"nobody listens", NULL, "127.0.0.1:1", "Failed to connect"},
    /* "could not resolve", or, of a slow resolver, "resolving timed out" */
    {"name without a host", NULL, "nowhere.invalid:8998", "esolv"},
    {"name that hangs", NULL, "slow.invalid:8998", "Resolving timed out"},
};

#define NODES (sizeof(nodes) / sizeof(nodes[0]))

static test_server_t servers[NODES];

typedef struct world {
    fake_encode_t encode;
    epdx_receiver_t *receiver;
    uint64_t room; /* the last */
    uint64_t dripped_ns;
    uint64_t stage_max_ns;
    uint64_t poll_max_ns;
    size_t answered; /* asks */
    char addresses[NODES][64];
    epdx_job_t *bad[NODES];
    epdx_job_t *good[GOOD_MAX];
    uint8_t rows[ROWS * ROW_BYTES];
} world_t;

static void fill_texts(const fake_encode_t *encode)
{
    size_t head = strlen(CLOSE_HEAD);

    memcpy(huge_text, CLOSE_HEAD, head);
    memset(huge_text + head, ' ', HUGE_BYTES);
    memcpy(deep_text, CLOSE_HEAD, head);
    memset(deep_text + head, '[', DEEP);
    (void)snprintf(rank_text, sizeof(rank_text),
                   CLOSE_HEAD "{\"rank_ip\": \"127.0.0.1\", "
                              "\"rank_port\": \"%u\"}",
                   epi_control_port(encode->control));
    /* To where all is well: it must not be followed. */
    (void)snprintf(redirect_text, sizeof(redirect_text),
                   "HTTP/1.1 302 Found\r\nLocation: http://%s/route?"
                   "engine_rank=-1&target_dp_group=-1\r\n"
                   "Content-Length: 0\r\nConnection: close\r\n\r\n",
                   fake_encode_address(encode));
}

static void open_servers(world_t *w)
{
    for (size_t i = 0; i < NODES; i++) {
        if (nodes[i].script == NULL) {
            (void)epi_text_copy(w->addresses[i], sizeof(w->addresses[i]),
                                nodes[i].address);
            continue;
        }
        test_server_open(&servers[i], nodes[i].script);
        (void)snprintf(w->addresses[i], sizeof(w->addresses[i]), "127.0.0.1:%u",
                       servers[i].port);
    }
}

static epdx_receiver_t *open_receiver(void)
{
    epdx_receiver_params_t params = {
        .struct_size = sizeof(params),
        .dtype = EPDX_BFLOAT16,
        .hidden = HIDDEN,
        .progress = EPDX_PROGRESS_THREAD,
        .host = "127.0.0.1",
        .pool_bytes = 64 * 1024,
        .waiting_timeout_ns = 60 * EPI_S,
        .bootstrap_timeout_ns = 60 * EPI_S,
    };
    epdx_receiver_t *receiver;

    assert_int_equal(setenv("EPDX_LOOKUP_TIMEOUT_S", "0.5", 1), 0);
    assert_int_equal(epdx_receiver_open(&params, &receiver), EPDX_OK);
    assert_int_equal(unsetenv("EPDX_LOOKUP_TIMEOUT_S"), 0);
    return receiver;
}

static world_t *open_world(void)
{
    world_t *w = calloc(1, sizeof(*w));
    epi_dataplane_t *encode_dp;

    assert_non_null(w);
    epi_io_calls_hold("slow.invalid");
    assert_int_equal(epi_dataplane_ucx("127.0.0.1", &encode_dp), EPDX_OK);
    fake_encode_open(&w->encode, encode_dp, 1);
    fill_texts(&w->encode);
    open_servers(w);
    w->receiver = open_receiver();
    for (size_t i = 0; i < sizeof(w->rows); i++) {
        w->rows[i] = (uint8_t)(i * 31 + 7);
    }
    return w;
}

static void close_world(world_t *w)
{
    epdx_receiver_close(w->receiver);
    epi_io_calls_let_go();
    for (size_t i = 0; i < NODES; i++) {
        if (nodes[i].script != NULL) {
            test_server_close(&servers[i]);
        }
    }
    fake_encode_close(&w->encode);
    free(w);
}

static void note(uint64_t since_ns, uint64_t *max_p)
{
    uint64_t took = epi_now_ns() - since_ns;

    *max_p = took > *max_p ? took : *max_p;
}

static epdx_job_t *stage(world_t *w, const char *address, uint64_t timeout_ns)
{
    epdx_item_t item = {.room = ++w->room, .span = ROWS, .encode = address};
    epdx_request_t request = {
        .id = "r", .items = &item, .item_count = 1, .timeout_ns = timeout_ns};
    uint64_t since = epi_now_ns();
    epdx_job_t *job = NULL;
    epdx_status_t status;

    epi_io_calls_watch(true);
    status = epdx_receiver_stage(w->receiver, &request, &job);
    epi_io_calls_watch(false);
    note(since, &w->stage_max_ns);
    assert_int_equal(status, EPDX_OK);
    return job;
}

/* One byte more for each connection of a peer, every 10 ms. */
static void drip(world_t *w, test_server_t *server)
{
    uint64_t now = epi_now_ns();

    if (now < epi_after(w->dripped_ns, 10 * EPI_MS)) {
        return;
    }
    w->dripped_ns = now;
    for (size_t i = 0; i < TEST_CONNECTION_MAX; i++) {
        test_connection_t *connection = &server->connections[i];

        if (connection->fd >= 0 && connection->answering &&
            connection->answer.length < strlen(connection->answer.bytes)) {
            connection->answer.length++;
        }
    }
}

static void step(world_t *w)
{
    uint64_t since = epi_now_ns();

    epi_io_calls_watch(true);
    epdx_receiver_poll(w->receiver);
    epi_io_calls_watch(false);
    note(since, &w->poll_max_ns);
    for (size_t i = 0; i < NODES; i++) {
        if (nodes[i].script == answer_drip) {
            drip(w, &servers[i]);
        }
        if (nodes[i].script != NULL) {
            test_server_step(&servers[i]);
        }
    }
    fake_encode_step(&w->encode);
    for (; w->answered < w->encode.ask_count; w->answered++) {
        fake_encode_offer(&w->encode, w->answered, EPI_PART_MAIN, NULL, w->rows,
                          sizeof(w->rows));
    }
    sched_yield();
}

/* Run all ends until condition holds, 40 s at most. */
#define until(w, condition) EPI_UNTIL(condition, 40 * EPI_S, step(w))

static void assert_landed(const world_t *w, const epdx_job_t *job)
{
    const epdx_landed_t *items;
    size_t item_count;

    items = epdx_job_items(job, &item_count);
    assert_int_equal(item_count, 1);
    assert_memory_equal(items[0].main, w->rows, sizeof(w->rows));
}

/* A hostile one first, then good ones between them. */
static void stage_all(world_t *w, uint64_t timeout_ns)
{
    const char *good = fake_encode_address(&w->encode);
    size_t good_count = 0;

    for (size_t i = 0; i < NODES; i++) {
        w->bad[i] =
            stage(w, w->addresses[i], nodes[i].words == NULL ? 0 : timeout_ns);
        if (i % 3 == 2 && good_count < GOOD_MAX) {
            w->good[good_count++] = stage(w, good, 0);
        }
    }
    while (good_count < GOOD_MAX) {
        w->good[good_count++] = stage(w, good, 0);
    }
}

static bool good_landed(const world_t *w)
{
    bool all = true;

    for (size_t i = 0; i < GOOD_MAX; i++) {
        assert_int_not_equal(epdx_job_state(w->good[i]), EPDX_FAILED);
        all = all && epdx_job_state(w->good[i]) == EPDX_LANDED;
    }
    for (size_t i = 0; i < NODES; i++) {
        all = all && (nodes[i].words != NULL ||
                      epdx_job_state(w->bad[i]) == EPDX_LANDED);
    }
    return all;
}

static bool bad_ended(const world_t *w)
{
    bool all = true;

    for (size_t i = 0; i < NODES; i++) {
        all = all && epdx_job_state(w->bad[i]) != EPDX_PENDING;
    }
    return all;
}

static void assert_bad(const world_t *w, size_t index)
{
    const node_t *node = &nodes[index];
    const char *reason = "";

    if (node->words == NULL) {
        assert_landed(w, w->bad[index]);
        return;
    }
    if (epdx_job_state(w->bad[index]) != EPDX_FAILED ||
        epdx_job_failure(w->bad[index], &reason) != EPDX_ERR_UNREACHABLE ||
        strstr(reason, w->addresses[index]) == NULL ||
        strstr(reason, node->words) == NULL) {
        fail_msg("%s, at %s: \"%s\" does not say \"%s\"", node->what,
                 w->addresses[index], reason, node->words);
    }
}

static void assert_calls(void)
{
    epi_io_calls_assert_none();
    /* They are seen where they do happen. */
    assert_true(epi_io_calls_of_io(EPI_CALL_connect) > 0);
    assert_true(epi_io_calls_of_io(EPI_CALL_poll) > 0);
    assert_true(epi_io_calls_of_io(EPI_CALL_getaddrinfo) >= 2);
    assert_true(epi_io_calls_of_io(EPI_CALL_send) +
                    epi_io_calls_of_io(EPI_CALL_sendto) >
                0);
    assert_true(epi_io_calls_of_io(EPI_CALL_recv) +
                    epi_io_calls_of_io(EPI_CALL_recvfrom) >
                0);
}

/* Until all good requests have landed. */
static void land_good(world_t *w)
{
    uint64_t since = epi_now_ns();

    until(w, good_landed(w));
    print_message("the good requests landed within %.3f s\n",
                  (double)(epi_now_ns() - since) / 1e9);
    for (size_t i = 0; i < GOOD_MAX; i++) {
        assert_landed(w, w->good[i]);
    }
}

static size_t leased(const world_t *w)
{
    epdx_receiver_stats_t stats;

    epdx_receiver_stats(w->receiver, &stats);
    return stats.pool_leased_bytes;
}

static void release_all(world_t *w)
{
    for (size_t i = 0; i < GOOD_MAX; i++) {
        epdx_job_release(w->good[i]);
    }
    for (size_t i = 0; i < NODES; i++) {
        epdx_job_release(w->bad[i]);
    }
    until(w, leased(w) == 0);
}

static void print_longest(const world_t *w)
{
    print_message("longest call: stage %.3f ms, poll %.3f ms\n",
                  (double)w->stage_max_ns / 1e6, (double)w->poll_max_ns / 1e6);
}

static void test_hostile_nodes_hold_up_nobody(void **state)
{
    world_t *w = open_world();

    (void)state;
    stage_all(w, 0);
    land_good(w);
    for (size_t i = 0; i < NODES; i++) {
        assert_int_equal(epdx_job_state(w->bad[i]),
                         nodes[i].words == NULL ? EPDX_LANDED : EPDX_PENDING);
    }
    release_all(w);
    print_longest(w);
    close_world(w);
}

static void test_hostile_nodes_fail_with_their_reasons(void **state)
{
    world_t *w = open_world();

    (void)state;
    stage_all(w, 3 * EPI_S);
    land_good(w);
    until(w, bad_ended(w));
    for (size_t i = 0; i < NODES; i++) {
        assert_bad(w, i);
    }
    release_all(w);
    print_longest(w);
    close_world(w);
}

/* Of both tests above. */
static void test_the_callers_thread_does_no_io(void **state)
{
    (void)state;
    assert_calls();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hostile_nodes_hold_up_nobody),
        cmocka_unit_test(test_hostile_nodes_fail_with_their_reasons),
        cmocka_unit_test(test_the_callers_thread_does_no_io),
    };

    return cmocka_run_group_tests_name("receive/hostile", tests, NULL, NULL);
}
