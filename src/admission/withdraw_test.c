/*
 * withdraw_test.c: requests that end before they were asked for, and whether
 * their encode rank is told. A group of one rank, and an encode rank that the
 * test plays; the test runs the receiver's loop by draining.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "admission/admission_internal.h"
#include "base/clock.h"
#include "testing/fake_encode.h"
#include "testing/until.h"

#define POOL_ROWS 64
#define ROW_BYTES 256

typedef struct scene {
    epi_loopback_hub_t *hub;
    fake_encode_t encode;
    epdx_group_t *group;
    epdx_admission_t *admission;
    size_t failed, admitted;
    epdx_status_t last_status;
    char last_reason[EPDX_REASON_MAX];
} scene_t;

static scene_t *open_scene(void)
{
    epdx_admission_params_t params = {
        .struct_size = sizeof(params),
        .receiver = {.struct_size = sizeof(epdx_receiver_params_t),
                     .dtype = EPDX_FLOAT32,
                     .hidden = ROW_BYTES / 4,
                     .progress = EPDX_PROGRESS_CALLER,
                     .host = "127.0.0.1",
                     .pool_bytes = POOL_ROWS * ROW_BYTES,
                     .waiting_timeout_ns = 600 * EPI_S,
                     .bootstrap_timeout_ns = 600 * EPI_S},
    };
    scene_t *scene = calloc(1, sizeof(*scene));
    epi_dataplane_t *encode_dp = NULL;
    epi_dataplane_t *dp = NULL;

    assert_non_null(scene);
    assert_int_equal(epi_loopback_hub_open(&scene->hub), EPDX_OK);
    assert_int_equal(epi_dataplane_loopback(scene->hub, &dp), EPDX_OK);
    assert_int_equal(epi_dataplane_loopback(scene->hub, &encode_dp), EPDX_OK);
    fake_encode_open(&scene->encode, encode_dp, 1);
    assert_int_equal(epdx_group_single(&scene->group), EPDX_OK);
    assert_int_equal(
        epi_admission_open_with(scene->group, &params, dp, &scene->admission),
        EPDX_OK);
    return scene;
}

static void close_scene(scene_t *scene)
{
    epdx_admission_close(scene->admission);
    epdx_group_close(scene->group);
    fake_encode_close(&scene->encode);
    epi_loopback_hub_close(scene->hub);
    free(scene);
}

static void step(scene_t *scene)
{
    epdx_decisions_t now;

    assert_int_equal(epdx_admission_drain(scene->admission, &now), EPDX_OK);
    scene->admitted += now.admitted_count;
    for (size_t i = 0; i < now.failed_count; i++) {
        scene->failed++;
        scene->last_status = now.failed[i].status;
        (void)epi_text_copy(scene->last_reason, sizeof(scene->last_reason),
                            now.failed[i].reason);
    }
    /* Without anything pending a drain polls all the same. */
    fake_encode_step(&scene->encode);
    sched_yield();
}

#define until(scene, condition) EPI_UNTIL(condition, 20 * EPI_S, step(scene))

static epdx_item_t item_of(const scene_t *scene, uint64_t room, uint64_t span)
{
    return (epdx_item_t){.room = room,
                         .span = span,
                         .encode = fake_encode_address(&scene->encode)};
}

static epdx_status_t stage(scene_t *scene, const char *id,
                           const epdx_item_t *items, size_t count)
{
    epdx_request_t request = {.id = id, .items = items, .item_count = count};

    return epdx_admission_stage(scene->admission, &request);
}

/* The n-th cancel was of this room, and says why. */
static void expect_cancel(const scene_t *scene, size_t n, uint64_t room,
                          const char *words)
{
    const epi_cancel_t *cancel = &scene->encode.cancels[n];

    assert_true(n < scene->encode.cancel_count);
    assert_int_equal(cancel->room, room);
    if (strstr(cancel->reason, words) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", cancel->reason, words);
    }
}

/* A request behind it: when that was asked for, all cancels are there. */
static void expect_no_more_cancels(scene_t *scene, size_t cancels)
{
    size_t asks = scene->encode.ask_count;
    epdx_item_t item = item_of(scene, 9999, 1);

    assert_int_equal(stage(scene, "behind", &item, 1), EPDX_OK);
    until(scene, scene->encode.ask_count == asks + 1);
    assert_int_equal(scene->encode.cancel_count, cancels);
}

