/* sender_asks_test.c: asks, cancels and deadlines of rooms, and who is told
 * what. */
#include <stdlib.h>
#include <string.h>

#include "sender/sender_test_world.h"

#define SHORT_NS (400 * EPI_MS)

static world_t world;

static void open_world(size_t ranks)
{
    epdx_sender_params_t params = world_params();

    world_open(&world, &params);
    for (size_t i = 0; i < ranks; i++) {
        rank_open(&world, i);
    }
}

static void open_impatient_world(size_t ranks)
{
    epdx_sender_params_t params = world_params();

    params.waiting_timeout_ns = SHORT_NS;
    world_open(&world, &params);
    for (size_t i = 0; i < ranks; i++) {
        rank_open(&world, i);
    }
}

static int close_world(void **state)
{
    (void)state;
    if (world.sender != NULL) {
        world_close(&world);
        memset(&world, 0, sizeof(world));
    }
    return 0;
}

static void until_asks(uint64_t count)
{
    WORLD_UNTIL(&world, world_stats(&world).asks == count);
}

static void test_a_repeated_ask_changes_nothing(void **state)
{
    (void)state;
    open_world(2);
    rank_ask_shard(&world, 0, 8, 5, 2);
    rank_ask_shard(&world, 0, 8, 5, 2);
    rank_ask_shard(&world, 0, 8, 5, 2);
    until_asks(3);
    world_send(&world, 8, 5, false);
    rank_ask_shard(&world, 1, 8, 5, 2);
    world_expect(&world, 8, EPDX_OK, "");
    assert_int_equal(world.ranks[0].offers, 1);
    world_expect_quiet(&world);
}

static void test_a_newer_ask_takes_the_place_of_the_older(void **state)
{
    epi_ask_t ask;

    (void)state;
    open_world(1);
    ask = rank_ask(&world, 0, 8, (epdx_rows_t){0, 5}, 5);
    ask.required = 2; /* which would never come */
    rank_send_ask(&world, 0, &ask);
    ask.required = 1;
    ask.generation = 77;
    rank_send_ask(&world, 0, &ask);
    until_asks(2);
    world_send(&world, 8, 5, false);
    world_expect(&world, 8, EPDX_OK, "");
    assert_int_equal(world.ranks[0].offers, 1);
    assert_int_equal(world.ranks[0].last.generation, 77);
    world_expect_quiet(&world);
}

static void test_asks_for_a_room_that_is_being_delivered(void **state)
{
    epi_ask_t ask;

    (void)state;
    open_world(2);
    epi_loopback_hold_pulls(world.ranks[0].dp, true);
    rank_ask_whole(&world, 0, 8, 5);
    world_send(&world, 8, 5, false);
    WORLD_UNTIL(&world, world.ranks[0].offers == 1);
    rank_ask_whole(&world, 0, 8, 5); /* a repeat */
    ask = rank_ask(&world, 0, 8, (epdx_rows_t){0, 5}, 5);
    ask.generation = 77;
    rank_send_ask(&world, 0, &ask);
    rank_expect_failed(&world, 0, 8, 77, "room 8 is being delivered already");
    rank_ask_whole(&world, 1, 8, 5);
    rank_expect_failed(&world, 1, 8, 1008, "being delivered to 1 other");
    epi_loopback_hold_pulls(world.ranks[0].dp, false);
    world_expect(&world, 8, EPDX_OK, "");
    assert_int_equal(world.ranks[0].offers, 1);
    world_expect_quiet(&world);
}

static void test_a_late_ask_is_answered_at_once(void **state)
{
    (void)state;
    open_world(2);
    rank_ask_whole(&world, 0, 8, 5);
    world_send(&world, 8, 5, false);
    world_expect(&world, 8, EPDX_OK, "");
    rank_ask_whole(&world, 1, 8, 5);
    rank_expect_failed(&world, 1, 8, 1008, "room 8 has ended: delivered");
    assert_int_equal(world_stats(&world).asks_late, 1);
    world_expect_quiet(&world);
}

