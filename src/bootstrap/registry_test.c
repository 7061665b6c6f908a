/* registry_test.c: registrations in, routes out. */
#include "bootstrap/registry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static epi_registry_t *registry;

static int open_registry(void **state)
{
    (void)state;
    return epi_registry_open(&registry) == EPDX_OK ? 0 : -1;
}

static int close_registry(void **state)
{
    (void)state;
    epi_registry_close(registry);
    return 0;
}

static epdx_status_t put(uint32_t world_size, uint32_t dp_size, uint32_t rank,
                         const char *instance)
{
    epi_route_registration_t entry = {.world_size = world_size,
                                      .dp_size = dp_size,
                                      .engine_rank = rank,
                                      .address = {"10.0.0.1", 0}};

    entry.address.port = (uint16_t)(1000 + rank);
    (void)epi_text_copy(entry.instance, sizeof(entry.instance), instance);
    return epi_registry_put(registry, &entry);
}

static void expect_progress(const char *words)
{
    epi_route_world_t world = {7, 7};
    epi_route_rank_t rank = {.address = {"untouched", 7}};

    assert_int_equal(epi_registry_world(registry, &world), EPDX_IN_PROGRESS);
    assert_string_equal(epdx_last_error(), words);
    assert_int_equal(world.world_size, 7);
    assert_int_equal(epi_registry_rank(registry, 0, 0, &rank),
                     EPDX_IN_PROGRESS);
    assert_string_equal(epdx_last_error(), words);
    assert_string_equal(rank.address.host, "untouched");
}

static void expect_complete(uint32_t world_size, uint32_t dp_size)
{
    epi_route_world_t world = {0};

    assert_int_equal(epi_registry_world(registry, &world), EPDX_OK);
    assert_int_equal(world.world_size, world_size);
    assert_int_equal(world.dp_size, dp_size);
}

static void in_progress_until_all_are_in(void **state)
{
    (void)state;
    expect_progress("no encode rank has registered yet");
    assert_int_equal(put(4, 1, 3, "a"), EPDX_OK);
    assert_int_equal(put(4, 1, 0, "b"), EPDX_OK);
    expect_progress("2 of 4 encode ranks have registered");
    assert_int_equal(put(4, 1, 0, "b"), EPDX_OK);
    expect_progress("2 of 4 encode ranks have registered");
    assert_int_equal(put(4, 1, 1, "c"), EPDX_OK);
    assert_int_equal(put(4, 1, 2, "d"), EPDX_OK);
    expect_complete(4, 1);
}

static void groups_are_blocks_of_ranks(void **state)
{
    epi_route_rank_t rank = {0};

    (void)state;
    for (uint32_t i = 0; i < 6; i++) {
        assert_int_equal(put(6, 2, i, "a"), EPDX_OK);
    }
    for (uint32_t group = 0; group < 2; group++) {
        for (uint32_t i = 0; i < 3; i++) {
            assert_int_equal(epi_registry_rank(registry, i, group, &rank),
                             EPDX_OK);
            assert_int_equal(rank.address.port, 1000 + group * 3 + i);
            assert_string_equal(rank.address.host, "10.0.0.1");
            assert_string_equal(rank.instance, "a");
        }
    }
}

static void rank_not_found(void **state)
{
    epi_route_rank_t rank = {.address = {"untouched", 7}};

    (void)state;
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(put(4, 2, i, "a"), EPDX_OK);
    }
    assert_int_equal(epi_registry_rank(registry, 2, 0, &rank),
                     EPDX_ERR_NOT_FOUND);
    assert_string_equal(epdx_last_error(),
                        "engine_rank 2 is not below the 2 ranks of a DP group");
    assert_int_equal(epi_registry_rank(registry, 0, 2, &rank),
                     EPDX_ERR_NOT_FOUND);
    assert_string_equal(epdx_last_error(),
                        "target_dp_group 2 is not below dp_size 2");
    assert_int_equal(epi_registry_rank(registry, UINT32_MAX, UINT32_MAX, &rank),
                     EPDX_ERR_NOT_FOUND);
    assert_string_equal(rank.address.host, "untouched");
}

