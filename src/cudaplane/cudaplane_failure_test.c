/* cudaplane_failure_test.c: calls that fail, streams that are late, connections
 * that end, and closing in the midst of it. */
#include <string.h>

#include "cudaplane/cp_fixture.h"

#define KIB ((size_t)1 << 10)

/* One offer that waits to be pulled. */
static void offer_one(epi_cpt_t *test)
{
    epi_cpt_fill(test->ring, 4 * KIB, 6);
    assert_int_equal(epi_cpt_offer(test, 0, 4 * KIB, NULL, 1), EPDX_OK);
    epi_cpt_wait(test, &test->r.offers, 1);
}

/* Afterwards all room is there, and transfers go well. */
static void check_sound(epi_cpt_t *test)
{
    size_t offers = test->r.offers, pulled = test->r.pulled;
    size_t sent = test->s.sent;

    assert_int_equal(epi_cpt_offer(test, 0, EPI_CPT_STAGING, NULL, 90),
                     EPDX_OK);
    epi_cpt_wait(test, &test->r.offers, offers + 1);
    assert_int_equal(epi_cpt_pull(test, offers, 64 * KIB, 91), EPDX_OK);
    epi_cpt_wait(test, &test->r.pulled, pulled + 1);
    epi_cpt_wait(test, &test->s.sent, sent + 1);
    assert_int_equal(test->r.pull[pulled].status, EPDX_OK);
    assert_true(epi_cpt_same(test, 64 * KIB, 0, EPI_CPT_STAGING));
}

static void test_a_copy_in_that_is_refused_fails_the_pull(void **state)
{
    epi_cpt_t *test = *state;

    offer_one(test);
    epi_fake_fail("cudaMemcpyAsync", 0, cudaErrorInvalidValue);
    assert_int_equal(epi_cpt_pull(test, 0, 0, 2), EPDX_OK);
    epi_cpt_wait(test, &test->r.pulled, 1);
    assert_int_equal(test->r.pull[0].status, EPDX_ERR_IO);
    assert_true(epi_cpt_untouched(test->pool));
    check_sound(test);
}

/* The copy runs although nothing tells of it: PULLED must not come before. */
static void check_late_failure(epi_cpt_t *test, const char *call, uint64_t nth)
{
    offer_one(test);
    epi_fake_cuda_hold_kinds(EPI_FAKE_CUDA_COPY);
    epi_fake_fail(call, nth, cudaErrorUnknown);
    assert_int_equal(epi_cpt_pull(test, 0, 0, 2), EPDX_OK);
    epi_cpt_wait(test, &test->s.sent, 1);
    epi_cpt_settle(test);
    assert_int_equal(test->r.pulled, 0);
    assert_int_equal(test->receiver->ops->arm(test->receiver),
                     EPDX_IN_PROGRESS);
    epi_fake_cuda_hold_kinds(0);
    epi_cpt_wait(test, &test->r.pulled, 1);
    assert_int_equal(test->r.pull[0].status, EPDX_ERR_IO);
    check_sound(test);
}

static void test_a_copy_without_its_event_fails_the_pull_when_over(void **state)
{
    check_late_failure(*state, "cudaEventRecord", 0);
}

static void test_an_event_that_fails_fails_the_pull_when_over(void **state)
{
    check_late_failure(*state, "cudaEventQuery", 0);
}

static void test_a_copy_out_that_is_refused_fails_the_offer(void **state)
{
    epi_cpt_t *test = *state;

    epi_fake_fail("cudaMemcpyAsync", 0, cudaErrorInvalidValue);
    assert_int_equal(epi_cpt_offer(test, 0, 4 * KIB, NULL, 1), EPDX_ERR_IO);
    epi_cpt_says("cudaMemcpyAsync");
    epi_cpt_settle(test);
    assert_int_equal(test->s.sent, 0); /* it was never taken */
    check_sound(test);
}

static void test_an_event_that_fails_fails_the_offer_when_over(void **state)
{
    epi_cpt_t *test = *state;

    epi_fake_cuda_hold_kinds(EPI_FAKE_CUDA_COPY);
    assert_int_equal(epi_cpt_offer(test, 0, 4 * KIB, NULL, 1), EPDX_OK);
    epi_fake_fail("cudaEventQuery", 0, cudaErrorUnknown);
    epi_cpt_settle(test);
    assert_int_equal(test->s.sent, 0); /* the payload is still being read */
    epi_fake_cuda_hold_kinds(0);
    epi_cpt_wait(test, &test->s.sent, 1);
    assert_int_equal(test->s.send[0].status, EPDX_ERR_IO);
    assert_int_equal(test->r.offers, 0);
    check_sound(test);
}

