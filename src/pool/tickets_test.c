/* tickets_test.c: first come, first served, and leaving the queue anywhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "pool/tickets.h"
#include "testing/out_of_memory.h"
#include "testing/seeded.h"

#define SEED     UINT64_C(20260902)
#define CAPACITY 32

static void assert_front(const epi_tickets_t *tickets, uint32_t expected)
{
    uint32_t id = UINT32_MAX;

    assert_true(epi_tickets_front(tickets, &id));
    assert_int_equal(id, expected);
}

static void assert_empty(const epi_tickets_t *tickets)
{
    uint32_t id = 7;

    assert_false(epi_tickets_front(tickets, &id));
    assert_int_equal(id, 7);
    assert_int_equal(epi_tickets_count(tickets), 0);
}

static void test_front_is_the_first_pushed(void **state)
{
    static const uint32_t order[] = {2, 0, 3, 1};
    epi_tickets_t tickets;

    (void)state;
    assert_int_equal(epi_tickets_init(&tickets, 4), EPDX_OK);
    assert_empty(&tickets);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(epi_tickets_push(&tickets, order[i]), EPDX_OK);
        assert_front(&tickets, 2);
    }
    assert_int_equal(epi_tickets_count(&tickets), 4);
    for (size_t i = 0; i < 4; i++) {
        assert_front(&tickets, order[i]);
        assert_true(epi_tickets_remove(&tickets, order[i]));
    }
    assert_empty(&tickets);
    epi_tickets_fini(&tickets);
}

static void test_remove_from_the_middle_and_the_end(void **state)
{
    epi_tickets_t tickets;

    (void)state;
    assert_int_equal(epi_tickets_init(&tickets, 4), EPDX_OK);
    for (uint32_t id = 0; id < 4; id++) {
        assert_int_equal(epi_tickets_push(&tickets, id), EPDX_OK);
    }
    assert_true(epi_tickets_remove(&tickets, 1));
    assert_true(epi_tickets_remove(&tickets, 3));
    assert_int_equal(epi_tickets_push(&tickets, 1), EPDX_OK);
    assert_front(&tickets, 0);
    assert_true(epi_tickets_remove(&tickets, 0));
    assert_front(&tickets, 2);
    assert_true(epi_tickets_remove(&tickets, 2));
    assert_front(&tickets, 1);
    assert_true(epi_tickets_remove(&tickets, 1));
    assert_empty(&tickets);
    epi_tickets_fini(&tickets);
}

static void test_remove_of_one_who_does_not_wait(void **state)
{
    epi_tickets_t tickets;

    (void)state;
    assert_int_equal(epi_tickets_init(&tickets, 4), EPDX_OK);
    assert_int_equal(epi_tickets_push(&tickets, 0), EPDX_OK);
    assert_false(epi_tickets_remove(&tickets, 1));
    assert_false(epi_tickets_remove(&tickets, 4));
    assert_false(epi_tickets_remove(&tickets, UINT32_MAX));
    assert_int_equal(epi_tickets_count(&tickets), 1);
    assert_front(&tickets, 0);
    epi_tickets_fini(&tickets);
}

static void test_random_pushes_and_removals_are_those_of_a_list(void **state)
{
    test_seeded_t seeded = {.state = SEED};
    uint32_t list[CAPACITY];
    size_t count = 0;
    epi_tickets_t tickets;

    (void)state;
    print_message("seed %llu\n", (unsigned long long)SEED);
    assert_int_equal(epi_tickets_init(&tickets, CAPACITY), EPDX_OK);
    for (int step = 0; step < 20000; step++) {
        uint32_t id = (uint32_t)test_seeded_below(&seeded, CAPACITY);
        size_t place = 0;

        while (place < count && list[place] != id) {
            place++;
        }
        if (test_seeded_below(&seeded, 2) == 0) {
            assert_int_equal(epi_tickets_push(&tickets, id),
                             place < count ? EPDX_ERR_DUPLICATE : EPDX_OK);
            if (place == count) {
                list[count++] = id;
            }
        } else {
            assert_int_equal(epi_tickets_remove(&tickets, id), place < count);
            if (place < count) {
                count--;
                memmove(&list[place], &list[place + 1],
                        (count - place) * sizeof(list[0]));
            }
        }
        assert_int_equal(epi_tickets_count(&tickets), count);
        if (count > 0) {
            assert_front(&tickets, list[0]);
        }
    }
    for (size_t i = 0; i < count; i++) {
        assert_front(&tickets, list[i]);
        assert_true(epi_tickets_remove(&tickets, list[i]));
    }
    assert_empty(&tickets);
    epi_tickets_fini(&tickets);
}

static void test_init_invalid(void **state)
{
    epi_tickets_t tickets;

    (void)state;
    assert_int_equal(epi_tickets_init(&tickets, 0), EPDX_ERR_INVALID);
    assert_int_equal(epi_tickets_init(&tickets, UINT32_MAX), EPDX_ERR_INVALID);
}

static void test_init_no_memory(void **state)
{
    epi_tickets_t tickets = {.capacity = 7};

    (void)state;
    for (int calls = 0; calls < 3; calls++) {
        test_calloc_left = calls;
        assert_int_equal(epi_tickets_init(&tickets, 4), EPDX_ERR_NO_MEMORY);
        assert_int_equal(tickets.capacity, 7);
    }
}

static void test_push_duplicate(void **state)
{
    epi_tickets_t tickets;

    (void)state;
    assert_int_equal(epi_tickets_init(&tickets, 4), EPDX_OK);
    assert_int_equal(epi_tickets_push(&tickets, 3), EPDX_OK);
    assert_int_equal(epi_tickets_push(&tickets, 3), EPDX_ERR_DUPLICATE);
    assert_int_equal(epi_tickets_count(&tickets), 1);
    assert_true(epi_tickets_remove(&tickets, 3));
    assert_int_equal(epi_tickets_push(&tickets, 3), EPDX_OK);
    epi_tickets_fini(&tickets);
}

static void test_push_invalid(void **state)
{
    epi_tickets_t tickets;

    (void)state;
    assert_int_equal(epi_tickets_init(&tickets, 4), EPDX_OK);
    assert_int_equal(epi_tickets_push(&tickets, 4), EPDX_ERR_INVALID);
    assert_int_equal(epi_tickets_push(&tickets, UINT32_MAX), EPDX_ERR_INVALID);
    assert_empty(&tickets);
    epi_tickets_fini(&tickets);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_front_is_the_first_pushed),
        cmocka_unit_test(test_remove_from_the_middle_and_the_end),
        cmocka_unit_test(test_remove_of_one_who_does_not_wait),
        cmocka_unit_test(test_random_pushes_and_removals_are_those_of_a_list),
        cmocka_unit_test(test_init_invalid),
        cmocka_unit_test(test_init_no_memory),
        cmocka_unit_test(test_push_duplicate),
        cmocka_unit_test(test_push_invalid),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