static void restart_replaces_the_entry(void **state)
{
    epi_route_registration_t entry = {.world_size = 1,
                                      .dp_size = 1,
                                      .address = {"10.0.0.2", 7},
                                      .instance = "b"};
    epi_route_rank_t rank = {0};

    (void)state;
    assert_int_equal(put(1, 1, 0, "aaaa"), EPDX_OK);
    assert_int_equal(epi_registry_put(registry, &entry), EPDX_OK);
    assert_int_equal(epi_registry_rank(registry, 0, 0, &rank), EPDX_OK);
    assert_string_equal(rank.address.host, "10.0.0.2");
    assert_int_equal(rank.address.port, 7);
    assert_string_equal(rank.instance, "b");
}

static void new_shape_by_a_restarted_rank_starts_anew(void **state)
{
    (void)state;
    assert_int_equal(put(2, 1, 0, "a"), EPDX_OK);
    assert_int_equal(put(2, 1, 1, "b"), EPDX_OK);
    assert_int_equal(put(4, 2, 1, "c"), EPDX_OK);
    expect_progress("1 of 4 encode ranks have registered");
    assert_int_equal(put(4, 2, 0, "d"), EPDX_OK);
    assert_int_equal(put(4, 2, 2, "e"), EPDX_OK);
    assert_int_equal(put(4, 2, 3, "f"), EPDX_OK);
    expect_complete(4, 2);
}

static void mismatch(void **state)
{
    (void)state;
    assert_int_equal(put(2, 1, 0, "a"), EPDX_OK);
    assert_int_equal(put(2, 1, 1, "b"), EPDX_OK);
    /* A rank that is not in, and one of the same instance. */
    assert_int_equal(put(4, 1, 3, "c"), EPDX_ERR_MISMATCH);
    assert_string_equal(epdx_last_error(),
                        "world_size 4 and dp_size 1 are 2 and 1 for the ranks "
                        "already registered");
    assert_int_equal(put(4, 1, 1, "b"), EPDX_ERR_MISMATCH);
    assert_int_equal(put(2, 2, 1, "b"), EPDX_ERR_MISMATCH);
    expect_complete(2, 1);
}

static void removed(void **state)
{
    (void)state;
    assert_int_equal(put(2, 1, 0, "a"), EPDX_OK);
    assert_int_equal(put(2, 1, 1, "b"), EPDX_OK);
    assert_int_equal(epi_registry_remove(registry, 1, "b"), EPDX_OK);
    expect_progress("1 of 2 encode ranks have registered");
    assert_int_equal(epi_registry_remove(registry, 0, ""), EPDX_OK);
    expect_progress("no encode rank has registered yet");
    /* An empty table has no shape to differ from. */
    assert_int_equal(put(3, 3, 2, "c"), EPDX_OK);
    expect_progress("1 of 3 encode ranks have registered");
}

static void remove_not_found(void **state)
{
    (void)state;
    assert_int_equal(put(1, 1, 0, "new"), EPDX_OK);
    /* The old instance's late farewell leaves the new one in. */
    assert_int_equal(epi_registry_remove(registry, 0, "old"),
                     EPDX_ERR_NOT_FOUND);
    assert_int_equal(epi_registry_remove(registry, 1, ""), EPDX_ERR_NOT_FOUND);
    assert_int_equal(epi_registry_remove(registry, UINT32_MAX, ""),
                     EPDX_ERR_NOT_FOUND);
    expect_complete(1, 1);
}

static void too_large(void **state)
{
    (void)state;
    assert_int_equal(put(EPI_REGISTRY_RANK_MAX + 1, 1, 0, "a"),
                     EPDX_ERR_TOO_LARGE);
    assert_int_equal(
        put(EPI_REGISTRY_RANK_MAX, 1, EPI_REGISTRY_RANK_MAX - 1, "a"), EPDX_OK);
    expect_progress("1 of 4096 encode ranks have registered");
}

static void invalid(void **state)
{
    (void)state;
    assert_int_equal(put(4, 1, 4, "a"), EPDX_ERR_INVALID);
    assert_int_equal(put(4, 0, 0, "a"), EPDX_ERR_INVALID);
    assert_int_equal(put(4, 3, 0, "a"), EPDX_ERR_INVALID);
    assert_int_equal(put(0, 1, 0, "a"), EPDX_ERR_INVALID);
    expect_progress("no encode rank has registered yet");
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, open_registry, close_registry)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(in_progress_until_all_are_in),
        TEST(groups_are_blocks_of_ranks),
        TEST(rank_not_found),
        TEST(restart_replaces_the_entry),
        TEST(new_shape_by_a_restarted_rank_starts_anew),
        TEST(mismatch),
        TEST(removed),
        TEST(remove_not_found),
        TEST(too_large),
        TEST(invalid),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