static void test_what_can_never_fit_is_withdrawn(void **state)
{
    scene_t *scene = open_scene();
    epdx_item_t items[] = {item_of(scene, 1, POOL_ROWS), item_of(scene, 2, 1)};

    (void)state;
    assert_int_equal(stage(scene, "large", items, 2), EPDX_OK);
    until(scene, scene->failed == 1 && scene->encode.cancel_count == 2);
    assert_int_equal(scene->last_status, EPDX_ERR_TOO_LARGE);
    /* The encode rank is told what the caller is told. */
    expect_cancel(scene, 0, 1, scene->last_reason);
    expect_cancel(scene, 1, 2, "set EPDX_RECV_POOL_MB to 1 or more");
    expect_no_more_cancels(scene, 2);
    close_scene(scene);
}

static void test_too_many_items_are_withdrawn(void **state)
{
    scene_t *scene = open_scene();
    epdx_item_t items[9];

    (void)state;
    for (size_t i = 0; i < 9; i++) {
        items[i] = item_of(scene, i, 1);
    }
    assert_int_equal(stage(scene, "many", items, 9), EPDX_OK);
    until(scene, scene->failed == 1 && scene->encode.cancel_count == 9);
    assert_int_equal(scene->last_status, EPDX_ERR_TOO_LARGE);
    expect_cancel(scene, 8, 8, "9 items, over EPDX_MAX_ITEMS = 8");
    expect_no_more_cancels(scene, 9);
    close_scene(scene);
}

static void test_what_the_tables_do_not_hold_is_withdrawn(void **state)
{
    scene_t *scene = open_scene();
    epdx_item_t items[8];

    (void)state;
    for (size_t i = 0; i < 8; i++) {
        items[i] = item_of(scene, i, 1);
    }
    assert_int_equal(stage(scene, "most", items, 7), EPDX_OK);
    items[0].room = 100;
    items[1].room = 101;
    assert_int_equal(stage(scene, "over", items, 2), EPDX_OK);
    until(scene, scene->failed == 1 && scene->encode.cancel_count == 2);
    assert_int_equal(scene->last_status, EPDX_ERR_FULL);
    expect_cancel(scene, 0, 100, "EPDX_MAX_ITEMS = 8 is reached");
    expect_cancel(scene, 1, 101, "EPDX_MAX_ITEMS = 8 is reached");
    expect_no_more_cancels(scene, 2);
    close_scene(scene);
}

static void test_what_is_invalid_is_withdrawn(void **state)
{
    scene_t *scene = open_scene();
    epdx_item_t items[] = {item_of(scene, 1, 1), item_of(scene, 2, 0),
                           item_of(scene, 3, 1)};

    (void)state;
    items[2].encode = "none";
    assert_int_equal(stage(scene, "rows", items, 3), EPDX_OK);
    until(scene, scene->failed == 1 && scene->encode.cancel_count == 2);
    assert_int_equal(scene->last_status, EPDX_ERR_INVALID);
    expect_cancel(scene, 0, 1, "item 1 has no rows");
    expect_cancel(scene, 1, 2, "item 1 has no rows");
    assert_int_equal(stage(scene, "nothing", items, 0), EPDX_OK);
    until(scene, scene->failed == 2);
    assert_int_equal(scene->last_status, EPDX_ERR_INVALID);
    expect_no_more_cancels(scene, 2);
    close_scene(scene);
}

/* The first use of a room goes on; what the second has of its own goes. */
static void test_a_duplicate_leaves_the_first_use_alone(void **state)
{
    static const uint8_t rows[4 * ROW_BYTES] = {1, 2, 3};
    scene_t *scene = open_scene();
    epdx_item_t items[] = {item_of(scene, 5, 4), item_of(scene, 6, 4)};

    (void)state;
    assert_int_equal(stage(scene, "first", items, 1), EPDX_OK);
    assert_int_equal(stage(scene, "second", items, 2), EPDX_OK);
    until(scene, scene->failed == 1 && scene->encode.cancel_count == 1);
    assert_int_equal(scene->last_status, EPDX_ERR_DUPLICATE);
    expect_cancel(scene, 0, 6, "room 5 of item 0 is in use");
    until(scene, scene->encode.ask_count == 1);
    fake_encode_offer(&scene->encode, 0, EPI_PART_MAIN, NULL, rows,
                      sizeof(rows));
    until(scene, scene->admitted == 1);
    /* An id that is pending is refused as a whole, and nothing is told. */
    items[0].room = 7;
    assert_int_equal(stage(scene, "first", items, 1), EPDX_ERR_DUPLICATE);
    expect_no_more_cancels(scene, 1);
    close_scene(scene);
}

