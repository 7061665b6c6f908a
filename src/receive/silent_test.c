/*
 * silent_test.c: an I/O side that does not answer. The caller's own timer ends
 * a request then, and its lease waits for the answer, whenever that comes. The
 * I/O side is not stepped, or its thread is held at a named point. And an
 * encode rank that does not.
 */
#include "receive/landing_fixture.h"

#include <errno.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

#define ROW_BYTES 16
#define POOL_ROWS (16 * 1024 / ROW_BYTES)
#define GRACE_NS  EPI_S /* of the caller's timer, from the deadline on */

/* epdx_receiver_poll() steps the loop where there is no thread. */
static void silence(landing_t *l)
{
    l->receiver->threaded = true;
}

static void answer(landing_t *l)
{
    l->receiver->threaded = false;
}

static void assert_timed_out(const epdx_job_t *job)
{
    const char *reason;

    assert_int_equal(epdx_job_state(job), EPDX_FAILED);
    assert_int_equal(epdx_job_failure(job, &reason), EPDX_ERR_TIMEOUT);
    assert_string_equal(reason,
                        "deadline passed, and the i/o side has not answered");
}

static void assert_pool(const epdx_receiver_t *receiver, size_t leased,
                        uint64_t stranded)
{
    epdx_receiver_stats_t stats;

    epdx_receiver_stats(receiver, &stats);
    assert_int_equal(stats.pool_leased_bytes, leased);
    assert_int_equal(stats.bytes_stranded, stranded);
}

static uint64_t deadline_of(const landing_t *l, const epdx_job_t *job)
{
    return l->receiver->shared.slots[job->first_slot].deadline_ns;
}

static void test_the_callers_timer_is_a_second_behind_the_deadline(void **state)
{
    epdx_receiver_params_t params = landing_params();
    landing_t *l = landing_open(&params);
    epdx_job_t *job;
    epdx_job_t *next;

    (void)state;
    silence(l);
    job = landing_stage(l, "late", POOL_ROWS);
    next = landing_stage(l, "next", 1);
    epi_jobs_expire(l->receiver, deadline_of(l, job) + GRACE_NS - 1);
    assert_int_equal(epdx_job_state(job), EPDX_PENDING);
    epi_jobs_expire(l->receiver, deadline_of(l, job) + GRACE_NS);
    assert_timed_out(job);
    assert_int_equal(epdx_job_state(next), EPDX_PENDING);
    epdx_job_release(job);
    epdx_receiver_poll(l->receiver);
    assert_pool(l->receiver, POOL_ROWS * ROW_BYTES, POOL_ROWS * ROW_BYTES);
    assert_int_equal(landing_stats(l).requests_waiting, 1);
    /* One step of the I/O side is the answer: the other has its lease. */
    answer(l);
    epdx_receiver_poll(l->receiver);
    assert_pool(l->receiver, EPI_ARENA_ALIGN, 0);
    assert_int_equal(landing_stats(l).requests_waiting, 0);
    landing_send(l, next, 0);
    assert_memory_equal(epdx_job_items(next, NULL)->main, l->rows, ROW_BYTES);
    assert_int_equal(l->encode.ask_count, 1); /* nobody asked for the first */
    epdx_job_release(next);
    assert_pool(l->receiver, 0, 0);
    landing_close(l);
}

/* Once it answers, what it had begun to write must end first. */
static void test_a_lease_waits_for_the_answer_and_for_its_pull(void **state)
{
    epdx_receiver_params_t params = landing_params();
    landing_t *l = landing_open(&params);
    epdx_job_t *job = landing_stage(l, "pulled", POOL_ROWS);

    (void)state;
    landing_until(l, l->encode.ask_count == 1);
    epi_loopback_hold_pulls(l->receiver->io.dp, true);
    fake_encode_offer(&l->encode, 0, EPI_PART_MAIN, NULL, l->rows,
                      POOL_ROWS * ROW_BYTES);
    landing_until(l, l->receiver->io.intake.pulls == 1);
    silence(l);
    epi_jobs_expire(l->receiver, deadline_of(l, job) + GRACE_NS);
    assert_timed_out(job);
    epdx_job_release(job);
    epdx_receiver_poll(l->receiver);
    assert_pool(l->receiver, POOL_ROWS * ROW_BYTES, POOL_ROWS * ROW_BYTES);
    answer(l);
    landing_until(l, l->encode.cancel_count == 1);
    assert_pool(l->receiver, POOL_ROWS * ROW_BYTES, POOL_ROWS * ROW_BYTES);
    epi_loopback_hold_pulls(l->receiver->io.dp, false);
    landing_until(l, landing_stats(l).pool_leased_bytes == 0);
    assert_pool(l->receiver, 0, 0);
    landing_close(l);
}

