/* directory_test.c: who makes way in full tables of nodes and encode ranks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "receive/nodes.h"

typedef struct fixture {
    epi_receive_shared_t shared;
    epi_item_slot_t slots[4];
    epi_control_t *control;
    epi_http_t *http;
    epi_nodes_t nodes;
} fixture_t;

static fixture_t f;

static int open_fixture(void **state)
{
    epi_control_params_t params = {.host = "127.0.0.1", .peer_max = 4};

    (void)state;
    f = (fixture_t){.shared = {.slots = f.slots, .config = {.max_peers = 2}}};
    assert_int_equal(epi_control_open(&params, &f.control), EPDX_OK);
    assert_int_equal(epi_http_open(4, &f.http), EPDX_OK);
    assert_int_equal(epi_nodes_init(&f.nodes, &f.shared, f.control, f.http),
                     EPDX_OK);
    return 0;
}

static int close_fixture(void **state)
{
    (void)state;
    epi_nodes_fini(&f.nodes);
    epi_http_close(f.http);
    epi_control_close(f.control);
    return 0;
}

static void test_an_address_is_entered_once(void **state)
{
    (void)state;
    assert_int_equal(epi_node_get(&f.nodes, "a:1"), 0);
    assert_int_equal(epi_node_get(&f.nodes, "b:1"), 1);
    assert_int_equal(epi_node_get(&f.nodes, "a:1"), 0);
    assert_int_equal(epi_peer_get(&f.nodes, 0, 0), 0);
    assert_int_equal(epi_peer_get(&f.nodes, 0, 1), 1);
    assert_int_equal(epi_peer_get(&f.nodes, 0, 0), 0);
}

static void test_a_node_that_nothing_waits_at_makes_way(void **state)
{
    (void)state;
    (void)epi_node_get(&f.nodes, "a:1");
    (void)epi_node_get(&f.nodes, "b:1");
    epi_list_append(&f.nodes, &f.nodes.nodes[0].find, 2);
    assert_int_equal(epi_node_get(&f.nodes, "c:1"), 1);
    assert_string_equal(f.nodes.nodes[1].address, "c:1");
    epi_list_append(&f.nodes, &f.nodes.nodes[1].find, 3);
    assert_int_equal(epi_node_get(&f.nodes, "b:1"), EPI_NONE);
    epi_list_remove(&f.nodes, &f.nodes.nodes[0].find, 2);
    f.nodes.nodes[0].find.state = EPI_FIND_ASKING; /* its answer will come */
    assert_int_equal(epi_node_get(&f.nodes, "b:1"), EPI_NONE);
    f.nodes.nodes[0].find.state = EPI_FIND_DONE;
    assert_int_equal(epi_node_get(&f.nodes, "b:1"), 0);
    assert_int_equal(f.nodes.nodes[0].find.state, EPI_FIND_IDLE);
}

static void test_a_node_stays_while_its_encode_rank_is_needed(void **state)
{
    uint32_t peer;

    (void)state;
    (void)epi_node_get(&f.nodes, "a:1");
    (void)epi_node_get(&f.nodes, "b:1");
    epi_list_append(&f.nodes, &f.nodes.nodes[1].find, 3);
    peer = epi_peer_get(&f.nodes, 0, 0);
    epi_list_append(&f.nodes, &f.nodes.peers[peer].find, 2);
    assert_int_equal(epi_node_get(&f.nodes, "c:1"), EPI_NONE);
    epi_list_remove(&f.nodes, &f.nodes.peers[peer].find, 2);
    assert_int_equal(epi_node_get(&f.nodes, "c:1"), 0);
    assert_false(f.nodes.peers[peer].used);
}

static void test_an_idle_encode_rank_makes_way_and_its_socket_goes(void **state)
{
    uint32_t control;

    (void)state;
    assert_int_equal(epi_peer_get(&f.nodes, 0, 0), 0);
    assert_int_equal(epi_control_connect(f.control, "127.0.0.1", 9, &control),
                     EPDX_OK);
    f.nodes.peers[0].control = control;
    f.nodes.peers[0].find.state = EPI_FIND_DONE;
    assert_int_equal(epi_peer_get(&f.nodes, 0, 1), 1);
    assert_int_equal(epi_peer_get(&f.nodes, 0, 2), 0);
    assert_int_equal(f.nodes.peers[0].control, EPI_NONE);
    /* Its number is free again. */
    assert_int_equal(epi_control_connect(f.control, "127.0.0.1", 9, &control),
                     EPDX_OK);
    assert_int_equal(control, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_an_address_is_entered_once,
                                        open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(
            test_a_node_that_nothing_waits_at_makes_way, open_fixture,
            close_fixture),
        cmocka_unit_test_setup_teardown(
            test_a_node_stays_while_its_encode_rank_is_needed, open_fixture,
            close_fixture),
        cmocka_unit_test_setup_teardown(
            test_an_idle_encode_rank_makes_way_and_its_socket_goes,
            open_fixture, close_fixture),
    };

    return cmocka_run_group_tests_name("receive/directory", tests, NULL, NULL);
}
