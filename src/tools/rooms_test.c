/* rooms_test.c: rooms and the nodes that serve them. */
#include "tools/rooms.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void a_room_names_its_item(void **state)
{
    (void)state;
    assert_int_equal(epi_room(0, 0), 0x10000);
    assert_int_equal(epi_room(0, 1), 0x10001);
    assert_int_equal(epi_room(1, 0), 0x20000);
    assert_int_equal(epi_room_request(epi_room(199, 48)), 199);
    assert_int_equal(epi_room_item(epi_room(199, 48)), 48);
}

static void the_last_request_still_fits(void **state)
{
    uint64_t room = epi_room(EPI_ROOM_REQUEST_MAX, 65535);

    (void)state;
    assert_true(room == UINT64_C(0x800000000000ffff));
    assert_int_equal(epi_room_request(room), EPI_ROOM_REQUEST_MAX);
    assert_int_equal(epi_room_item(room), 65535);
}

static void items_of_a_request_lie_on_different_nodes(void **state)
{
    (void)state;
    assert_int_equal(epi_room_node(0, 0, 1), 0);
    assert_int_equal(epi_room_node(0, 0, 3), 0);
    assert_int_equal(epi_room_node(0, 1, 3), 1);
    assert_int_equal(epi_room_node(2, 2, 3), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_room_names_its_item),
        cmocka_unit_test(the_last_request_still_fits),
        cmocka_unit_test(items_of_a_request_lie_on_different_nodes),
    };

    return cmocka_run_group_tests_name("rooms", tests, NULL, NULL);
}
