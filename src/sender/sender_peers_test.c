/* sender_peers_test.c: prefill ranks that send nonsense, go away, restart, or
 * are too many. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sender/sender_test_world.h"
#include "testing/secrets.h"

static world_t world;
static secrets_t secrets; /* of worlds with keys */

static void open_world(size_t ranks)
{
    epdx_sender_params_t params = world_params();

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
    if (secrets.folder[0] != '\0') {
        secrets_close(&secrets);
        memset(&secrets, 0, sizeof(secrets));
    }
    return 0;
}

/* Rank 0 has key "one", rank 1 key "two"; the sender allows both. */
static void open_world_with_keys(void)
{
    epi_curve_pair_t encode, one, two;
    char list[128];

    secrets_open(&secrets);
    encode = secrets_pair(&secrets, "encode");
    one = secrets_pair(&secrets, "one");
    two = secrets_pair(&secrets, "two");
    (void)snprintf(list, sizeof(list), "%s\n%s\n", one.public_key,
                   two.public_key);
    secrets_write(&secrets, "allowed", 0644, list);
    assert_int_equal(
        setenv("EPDX_CURVE_KEY_FILE", secrets_at(&secrets, "encode").text, 1),
        0);
    assert_int_equal(setenv("EPDX_CURVE_ALLOWED_FILE",
                            secrets_at(&secrets, "allowed").text, 1),
                     0);
    open_world(0);
    assert_int_equal(unsetenv("EPDX_CURVE_KEY_FILE"), 0);
    assert_int_equal(unsetenv("EPDX_CURVE_ALLOWED_FILE"), 0);
    rank_open_key(&world, 0, secrets_at(&secrets, "one").text,
                  encode.public_key);
    rank_open_key(&world, 1, secrets_at(&secrets, "two").text,
                  encode.public_key);
}

static void until_asks(uint64_t count)
{
    WORLD_UNTIL(&world, world_stats(&world).asks == count);
}

static void test_malformed_messages_are_counted_and_harmless(void **state)
{
    epi_message_t message;

    (void)state;
    open_world(1);
    for (int i = 0; i < 3; i++) {
        epi_message_clear(&message);
        assert_true(epi_message_add_text(&message, i == 0   ? "None"
                                                   : i == 1 ? "Cancel"
                                                            : "8"));
        assert_true(epi_message_add_text(&message, "nonsense"));
        rank_send(&world, 0, &message);
    }
    epi_message_clear(&message);
    assert_true(epi_message_add_text(&message, "what?"));
    rank_send(&world, 0, &message);
    WORLD_UNTIL(&world, world_stats(&world).frames_dropped == 4);
    assert_int_equal(world_stats(&world).peers, 0);
    rank_ask_whole(&world, 0, 8, 5);
    world_send(&world, 8, 5, false);
    world_expect(&world, 8, EPDX_OK, "");
}

static void test_a_rank_that_went_away_fails_its_rooms(void **state)
{
    (void)state;
    open_world(2);
    rank_ask_shard(&world, 0, 8, 5, 2);
    rank_ask_shard(&world, 1, 9, 5, 2);
    rank_ask_shard(&world, 1, 8, 5, 3);
    until_asks(3);
    assert_int_equal(world_stats(&world).peers, 2);
    /* Its connection must stand before it can break: it is told something. */
    world_send(&world, 10, 5, false);
    rank_ask_whole(&world, 0, 10, 4);
    world_expect(&world, 10, EPDX_ERR_MISMATCH, "");
    rank_expect_failed(&world, 0, 10, 1010, "span");
    rank_close_control(&world, 0);
    rank_expect_failed(&world, 1, 8, 1008, "went away");
    WORLD_UNTIL(&world, world_stats(&world).peers == 1);
    assert_int_equal(world_stats(&world).rooms_open, 1); /* room 9 */
}

static void test_a_cut_data_connection_fails_the_delivery(void **state)
{
    (void)state;
    open_world(2);
    epi_loopback_hold_pulls(world.ranks[0].dp, true);
    rank_ask_shard(&world, 0, 8, 5, 2);
    rank_ask_shard(&world, 1, 8, 5, 2);
    world_send(&world, 8, 5, false);
    WORLD_UNTIL(&world,
                world.ranks[0].offers == 1 && world.ranks[1].pulled == 1);
    epi_loopback_cut(world.ranks[0].dp);
    world_expect(&world, 8, EPDX_ERR_UNREACHABLE, world.ranks[0].session);
    rank_expect_failed(&world, 1, 8, 1008, world.ranks[0].session);
    WORLD_UNTIL(&world, world_stats(&world).peers == 1);
    /* It asks again, and is made known anew. */
    rank_ask_whole(&world, 0, 9, 5);
    epi_loopback_hold_pulls(world.ranks[0].dp, false);
    world.ranks[0].status_count = 0;
    world_send(&world, 9, 5, false);
    world_expect(&world, 9, EPDX_OK, "");
}

