/*
 * ranks_test.c: ranks that differ: in what is pending, in their settings, in
 * their errors, in their time. There is no encode node: requests stay pending
 * until something ends them.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "epdx/epdx.h"
#include "epdx/group_mpi.h"
#include "harness.h"

#define DEADLINE_NS (300 * EPI_MS)

/* A broken group leaks its communicator on purpose. */
const char *__lsan_default_suppressions(void);

__attribute__((visibility("default"))) const char *__lsan_default_suppressions(
    void)
{
    return "leak:late_with_a_deadline\n";
}

static epdx_group_t *group;
static epdx_admission_t *admission;

static bool is_last(void)
{
    return harness_rank() == harness_size() - 1;
}

static epdx_admission_params_t params_plain(void)
{
    return (epdx_admission_params_t){
        .struct_size = sizeof(epdx_admission_params_t),
        .receiver = {.struct_size = sizeof(epdx_receiver_params_t),
                     .dtype = EPDX_BFLOAT16,
                     .hidden = 16,
                     .host = "127.0.0.1",
                     .pool_bytes = 1 << 16,
                     .waiting_timeout_ns = 60 * EPI_S,
                     .bootstrap_timeout_ns = 60 * EPI_S}};
}

static void open_all(uint64_t deadline_ns)
{
    epdx_admission_params_t params = params_plain();

    CHECK_ALL_STATUS(epdx_group_mpi(harness_comm(), deadline_ns, &group),
                     EPDX_OK);
    CHECK_ALL_STATUS(epdx_admission_open(group, &params, &admission), EPDX_OK);
}

static void close_all(void)
{
    epdx_admission_close(admission);
    epdx_group_close(group);
}

static epdx_status_t stage_at(const char *id, uint64_t room, const char *node,
                              uint64_t timeout_ns)
{
    epdx_item_t item = {.room = room, .span = 4, .encode = node};
    epdx_request_t request = {
        .id = id, .items = &item, .item_count = 1, .timeout_ns = timeout_ns};

    return epdx_admission_stage(admission, &request);
}

static epdx_status_t stage(const char *id, uint64_t room)
{
    return stage_at(id, room, "127.0.0.1:1", 0);
}

/* The error is that of every rank, and stays. */
static void disagree(const char *words)
{
    epdx_decisions_t decisions;

    for (int i = 0; i < 2; i++) {
        CHECK_ALL_STATUS(epdx_admission_drain(admission, &decisions),
                         harness_size() > 1 ? EPDX_ERR_DISAGREE : EPDX_OK);
        CHECK_ALL(harness_size() == 1 ||
                  strstr(epdx_last_error(), words) != NULL);
        CHECK_ALL(decisions.admitted_count + decisions.failed_count == 0);
    }
    close_all();
}

static void lists_that_differ_in_number(void)
{
    open_all(0);
    CHECK_ALL_STATUS(stage("a", 1), EPDX_OK);
    CHECK_ALL_STATUS(is_last() ? stage("b", 2) : EPDX_OK, EPDX_OK);
    disagree("pending requests differ across ranks: this rank has");
}

static void lists_that_differ_in_order(void)
{
    open_all(0);
    CHECK_ALL_STATUS(is_last() ? stage("b", 2) : stage("a", 1), EPDX_OK);
    CHECK_ALL_STATUS(is_last() ? stage("a", 1) : stage("b", 2), EPDX_OK);
    disagree("or another order");
}

static void lists_that_differ_in_an_id(void)
{
    open_all(0);
    CHECK_ALL_STATUS(stage("a", 1), EPDX_OK);
    CHECK_ALL_STATUS(stage(is_last() ? "B" : "b", 2), EPDX_OK);
    disagree("or another order");
}

/* One setting of the last rank is another. */
static void refused_by_name(const epdx_admission_params_t *other,
                            const char *name)
{
    epdx_admission_params_t params = is_last() ? *other : params_plain();

    CHECK_ALL_STATUS(epdx_group_mpi(harness_comm(), 0, &group), EPDX_OK);
    CHECK_ALL_STATUS(epdx_admission_open(group, &params, &admission),
                     EPDX_ERR_DISAGREE);
    CHECK_ALL(strstr(epdx_last_error(), name) != NULL);
    epdx_group_close(group);
}

static void settings_that_differ(void)
{
    epdx_admission_params_t other = params_plain();

    if (harness_size() == 1) {
        return;
    }
    other.receiver.hidden = 32;
    refused_by_name(&other, "hidden");
    other = params_plain();
    other.receiver.levels = 2;
    refused_by_name(&other, "levels");
    other = params_plain();
    other.receiver.dtype = EPDX_FLOAT16;
    refused_by_name(&other, "dtype");
    other = params_plain();
    other.receiver.pool_bytes = 1 << 17;
    refused_by_name(&other, "EPDX_RECV_POOL_MB");
    other = params_plain();
    other.receiver.shard = EPDX_OFF;
    refused_by_name(&other, "EPDX_EMBEDDING_SHARD");
    other = params_plain();
    other.strict = true;
    refused_by_name(&other, "strict");
}