static void test_err_io_a_ready_event_that_cannot_be_asked(void **state)
{
    epi_cpt_t *test = *state;
    epi_cpt_event_t late = epi_cpt_event();

    epi_fake_fail("cudaEventQuery", 0, cudaErrorUnknown);
    assert_int_equal(epi_cpt_offer(test, 0, 4 * KIB, late.event, 1),
                     EPDX_ERR_IO);
    assert_int_equal(epi_cpt_offer(test, 0, 4 * KIB, late.event, 2), EPDX_OK);
    epi_fake_fail("cudaEventQuery", 0, cudaErrorUnknown);
    epi_cpt_wait(test, &test->s.sent, 1);
    assert_int_equal(test->s.send[0].cookie, 2);
    assert_int_equal(test->s.send[0].status, EPDX_ERR_IO);
    epi_cpt_event_done(&late);
    epi_cpt_event_close(&late);
    check_sound(test);
}

static void test_err_invalid_what_lies_outside(void **state)
{
    epi_cpt_t *test = *state;
    epi_dp_send_t send = {.header = test,
                          .header_bytes = EPI_DP_HEADER_MAX + 1};

    assert_int_equal(test->sender->ops->offer(test->sender, test->peer, &send),
                     EPDX_ERR_INVALID);
    assert_int_equal(
        epi_cpt_offer(test, EPI_CPT_MEMORY - KIB, KIB + 1, NULL, 1),
        EPDX_ERR_INVALID);
    assert_int_equal(epi_cpt_offer(test, EPI_CPT_MEMORY + 1, 1, NULL, 1),
                     EPDX_ERR_INVALID);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(epi_cpt_offer(test, 0, KIB, NULL, i), EPDX_OK);
    }
    epi_cpt_wait(test, &test->r.offers, 3);
    assert_int_equal(epi_cpt_pull(test, 0, EPI_CPT_MEMORY - KIB + 1, 1),
                     EPDX_ERR_INVALID);
    epi_cpt_says("outside its region");
    test->r.offer[1].payload_bytes++; /* what the owner believes */
    assert_int_equal(epi_cpt_pull(test, 1, 0, 1), EPDX_ERR_INVALID);
    epi_cpt_says("a pull of 1025 bytes of an offer of 1024");
    epi_dp_region_t *region = test->pool_region;

    test->pool_region = NULL;
    assert_int_equal(epi_cpt_pull(test, 2, 0, 1), EPDX_ERR_INVALID);
    test->pool_region = region;
    epi_cpt_wait(test, &test->s.sent, 3); /* all were given back */
    epi_cpt_settle(test);
    assert_int_equal(test->r.pulled, 0);
    check_sound(test);
}

/* All bytes came, and the link is cut while they are copied. */
static void test_a_drop_during_the_copy_ends_after_it(void **state)
{
    epi_cpt_t *test = *state;

    offer_one(test);
    epi_fake_cuda_hold_kinds(EPI_FAKE_CUDA_COPY);
    assert_int_equal(epi_cpt_pull(test, 0, 0, 2), EPDX_OK);
    epi_cpt_wait(test, &test->s.sent, 1);
    test->receiver->ops->drop(test->receiver, test->r.offer[0].link);
    test->receiver->ops->drop(test->receiver, 12345);
    epi_cpt_settle(test);
    assert_int_equal(test->r.pulled, 0);
    epi_fake_cuda_hold_kinds(0);
    epi_cpt_wait(test, &test->r.pulled, 1);
    assert_int_equal(test->r.pull[0].status, EPDX_OK);
    assert_true(epi_cpt_same(test, 0, 0, 4 * KIB));
    epi_cpt_wait(test, &test->s.down, 1);
}

static void test_a_drop_ends_pulls_of_the_inner_plane(void **state)
{
    epi_cpt_t *test = *state;

    offer_one(test);
    epi_loopback_hold_pulls(test->inner_receiver, true);
    assert_int_equal(epi_cpt_pull(test, 0, 0, 2), EPDX_OK);
    test->receiver->ops->drop(test->receiver, test->r.offer[0].link);
    epi_cpt_wait(test, &test->r.pulled, 1);
    assert_int_equal(test->r.pull[0].status, EPDX_ERR_UNREACHABLE);
    epi_cpt_wait(test, &test->s.sent, 1);
    assert_int_equal(test->s.send[0].status, EPDX_ERR_UNREACHABLE);
    epi_cpt_wait(test, &test->s.down, 1);
    assert_true(epi_cpt_untouched(test->pool));
}

static void reconnect(epi_cpt_t *test)
{
    assert_int_equal(
        test->sender->ops->connect(test->sender,
                                   test->receiver->ops->address(test->receiver),
                                   7, &test->peer),
        EPDX_OK);
}