static void test_an_address_that_nobody_has(void **state)
{
    epi_ask_t ask;

    (void)state;
    open_world(1);
    ask = rank_ask(&world, 0, 8, (epdx_rows_t){0, 5}, 5);
    strcpy(ask.session, "loopback:999");
    ask.required = 2;
    rank_send_ask(&world, 0, &ask);
    world_send(&world, 8, 5, false);
    world_expect(&world, 8, EPDX_ERR_UNREACHABLE,
                 "prefill rank loopback:999 went away");
    assert_int_equal(world_stats(&world).peers, 0);
}

/** Until the sender's way back to a rank stands and was taken note of: it
 *  answers the second of two messages that way after the first one arrived. */
static void until_connected(size_t index, uint64_t room)
{
    for (uint64_t i = room; i < room + 2; i++) {
        world_send(&world, i, 5, false);
        rank_ask_whole(&world, index, i, 4);
        world_expect(&world, i, EPDX_ERR_MISMATCH, "");
        rank_expect_failed(&world, index, i, 1000 + i, "span");
    }
}

static void test_a_rank_that_restarted_is_another(void **state)
{
    (void)state;
    open_world(2);
    until_connected(0, 20);
    world_send(&world, 8, 5, false);
    rank_ask_shard(&world, 0, 8, 5, 2);
    until_asks(3);
    rank_close_control(&world, 0);
    world_expect(&world, 8, EPDX_ERR_UNREACHABLE, "went away");
    /* Rank 1 comes with its session from another socket. */
    (void)strcpy(world.ranks[1].session, world.ranks[0].session);
    rank_ask_shard(&world, 1, 9, 5, 2);
    until_asks(4);
    assert_int_equal(world_stats(&world).peers, 1);
    assert_int_equal(world_stats(&world).frames_dropped, 0);
}

/* One that was never connected to may be an older life of the same rank. */
static void test_a_rank_that_was_never_reached_makes_way(void **state)
{
    epi_ask_t ask;

    (void)state;
    open_world(1);
    world_send(&world, 8, 5, false);
    ask = rank_ask(&world, 0, 8, (epdx_rows_t){0, 5}, 5);
    ask.status_port = 1; /* nobody is there */
    ask.required = 2;
    rank_send_ask(&world, 0, &ask);
    until_asks(1);
    rank_ask_whole(&world, 0, 9, 5);
    world_expect(&world, 8, EPDX_ERR_UNREACHABLE, "restarted");
    world_send(&world, 9, 5, false);
    world_expect(&world, 9, EPDX_OK, "");
    assert_int_equal(world_stats(&world).peers, 1);
}

static void test_nobody_takes_the_place_of_a_connected_rank(void **state)
{
    epi_ask_t forged;

    (void)state;
    open_world(2);
    until_connected(0, 20);
    rank_ask_shard(&world, 0, 8, 5, 2);
    until_asks(3);
    for (int i = 0; i < 3; i++) {
        forged = rank_ask(&world, 0, 9, (epdx_rows_t){0, 5}, 5);
        forged.status_port += i == 0;
        (void)strcpy(forged.endpoint, i == 1 ? "127.0.0.9" : "127.0.0.1");
        (void)strcpy(forged.instance,
                     i == 2 ? "another" : world.ranks[0].instance);
        rank_send_ask(&world, 1, &forged);
    }
    WORLD_UNTIL(&world, world_stats(&world).frames_dropped == 3);
    assert_int_equal(world_stats(&world).peers, 1);
    assert_int_equal(world_stats(&world).rooms_open, 1); /* room 8 */
    rank_ask_shard(&world, 1, 8, 5, 2);
    world_send(&world, 8, 5, false);
    world_expect(&world, 8, EPDX_OK, "");
}

/* Everything in the ask is as rank 0 says it, but for the key. */
static void test_no_other_key_takes_the_place_of_a_connected_rank(void **state)
{
    epi_ask_t forged;

    (void)state;
    open_world_with_keys();
    until_connected(0, 20);
    forged = rank_ask(&world, 0, 9, (epdx_rows_t){0, 5}, 5);
    rank_send_ask(&world, 1, &forged);
    WORLD_UNTIL(&world, world_stats(&world).frames_dropped == 1);
    assert_int_equal(world_stats(&world).peers, 1);
    assert_int_equal(world_stats(&world).rooms_open, 0);
    rank_ask_whole(&world, 0, 9, 5);
    world_send(&world, 9, 5, false);
    world_expect(&world, 9, EPDX_OK, "");
}

