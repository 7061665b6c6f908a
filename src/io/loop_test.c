/* loop_test.c: steps, wake-ups and deadlines of the I/O loop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "io/loop.h"

/* A source that does `work` pieces of work and says when it did the last. */
typedef struct fake_source {
    atomic_int work;
    atomic_int steps;
    uint64_t due;
    int fd;
    sem_t done;
} fake_source_t;

static bool fake_step(void *self, uint64_t now)
{
    fake_source_t *source = self;

    (void)now;
    atomic_fetch_add(&source->steps, 1);
    if (atomic_load(&source->work) == 0) {
        return false;
    }
    if (atomic_fetch_sub(&source->work, 1) == 1) {
        sem_post(&source->done);
    }
    return true;
}

static void fake_prepare(void *self, epi_loop_wait_t *wait)
{
    fake_source_t *source = self;

    if (source->due < wait->due) {
        wait->due = source->due;
    }
    if (source->fd >= 0) {
        wait->fds[wait->fd_count++] =
            (struct pollfd){.fd = source->fd, .events = POLLIN};
    }
}

static epi_loop_t *open_loop(fake_source_t *source)
{
    epi_loop_t *loop = NULL;
    epi_loop_source_t entry = {fake_step, fake_prepare, source};

    *source = (fake_source_t){.due = EPI_NEVER, .fd = -1};
    sem_init(&source->done, 0, 0);
    assert_int_equal(epi_loop_open(0, &loop), EPDX_OK);
    assert_int_equal(epi_loop_add(loop, &entry), EPDX_OK);
    return loop;
}

/* Waits for the source's last piece of work, 20 s at most. */
static void wait_done(fake_source_t *source)
{
    struct timespec limit;
    int outcome;

    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += 20;
    do {
        outcome = sem_timedwait(&source->done, &limit);
    } while (outcome != 0 && errno == EINTR);
    assert_int_equal(outcome, 0);
}

static void test_step_tells_whether_work_was_done(void **state)
{
    fake_source_t source;
    epi_loop_t *loop = open_loop(&source);

    (void)state;
    atomic_store(&source.work, 1);
    assert_true(epi_loop_step(loop));
    assert_false(epi_loop_step(loop));
    epi_loop_close(loop);
}

static void test_a_loop_takes_a_bounded_number_of_sources(void **state)
{
    fake_source_t source;
    epi_loop_t *loop = open_loop(&source);
    epi_loop_source_t entry = {fake_step, NULL, &source};

    (void)state;
    for (int i = 1; i < EPI_LOOP_SOURCE_MAX; i++) {
        assert_int_equal(epi_loop_add(loop, &entry), EPDX_OK);
    }
    assert_int_equal(epi_loop_add(loop, &entry), EPDX_ERR_FULL);
    epi_loop_close(loop);
}

static void test_wake_makes_a_sleeping_thread_work(void **state)
{
    fake_source_t source;
    epi_loop_t *loop = open_loop(&source);

    (void)state;
    assert_int_equal(epi_loop_start(loop, "loop-test"), EPDX_OK);
    for (int i = 0; i < 2000; i++) {
        atomic_store(&source.work, 1);
        epi_loop_wake(loop);
        wait_done(&source);
    }
    epi_loop_close(loop);
}

static void test_a_descriptor_ends_the_sleep(void **state)
{
    fake_source_t source;
    epi_loop_t *loop = open_loop(&source);
    int ends[2];

    (void)state;
    assert_int_equal(pipe(ends), 0);
    source.fd = ends[0];
    assert_int_equal(write(ends[1], "x", 1), 1);
    /* Without the descriptor this would sleep LOOP_SLEEP_MAX_MS each time. */
    for (int i = 0; i < 100; i++) {
        epi_loop_sleep(loop, EPI_NEVER);
    }
    assert_int_equal(atomic_load(&source.steps), 100);
    close(ends[0]);
    close(ends[1]);
    epi_loop_close(loop);
}

static void test_a_due_time_ends_the_sleep(void **state)
{
    fake_source_t source;
    epi_loop_t *loop = open_loop(&source);
    uint64_t due = epi_now_ns() + 5 * EPI_MS;

    (void)state;
    source.due = due;
    epi_loop_sleep(loop, EPI_NEVER);
    assert_true(epi_now_ns() >= due);
    epi_loop_close(loop);
}

static void test_stop_ends_a_sleeping_thread(void **state)
{
    fake_source_t source;
    epi_loop_t *loop = open_loop(&source);

    (void)state;
    for (int i = 0; i < 200; i++) {
        assert_int_equal(epi_loop_start(loop, "loop-test"), EPDX_OK);
        epi_loop_stop(loop);
    }
    epi_loop_close(loop);
    epi_loop_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_step_tells_whether_work_was_done),
        cmocka_unit_test(test_a_loop_takes_a_bounded_number_of_sources),
        cmocka_unit_test(test_wake_makes_a_sleeping_thread_work),
        cmocka_unit_test(test_a_descriptor_ends_the_sleep),
        cmocka_unit_test(test_a_due_time_ends_the_sleep),
        cmocka_unit_test(test_stop_ends_a_sleeping_thread),
    };

    return cmocka_run_group_tests_name("io/loop", tests, NULL, NULL);
}
