/*
 * unstaged_test.c: requests that are given up and were never staged, against an
 * encode rank that the test plays. The test runs the receiver's loop, but where
 * it says so.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "receive/landing_fixture.h"
#include "receive/withdraw.h"

#define MANY (EPI_WITHDRAWN_MAX + 10)

static epdx_item_t item_of(const landing_t *landing, uint64_t room)
{
    return (epdx_item_t){.room = room,
                         .span = 4,
                         .encode = fake_encode_address(&landing->encode)};
}

static epdx_request_t request_of(const epdx_item_t *items, size_t count)
{
    return (epdx_request_t){
        .id = "given-up", .items = items, .item_count = count};
}

static epdx_status_t withdraw(landing_t *landing, const epdx_item_t *items,
                              size_t count)
{
    epdx_request_t request = request_of(items, count);

    return epdx_receiver_withdraw(landing->receiver, &request, NULL);
}

/* So many items, whose rooms begin with 1. */
static epdx_item_t *many_items(const landing_t *landing, size_t count)
{
    epdx_item_t *items = calloc(count, sizeof(*items));

    assert_non_null(items);
    for (size_t i = 0; i < count; i++) {
        items[i] = item_of(landing, i + 1);
    }
    return items;
}

/* Rank 0 of two; of the encode ranks, rank 1 is not in, so nobody is found. */
static landing_t *open_unreached(void)
{
    epdx_receiver_params_t params = landing_params();

    params.tp_size = 2;
    return landing_open(&params);
}

static landing_t *open_reached(void)
{
    epdx_receiver_params_t params = landing_params();

    return landing_open(&params);
}

static void expect_words(const char *words)
{
    if (strstr(epdx_last_error(), words) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", epdx_last_error(), words);
    }
}

/* The n-th cancel that came. */
static const epi_cancel_t *cancel_at(const landing_t *landing, size_t n)
{
    return &landing->encode.cancels[n % FAKE_ENCODE_MAX];
}

static bool at_rest(const landing_t *landing)
{
    return landing_free_withdrawals(landing->receiver) == EPI_WITHDRAWN_MAX;
}

static void test_what_was_never_staged_is_withdrawn(void **state)
{
    landing_t *landing = open_reached();
    epdx_item_t item = item_of(landing, UINT64_MAX);
    epdx_request_t request = request_of(&item, 1);

    (void)state;
    item.span = 0; /* as one that staging refuses for it */
    assert_int_equal(
        epdx_receiver_withdraw(landing->receiver, &request, "too many rows"),
        EPDX_OK);
    landing_until(landing, landing->encode.cancel_count == 1);
    assert_true(cancel_at(landing, 0)->room == UINT64_MAX);
    assert_string_equal(cancel_at(landing, 0)->reason, "too many rows");
    assert_string_equal(cancel_at(landing, 0)->session,
                        landing->receiver->io.nodes.session);
    /* An encode rank believes those that it knows: once at the connection,
     * once more before a cancel without an ask. */
    assert_int_equal(landing->encode.register_count, 2);
    assert_int_equal(landing->encode.ask_count, 0);
    assert_true(at_rest(landing));
    landing_close(landing);
}

static void test_skipped_items_are_not_withdrawn(void **state)
{
    landing_t *landing = open_reached();
    epdx_item_t items[] = {item_of(landing, 1), item_of(landing, 2),
                           item_of(landing, 3)};

    (void)state;
    items[0].received = true;
    items[1].encode = NULL;
    assert_int_equal(withdraw(landing, items, 3), EPDX_OK);
    landing_until(landing, landing->encode.cancel_count == 1);
    landing_until(landing, at_rest(landing));
    assert_int_equal(landing->encode.cancel_count, 1);
    assert_int_equal(cancel_at(landing, 0)->room, 3);
    assert_string_equal(cancel_at(landing, 0)->reason,
                        "the prefill rank gave the request up");
    landing_close(landing);
}