/* Drain until one request has failed; it has on every rank, alike. */
static void fails_by_the_last_rank(epdx_status_t status, const char *words)
{
    epdx_decisions_t decisions = {0};
    epdx_status_t drained = EPDX_OK;

    HARNESS_AT("drains");
    while (drained == EPDX_OK && decisions.failed_count == 0) {
        drained = epdx_admission_drain(admission, &decisions);
    }
    CHECK_ALL_STATUS(drained, EPDX_OK);
    CHECK_ALL(decisions.failed_count == 1);
    CHECK_ALL(decisions.failed[0].status == status);
    CHECK_ALL(decisions.failed[0].rank == (uint32_t)harness_size() - 1);
    CHECK_ALL(strstr(decisions.failed[0].reason, words) != NULL);
}

static void a_rank_that_errs_before_the_vote(void)
{
    open_all(0);
    /* The last rank cannot stage it, and says so by its vote. */
    CHECK_ALL_STATUS(
        stage_at("a", 1, is_last() ? "no address" : "127.0.0.1:1", 0), EPDX_OK);
    fails_by_the_last_rank(EPDX_ERR_INVALID, "no address");
    close_all();
}

/* Deadlines are each rank's own, from its own monotonic clock: no two clocks
 * are ever compared. That which passes first ends the request everywhere. */
static void the_shortest_deadline_ends_it_everywhere(void)
{
    open_all(0);
    CHECK_ALL_STATUS(stage_at("a", 1, "127.0.0.1:1",
                              is_last() ? 200 * EPI_MS : 3000 * EPI_S),
                     EPDX_OK);
    fails_by_the_last_rank(EPDX_ERR_UNREACHABLE, "127.0.0.1:1");
    close_all();
}

/* What is tested is a rank that takes its time. */
static void take_time(uint64_t ns)
{
    struct timespec span = {(time_t)(ns / EPI_S), (long)(ns % EPI_S)};

    (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &span, NULL);
}

static void a_late_rank_without_a_deadline(void)
{
    epdx_decisions_t decisions;

    open_all(0);
    CHECK_ALL_STATUS(stage_at("a", 1, NULL, 0), EPDX_OK);
    if (is_last()) {
        take_time(2 * EPI_S);
    }
    CHECK_ALL_STATUS(epdx_admission_drain(admission, &decisions), EPDX_OK);
    CHECK_ALL(decisions.admitted_count == 1);
    CHECK_ALL_STATUS(epdx_admission_release(admission, "a"), EPDX_OK);
    close_all();
}

/* The last rank drains when the others have given up: the first drain may find
 * what they had sent, the ones after it do not. */
static epdx_status_t drain_late(void)
{
    epdx_status_t status = EPDX_OK;
    epdx_decisions_t decisions;
    char word;

    for (int i = 0; i + 1 < harness_size(); i++) {
        MPI_Recv(&word, 1, MPI_CHAR, i, 0, harness_comm(), MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < 3 && status == EPDX_OK; i++) {
        status = epdx_admission_drain(admission, &decisions);
    }
    return status;
}

static void late_with_a_deadline(void)
{
    epdx_decisions_t decisions;
    epdx_status_t status;
    char word = 0;

    if (harness_size() == 1) {
        return;
    }
    open_all(DEADLINE_NS);
    CHECK_ALL_STATUS(stage("a", 1), EPDX_OK);
    if (is_last()) {
        status = drain_late();
    } else {
        status = epdx_admission_drain(admission, &decisions);
        MPI_Send(&word, 1, MPI_CHAR, harness_size() - 1, 0, harness_comm());
    }
    CHECK_ALL_STATUS(status, EPDX_ERR_TIMEOUT);
    CHECK_ALL(strstr(epdx_last_error(), "deadline of 0.300 s") != NULL);
    CHECK_ALL_STATUS(epdx_admission_drain(admission, &decisions),
                     EPDX_ERR_GROUP);
    close_all();
}

int main(int argc, char **argv)
{
    static const harness_case_t cases[] = {
        HARNESS_CASE(lists_that_differ_in_number),
        HARNESS_CASE(lists_that_differ_in_order),
        HARNESS_CASE(lists_that_differ_in_an_id),
        HARNESS_CASE(settings_that_differ),
        HARNESS_CASE(a_rank_that_errs_before_the_vote),
        HARNESS_CASE(the_shortest_deadline_ends_it_everywhere),
        HARNESS_CASE(a_late_rank_without_a_deadline),
        HARNESS_CASE(late_with_a_deadline),
    };

    return harness_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
