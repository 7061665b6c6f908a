/* cudaplane_room_test.c: staging memory is bounded: who finds no room waits, in
 * order, and what can never fit is told so. */
#include <string.h>

#include "cudaplane/cp_fixture.h"
#include "cudaplane/cudaplane_internal.h"

#define KIB  ((size_t)1 << 10)
#define PART (6 * KIB) /* two fit EPI_CPT_STAGING, three do not */

static size_t slabs_made, calls_left;
static bool counting;

void *__real_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);

/* Slabs of transfers are what this folder allocates under way. */
void *__wrap_calloc(size_t count, size_t bytes)
{
    if (count * bytes > 64 * sizeof(epi_cp_transfer_t)) {
        slabs_made++;
        if (counting && calls_left == 0) {
            return NULL;
        }
        calls_left -= calls_left > 0 ? 1 : 0;
    }
    return __real_calloc(count, bytes);
}

static void offer_parts(epi_cpt_t *test, size_t count)
{
    epi_cpt_fill(test->ring, EPI_CPT_MEMORY, 3);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(epi_cpt_offer(test, i * PART, PART, NULL, i), EPDX_OK);
    }
}

static void check_parts(epi_cpt_t *test, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(test->r.pull[i].status, EPDX_OK);
        assert_int_equal(test->r.pull[i].cookie, i);
        assert_int_equal(test->s.send[i].status, EPDX_OK);
        assert_int_equal(test->s.send[i].cookie, i);
    }
    assert_true(epi_cpt_same(test, 0, 0, count * PART));
}

static void test_offers_wait_for_room_in_order(void **state)
{
    epi_cpt_t *test = *state;

    offer_parts(test, 7);
    epi_cpt_wait(test, &test->r.offers, 2);
    epi_cpt_settle(test);
    assert_int_equal(test->r.offers, 2); /* the room of two is taken */
    /* A small one does not pass those that came before it. */
    assert_int_equal(epi_cpt_offer(test, 7 * PART, 256, NULL, 7), EPDX_OK);
    epi_cpt_settle(test);
    assert_int_equal(test->r.offers, 2);
    /* It sleeps: only the inner plane can bring room. */
    assert_int_equal(test->sender->ops->arm(test->sender), EPDX_OK);
    for (size_t i = 0; i < 7; i++) {
        epi_cpt_wait(test, &test->r.offers, i + 1);
        assert_int_equal(epi_cpt_pull(test, i, i * PART, i), EPDX_OK);
    }
    epi_cpt_wait(test, &test->r.pulled, 7);
    epi_cpt_wait(test, &test->r.offers, 8);
    assert_int_equal(test->r.offer[7].payload_bytes, 256);
    check_parts(test, 7);
    test->receiver->ops->refuse(test->receiver, test->r.offer[7].offer);
    epi_cpt_wait(test, &test->s.sent, 8);
}

/* Room that came while events were taken is used without a further wake-up. */
static void test_room_is_used_when_it_comes(void **state)
{
    epi_cpt_t *test = *state;
    epi_dp_event_t event;

    offer_parts(test, 3);
    epi_cpt_wait(test, &test->r.offers, 2);
    epi_cpt_settle(test);
    test->receiver->ops->refuse(test->receiver, test->r.offer[0].offer);
    (void)test->sender->ops->progress(test->sender);
    assert_true(test->sender->ops->next(test->sender, &event));
    assert_int_equal(event.kind, EPI_DP_SENT);
    assert_false(test->sender->ops->next(test->sender, &event));
    assert_int_equal(test->sender->ops->arm(test->sender), EPDX_IN_PROGRESS);
    epi_cpt_wait(test, &test->r.offers, 3);
    test->receiver->ops->refuse(test->receiver, test->r.offer[1].offer);
    test->receiver->ops->refuse(test->receiver, test->r.offer[2].offer);
    epi_cpt_wait(test, &test->s.sent, 2);
}

/* The sender is direct here: all offers are there at once. */
static void open_direct_sender(epi_cpt_t *test)
{
    epi_cpt_close(test);
    epi_cpt_inner.sender_reaches = true;
    epi_cpt_open(test);
    epi_cpt_map(test);
}

static void test_pulls_wait_for_room_in_order(void **state)
{
    epi_cpt_t *test = *state;

    open_direct_sender(test);
    offer_parts(test, 7);
    epi_cpt_wait(test, &test->r.offers, 7);
    epi_fake_cuda_hold_kinds(EPI_FAKE_CUDA_COPY);
    for (size_t i = 0; i < 7; i++) {
        assert_int_equal(epi_cpt_pull(test, i, i * PART, i), EPDX_OK);
    }
    epi_cpt_wait(test, &test->s.sent, 2);
    epi_cpt_settle(test);
    assert_int_equal(test->s.sent, 2); /* the others were not begun */
    assert_int_equal(test->r.pulled, 0);
    epi_fake_cuda_hold_kinds(0);
    epi_cpt_wait(test, &test->r.pulled, 7);
    epi_cpt_wait(test, &test->s.sent, 7);
    check_parts(test, 7);
}

