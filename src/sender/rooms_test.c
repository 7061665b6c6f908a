/* rooms_test.c: the table of open rooms and their asks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "sender/rooms.h"

static void test_rooms_come_and_go(void **state)
{
    epi_rooms_t rooms;
    epi_room_t *room;

    (void)state;
    assert_int_equal(epi_rooms_init(&rooms, 3), EPDX_OK);
    for (uint64_t number = 1; number <= 3; number++) {
        room = epi_rooms_add(&rooms, number << 40, 10 * number);
        assert_non_null(room);
        assert_int_equal(room->phase, EPI_PHASE_GATHERING);
        assert_ptr_equal(epi_rooms_find(&rooms, number << 40), room);
    }
    assert_null(epi_rooms_add(&rooms, 9, 1));
    assert_int_equal(epi_timers_next(&rooms.deadlines), 10);
    epi_rooms_remove(&rooms, epi_rooms_find(&rooms, UINT64_C(1) << 40));
    assert_null(epi_rooms_find(&rooms, UINT64_C(1) << 40));
    assert_int_equal(epi_timers_next(&rooms.deadlines), 20);
    assert_int_equal(rooms.count, 2);
    assert_non_null(epi_rooms_add(&rooms, 9, 1));
    epi_rooms_fini(&rooms);
}

static void test_the_oldest_without_a_chunk(void **state)
{
    epi_rooms_t rooms;
    epi_room_t *a, *b, *c;

    (void)state;
    assert_int_equal(epi_rooms_init(&rooms, 4), EPDX_OK);
    assert_null(epi_rooms_oldest(&rooms));
    a = epi_rooms_add(&rooms, 1, 1);
    b = epi_rooms_add(&rooms, 2, 1);
    c = epi_rooms_add(&rooms, 3, 1);
    assert_ptr_equal(epi_rooms_oldest(&rooms), a);
    epi_rooms_seat(&rooms, b, 0);
    epi_rooms_remove(&rooms, a);
    assert_ptr_equal(epi_rooms_oldest(&rooms), c);
    epi_rooms_seat(&rooms, c, 1);
    assert_null(epi_rooms_oldest(&rooms));
    a = epi_rooms_add(&rooms, 4, 1);
    assert_ptr_equal(epi_rooms_oldest(&rooms), a);
    epi_rooms_remove(&rooms, b);
    epi_rooms_remove(&rooms, a);
    assert_null(epi_rooms_oldest(&rooms));
    epi_rooms_fini(&rooms);
}

/* More asks than one block holds; those of a room that went are used again. */
static void test_asks_of_many_rooms(void **state)
{
    epi_ask_t ask = {.generation = 1};
    epi_rooms_t rooms;
    size_t blocks = 0;

    (void)state;
    assert_int_equal(epi_rooms_init(&rooms, 2), EPDX_OK);
    for (uint64_t round = 0; round < 3; round++) {
        epi_room_t *room = epi_rooms_add(&rooms, round, 1);

        for (uint32_t i = 0; i < 700; i++) {
            epi_room_ask_t *added;

            ask.generation = i;
            added = epi_rooms_ask_add(&rooms, room, &ask, i);
            assert_non_null(added);
            assert_ptr_equal(epi_rooms_ask_at(&rooms, added->index), added);
        }
        assert_int_equal(room->ask_count, 700);
        assert_int_equal(epi_rooms_ask_of(&rooms, room, 321)->ask.generation,
                         321);
        epi_rooms_ask_remove(&rooms, room, epi_rooms_ask_of(&rooms, room, 321));
        assert_null(epi_rooms_ask_of(&rooms, room, 321));
        assert_int_equal(room->ask_count, 699);
        epi_rooms_remove(&rooms, room);
        assert_true(round == 0 || rooms.block_count == blocks);
        blocks = rooms.block_count;
    }
    epi_rooms_fini(&rooms);
}

static void test_asks_are_bounded(void **state)
{
    epi_ask_t ask = {.generation = 1};
    epi_rooms_t rooms;
    epi_room_t *room;
    uint32_t count = 0;

    (void)state;
    assert_int_equal(epi_rooms_init(&rooms, 1), EPDX_OK);
    room = epi_rooms_add(&rooms, 1, EPI_NEVER);
    while (count < 100000 &&
           epi_rooms_ask_add(&rooms, room, &ask, count) != NULL) {
        count++;
    }
    assert_true(count >= EPI_FANOUT_MAX);
    assert_true(count <= EPI_FANOUT_MAX + 512);
    epi_rooms_remove(&rooms, room);
    assert_int_equal(rooms.count, 0);
    epi_rooms_fini(&rooms);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rooms_come_and_go),
        cmocka_unit_test(test_the_oldest_without_a_chunk),
        cmocka_unit_test(test_asks_of_many_rooms),
        cmocka_unit_test(test_asks_are_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