/* An offer in each of its states; each ends once, when nothing reads it. */
static void test_a_disconnect_ends_offers_in_every_state(void **state)
{
    epi_cpt_t *test = *state;
    epi_cpt_event_t late = epi_cpt_event();
    bool told[4] = {false};

    assert_int_equal(epi_cpt_offer(test, 0, 6 * KIB, NULL, 0), EPDX_OK);
    epi_cpt_wait(test, &test->r.offers, 1); /* at the inner plane */
    epi_fake_cuda_hold_kinds(EPI_FAKE_CUDA_COPY);
    assert_int_equal(epi_cpt_offer(test, 0, 6 * KIB, NULL, 1), EPDX_OK);
    assert_int_equal(epi_cpt_offer(test, 0, 6 * KIB, NULL, 2), EPDX_OK);
    assert_int_equal(epi_cpt_offer(test, 0, 256, late.event, 3), EPDX_OK);
    test->sender->ops->disconnect(test->sender, test->peer);
    epi_cpt_settle(test);
    assert_int_equal(test->s.sent, 3); /* all but that which is copied */
    epi_fake_cuda_hold_kinds(0);
    epi_cpt_wait(test, &test->s.sent, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(test->s.send[i].status, EPDX_ERR_UNREACHABLE);
        assert_false(told[test->s.send[i].cookie]);
        told[test->s.send[i].cookie] = true;
    }
    assert_int_equal(test->s.send[3].cookie, 1);
    assert_int_equal(test->s.down, 0);
    test->receiver->ops->refuse(test->receiver, test->r.offer[0].offer);
    epi_cpt_event_done(&late);
    reconnect(test);
    check_sound(test);
    epi_cpt_event_close(&late);
}

static void test_offers_to_a_peer_that_is_down_fail(void **state)
{
    epi_cpt_t *test = *state;
    epi_cpt_event_t late = epi_cpt_event();

    assert_int_equal(epi_cpt_offer(test, 0, KIB, late.event, 1), EPDX_OK);
    epi_fake_cuda_hold_kinds(EPI_FAKE_CUDA_COPY);
    assert_int_equal(epi_cpt_offer(test, 0, KIB, NULL, 2), EPDX_OK);
    epi_loopback_cut(test->inner_receiver);
    epi_cpt_wait(test, &test->s.down, 1);
    epi_fake_cuda_hold_kinds(0);
    epi_cpt_event_done(&late);
    epi_cpt_wait(test, &test->s.sent, 2);
    assert_int_equal(test->s.send[0].status, EPDX_ERR_UNREACHABLE);
    assert_int_equal(test->s.send[1].status, EPDX_ERR_UNREACHABLE);
    epi_cpt_event_close(&late);
}

static void test_the_staging_memory_cannot_be_had(void **state)
{
    epi_cpt_t *test = *state;
    epi_dp_region_t *region = NULL;
    epi_cpt_t fresh;

    epi_cpt_open(&fresh);
    epi_fake_fail("cudaHostAlloc", 0, cudaErrorMemoryAllocation);
    assert_int_equal(fresh.receiver->ops->map(fresh.receiver, epi_memory_cuda(),
                                              test->pool, EPI_CPT_MEMORY,
                                              &region),
                     EPDX_ERR_NO_MEMORY);
    epi_cpt_says("16384 bytes (EPDX_CUDA_STAGING_MB)");
    epi_fake_fail("cudaStreamCreateWithFlags", 0, cudaErrorUnknown);
    assert_int_equal(fresh.receiver->ops->map(fresh.receiver, epi_memory_cuda(),
                                              test->pool, EPI_CPT_MEMORY,
                                              &region),
                     EPDX_ERR_IO);
    epi_fake_fail("cudaEventCreateWithFlags", 3, cudaErrorUnknown);
    assert_int_equal(fresh.receiver->ops->map(fresh.receiver, epi_memory_cuda(),
                                              test->pool, EPI_CPT_MEMORY,
                                              &region),
                     EPDX_ERR_IO);
    epi_cpt_inner.host_map_fails = true;
    assert_int_equal(fresh.receiver->ops->map(fresh.receiver, epi_memory_cuda(),
                                              test->pool, EPI_CPT_MEMORY,
                                              &region),
                     EPDX_ERR_IO);
    epi_cpt_says("this test maps no host memory");
    epi_cpt_inner.host_map_fails = false;
    assert_null(region);
    epi_cpt_close(&fresh);
}