/* An encode rank that stands still, where nothing else notices it. */
static void test_a_released_pull_ends_by_its_deadline(void **state)
{
    epdx_receiver_params_t params = landing_params();
    landing_t *l = landing_open(&params);
    epdx_job_t *job = landing_stage(l, "given up", POOL_ROWS);
    epi_intake_t *intake = &l->receiver->io.intake;
    uint64_t deadline = deadline_of(l, job);

    (void)state;
    landing_until(l, l->encode.ask_count == 1);
    epi_loopback_hold_pulls(l->receiver->io.dp, true);
    fake_encode_offer(&l->encode, 0, EPI_PART_MAIN, NULL, l->rows,
                      POOL_ROWS * ROW_BYTES);
    landing_until(l, intake->pulls == 1);
    epdx_job_release(job);
    landing_until(l, l->encode.cancel_count == 1);
    assert_false(epi_intake_tick(intake, deadline - 1));
    assert_pool(l->receiver, POOL_ROWS * ROW_BYTES, POOL_ROWS * ROW_BYTES);
    assert_true(epi_intake_tick(intake, deadline));
    landing_until(l, landing_stats(l).pool_leased_bytes == 0);
    assert_int_equal(intake->pulls, 0);
    assert_pool(l->receiver, 0, 0);
    landing_close(l);
}

/* A plane whose progress() is the point where the I/O thread is held. */
static const epi_dp_ops_t *plane_ops;
static epi_dp_ops_t held_ops;
static atomic_bool hold;
static sem_t reached, go_on;

static bool held_progress(epi_dataplane_t *dp)
{
    if (atomic_exchange(&hold, false)) {
        (void)sem_post(&reached);
        while (sem_wait(&go_on) != 0 && errno == EINTR) {
        }
    }
    return plane_ops->progress(dp);
}

static epdx_receiver_t *open_threaded(epi_loopback_hub_t *hub)
{
    epdx_receiver_params_t params = landing_params();
    epdx_receiver_t *receiver;
    epi_dataplane_t *dp;

    params.progress = EPDX_PROGRESS_THREAD;
    params.waiting_timeout_ns = 1;
    assert_int_equal(epi_dataplane_loopback(hub, &dp), EPDX_OK);
    plane_ops = dp->ops;
    held_ops = *plane_ops;
    held_ops.progress = held_progress;
    dp->ops = &held_ops;
    assert_int_equal(sem_init(&reached, 0, 0), 0);
    assert_int_equal(sem_init(&go_on, 0, 0), 0);
    assert_int_equal(epi_receiver_open_with(&params, dp, &receiver), EPDX_OK);
    return receiver;
}

static void hold_thread(epdx_receiver_t *receiver)
{
    struct timespec limit;

    atomic_store(&hold, true);
    epi_loop_wake(receiver->io.loop);
    assert_int_equal(clock_gettime(CLOCK_REALTIME, &limit), 0);
    limit.tv_sec += 20;
    assert_int_equal(sem_timedwait(&reached, &limit), 0);
}

static void poll_once(epdx_receiver_t *receiver)
{
    epdx_receiver_poll(receiver);
    sched_yield();
}

#define until(receiver, condition)                                             \
    EPI_UNTIL(condition, 20 * EPI_S, poll_once(receiver))

static size_t leased(const epdx_receiver_t *receiver)
{
    epdx_receiver_stats_t stats;

    epdx_receiver_stats(receiver, &stats);
    return stats.pool_leased_bytes;
}

static void test_a_thread_that_stands_still(void **state)
{
    epdx_item_t item = {.room = 1, .span = 20, .encode = "127.0.0.1:1"};
    epdx_request_t request = {.id = "r1", .items = &item, .item_count = 1};
    epi_loopback_hub_t *hub;
    epdx_receiver_t *receiver;
    epdx_job_t *job = NULL;

    (void)state;
    assert_int_equal(epi_loopback_hub_open(&hub), EPDX_OK);
    receiver = open_threaded(hub);
    hold_thread(receiver);
    assert_int_equal(epdx_receiver_stage(receiver, &request, &job), EPDX_OK);
    assert_pool(receiver, 2 * EPI_ARENA_ALIGN, 0);
    until(receiver, epdx_job_state(job) != EPDX_PENDING);
    assert_timed_out(job);
    epdx_job_release(job);
    epdx_receiver_poll(receiver);
    assert_pool(receiver, 2 * EPI_ARENA_ALIGN, 2 * EPI_ARENA_ALIGN);
    assert_int_equal(sem_post(&go_on), 0);
    until(receiver, leased(receiver) == 0);
    assert_pool(receiver, 0, 0);
    epdx_receiver_close(receiver);
    epi_loopback_hub_close(hub);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            test_the_callers_timer_is_a_second_behind_the_deadline),
        cmocka_unit_test(test_a_lease_waits_for_the_answer_and_for_its_pull),
        cmocka_unit_test(test_a_released_pull_ends_by_its_deadline),
        cmocka_unit_test(test_a_thread_that_stands_still),
    };

    return cmocka_run_group_tests_name("receive/silent", tests, NULL, NULL);
}