/* Before the way back stands nobody knows better; but a status goes that way
 * only to who has the key that the ask came with. */
static void test_a_status_goes_to_no_other_key(void **state)
{
    epi_ask_t forged;

    (void)state;
    open_world_with_keys();
    forged = rank_ask(&world, 0, 8, (epdx_rows_t){0, 4}, 4);
    world_send(&world, 8, 5, false);
    rank_send_ask(&world, 1, &forged);
    world_expect(&world, 8, EPDX_ERR_MISMATCH, "span");
    WORLD_UNTIL(&world, epi_control_refused(world.ranks[0].control) > 0);
    until_connected(1, 20); /* as any status of its own goes */
    assert_int_equal(world.ranks[0].status_count, 0);
}

/* The cancel of rank 0, word for word, by the socket of rank 1; it was read
 * once the ask behind it counts. */
static void cancel_by_another_key(uint64_t room)
{
    uint64_t asks = world_stats(&world).asks;
    epi_cancel_t cancel = {.room = room, .generation = 1000 + room};
    epi_message_t message;

    (void)strcpy(cancel.session, world.ranks[0].session);
    (void)strcpy(cancel.reason, "not by its rank");
    assert_int_equal(epi_cancel_format(&cancel, &message), EPDX_OK);
    rank_send(&world, 1, &message);
    rank_ask_whole(&world, 1, 100 + room, 5);
    until_asks(asks + 1);
}

static void test_nobody_cancels_under_the_session_of_another_key(void **state)
{
    (void)state;
    open_world_with_keys();
    rank_ask_shard(&world, 0, 8, 5, 2);
    until_asks(1);
    cancel_by_another_key(8); /* asked for */
    cancel_by_another_key(9); /* ahead of everything */
    rank_ask_shard(&world, 1, 8, 5, 2);
    world_send(&world, 8, 5, false);
    world_expect(&world, 8, EPDX_OK, "");
    epi_loopback_hold_pulls(world.ranks[0].dp, true);
    rank_ask_whole(&world, 0, 9, 5);
    world_send(&world, 9, 5, false);
    WORLD_UNTIL(&world, world.ranks[0].offers == 2);
    cancel_by_another_key(9); /* being delivered */
    epi_loopback_hold_pulls(world.ranks[0].dp, false);
    world_expect(&world, 9, EPDX_OK, "");
    rank_expect_rows(&world, 0, 9, (epdx_rows_t){0, 5}, false);
    assert_int_equal(world_stats(&world).frames_dropped, 0);
    /* With its own key the same words count. */
    rank_ask_shard(&world, 0, 10, 5, 2);
    rank_cancel(&world, 0, 10, 1010, "by its rank");
    world_send(&world, 10, 5, false);
    world_expect(&world, 10, EPDX_ERR_CANCELLED, "by its rank");
}

static void test_the_longest_silent_rank_makes_way(void **state)
{
    (void)state;
    assert_int_equal(setenv("EPDX_MAX_PEERS", "2", 1), 0);
    open_world(4);
    assert_int_equal(unsetenv("EPDX_MAX_PEERS"), 0);
    for (size_t i = 0; i < 4; i++) {
        rank_ask_whole(&world, i, 10 + i, 5);
        world_send(&world, 10 + i, 5, false);
        world_expect(&world, 10 + i, EPDX_OK, "");
        assert_int_equal(world_stats(&world).peers, i < 2 ? i + 1 : 2);
    }
    rank_ask_shard(&world, 0, 20, 5, 3);
    rank_ask_shard(&world, 1, 20, 5, 3);
    until_asks(6);
    rank_ask_shard(&world, 2, 20, 5, 3); /* all known ones have open asks */
    WORLD_UNTIL(&world, world_stats(&world).frames_dropped == 1);
    assert_int_equal(world_stats(&world).peers, 2);
}

#define TEST(name) cmocka_unit_test_teardown(name, close_world)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_malformed_messages_are_counted_and_harmless),
        TEST(test_a_rank_that_went_away_fails_its_rooms),
        TEST(test_a_cut_data_connection_fails_the_delivery),
        TEST(test_an_address_that_nobody_has),
        TEST(test_a_rank_that_restarted_is_another),
        TEST(test_a_rank_that_was_never_reached_makes_way),
        TEST(test_nobody_takes_the_place_of_a_connected_rank),
        TEST(test_no_other_key_takes_the_place_of_a_connected_rank),
        TEST(test_a_status_goes_to_no_other_key),
        TEST(test_nobody_cancels_under_the_session_of_another_key),
        TEST(test_the_longest_silent_rank_makes_way),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
