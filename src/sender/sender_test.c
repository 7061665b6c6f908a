/* sender_test.c: delivery, and what the caller's calls promise. */
#include <stdlib.h>
#include <string.h>

#include "sender/sender_test_world.h"

#include "epdx/shard.h"

static world_t world;

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
    return 0;
}

static void test_whole_item_from_the_ring(void **state)
{
    epdx_sender_stats_t stats;
    epdx_chunk_t chunk;

    (void)state;
    open_world(1);
    assert_int_equal(epdx_sender_lease(world.sender, 5, &chunk), EPDX_OK);
    assert_null(chunk.deepstack);
    world_send(&world, 7, 5, false); /* fills the source, under room 7 */
    memcpy(chunk.main, world.source_main, 5 * WORLD_HIDDEN * 2);
    assert_int_equal(epdx_sender_send(world.sender, 8, &chunk), EPDX_OK);
    rank_ask_whole(&world, 0, 8, 5);
    world_expect(&world, 8, EPDX_OK, "");
    rank_expect_rows(&world, 0, 7, (epdx_rows_t){0, 5}, false);
    stats = world_stats(&world);
    assert_int_equal(stats.rooms_sent, 2);
    assert_int_equal(stats.rooms_done, 1);
    assert_int_equal(stats.bytes_offered, 5 * WORLD_HIDDEN * 2);
    assert_int_equal(stats.asks, 1);
    assert_int_equal(stats.rooms_open, 1);
    assert_int_equal(stats.peers, 1);
    assert_int_equal(stats.ring_bytes, 65536);
    assert_int_equal(stats.ring_leased_bytes, 0);
    assert_string_not_equal(stats.transport, "");
    assert_int_equal(world.ranks[0].last.generation, 1008);
    assert_int_equal(world.ranks[0].last.span, 5);
    assert_int_equal(world.ranks[0].last.encode_rank, 0);
}

static void test_the_ask_may_come_first(void **state)
{
    (void)state;
    open_world(1);
    rank_ask_whole(&world, 0, 8, 5);
    WORLD_UNTIL(&world, world_stats(&world).asks == 1);
    world_send(&world, 8, 5, false);
    world_expect(&world, 8, EPDX_OK, "");
    rank_expect_rows(&world, 0, 8, (epdx_rows_t){0, 5}, false);
    world_expect_quiet(&world);
}

static void test_shards_with_deepstack(void **state)
{
    epdx_sender_params_t params = world_params();

    (void)state;
    params.levels = WORLD_LEVELS;
    world_open(&world, &params);
    for (size_t i = 0; i < 2; i++) {
        epi_ask_t ask;

        rank_open(&world, i);
        ask = rank_ask(&world, i, 3, epdx_shard_rows(7, (uint32_t)i, 2), 7);
        ask.required = 2;
        ask.has_deepstack = true;
        rank_send_ask(&world, i, &ask);
    }
    world_send(&world, 3, 7, true);
    world_expect(&world, 3, EPDX_OK, "");
    rank_expect_rows(&world, 0, 3, (epdx_rows_t){0, 4}, true);
    rank_expect_rows(&world, 1, 3, (epdx_rows_t){4, 3}, true);
    assert_int_equal(world.ranks[0].pulled, 2);
    assert_int_equal(world_stats(&world).bytes_offered,
                     7 * WORLD_HIDDEN * 2 * (1 + WORLD_LEVELS));
    world_expect_quiet(&world);
}

/* Encode rank 3 of 4 in 2 groups has the second half of its group's ranks. */
static void test_the_block_of_a_later_encode_rank(void **state)
{
    epdx_sender_params_t params = world_params();

    (void)state;
    params.world_size = 4;
    params.dp_size = 2;
    params.engine_rank = 3;
    world_open(&world, &params);
    for (size_t i = 0; i < 2; i++) {
        epi_ask_t ask;

        rank_open(&world, i);
        ask =
            rank_ask(&world, i, 9, epdx_shard_rows(10, (uint32_t)i + 2, 4), 10);
        ask.required = 2;
        rank_send_ask(&world, i, &ask);
    }
    world_send(&world, 9, 10, false);
    world_expect(&world, 9, EPDX_OK, "");
    rank_expect_rows(&world, 0, 9, (epdx_rows_t){6, 2}, false);
    rank_expect_rows(&world, 1, 9, (epdx_rows_t){8, 2}, false);
    assert_int_equal(world.ranks[1].last.encode_rank, 3);
}