static void test_a_late_ask_without_rows_does_not_fail_its_offer(void **state)
{
    (void)state;
    open_world(2);
    rank_ask_shard(&world, 0, 8, 1, 2);
    rank_ask_shard(&world, 1, 8, 1, 2); /* for none of the rows */
    world_send(&world, 8, 1, false);
    world_expect(&world, 8, EPDX_OK, "");
    rank_ask_shard(&world, 1, 8, 1, 2);
    WORLD_UNTIL(&world, world_stats(&world).asks_late == 1);
    rank_ask_shard(&world, 0, 8, 1, 2); /* answered, as ever */
    rank_expect_failed(&world, 0, 8, 1008, "room 8 has ended: delivered");
    assert_int_equal(world.ranks[1].status_count, 0);
    assert_int_equal(world.ranks[1].offers, 1);
    world_expect_quiet(&world);
}

static void test_cancel_before_the_chunk_is_remembered(void **state)
{
    (void)state;
    open_world(2);
    rank_ask_shard(&world, 0, 8, 5, 2);
    rank_ask_shard(&world, 1, 8, 5, 2);
    until_asks(2);
    rank_cancel(&world, 0, 8, 55, "of another generation");
    rank_cancel(&world, 0, 8, 1008, "not wanted");
    rank_expect_failed(&world, 1, 8, 1008, "not wanted");
    assert_int_equal(world_stats(&world).rooms_open, 0);
    world_send(&world, 8, 5, false); /* too late: it ends at once */
    world_expect(&world, 8, EPDX_ERR_CANCELLED, "not wanted");
    rank_ask_whole(&world, 0, 8, 5);
    rank_expect_failed(&world, 0, 8, 1008, "not wanted");
    world_expect_quiet(&world);
}

static void test_cancel_without_an_ask_frees_the_chunk(void **state)
{
    (void)state;
    open_world(2);
    world_send(&world, 8, 5, false);
    rank_cancel(&world, 0, 8, 1008, "of a rank that nobody knows");
    rank_register(&world, 0, WORLD_HIDDEN, 0);
    rank_cancel(&world, 0, 8, 1008, "gave up before it asked");
    world_expect(&world, 8, EPDX_ERR_CANCELLED, "gave up before it asked");
    rank_ask_whole(&world, 1, 8, 5);
    rank_expect_failed(&world, 1, 8, 1008, "gave up before it asked");
    world_expect_quiet(&world);
}

static void test_cancel_ahead_of_everything_is_remembered(void **state)
{
    (void)state;
    open_world(2);
    rank_register(&world, 0, WORLD_HIDDEN, 0);
    rank_cancel(&world, 0, 8, 1008, "");
    rank_ask_whole(&world, 1, 8, 5);
    rank_expect_failed(&world, 1, 8, 1008, "cancelled by the prefill rank");
    world_send(&world, 8, 5, false);
    world_expect(&world, 8, EPDX_ERR_CANCELLED,
                 "cancelled by the prefill rank");
    world_expect_quiet(&world);
}

static void test_cancel_of_what_is_over_or_delivered_changes_nothing(
    void **state)
{
    (void)state;
    open_world(2);
    rank_register(&world, 1, WORLD_HIDDEN, 0);
    epi_loopback_hold_pulls(world.ranks[0].dp, true);
    rank_ask_whole(&world, 0, 8, 5);
    world_send(&world, 8, 5, false);
    WORLD_UNTIL(&world, world.ranks[0].offers == 1);
    rank_cancel(&world, 1, 8, 1008, "of a rank that is none of the room's");
    rank_ask_whole(&world, 1, 7, 5); /* it comes after the cancel */
    until_asks(2);
    epi_loopback_hold_pulls(world.ranks[0].dp, false);
    world_expect(&world, 8, EPDX_OK, "");
    rank_cancel(&world, 0, 8, 1008, "late");
    rank_ask_whole(&world, 0, 8, 5);
    rank_expect_failed(&world, 0, 8, 1008, "room 8 has ended: delivered");
}

static void test_a_cancel_of_another_generation_is_ignored(void **state)
{
    (void)state;
    open_world(1);
    rank_ask_whole(&world, 0, 8, 5);
    rank_cancel(&world, 0, 8, 55, "of an older generation");
    until_asks(1);
    world_send(&world, 8, 5, false);
    world_expect(&world, 8, EPDX_OK, "");
}

