/* ended_test.c: ended rooms are remembered, for a time and to a number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sender/ended.h"

static void test_a_room_is_known_for_its_time(void **state)
{
    epi_ended_t ended;

    (void)state;
    assert_int_equal(epi_ended_init(&ended, 4, 100), EPDX_OK);
    assert_null(epi_ended_find(&ended, 1, 0));
    epi_ended_add(&ended, 1, EPDX_ERR_TIMEOUT, "why", 1000);
    assert_string_equal(epi_ended_find(&ended, 1, 1099)->reason, "why");
    assert_int_equal(epi_ended_find(&ended, 1, 1099)->status, EPDX_ERR_TIMEOUT);
    assert_null(epi_ended_find(&ended, 1, 1100));
    assert_int_equal(ended.by_number.count, 0);
    epi_ended_fini(&ended);
}

static void test_the_oldest_is_forgotten_when_full(void **state)
{
    epi_ended_t ended;

    (void)state;
    assert_int_equal(epi_ended_init(&ended, 3, 1000), EPDX_OK);
    for (uint64_t room = 1; room <= 10; room++) {
        epi_ended_add(&ended, room, EPDX_OK, "", room);
        for (uint64_t other = 1; other <= room; other++) {
            const epi_ended_room_t *known = epi_ended_find(&ended, other, room);

            if (other + 3 <= room) {
                assert_null(known);
            } else {
                assert_int_equal(known->room, other);
            }
        }
    }
    assert_int_equal(ended.count, 3);
    epi_ended_fini(&ended);
}

static void test_a_room_that_ends_again_is_known_once(void **state)
{
    epi_ended_t ended;

    (void)state;
    assert_int_equal(epi_ended_init(&ended, 2, 1000), EPDX_OK);
    for (uint64_t i = 0; i < 5; i++) {
        epi_ended_add(&ended, 7, EPDX_OK, "", i);
        epi_ended_add(&ended, 7, EPDX_ERR_PEER, "again", i);
        assert_string_equal(epi_ended_find(&ended, 7, i)->reason, "again");
        assert_int_equal(ended.by_number.count, 1);
    }
    assert_null(epi_ended_find(&ended, 7, 1004));
    assert_int_equal(ended.by_number.count, 0);
    epi_ended_fini(&ended);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_room_is_known_for_its_time),
        cmocka_unit_test(test_the_oldest_is_forgotten_when_full),
        cmocka_unit_test(test_a_room_that_ends_again_is_known_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