static void test_a_share_without_rows_gets_a_header(void **state)
{
    (void)state;
    open_world(2);
    rank_ask_shard(&world, 0, 4, 1, 2);
    rank_ask_shard(&world, 1, 4, 1, 2);
    world_send(&world, 4, 1, false);
    world_expect(&world, 4, EPDX_OK, "");
    WORLD_UNTIL(&world, world.ranks[1].offers == 1);
    assert_int_equal(world.ranks[1].last.rows, 0);
    assert_int_equal(world.ranks[1].last.span, 1);
    rank_expect_rows(&world, 0, 4, (epdx_rows_t){0, 1}, false);
    rank_expect_rows(&world, 1, 4, (epdx_rows_t){0, 0}, false);
}

static void test_many_rooms_one_after_another(void **state)
{
    (void)state;
    open_world(2);
    for (uint64_t room = 100; room < 400; room++) {
        rank_ask_shard(&world, 0, room, 9, 2);
        rank_ask_shard(&world, 1, room, 9, 2);
        world_send(&world, room, 9, false);
        world_expect(&world, room, EPDX_OK, "");
    }
    rank_expect_rows(&world, 1, 399, (epdx_rows_t){5, 4}, false);
    assert_int_equal(world_stats(&world).rooms_done, 300);
    assert_int_equal(world_stats(&world).peers, 2);
    world_expect_quiet(&world);
}

static void test_lease_errors(void **state)
{
    epdx_chunk_t chunk = {.rows = 77};
    epdx_chunk_t all;

    (void)state;
    open_world(0);
    assert_int_equal(epdx_sender_lease(world.sender, 0, &chunk),
                     EPDX_ERR_INVALID);
    assert_int_equal(epdx_sender_lease(world.sender, 100000, &chunk),
                     EPDX_ERR_TOO_LARGE);
    assert_non_null(strstr(epdx_last_error(), "EPDX_ENCODE_RING_MB"));
    assert_int_equal(epdx_sender_lease(world.sender, 4096, &all), EPDX_OK);
    assert_int_equal(epdx_sender_lease(world.sender, 1, &chunk), EPDX_ERR_FULL);
    assert_int_equal(chunk.rows, 77);
    assert_int_equal(world_stats(&world).ring_leased_bytes, 65536);
    epdx_sender_return(world.sender, &all);
    epdx_sender_return(world.sender, &all); /* logged, no more */
    assert_int_equal(world_stats(&world).ring_leased_bytes, 0);
}

static void test_a_full_ring_leaves_own_memory(void **state)
{
    epdx_chunk_t all;

    (void)state;
    open_world(1);
    assert_int_equal(epdx_sender_lease(world.sender, 4096, &all), EPDX_OK);
    rank_ask_whole(&world, 0, 8, 5);
    world_send(&world, 8, 5, false);
    world_expect(&world, 8, EPDX_OK, "");
    epdx_sender_return(world.sender, &all);
    world_expect_quiet(&world);
}