static void test_cancel_of_one_fails_the_room_for_all(void **state)
{
    (void)state;
    open_world(2);
    world_send(&world, 8, 5, false);
    rank_ask_shard(&world, 0, 8, 5, 3);
    rank_ask_shard(&world, 1, 8, 5, 3);
    until_asks(2);
    rank_cancel(&world, 0, 8, 1008, "the request was given up");
    rank_expect_failed(&world, 1, 8, 1008, "the request was given up");
    world_expect(&world, 8, EPDX_ERR_CANCELLED, "the request was given up");
    rank_ask_shard(&world, 0, 8, 5, 3); /* late, and told the cause */
    rank_expect_failed(&world, 0, 8, 1008, "the request was given up");
    world_expect_quiet(&world);
}

static void test_cancel_while_delivering_waits_for_the_offers(void **state)
{
    (void)state;
    open_world(2);
    epi_loopback_hold_pulls(world.ranks[0].dp, true);
    epi_loopback_hold_pulls(world.ranks[1].dp, true);
    rank_ask_shard(&world, 0, 8, 5, 2);
    rank_ask_shard(&world, 1, 8, 5, 2);
    world_send(&world, 8, 5, false);
    WORLD_UNTIL(&world,
                world.ranks[0].offers == 1 && world.ranks[1].offers == 1);
    rank_cancel(&world, 1, 8, 1008, "");
    rank_expect_failed(&world, 0, 8, 1008, "cancelled by the prefill rank");
    assert_int_equal(world.outcome_count, 0);
    assert_int_equal(world_stats(&world).rooms_open, 1);
    epi_loopback_hold_pulls(world.ranks[0].dp, false);
    WORLD_UNTIL(&world, world.ranks[0].pulled == 1);
    world_step(&world);
    assert_int_equal(world.outcome_count, 0); /* the other still pulls */
    epi_loopback_hold_pulls(world.ranks[1].dp, false);
    world_expect(&world, 8, EPDX_ERR_CANCELLED, "cancelled");
    world_expect_quiet(&world);
}

static void test_a_refused_offer_is_told_by_a_cancel(void **state)
{
    (void)state;
    open_world(2);
    epi_loopback_hold_pulls(world.ranks[1].dp, true);
    world.ranks[0].refuse = true;
    rank_ask_shard(&world, 0, 8, 5, 2);
    rank_ask_shard(&world, 1, 8, 5, 2);
    world_send(&world, 8, 5, false);
    WORLD_UNTIL(&world,
                world.ranks[0].offers == 1 && world.ranks[1].offers == 1);
    rank_cancel(&world, 0, 8, 1008, "the offer matches no lease");
    rank_expect_failed(&world, 1, 8, 1008, "the offer matches no lease");
    epi_loopback_hold_pulls(world.ranks[1].dp, false);
    world_expect(&world, 8, EPDX_ERR_CANCELLED, "the offer matches no lease");
}

static void test_timeout_with_some_of_the_asks(void **state)
{
    (void)state;
    open_impatient_world(1);
    rank_ask_shard(&world, 0, 8, 5, 2);
    until_asks(1);
    world_send(&world, 8, 5, false);
    world_expect(&world, 8, EPDX_ERR_TIMEOUT, "1 of 2 asks came within 0.4 s");
    rank_expect_failed(&world, 0, 8, 1008, "1 of 2 asks came");
    assert_int_equal(world_stats(&world).rooms_failed, 1);
    world_expect_quiet(&world);
}

static void test_timeout_without_asks(void **state)
{
    (void)state;
    open_impatient_world(0);
    world_send(&world, 8, 5, false);
    world_expect(&world, 8, EPDX_ERR_TIMEOUT, "no asks came within 0.4 s");
    world_expect_quiet(&world);
}

static void test_timeout_without_rows(void **state)
{
    (void)state;
    open_impatient_world(1);
    rank_ask_whole(&world, 0, 8, 5);
    rank_expect_failed(&world, 0, 8, 1008, "no rows came within 0.4 s");
    world_step(&world);
    assert_int_equal(world.outcome_count, 0);
    world_send(&world, 8, 5, false); /* too late: told at once */
    world_expect(&world, 8, EPDX_ERR_TIMEOUT, "no rows came within 0.4 s");
    world_expect_quiet(&world);
}