static void test_a_room_in_use_is_not_withdrawn(void **state)
{
    landing_t *landing = open_reached();
    epdx_job_t *job = landing_stage(landing, "first", 4); /* of room 1 */
    epdx_item_t items[] = {item_of(landing, 1), item_of(landing, 2)};
    epdx_request_t twice = request_of(items, 2);
    epdx_job_t *second = NULL;

    (void)state;
    assert_int_equal(epdx_receiver_stage(landing->receiver, &twice, &second),
                     EPDX_ERR_DUPLICATE);
    assert_int_equal(withdraw(landing, items, 2), EPDX_OK);
    landing_until(landing, landing->encode.cancel_count == 1);
    assert_int_equal(cancel_at(landing, 0)->room, 2);
    landing_send(landing, job, 0); /* which lands */
    assert_int_equal(landing->encode.cancel_count, 1);
    /* Landed, it is in use until it is released. */
    assert_int_equal(withdraw(landing, items, 1), EPDX_OK);
    assert_true(at_rest(landing));
    epdx_job_release(job);
    assert_int_equal(withdraw(landing, items, 1), EPDX_OK);
    landing_until(landing, landing->encode.cancel_count == 2);
    assert_int_equal(cancel_at(landing, 1)->room, 1);
    landing_close(landing);
}

static void test_it_waits_for_its_encode_rank(void **state)
{
    landing_t *landing = open_unreached();
    epdx_item_t item = item_of(landing, 5);

    (void)state;
    assert_int_equal(withdraw(landing, &item, 1), EPDX_OK);
    landing_until(landing, landing->receiver->io.nodes.nodes[0].find.tries > 0);
    assert_int_equal(landing_free_withdrawals(landing->receiver),
                     EPI_WITHDRAWN_MAX - 1);
    fake_encode_register(&landing->encode, 1);
    landing_until(landing, landing->encode.cancel_count == 1);
    assert_int_equal(cancel_at(landing, 0)->room, 5);
    assert_true(at_rest(landing));
    landing_close(landing);
}

static void test_it_ends_by_the_requests_deadline(void **state)
{
    landing_t *landing = open_unreached();
    epdx_item_t item = item_of(landing, 5);
    epdx_request_t request = request_of(&item, 1);
    uint64_t before = epi_now_ns();
    uint32_t slot;

    (void)state;
    assert_int_equal(withdraw(landing, &item, 1), EPDX_OK);
    slot = (uint32_t)landing->receiver->shared.config.max_items;
    assert_true(landing->receiver->shared.slots[slot].deadline_ns >=
                before + 60 * EPI_S); /* the receiver's */
    request.timeout_ns = 1;
    assert_int_equal(epdx_receiver_withdraw(landing->receiver, &request, NULL),
                     EPDX_OK);
    landing_until(landing, landing_free_withdrawals(landing->receiver) ==
                               EPI_WITHDRAWN_MAX - 1);
    fake_encode_register(&landing->encode, 1);
    landing_until(landing, at_rest(landing));
    landing_until(landing, landing->encode.cancel_count == 1);
    landing_close(landing);
}

static void test_err_full_withdraws_as_many_as_there_may_be(void **state)
{
    landing_t *landing = open_unreached();
    epdx_item_t *items = many_items(landing, MANY);

    (void)state;
    assert_int_equal(withdraw(landing, items, MANY), EPDX_ERR_FULL);
    expect_words("request given-up: 1024 withdrawals are under way: from item "
                 "1024 on");
    assert_int_equal(landing_free_withdrawals(landing->receiver), 0);
    landing_step(landing);
    assert_int_equal(withdraw(landing, &items[MANY - 1], 1), EPDX_ERR_FULL);
    expect_words("from item 0 on");
    fake_encode_register(&landing->encode, 1);
    landing_until(landing, landing->encode.cancel_count == EPI_WITHDRAWN_MAX);
    assert_int_equal(cancel_at(landing, EPI_WITHDRAWN_MAX - 1)->room,
                     EPI_WITHDRAWN_MAX);
    assert_true(at_rest(landing));
    assert_int_equal(withdraw(landing, &items[EPI_WITHDRAWN_MAX], 10), EPDX_OK);
    landing_until(landing, landing->encode.cancel_count == MANY);
    for (size_t n = EPI_WITHDRAWN_MAX; n < MANY; n++) {
        assert_int_equal(cancel_at(landing, n)->room, n + 1);
    }
    free(items);
    landing_close(landing);
}