static void test_send_refuses_what_is_no_chunk(void **state)
{
    uint16_t rows[WORLD_HIDDEN];
    epdx_chunk_t chunk = {.rows = 0, .main = rows};
    epdx_chunk_t leased;

    (void)state;
    open_world(0);
    assert_int_equal(epdx_sender_send(world.sender, 1, &chunk),
                     EPDX_ERR_INVALID);
    chunk = (epdx_chunk_t){.rows = 1};
    assert_int_equal(epdx_sender_send(world.sender, 1, &chunk),
                     EPDX_ERR_INVALID);
    chunk = (epdx_chunk_t){.rows = 1, .main = rows, .deepstack = rows};
    assert_int_equal(epdx_sender_send(world.sender, 1, &chunk),
                     EPDX_ERR_INVALID); /* the model has no levels */
    chunk = (epdx_chunk_t){.rows = UINT64_MAX, .main = rows};
    assert_int_equal(epdx_sender_send(world.sender, 1, &chunk),
                     EPDX_ERR_INVALID);
    chunk = (epdx_chunk_t){.rows = 1, .main = rows, .lease = 257};
    assert_int_equal(epdx_sender_send(world.sender, 1, &chunk),
                     EPDX_ERR_INVALID);
    assert_int_equal(epdx_sender_lease(world.sender, 1, &leased), EPDX_OK);
    assert_int_equal(epdx_sender_send(world.sender, 1, &leased), EPDX_OK);
    assert_int_equal(epdx_sender_send(world.sender, 2, &leased),
                     EPDX_ERR_INVALID); /* it is the sender's now */
    epdx_sender_return(world.sender, &leased);
    assert_int_not_equal(world_stats(&world).ring_leased_bytes, 0);
    assert_int_equal(world_stats(&world).rooms_sent, 1);
}

static void test_send_refuses_a_lost_deepstack(void **state)
{
    epdx_sender_params_t params = world_params();
    uint16_t rows[WORLD_HIDDEN];
    epdx_chunk_t chunk = {.rows = 1, .main = rows};

    (void)state;
    params.levels = WORLD_LEVELS;
    world_open(&world, &params);
    assert_int_equal(epdx_sender_send(world.sender, 1, &chunk),
                     EPDX_ERR_INVALID);
    assert_non_null(strstr(epdx_last_error(), "without deepstack"));
    assert_int_equal(world_stats(&world).rooms_sent, 0);
}

static void test_duplicate_until_the_outcome_is_polled(void **state)
{
    (void)state;
    open_world(1);
    world_send(&world, 8, 5, false);
    assert_int_equal(
        epdx_sender_send(world.sender, 8,
                         &(epdx_chunk_t){.rows = 1, .main = &world}),
        EPDX_ERR_DUPLICATE);
    assert_int_equal(epdx_sender_fail(world.sender, 8, "no"),
                     EPDX_ERR_DUPLICATE);
    rank_ask_whole(&world, 0, 8, 5);
    world_expect(&world, 8, EPDX_OK, "");
}

static void test_full_at_the_most_rooms(void **state)
{
    (void)state;
    assert_int_equal(setenv("EPDX_MAX_ROOMS", "2", 1), 0);
    open_world(1);
    assert_int_equal(unsetenv("EPDX_MAX_ROOMS"), 0);
    world_send(&world, 1, 5, false);
    world_send(&world, 2, 5, false);
    assert_int_equal(
        epdx_sender_send(world.sender, 3,
                         &(epdx_chunk_t){.rows = 1, .main = &world}),
        EPDX_ERR_FULL);
    assert_non_null(strstr(epdx_last_error(), "EPDX_MAX_ROOMS"));
    assert_int_equal(epdx_sender_fail(world.sender, 3, "no"), EPDX_ERR_FULL);
    rank_ask_whole(&world, 0, 2, 5);
    world_expect(&world, 2, EPDX_OK, "");
    world_send(&world, 3, 5, false);
}

static void test_a_delivered_room_may_be_sent_again(void **state)
{
    (void)state;
    open_world(1);
    for (uint64_t generation = 1; generation <= 2; generation++) {
        epi_ask_t ask = rank_ask(&world, 0, 8, (epdx_rows_t){0, 5}, 5);

        world_send(&world, 8, 5, false);
        world_step(&world); /* the chunk is there before the ask */
        ask.generation = generation;
        rank_send_ask(&world, 0, &ask);
        world_expect(&world, 8, EPDX_OK, "");
        assert_int_equal(world.ranks[0].last.generation, generation);
    }
    assert_int_equal(world_stats(&world).rooms_done, 2);
    world_expect_quiet(&world);
}