static void test_timeout_of_offers_that_are_not_taken(void **state)
{
    (void)state;
    open_impatient_world(1);
    epi_loopback_hold_pulls(world.ranks[0].dp, true);
    rank_ask_whole(&world, 0, 8, 5);
    until_asks(1);
    world_send(&world, 8, 5, false);
    world_expect(&world, 8, EPDX_ERR_UNREACHABLE, "did not take its rows");
    world_expect_quiet(&world);
    assert_int_equal(world_stats(&world).peers, 0);
}

static void test_a_set_that_does_not_fit_is_told_to_all(void **state)
{
    epi_ask_t ask;

    (void)state;
    open_world(2);
    for (size_t i = 0; i < 2; i++) {
        ask = rank_ask(&world, i, 8, (epdx_rows_t){0, 3}, 5);
        ask.required = 2; /* both for the same rows: a gap and an overlap */
        rank_send_ask(&world, i, &ask);
    }
    world_send(&world, 8, 5, false);
    world_expect(&world, 8, EPDX_ERR_MISMATCH, "gap or overlap");
    rank_expect_failed(&world, 0, 8, 1008, "gap or overlap");
    rank_expect_failed(&world, 1, 8, 1008, "gap or overlap");
    assert_int_equal(world.ranks[0].offers + world.ranks[1].offers, 0);
    rank_ask_whole(&world, 0, 8, 5);
    rank_expect_failed(&world, 0, 8, 1008, "gap or overlap");
    world_send(&world, 8, 5, false);
    world_expect(&world, 8, EPDX_ERR_MISMATCH, "gap or overlap");
    world_expect_quiet(&world);
}

static void test_more_asks_than_each_requires(void **state)
{
    (void)state;
    open_world(2);
    rank_ask_whole(&world, 0, 8, 5);
    rank_ask_whole(&world, 1, 8, 5);
    until_asks(2);
    world_send(&world, 8, 5, false);
    world_expect(&world, 8, EPDX_ERR_MISMATCH, "requires 1 asks");
    rank_expect_failed(&world, 0, 8, 1008, "requires 1 asks");
    rank_expect_failed(&world, 1, 8, 1008, "requires 1 asks");
}

static void test_an_ask_of_another_model_is_refused(void **state)
{
    epi_ask_t ask;

    (void)state;
    open_world(1);
    ask = rank_ask(&world, 0, 8, (epdx_rows_t){0, 5}, 5);
    ask.hidden = 4096;
    rank_send_ask(&world, 0, &ask);
    rank_expect_failed(&world, 0, 8, 1008,
                       "hidden is 8 here and 4096 at the peer");
    ask.hidden = WORLD_HIDDEN;
    ask.dtype = EPDX_FLOAT32;
    rank_send_ask(&world, 0, &ask);
    rank_expect_failed(&world, 0, 8, 1008, "torch.float32 at the peer");
    ask.dtype = EPDX_BFLOAT16;
    ask.required = 5000;
    rank_send_ask(&world, 0, &ask);
    rank_expect_failed(&world, 0, 8, 1008, "5000 ranks");
    assert_int_equal(world_stats(&world).asks, 0);
    rank_ask_whole(&world, 0, 8, 5); /* none of them stands in its way */
    world_send(&world, 8, 5, false);
    world_expect(&world, 8, EPDX_OK, "");
    world_expect_quiet(&world);
}

static void test_a_rank_registered_with_other_levels_is_refused(void **state)
{
    (void)state;
    open_world(1);
    rank_register(&world, 0, WORLD_HIDDEN, 2);
    rank_ask_whole(&world, 0, 8, 5);
    rank_expect_failed(&world, 0, 8, 1008,
                       "levels is 0 here and 2 at the peer");
    rank_register(&world, 0, WORLD_HIDDEN, 0);
    rank_ask_whole(&world, 0, 8, 5);
    world_send(&world, 8, 5, false);
    world_expect(&world, 8, EPDX_OK, "");
    assert_int_equal(world_stats(&world).peers, 1);
}