/* Few requests make a short queue of orders; these have place in it, too. */
static void test_withdrawals_do_not_depend_on_the_most_requests(void **state)
{
    landing_t *landing;
    epdx_item_t *items;

    (void)state;
    assert_int_equal(setenv("EPDX_MAX_REQUESTS", "1", 1), 0);
    landing = open_reached();
    assert_int_equal(unsetenv("EPDX_MAX_REQUESTS"), 0);
    items = many_items(landing, EPI_WITHDRAWN_MAX);
    assert_int_equal(withdraw(landing, items, EPI_WITHDRAWN_MAX), EPDX_OK);
    landing_until(landing, landing->encode.cancel_count == EPI_WITHDRAWN_MAX);
    free(items);
    landing_close(landing);
}

/* More than its queues hold: what does not go out at once goes out later. */
static void test_an_encode_rank_that_is_slow_gets_all(void **state)
{
    landing_t *landing = open_reached();
    epdx_item_t *items = many_items(landing, EPI_WITHDRAWN_MAX);
    size_t handed_over = 0;

    (void)state;
    while (landing_free_withdrawals(landing->receiver) == EPI_WITHDRAWN_MAX) {
        assert_int_equal(withdraw(landing, items, EPI_WITHDRAWN_MAX), EPDX_OK);
        handed_over += EPI_WITHDRAWN_MAX;
        do { /* found, and all taken in: but its side does not read */
            epdx_receiver_poll(landing->receiver);
        } while (landing->receiver->io.nodes.peers[0].find.state !=
                 EPI_FIND_DONE);
        assert_true(handed_over < 1000 * (size_t)EPI_WITHDRAWN_MAX);
    }
    landing_until(landing, landing->encode.cancel_count == handed_over);
    landing_until(landing, at_rest(landing));
    assert_int_equal(landing->encode.cancel_count, handed_over);
    free(items);
    landing_close(landing);
}

static void test_err_invalid_null_arguments(void **state)
{
    landing_t *landing = open_reached();
    epdx_item_t item = item_of(landing, 1);
    epdx_request_t request = request_of(&item, 1);
    epdx_request_t none = request_of(&item, 0);
    epdx_request_t null = request_of(NULL, 1);

    (void)state;
    assert_int_equal(epdx_receiver_withdraw(NULL, &request, NULL),
                     EPDX_ERR_INVALID);
    expect_words("epdx_receiver_withdraw: receiver is NULL");
    assert_int_equal(epdx_receiver_withdraw(landing->receiver, NULL, NULL),
                     EPDX_ERR_INVALID);
    expect_words("epdx_receiver_withdraw: request is NULL");
    assert_int_equal(epdx_receiver_withdraw(landing->receiver, &none, NULL),
                     EPDX_ERR_INVALID);
    expect_words("request given-up has no items");
    assert_int_equal(epdx_receiver_withdraw(landing->receiver, &null, NULL),
                     EPDX_ERR_INVALID);
    assert_true(at_rest(landing));
    landing_close(landing);
}

static void test_err_invalid_address_keeps_no_other_item(void **state)
{
    landing_t *landing = open_reached();
    epdx_item_t items[] = {item_of(landing, 1), item_of(landing, 2),
                           item_of(landing, 3), item_of(landing, 4)};

    (void)state;
    items[1].encode = "";
    items[2].encode = "no port\n";
    assert_int_equal(withdraw(landing, items, 4), EPDX_ERR_INVALID);
    expect_words(
        "request given-up: item 2: \"no port\\x0a\" is not the address "
        "of a bootstrap server");
    landing_until(landing, landing->encode.cancel_count == 2);
    assert_int_equal(cancel_at(landing, 0)->room, 1);
    assert_int_equal(cancel_at(landing, 1)->room, 4);
    assert_true(at_rest(landing));
    landing_close(landing);
}

/* What staging refused for its id has rows, too. */
static void test_an_id_that_is_none_does_not_matter(void **state)
{
    landing_t *landing = open_reached();
    epdx_item_t items[] = {item_of(landing, 1), item_of(landing, 2)};
    epdx_request_t request = request_of(items, 2);

    (void)state;
    request.id = NULL;
    items[1].encode = "";
    assert_int_equal(epdx_receiver_withdraw(landing->receiver, &request, NULL),
                     EPDX_ERR_INVALID);
    expect_words("request without an id: item 1: encode is empty");
    landing_until(landing, landing->encode.cancel_count == 1);
    assert_int_equal(cancel_at(landing, 0)->room, 1);
    landing_close(landing);
}