static void test_close_tells_who_asked(void **state)
{
    rank_t *rank = &world.ranks[0];
    epi_control_event_t event;
    uint64_t limit;

    (void)state;
    open_world(1);
    rank_ask_whole(&world, 0, 8, 5);
    WORLD_UNTIL(&world, world_stats(&world).asks == 1);
    epdx_sender_close(world.sender);
    limit = epi_now_ns() + 20 * EPI_S;
    do {
        assert_true(epi_now_ns() < limit);
        event.kind = EPI_CONTROL_PEER_UP;
        (void)epi_control_next(rank->control, &event);
    } while (event.kind != EPI_CONTROL_MESSAGE);
    assert_int_equal(epi_status_parse(&event.message, &rank->statuses[0]),
                     EPDX_OK);
    assert_int_equal(rank->statuses[0].room, 8);
    assert_non_null(strstr(rank->statuses[0].reason, "sender was closed"));
    world.sender = NULL;
    rank_close(&world, 0);
    epi_loopback_hub_close(world.hub);
}

static void test_close_with_offers_under_way(void **state)
{
    epdx_chunk_t chunk;

    (void)state;
    open_world(1);
    assert_int_equal(epdx_sender_lease(world.sender, 5, &chunk), EPDX_OK);
    assert_int_equal(epdx_sender_send(world.sender, 8, &chunk), EPDX_OK);
    epi_loopback_hold_pulls(world.ranks[0].dp, true);
    rank_ask_whole(&world, 0, 8, 5);
    WORLD_UNTIL(&world, world.ranks[0].offers == 1);
    /* close_world() ends the sender while the pull is held. */
}

static void expect_no_open(epdx_sender_params_t params, const char *words)
{
    epdx_sender_t *sender = NULL;
    epi_loopback_hub_t *hub;
    epi_dataplane_t *dp;

    assert_int_equal(epi_loopback_hub_open(&hub), EPDX_OK);
    assert_int_equal(epi_dataplane_loopback(hub, &dp), EPDX_OK);
    assert_int_equal(epi_sender_open_with(&params, dp, &sender),
                     EPDX_ERR_INVALID);
    assert_null(sender);
    assert_non_null(strstr(epdx_last_error(), words));
    epi_loopback_hub_close(hub);
}

static void test_open_refuses_parameters(void **state)
{
    epdx_sender_params_t params = world_params();

    (void)state;
    params.struct_size = 3;
    expect_no_open(params, "struct_size");
    params = world_params();
    params.dtype = EPDX_DTYPE_NONE;
    expect_no_open(params, "dtype");
    params = world_params();
    params.hidden = 0;
    expect_no_open(params, "hidden");
    params = world_params();
    params.engine_rank = 1;
    expect_no_open(params, "engine_rank 1 of world_size 1");
    params = world_params();
    params.world_size = 3;
    params.dp_size = 2;
    expect_no_open(params, "dp_size 2");
    params = world_params();
    params.host = "0.0.0.0";
    expect_no_open(params, "0.0.0.0");
    params = world_params();
    params.bootstrap = "nowhere";
    expect_no_open(params, "nowhere");
    params = world_params();
    params.progress = (epdx_progress_t)9;
    expect_no_open(params, "progress 9");
    params = world_params();
    params.ring_bytes = 100;
    expect_no_open(params, "");
}