static void test_a_pull_that_waits_ends_with_its_link(void **state)
{
    epi_cpt_t *test = *state;

    open_direct_sender(test);
    offer_parts(test, 4);
    epi_cpt_wait(test, &test->r.offers, 4);
    epi_loopback_hold_pulls(test->inner_receiver, true);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(epi_cpt_pull(test, i, i * PART, i), EPDX_OK);
    }
    test->receiver->ops->drop(test->receiver, test->r.offer[0].link);
    epi_cpt_wait(test, &test->r.pulled, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(test->r.pull[i].status, EPDX_ERR_UNREACHABLE);
    }
    /* One that was given out is still its owner's. */
    assert_int_equal(epi_cpt_pull(test, 3, 0, 3), EPDX_ERR_UNREACHABLE);
    epi_cpt_wait(test, &test->s.sent, 4);
    epi_cpt_wait(test, &test->s.down, 1);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(test->s.send[i].status, EPDX_ERR_UNREACHABLE);
    }
    /* Nothing was written, and all room is there again. */
    assert_true(epi_cpt_untouched(test->pool));
    assert_int_equal(test->receiver->ops->arm(test->receiver), EPDX_OK);
}

/* The link broke by itself: told when the pull has its turn. */
static void test_a_pull_that_waits_learns_of_a_broken_link(void **state)
{
    epi_cpt_t *test = *state;

    open_direct_sender(test);
    offer_parts(test, 3);
    epi_cpt_wait(test, &test->r.offers, 3);
    epi_loopback_hold_pulls(test->inner_receiver, true);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(epi_cpt_pull(test, i, i * PART, i), EPDX_OK);
    }
    epi_loopback_cut(test->inner_sender);
    epi_cpt_wait(test, &test->r.pulled, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(test->r.pull[i].status, EPDX_ERR_UNREACHABLE);
    }
    epi_cpt_wait(test, &test->s.sent, 3);
    epi_cpt_wait(test, &test->s.down, 1);
}

static void test_err_too_large_names_the_setting(void **state)
{
    epi_cpt_t *test = *state;
    size_t large = EPI_CPT_STAGING + 1;

    assert_int_equal(epi_cpt_offer(test, 0, large, NULL, 1),
                     EPDX_ERR_TOO_LARGE);
    epi_cpt_says("16385 bytes");
    epi_cpt_says("EPDX_CUDA_STAGING_MB");
    assert_int_equal(epi_cpt_offer(test, 0, large - 1, NULL, 2), EPDX_OK);
    open_direct_sender(test);
    assert_int_equal(epi_cpt_offer(test, 0, large, NULL, 3), EPDX_OK);
    epi_cpt_wait(test, &test->r.offers, 1);
    assert_int_equal(epi_cpt_pull(test, 0, 0, 3), EPDX_ERR_TOO_LARGE);
    epi_cpt_says("EPDX_CUDA_STAGING_MB");
    epi_cpt_wait(test, &test->s.sent, 1); /* it was given back */
    epi_cpt_settle(test);
    assert_int_equal(test->r.pulled, 0);
}

static void move_parts(epi_cpt_t *test, size_t count)
{
    offer_parts(test, count);
    for (size_t i = 0; i < count; i++) {
        epi_cpt_wait(test, &test->r.offers, i + 1);
        assert_int_equal(epi_cpt_pull(test, i, i * PART, i), EPDX_OK);
    }
    epi_cpt_wait(test, &test->r.pulled, count);
    epi_cpt_wait(test, &test->s.sent, count);
    check_parts(test, count);
    memset(&test->s, 0, sizeof(test->s));
    memset(&test->r, 0, sizeof(test->r));
}

static void test_a_steady_state_allocates_nothing(void **state)
{
    epi_cpt_t *test = *state;
    size_t slabs;
    uint64_t events, pins;

    move_parts(test, 8);
    slabs = slabs_made;
    events = epi_fake_calls("cudaEventCreateWithFlags");
    pins = epi_fake_calls("cudaHostAlloc");
    for (int i = 0; i < 20; i++) {
        move_parts(test, 8);
    }
    assert_int_equal(slabs_made, slabs);
    assert_int_equal(epi_fake_calls("cudaEventCreateWithFlags"), events);
    assert_int_equal(epi_fake_calls("cudaHostAlloc"), pins);
}

static void test_err_no_memory_for_transfers(void **state)
{
    epi_cpt_t *test = *state;

    counting = true;
    calls_left = 0;
    assert_int_equal(epi_cpt_offer(test, 0, KIB, NULL, 1), EPDX_ERR_NO_MEMORY);
    epi_cpt_says("no memory");
    calls_left = 1; /* the sender's; the receiver has none for what comes */
    assert_int_equal(epi_cpt_offer(test, 0, KIB, NULL, 1), EPDX_OK);
    epi_cpt_settle(test);
    assert_int_equal(test->r.offers, 0);
    counting = false; /* it was left where it is, and not lost */
    epi_cpt_wait(test, &test->r.offers, 1);
    assert_int_equal(epi_cpt_pull(test, 0, 0, 1), EPDX_OK);
    epi_cpt_wait(test, &test->r.pulled, 1);
    epi_cpt_wait(test, &test->s.sent, 1);
}

#define STAGED(name)                                                           \
    cmocka_unit_test_setup_teardown(name, epi_cpt_staged, epi_cpt_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        STAGED(test_offers_wait_for_room_in_order),
        STAGED(test_room_is_used_when_it_comes),
        STAGED(test_pulls_wait_for_room_in_order),
        STAGED(test_a_pull_that_waits_ends_with_its_link),
        STAGED(test_a_pull_that_waits_learns_of_a_broken_link),
        STAGED(test_err_too_large_names_the_setting),
        STAGED(test_a_steady_state_allocates_nothing),
        STAGED(test_err_no_memory_for_transfers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
