/* ring_test.c: events from one thread to another, and what does not fit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>

#include "testing/out_of_memory.h"
#include "trace/ring.h"

static epi_trace_event_t numbered(uint64_t number)
{
    return (epi_trace_event_t){.begin_ns = number, .end_ns = ~number};
}

static void events_come_in_order(void **state)
{
    epi_trace_ring_t *ring;
    epi_trace_event_t event;

    (void)state;
    assert_int_equal(epi_trace_ring_open(4, &ring), EPDX_OK);
    assert_false(epi_trace_take(ring, &event));
    for (uint64_t i = 0; i < 100; i++) {
        event = numbered(i);
        epi_trace_put(ring, &event);
        event = numbered(1000 + i);
        epi_trace_put(ring, &event);
        assert_true(epi_trace_take(ring, &event));
        assert_int_equal(event.begin_ns, i);
        assert_true(epi_trace_take(ring, &event));
        assert_int_equal(event.begin_ns, 1000 + i);
    }
    assert_int_equal(epi_trace_dropped(ring), 0);
    epi_trace_ring_close(ring);
    epi_trace_ring_close(NULL);
}

static void a_full_ring_drops_the_newest_and_counts(void **state)
{
    epi_trace_ring_t *ring;
    epi_trace_event_t event;

    (void)state;
    assert_int_equal(epi_trace_ring_open(3, &ring), EPDX_OK); /* makes 4 */
    for (uint64_t i = 0; i < 7; i++) {
        event = numbered(i);
        epi_trace_put(ring, &event);
    }
    assert_int_equal(epi_trace_dropped(ring), 3);
    for (uint64_t i = 0; i < 4; i++) {
        assert_true(epi_trace_take(ring, &event));
        assert_int_equal(event.begin_ns, i);
    }
    assert_false(epi_trace_take(ring, &event));
    epi_trace_ring_close(ring);
}

#define MANY 200000

static void *put_many(void *context)
{
    for (uint64_t i = 1; i <= MANY; i++) {
        epi_trace_event_t event = numbered(i);

        epi_trace_put(context, &event);
    }
    return NULL;
}

/* What is taken is whole and in order; what is not was counted. */
static void two_threads(void **state)
{
    epi_trace_ring_t *ring;
    epi_trace_event_t event;
    pthread_t writer;
    uint64_t last = 0;
    uint64_t taken = 0;

    (void)state;
    assert_int_equal(epi_trace_ring_open(64, &ring), EPDX_OK);
    assert_int_equal(pthread_create(&writer, NULL, put_many, ring), 0);
    while (taken + epi_trace_dropped(ring) < MANY) {
        if (!epi_trace_take(ring, &event)) {
            (void)sched_yield();
            continue;
        }
        assert_true(event.begin_ns > last);
        assert_true(event.end_ns == ~event.begin_ns);
        last = event.begin_ns;
        taken++;
    }
    (void)pthread_join(writer, NULL);
    while (epi_trace_take(ring, &event)) {
        taken++;
    }
    assert_int_equal(taken + epi_trace_dropped(ring), MANY);
    epi_trace_ring_close(ring);
}

static void err_no_memory(void **state)
{
    epi_trace_ring_t *ring = NULL;

    (void)state;
    test_calloc_left = 0;
    assert_int_equal(epi_trace_ring_open(4, &ring), EPDX_ERR_NO_MEMORY);
    assert_null(ring);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_come_in_order),
        cmocka_unit_test(a_full_ring_drops_the_newest_and_counts),
        cmocka_unit_test(two_threads),
        cmocka_unit_test(err_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