static void test_err_invalid_null_arguments(void **state)
{
    epdx_sender_params_t params = world_params();
    uint16_t rows[WORLD_HIDDEN];
    epdx_chunk_t chunk = {.rows = 1, .main = rows};

    (void)state;
    open_world(0);
    assert_int_equal(epdx_sender_open(NULL, &world.sender), EPDX_ERR_INVALID);
    assert_int_equal(epdx_sender_open(&params, NULL), EPDX_ERR_INVALID);
    assert_string_equal(epdx_last_error(),
                        "epdx_sender_open: sender_p is NULL");
    assert_int_equal(epdx_sender_lease(world.sender, 1, NULL),
                     EPDX_ERR_INVALID);
    assert_string_equal(epdx_last_error(),
                        "epdx_sender_lease: chunk_p is NULL");
    assert_int_equal(epdx_sender_lease(NULL, 1, &chunk), EPDX_ERR_INVALID);
    assert_int_equal(epdx_sender_send(world.sender, 1, NULL), EPDX_ERR_INVALID);
    assert_string_equal(epdx_last_error(), "epdx_sender_send: chunk is NULL");
    assert_int_equal(epdx_sender_send(NULL, 1, &chunk), EPDX_ERR_INVALID);
    assert_int_equal(epdx_sender_fail(NULL, 1, "why"), EPDX_ERR_INVALID);
    assert_string_equal(epdx_last_error(), "epdx_sender_fail: sender is NULL");
    assert_int_equal(world_stats(&world).ring_leased_bytes, 0);
    assert_int_equal(world_stats(&world).rooms_sent, 0);
}

static void test_null_is_harmless_where_there_is_no_status(void **state)
{
    epdx_sender_stats_t stats;
    epdx_outcome_t outcome;
    size_t count = 0;

    (void)state;
    open_world(0);
    epdx_sender_return(NULL, NULL);
    epdx_sender_return(world.sender, NULL);
    epdx_sender_stats(NULL, &stats);
    epdx_sender_stats(world.sender, NULL);
    assert_false(epdx_sender_registered(NULL));
    assert_int_equal(epdx_sender_poll(NULL, &outcome, 1), 0);
    /* Without room for them outcomes are kept. */
    assert_int_equal(epdx_sender_fail(world.sender, 1, NULL), EPDX_OK);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(epdx_sender_poll(world.sender, NULL, 8), 0);
    }
    for (int i = 0; i < 1000 && count == 0; i++) {
        count = epdx_sender_poll(world.sender, &outcome, 1);
    }
    assert_int_equal(count, 1);
    assert_int_equal(outcome.room, 1);
}

static void test_registered_without_a_bootstrap_server(void **state)
{
    (void)state;
    open_world(0);
    assert_true(epdx_sender_registered(world.sender));
    epdx_sender_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_whole_item_from_the_ring, close_world),
        cmocka_unit_test_teardown(test_the_ask_may_come_first, close_world),
        cmocka_unit_test_teardown(test_shards_with_deepstack, close_world),
        cmocka_unit_test_teardown(test_the_block_of_a_later_encode_rank,
                                  close_world),
        cmocka_unit_test_teardown(test_a_share_without_rows_gets_a_header,
                                  close_world),
        cmocka_unit_test_teardown(test_many_rooms_one_after_another,
                                  close_world),
        cmocka_unit_test_teardown(test_lease_errors, close_world),
        cmocka_unit_test_teardown(test_a_full_ring_leaves_own_memory,
                                  close_world),
        cmocka_unit_test_teardown(test_send_refuses_what_is_no_chunk,
                                  close_world),
        cmocka_unit_test_teardown(test_send_refuses_a_lost_deepstack,
                                  close_world),
        cmocka_unit_test_teardown(test_duplicate_until_the_outcome_is_polled,
                                  close_world),
        cmocka_unit_test_teardown(test_full_at_the_most_rooms, close_world),
        cmocka_unit_test_teardown(test_a_delivered_room_may_be_sent_again,
                                  close_world),
        cmocka_unit_test_teardown(test_close_tells_who_asked, close_world),
        cmocka_unit_test_teardown(test_close_with_offers_under_way,
                                  close_world),
        cmocka_unit_test(test_open_refuses_parameters),
        cmocka_unit_test_teardown(test_err_invalid_null_arguments, close_world),
        cmocka_unit_test_teardown(
            test_null_is_harmless_where_there_is_no_status, close_world),
        cmocka_unit_test_teardown(test_registered_without_a_bootstrap_server,
                                  close_world),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
