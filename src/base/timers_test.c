/* timers_test.c: the heap against an array, and its refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/timers.h"
#include "testing/out_of_memory.h"
#include "testing/seeded.h"

#define IDS 50

/* Deadline by id, EPI_NEVER for none. */
static uint64_t earliest(const uint64_t *due, size_t count)
{
    uint64_t least = EPI_NEVER;

    for (size_t i = 0; i < count; i++) {
        least = due[i] < least ? due[i] : least;
    }
    return least;
}

static void step(epi_timers_t *timers, uint64_t *due, test_seeded_t *random)
{
    uint32_t id = (uint32_t)(test_seeded_below(random, timers->capacity));
    uint64_t time = test_seeded_below(random, 100);
    uint64_t least = earliest(due, timers->capacity);

    switch (test_seeded_below(random, 4)) {
    case 0:
        epi_timers_clear(timers, id);
        due[id] = EPI_NEVER;
        break;
    case 1:
        id = UINT32_MAX;
        assert_int_equal(epi_timers_expired(timers, time, &id), least <= time);
        if (least <= time) {
            assert_true(id < timers->capacity);
            assert_int_equal(due[id], least);
            due[id] = EPI_NEVER;
        } else {
            assert_int_equal(id, UINT32_MAX);
        }
        break;
    default:
        time = time < 5 ? EPI_NEVER : time;
        epi_timers_set(timers, id, time);
        due[id] = time;
        break;
    }
}

static void behaves_as_an_array_does(void **state)
{
    test_seeded_t random = {5052};

    (void)state;
    for (size_t round = 1; round <= IDS; round++) {
        epi_timers_t timers;
        uint64_t due[IDS];

        assert_int_equal(epi_timers_init(&timers, round), EPDX_OK);
        for (size_t i = 0; i < round; i++) {
            due[i] = EPI_NEVER;
        }
        for (size_t i = 0; i < 4000; i++) {
            step(&timers, due, &random);
            assert_int_equal(epi_timers_next(&timers), earliest(due, round));
        }
        epi_timers_fini(&timers);
    }
}

static void expired_come_earliest_first(void **state)
{
    static const uint64_t due[] = {50, 10, 40, 20, 30};
    static const uint32_t order[] = {1, 3, 4, 2, 0};
    epi_timers_t timers;
    uint32_t id = 99;

    (void)state;
    assert_int_equal(epi_timers_init(&timers, 5), EPDX_OK);
    for (uint32_t i = 0; i < 5; i++) {
        epi_timers_set(&timers, i, due[i]);
    }
    assert_false(epi_timers_expired(&timers, 9, &id));
    assert_int_equal(id, 99);
    for (size_t i = 0; i < 5; i++) {
        assert_true(epi_timers_expired(&timers, 50, &id));
        assert_int_equal(id, order[i]);
    }
    assert_false(epi_timers_expired(&timers, EPI_NEVER, &id));
    assert_int_equal(epi_timers_next(&timers), EPI_NEVER);
    epi_timers_fini(&timers);
}

static void set_moves_and_never_clears(void **state)
{
    epi_timers_t timers;

    (void)state;
    assert_int_equal(epi_timers_init(&timers, 2), EPDX_OK);
    assert_int_equal(epi_timers_next(&timers), EPI_NEVER);
    epi_timers_set(&timers, 0, 10);
    epi_timers_set(&timers, 1, 20);
    epi_timers_set(&timers, 0, 30);
    assert_int_equal(epi_timers_next(&timers), 20);
    epi_timers_set(&timers, 1, EPI_NEVER);
    assert_int_equal(epi_timers_next(&timers), 30);
    epi_timers_clear(&timers, 1);
    epi_timers_clear(&timers, 0);
    assert_int_equal(epi_timers_next(&timers), EPI_NEVER);
    epi_timers_fini(&timers);
}

static void err_invalid_capacity(void **state)
{
    epi_timers_t timers = {0};

    (void)state;
    assert_int_equal(epi_timers_init(&timers, 0), EPDX_ERR_INVALID);
    assert_int_equal(epi_timers_init(&timers, UINT32_MAX), EPDX_ERR_INVALID);
    assert_null(timers.heap);
}

static void err_no_memory(void **state)
{
    epi_timers_t timers = {0};

    (void)state;
    for (int left = 0; left < 3; left++) {
        test_calloc_left = left;
        assert_int_equal(epi_timers_init(&timers, 8), EPDX_ERR_NO_MEMORY);
        assert_null(timers.heap);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(behaves_as_an_array_does),
        cmocka_unit_test(expired_come_earliest_first),
        cmocka_unit_test(set_moves_and_never_clears),
        cmocka_unit_test(err_invalid_capacity),
        cmocka_unit_test(err_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