/* The owner did not wait: close does, for rows and copies under way. */
static void test_close_waits_for_copies(void **state)
{
    epi_cpt_t *test = *state;

    offer_one(test);
    epi_fake_cuda_delay(20000000);
    assert_int_equal(epi_cpt_pull(test, 0, 0, 2), EPDX_OK);
    assert_int_equal(epi_cpt_offer(test, 0, 4 * KIB, NULL, 3), EPDX_OK);
    epi_cpt_wait(test, &test->s.sent, 1);
    assert_int_equal(test->r.pulled, 0);
    test->receiver->ops->unmap(test->receiver, test->pool_region);
    test->receiver->ops->close(test->receiver);
    test->receiver = NULL;
    /* All that was copied is there: the pool may be freed. */
    assert_true(epi_cpt_same(test, 0, 0, 4 * KIB));
    epi_fake_cuda_delay(0);
}

static void test_close_with_everything_under_way(void **state)
{
    epi_cpt_t *test = *state;
    epi_cpt_event_t late = epi_cpt_event();

    for (size_t i = 0; i < 4; i++) { /* two in the room, two wait */
        assert_int_equal(epi_cpt_offer(test, 0, 6 * KIB, NULL, i), EPDX_OK);
    }
    assert_int_equal(epi_cpt_offer(test, 0, KIB, late.event, 9), EPDX_OK);
    epi_cpt_wait(test, &test->r.offers, 2);
    epi_loopback_hold_pulls(test->inner_receiver, true);
    assert_int_equal(epi_cpt_pull(test, 0, 0, 0), EPDX_OK);
    test->receiver->ops->unmap(test->receiver, test->pool_region);
    test->receiver->ops->close(test->receiver);
    test->receiver = NULL;
    test->sender->ops->unmap(test->sender, test->ring_region);
    test->sender->ops->close(test->sender);
    test->sender = NULL;
    epi_cpt_event_done(&late);
    epi_cpt_event_close(&late);
}

static void test_close_of_nothing(void **state)
{
    epi_cpt_t *test = *state;

    test->sender->ops->close(NULL);
    test->sender->ops->disconnect(test->sender, NULL);
}

/* A device that is stuck: its staging memory is left alone. */
static void test_a_stuck_copy_keeps_the_staging_memory(void **state)
{
    epi_cpt_t *test = *state;
    epi_fake_cuda_entry_t copy;
    size_t at;

    offer_one(test);
    epi_fake_cuda_hold_kinds(EPI_FAKE_CUDA_COPY);
    assert_int_equal(epi_cpt_pull(test, 0, 0, 2), EPDX_OK);
    epi_cpt_wait(test, &test->s.sent, 1);
    epi_cpt_settle(test);
    test->receiver->ops->close(test->receiver);
    test->receiver = NULL;
    assert_int_equal(epi_fake_cuda_live().pinned_allocations, 2);
    epi_fake_cuda_hold_kinds(0);
    at = epi_fake_cuda_log_find(0, EPI_FAKE_CUDA_COPY, EPI_FAKE_CUDA_ISSUED);
    at = epi_fake_cuda_log_find(at + 1, EPI_FAKE_CUDA_COPY,
                                EPI_FAKE_CUDA_ISSUED);
    assert_true(epi_fake_cuda_log_entry(at, &copy));
    assert_int_equal(cudaStreamSynchronize(copy.stream), cudaSuccess);
    assert_true(epi_cpt_same(test, 0, 0, 4 * KIB));
}

#define STAGED(name)                                                           \
    cmocka_unit_test_setup_teardown(name, epi_cpt_staged, epi_cpt_teardown)
#define DIRECT(name)                                                           \
    cmocka_unit_test_setup_teardown(name, epi_cpt_direct, epi_cpt_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        STAGED(test_a_copy_in_that_is_refused_fails_the_pull),
        STAGED(test_a_copy_without_its_event_fails_the_pull_when_over),
        STAGED(test_an_event_that_fails_fails_the_pull_when_over),
        STAGED(test_a_copy_out_that_is_refused_fails_the_offer),
        STAGED(test_an_event_that_fails_fails_the_offer_when_over),
        STAGED(test_err_io_a_ready_event_that_cannot_be_asked),
        DIRECT(test_err_io_a_ready_event_that_cannot_be_asked),
        STAGED(test_err_invalid_what_lies_outside),
        DIRECT(test_err_invalid_what_lies_outside),
        STAGED(test_a_drop_during_the_copy_ends_after_it),
        STAGED(test_a_drop_ends_pulls_of_the_inner_plane),
        DIRECT(test_a_drop_ends_pulls_of_the_inner_plane),
        STAGED(test_a_disconnect_ends_offers_in_every_state),
        STAGED(test_offers_to_a_peer_that_is_down_fail),
        STAGED(test_the_staging_memory_cannot_be_had),
        STAGED(test_close_waits_for_copies),
        STAGED(test_close_with_everything_under_way),
        STAGED(test_close_of_nothing),
        /* Last: what it leaves behind stays. */
        cmocka_unit_test_setup(test_a_stuck_copy_keeps_the_staging_memory,
                               epi_cpt_staged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