static void test_fail_tells_askers_now_and_later(void **state)
{
    (void)state;
    open_world(2);
    rank_ask_whole(&world, 0, 8, 5);
    until_asks(1);
    assert_int_equal(epdx_sender_fail(world.sender, 8, "the image is broken"),
                     EPDX_OK);
    assert_int_equal(epdx_sender_fail(world.sender, 8, "again"),
                     EPDX_ERR_DUPLICATE);
    rank_expect_failed(&world, 0, 8, 1008, "the image is broken");
    world_expect(&world, 8, EPDX_ERR_CANCELLED, "the image is broken");
    rank_ask_whole(&world, 1, 8, 5);
    rank_expect_failed(&world, 1, 8, 1008, "the image is broken");
    assert_int_equal(epdx_sender_fail(world.sender, 9, "nor this"), EPDX_OK);
    world_expect(&world, 9, EPDX_ERR_CANCELLED, "nor this");
    assert_int_equal(epdx_sender_fail(world.sender, 10, NULL), EPDX_OK);
    world_expect(&world, 10, EPDX_ERR_CANCELLED, "no reason was given");
    world_expect_quiet(&world);
}

static void test_the_oldest_waiting_room_makes_way(void **state)
{
    (void)state;
    assert_int_equal(setenv("EPDX_MAX_ROOMS", "2", 1), 0);
    open_world(1);
    assert_int_equal(unsetenv("EPDX_MAX_ROOMS"), 0);
    rank_ask_whole(&world, 0, 1, 5);
    rank_ask_whole(&world, 0, 2, 5);
    rank_ask_whole(&world, 0, 3, 5);
    WORLD_UNTIL(&world, world_stats(&world).rooms_evicted == 1); /* room 1 */
    assert_int_equal(world_stats(&world).rooms_open, 2);
    world_send(&world, 4, 5, false); /* a chunk is worth more than room 2 */
    WORLD_UNTIL(&world, world_stats(&world).rooms_evicted == 2);
    world_send(&world, 3, 5, false);
    world_expect(&world, 3, EPDX_OK, "");
    rank_ask_whole(&world, 0, 4, 5);
    world_expect(&world, 4, EPDX_OK, "");
    world_send(&world, 1, 5, false); /* it was forgotten, not failed */
    rank_ask_whole(&world, 0, 1, 5);
    world_expect(&world, 1, EPDX_OK, "");
    assert_int_equal(world.ranks[0].status_count, 0);
    assert_int_equal(world_stats(&world).rooms_failed, 0);
    world_expect_quiet(&world);
}

#define TEST(name) cmocka_unit_test_teardown(name, close_world)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_repeated_ask_changes_nothing),
        TEST(test_a_newer_ask_takes_the_place_of_the_older),
        TEST(test_asks_for_a_room_that_is_being_delivered),
        TEST(test_a_late_ask_is_answered_at_once),
        TEST(test_a_late_ask_without_rows_does_not_fail_its_offer),
        TEST(test_cancel_before_the_chunk_is_remembered),
        TEST(test_cancel_without_an_ask_frees_the_chunk),
        TEST(test_cancel_ahead_of_everything_is_remembered),
        TEST(test_cancel_of_what_is_over_or_delivered_changes_nothing),
        TEST(test_a_cancel_of_another_generation_is_ignored),
        TEST(test_cancel_of_one_fails_the_room_for_all),
        TEST(test_cancel_while_delivering_waits_for_the_offers),
        TEST(test_a_refused_offer_is_told_by_a_cancel),
        TEST(test_timeout_with_some_of_the_asks),
        TEST(test_timeout_without_asks),
        TEST(test_timeout_without_rows),
        TEST(test_timeout_of_offers_that_are_not_taken),
        TEST(test_a_set_that_does_not_fit_is_told_to_all),
        TEST(test_more_asks_than_each_requires),
        TEST(test_an_ask_of_another_model_is_refused),
        TEST(test_a_rank_registered_with_other_levels_is_refused),
        TEST(test_fail_tells_askers_now_and_later),
        TEST(test_the_oldest_waiting_room_makes_way),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
