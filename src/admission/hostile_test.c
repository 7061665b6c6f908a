/*
 * hostile_test.c: stage and drain while bootstrap servers accept and never
 * answer, and a name does not resolve: the caller's thread does no I/O in the
 * meantime, and each request fails by its own deadline. The group is of one
 * rank, so that nothing but epdx is called. More kinds of hostile servers:
 * receive/hostile_test.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "epdx/admission.h"
#include "testing/io_calls.h"

#define SILENT   3
#define LIMIT_NS (30 * EPI_S)

typedef struct world {
    epdx_group_t *group;
    epdx_admission_t *admission;
    int fds[SILENT];
    char addresses[SILENT + 1][64];
    uint64_t stage_max_ns, drain_max_ns;
    size_t failed;
} world_t;

/** A server whose connections stay in the kernel's queue. */
static int open_silent(char *address, size_t size)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(fd, 64), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &bytes), 0);
    (void)snprintf(address, size, "127.0.0.1:%u", ntohs(at.sin_port));
    return fd;
}

static void open_world(world_t *w)
{
    epdx_admission_params_t params = {
        .struct_size = sizeof(params),
        .receiver = {.struct_size = sizeof(epdx_receiver_params_t),
                     .dtype = EPDX_FLOAT32,
                     .hidden = 64,
                     .host = "127.0.0.1",
                     .pool_bytes = 1 << 20},
    };

    epi_io_calls_hold("slow.invalid");
    for (size_t i = 0; i < SILENT; i++) {
        w->fds[i] = open_silent(w->addresses[i], sizeof(w->addresses[i]));
    }
    (void)strcpy(w->addresses[SILENT], "slow.invalid:8998");
    assert_int_equal(epdx_group_single(&w->group), EPDX_OK);
    assert_int_equal(epdx_admission_open(w->group, &params, &w->admission),
                     EPDX_OK);
}

static void close_world(world_t *w)
{
    epdx_admission_close(w->admission);
    epdx_group_close(w->group);
    epi_io_calls_let_go();
    for (size_t i = 0; i < SILENT; i++) {
        assert_int_equal(close(w->fds[i]), 0);
    }
}

static void note(uint64_t since_ns, uint64_t *max_p)
{
    uint64_t took = epi_now_ns() - since_ns;

    *max_p = took > *max_p ? took : *max_p;
}

static void stage(world_t *w, size_t index)
{
    char id[16];
    epdx_item_t item = {
        .room = index, .span = 4, .encode = w->addresses[index]};
    epdx_request_t request = {
        .id = id, .items = &item, .item_count = 1, .timeout_ns = 600 * EPI_MS};
    uint64_t since;
    epdx_status_t status;

    (void)snprintf(id, sizeof(id), "%zu", index);
    since = epi_now_ns();
    epi_io_calls_watch(true);
    status = epdx_admission_stage(w->admission, &request);
    if (status == EPDX_OK) {
        item.room += 100; /* another one, which is given up */
        status = epdx_admission_withdraw(w->admission, &request, "gone");
    }
    epi_io_calls_watch(false);
    note(since, &w->stage_max_ns);
    assert_int_equal(status, EPDX_OK);
}

static void drain(world_t *w)
{
    epdx_decisions_t decisions;
    uint64_t since = epi_now_ns();
    epdx_status_t status;

    epi_io_calls_watch(true);
    status = epdx_admission_drain(w->admission, &decisions);
    epi_io_calls_watch(false);
    note(since, &w->drain_max_ns);
    assert_int_equal(status, EPDX_OK);
    assert_int_equal(decisions.admitted_count, 0);
    for (size_t i = 0; i < decisions.failed_count; i++) {
        const epdx_rejected_t *failed = &decisions.failed[i];
        size_t index = strtoul(failed->id, NULL, 10);

        assert_true(index <= SILENT);
        assert_int_equal(failed->status, EPDX_ERR_UNREACHABLE);
        assert_non_null(strstr(failed->reason, w->addresses[index]));
        w->failed++;
    }
}

static void test_drain_does_no_io(void **state)
{
    world_t w = {0};
    uint64_t limit = epi_after(epi_now_ns(), LIMIT_NS);

    (void)state;
    open_world(&w);
    for (size_t i = 0; i <= SILENT; i++) {
        stage(&w, i);
    }
    while (w.failed <= SILENT && epi_now_ns() < limit) {
        drain(&w);
        (void)sched_yield();
    }
    assert_int_equal(w.failed, SILENT + 1);
    epi_io_calls_assert_none();
    /* They are seen where they do happen. */
    assert_true(epi_io_calls_of_io(EPI_CALL_connect) > 0);
    assert_true(epi_io_calls_of_io(EPI_CALL_poll) > 0);
    print_message("longest call: stage %.3f ms, drain %.3f ms\n",
                  (double)w.stage_max_ns / 1e6, (double)w.drain_max_ns / 1e6);
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_drain_does_no_io),
    };

    return cmocka_run_group_tests_name("admission/hostile", tests, NULL, NULL);
}