/* Cancelled before its lease, so before its ask. */
static void test_what_waits_for_its_lease_is_withdrawn(void **state)
{
    scene_t *scene = open_scene();
    epdx_item_t first = item_of(scene, 1, POOL_ROWS);
    epdx_item_t second = item_of(scene, 2, 1);

    (void)state;
    assert_int_equal(stage(scene, "first", &first, 1), EPDX_OK);
    assert_int_equal(stage(scene, "second", &second, 1), EPDX_OK);
    until(scene, scene->encode.ask_count == 1);
    assert_int_equal(epdx_admission_cancel(scene->admission, "second"),
                     EPDX_OK);
    until(scene, scene->failed == 1 && scene->encode.cancel_count == 1);
    expect_cancel(scene, 0, 2, "gave the request up");
    assert_int_equal(scene->encode.ask_count, 1);
    close_scene(scene);
}

/* What stage refuses with an error is the caller's to withdraw. */
static void test_a_request_that_is_not_recorded_is_given_up(void **state)
{
    scene_t *scene = open_scene();
    epdx_item_t item = item_of(scene, 1, 1);
    epdx_request_t request = {.id = "", .items = &item, .item_count = 1};

    (void)state;
    assert_int_equal(epdx_admission_stage(scene->admission, &request),
                     EPDX_ERR_INVALID);
    assert_int_equal(
        epdx_admission_withdraw(scene->admission, &request, "no id"), EPDX_OK);
    until(scene, scene->encode.cancel_count == 1);
    expect_cancel(scene, 0, 1, "no id");
    assert_int_equal(epdx_admission_pending(scene->admission), 0);
    expect_no_more_cancels(scene, 1);
    close_scene(scene);
}

static void test_err_invalid_withdraw(void **state)
{
    scene_t *scene = open_scene();
    epdx_item_t item = item_of(scene, 1, 1);
    epdx_request_t request = {.id = "r", .items = &item};

    (void)state;
    assert_int_equal(epdx_admission_withdraw(NULL, &request, NULL),
                     EPDX_ERR_INVALID);
    assert_string_equal(epdx_last_error(),
                        "epdx_admission_withdraw: admission is NULL");
    assert_int_equal(epdx_admission_withdraw(scene->admission, NULL, NULL),
                     EPDX_ERR_INVALID);
    assert_string_equal(epdx_last_error(),
                        "epdx_admission_withdraw: request is NULL");
    assert_int_equal(epdx_admission_withdraw(scene->admission, &request, NULL),
                     EPDX_ERR_INVALID);
    assert_string_equal(epdx_last_error(), "request r has no items");
    close_scene(scene);
}

/* More than can be withdrawn at a time: it fails as it would, and the rest
 * is left to the encode rank's deadline. */
static void test_err_full_withdraw(void **state)
{
    enum { MANY = EPI_WITHDRAWN_MAX + 1 };
    scene_t *scene = open_scene();
    epdx_item_t *items = calloc(MANY, sizeof(*items));
    epdx_request_t request = {.id = "many", .items = items, .item_count = MANY};

    (void)state;
    assert_non_null(items);
    for (size_t i = 0; i < MANY; i++) {
        items[i] = item_of(scene, i, 1);
    }
    assert_int_equal(epdx_admission_stage(scene->admission, &request), EPDX_OK);
    assert_int_equal(epdx_admission_withdraw(scene->admission, &request, NULL),
                     EPDX_ERR_FULL);
    until(scene, scene->failed == 1 &&
                     scene->encode.cancel_count == EPI_WITHDRAWN_MAX);
    assert_int_equal(scene->last_status, EPDX_ERR_TOO_LARGE);
    expect_no_more_cancels(scene, EPI_WITHDRAWN_MAX);
    free(items);
    close_scene(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_can_never_fit_is_withdrawn),
        cmocka_unit_test(test_too_many_items_are_withdrawn),
        cmocka_unit_test(test_what_the_tables_do_not_hold_is_withdrawn),
        cmocka_unit_test(test_what_is_invalid_is_withdrawn),
        cmocka_unit_test(test_a_duplicate_leaves_the_first_use_alone),
        cmocka_unit_test(test_what_waits_for_its_lease_is_withdrawn),
        cmocka_unit_test(test_a_request_that_is_not_recorded_is_given_up),
        cmocka_unit_test(test_err_invalid_withdraw),
        cmocka_unit_test(test_err_full_withdraw),
    };

    if (setenv("EPDX_MAX_ITEMS", "8", 1) != 0) {
        return 1;
    }
    return cmocka_run_group_tests_name("admission/withdraw", tests, NULL, NULL);
}