/* A room that was withdrawn is not to be staged. Where it is, the encode rank
 * hears of the withdrawal first, and the cancel is not that of the ask. */
static void test_a_later_ask_does_not_overtake_it(void **state)
{
    landing_t *landing = open_unreached();
    epdx_item_t item = item_of(landing, 1);

    (void)state;
    assert_int_equal(withdraw(landing, &item, 1), EPDX_OK);
    (void)landing_stage(landing, "later", 4); /* of room 1 */
    landing_step(landing);
    fake_encode_register(&landing->encode, 1);
    landing_until(landing, landing->encode.ask_count == 1);
    assert_int_equal(landing->encode.asks[0].room, 1);
    assert_int_equal(landing->encode.cancel_count, 1);
    assert_int_equal(landing->encode.asks_before_cancel, 0);
    assert_true(cancel_at(landing, 0)->generation !=
                landing->encode.asks[0].generation);
    landing_close(landing);
}

static void test_a_close_ends_those_that_wait(void **state)
{
    landing_t *landing = open_unreached();
    epdx_item_t *items = many_items(landing, MANY);

    (void)state;
    assert_int_equal(withdraw(landing, items, 20), EPDX_OK);
    landing_step(landing); /* these wait */
    assert_int_equal(withdraw(landing, items, MANY), EPDX_ERR_FULL);
    free(items); /* and these are not even taken in */
    landing_close(landing);
}

static void test_a_close_sends_what_was_not_taken_in(void **state)
{
    landing_t *landing = open_reached();
    epdx_item_t items[] = {item_of(landing, 1), item_of(landing, 2)};

    (void)state;
    assert_int_equal(withdraw(landing, items, 1), EPDX_OK);
    landing_until(landing, landing->encode.cancel_count == 1);
    assert_int_equal(withdraw(landing, &items[1], 1), EPDX_OK);
    epdx_receiver_close(landing->receiver);
    landing->receiver = NULL;
    landing_until(landing, landing->encode.cancel_count == 2);
    assert_int_equal(cancel_at(landing, 1)->room, 2);
    landing_close(landing);
}

/* With a thread of the receiver's own, which takes slots, too: for what was
 * staged and is given up. */
static void test_both_threads_withdraw(void **state)
{
    epdx_receiver_params_t params = landing_params();
    landing_t *landing;
    epdx_item_t *items;

    (void)state;
    params.progress = EPDX_PROGRESS_THREAD;
    params.tp_size = 2;
    landing = landing_open(&params);
    landing->next_room = MANY;
    items = many_items(landing, 400);
    for (size_t i = 0; i < 400; i++) {
        epdx_job_t *job = landing_stage(landing, "staged", 4);

        assert_int_equal(withdraw(landing, &items[i], 1), EPDX_OK);
        epdx_job_release(job);
    }
    fake_encode_register(&landing->encode, 1);
    landing_until(landing, landing->encode.cancel_count == 800);
    free(items);
    landing_close(landing);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_was_never_staged_is_withdrawn),
        cmocka_unit_test(test_skipped_items_are_not_withdrawn),
        cmocka_unit_test(test_a_room_in_use_is_not_withdrawn),
        cmocka_unit_test(test_it_waits_for_its_encode_rank),
        cmocka_unit_test(test_it_ends_by_the_requests_deadline),
        cmocka_unit_test(test_err_full_withdraws_as_many_as_there_may_be),
        cmocka_unit_test(test_withdrawals_do_not_depend_on_the_most_requests),
        cmocka_unit_test(test_an_encode_rank_that_is_slow_gets_all),
        cmocka_unit_test(test_err_invalid_null_arguments),
        cmocka_unit_test(test_err_invalid_address_keeps_no_other_item),
        cmocka_unit_test(test_an_id_that_is_none_does_not_matter),
        cmocka_unit_test(test_a_later_ask_does_not_overtake_it),
        cmocka_unit_test(test_a_close_ends_those_that_wait),
        cmocka_unit_test(test_a_close_sends_what_was_not_taken_in),
        cmocka_unit_test(test_both_threads_withdraw),
    };

    return cmocka_run_group_tests_name("receive/unstaged", tests, NULL, NULL);
}
