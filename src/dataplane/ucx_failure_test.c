/*
 * ucx_failure_test.c: what the plane over UCX does when a connection ends, a
 * peer was never there, or there is more than it can hold.
 */
#include "dataplane/ucx_fixture.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define MIB ((size_t)1 << 20)

static uint8_t *allocate(size_t bytes)
{
    uint8_t *memory = calloc(1, bytes);

    assert_non_null(memory);
    return memory;
}

static void expect_each_once(const uint8_t *seen, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(seen[i], 1);
    }
}

static void test_pull_after_the_sender_left(void **state)
{
    epi_pair_t *pair = *state;
    uint8_t *source = allocate(MIB);
    uint8_t *target = allocate(MIB);
    epi_dp_region_t *to = epi_test_map(pair->receiver, target, MIB);

    epi_test_fill(source, MIB, 9);
    for (size_t i = 0; i < 3; i++) {
        epi_pair_offer(pair, NULL, source, MIB, i);
    }
    epi_pair_wait(pair, &pair->r.offers, 3);
    pair->ops->disconnect(pair->sender, pair->peer);
    /* One pulled before the receiver can know, two after it learned. */
    assert_int_equal(epi_pair_pull(pair, 0, to, target, 0), EPDX_OK);
    epi_pair_wait(pair, &pair->s.sent, 3);
    epi_pair_wait(pair, &pair->r.pulled, 1);
    epi_pair_settle(pair);
    assert_int_equal(epi_pair_pull(pair, 1, to, target, 1),
                     EPDX_ERR_UNREACHABLE);
    pair->ops->refuse(pair->receiver, pair->r.offer[2].offer);
    epi_pair_settle(pair);
    assert_int_equal(pair->r.pulled, 1);
    assert_int_equal(pair->r.pulled_ok, 0);
    expect_each_once(pair->s.sent_of, 3);
    assert_int_equal(pair->s.sent_ok, 0);
    assert_int_equal(pair->s.down, 0);
    assert_int_equal(epi_ucx_plane(pair->receiver)->parked, 0);
    pair->ops->unmap(pair->receiver, to);
    free(source);
    free(target);
}

static void test_connect_to_a_dead_port(void **state)
{
    epi_pair_t *pair = *state;
    char address[EPI_UCX_ADDRESS_MAX];
    epi_dp_peer_t *peer = NULL;
    epdx_status_t status;

    memcpy(address, pair->ops->address(pair->receiver), sizeof(address));
    pair->ops->close(pair->receiver);
    pair->receiver = NULL;
    epi_pair_wait(pair, &pair->s.down, 1); /* the pair's own peer */
    assert_int_equal(
        pair->ops->connect(pair->sender, address, UINT64_MAX, &peer), EPDX_OK);
    status = pair->ops->offer(pair->sender, peer,
                              &(epi_dp_send_t){.header = "h",
                                               .header_bytes = 1,
                                               .region = NULL,
                                               .payload = "x",
                                               .payload_bytes = 1,
                                               .cookie = 4});
    assert_true(status == EPDX_OK || status == EPDX_ERR_UNREACHABLE);
    epi_pair_wait(pair, &pair->s.down, 2);
    assert_true(pair->s.down_cookie == UINT64_MAX);
    if (status == EPDX_OK) {
        epi_pair_wait(pair, &pair->s.sent, 1);
        assert_int_equal(pair->s.sent_ok, 0);
    }
    assert_int_equal(pair->ops->offer(pair->sender, peer,
                                      &(epi_dp_send_t){.header = "h",
                                                       .header_bytes = 1,
                                                       .region = NULL,
                                                       .payload = "x",
                                                       .payload_bytes = 1,
                                                       .cookie = 5}),
                     EPDX_ERR_UNREACHABLE);
    epi_pair_settle(pair);
    assert_int_equal(pair->s.down, 2); /* once a peer */
    pair->ops->disconnect(pair->sender, peer);
    epi_pair_settle(pair);
    assert_int_equal(pair->s.sent_of[5], 0);
}

static void test_disconnect_with_offers_under_way(void **state)
{
    enum { COUNT = 40 };
    epi_pair_t *pair = *state;
    uint8_t *source = allocate(MIB);
    uint8_t *target = allocate(COUNT * MIB);
    epi_dp_region_t *from = epi_test_map(pair->sender, source, MIB);
    epi_dp_region_t *to = epi_test_map(pair->receiver, target, COUNT * MIB);

    for (size_t i = 0; i < COUNT / 2; i++) {
        epi_pair_offer(pair, from, source, MIB, i);
    }
    epi_pair_wait(pair, &pair->r.offers, COUNT / 2);
    for (size_t i = 0; i < COUNT / 4; i++) {
        assert_int_equal(epi_pair_pull(pair, i, to, target + i * MIB, i),
                         EPDX_OK);
    }
    (void)pair->ops->progress(pair->receiver);
    (void)pair->ops->progress(pair->sender);
    for (size_t i = COUNT / 2; i < COUNT; i++) {
        epi_pair_offer(pair, from, source, MIB, i); /* not seen yet */
    }
    pair->ops->disconnect(pair->sender, pair->peer);
    epi_pair_wait(pair, &pair->s.sent, COUNT);
    epi_pair_wait(pair, &pair->r.pulled, COUNT / 4);
    epi_pair_settle(pair);
    expect_each_once(pair->s.sent_of, COUNT);
    expect_each_once(pair->r.pulled_of, COUNT / 4);
    assert_int_equal(pair->s.down, 0);
    pair->ops->unmap(pair->sender, from);
    pair->ops->unmap(pair->receiver, to);
    free(source);
    free(target);
}

/** Drop the link after so many steps of the receiver and the sender into the
 *  pull; from EPI_DP_PULLED on, no byte of target may change. */
static void drop_amid_pull(epi_pair_t *pair, int receiver_steps,
                           int sender_steps)
{
    const size_t size = 8 * MIB;
    uint8_t *source = allocate(size);
    uint8_t *target = allocate(size);
    epi_dp_region_t *to = epi_test_map(pair->receiver, target, size);

    memset(source, 0xaa, size);
    epi_pair_offer(pair, NULL, source, size, 1);
    epi_pair_wait(pair, &pair->r.offers, 1);
    assert_int_equal(epi_pair_pull(pair, 0, to, target, 1), EPDX_OK);
    for (int i = 0; i < receiver_steps; i++) {
        (void)pair->ops->progress(pair->receiver);
    }
    for (int i = 0; i < sender_steps; i++) {
        (void)pair->ops->progress(pair->sender);
    }
    pair->ops->drop(pair->receiver, pair->r.offer[0].link);
    for (uint64_t limit = epi_after(epi_now_ns(), 20 * EPI_S);
         pair->r.pulled == 0 && epi_now_ns() < limit;) {
        (void)pair->ops->progress(pair->receiver);
        epi_record_events(pair->receiver, &pair->r);
    }
    assert_int_equal(pair->r.pulled, 1);
    assert_int_equal(pair->r.pulled_ok, 0);
    memset(target, 0x11, size);
    epi_pair_wait(pair, &pair->s.sent, 1);
    epi_pair_wait(pair, &pair->s.down, 1);
    epi_pair_settle(pair);
    for (size_t i = 0; i < size; i++) {
        if (target[i] != 0x11) {
            fail_msg("written at %zu after its end", i);
        }
    }
    assert_int_equal(pair->s.sent_of[1], 1);
    assert_int_equal(pair->s.down_cookie, 7);
    assert_int_equal(pair->r.pulled, 1);
    pair->ops->unmap(pair->receiver, to);
    free(source);
    free(target);
}

static void test_dropped_link_writes_no_more(void **state)
{
    const int steps[][2] = {{0, 0}, {1, 0}, {1, 1}, {1, 3}, {2, 20}};
    void *fresh;

    (void)state;
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        (void)epi_pair_setup(&fresh);
        drop_amid_pull(fresh, steps[i][0], steps[i][1]);
        (void)epi_pair_teardown(&fresh);
    }
}

static void test_drop_refuses_what_is_parked(void **state)
{
    epi_pair_t *pair = *state;
    uint8_t bytes[1000] = {1};

    epi_pair_offer(pair, NULL, bytes, sizeof(bytes), 1);
    epi_pair_wait(pair, &pair->r.offers, 1);
    pair->ops->drop(pair->receiver, pair->r.offer[0].link + 1); /* unknown */
    pair->ops->drop(pair->receiver, 0);
    epi_pair_settle(pair);
    assert_int_equal(pair->s.down, 0);
    pair->ops->drop(pair->receiver, pair->r.offer[0].link);
    pair->ops->drop(pair->receiver, pair->r.offer[0].link);
    epi_pair_wait(pair, &pair->s.sent, 1);
    epi_pair_wait(pair, &pair->s.down, 1);
    pair->ops->refuse(pair->receiver, pair->r.offer[0].offer);
    epi_pair_settle(pair);
    assert_int_equal(pair->s.sent, 1);
}

static void test_no_word_of_a_peer_that_is_gone(void **state)
{
    epi_pair_t *pair = *state;

    epi_pair_offer(pair, NULL, NULL, 0, 1);
    epi_pair_wait(pair, &pair->r.offers, 1);
    pair->ops->drop(pair->receiver, pair->r.offer[0].link);
    for (uint64_t limit = epi_after(epi_now_ns(), 20 * EPI_S);
         epi_ucx_plane(pair->sender)->events.count == 0 &&
         epi_now_ns() < limit;) {
        (void)pair->ops->progress(pair->receiver);
        (void)pair->ops->progress(pair->sender);
    }
    pair->ops->disconnect(pair->sender, pair->peer); /* with its word queued */
    epi_pair_settle(pair);
    assert_int_equal(pair->s.down, 0);
    pair->ops->refuse(pair->receiver, pair->r.offer[0].offer);
}

static void test_links_are_never_reused(void **state)
{
    enum { COUNT = 70 }; /* more than the slots that there are at first */
    epi_pair_t *pair = *state;
    const char *address = pair->ops->address(pair->receiver);
    epi_dp_peer_t *peers[COUNT];

    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(
            pair->ops->connect(pair->sender, address, 100 + i, &peers[i]),
            EPDX_OK);
        assert_int_equal(pair->ops->offer(pair->sender, peers[i],
                                          &(epi_dp_send_t){.header = "h",
                                                           .header_bytes = 1,
                                                           .region = NULL,
                                                           .payload = "x",
                                                           .payload_bytes = 1,
                                                           .cookie = i}),
                         EPDX_OK);
        epi_pair_wait(pair, &pair->r.offers, i + 1);
        if (i % 2 == 0) { /* half of them leave again */
            pair->ops->disconnect(pair->sender, peers[i]);
        }
    }
    for (size_t i = 0; i < COUNT; i++) {
        for (size_t k = 0; k < i; k++) {
            assert_true(pair->r.offer[i].link != pair->r.offer[k].link);
        }
        pair->ops->refuse(pair->receiver, pair->r.offer[i].offer);
    }
    epi_pair_wait(pair, &pair->s.sent, COUNT);
    expect_each_once(pair->s.sent_of, COUNT);
    assert_int_equal(pair->s.down, 0);
}

static void test_close_ends_what_is_under_way(void **state)
{
    epi_pair_t *pair = *state;
    uint8_t *source = allocate(4 * MIB);
    uint64_t begin;

    for (size_t i = 0; i < 4; i++) {
        epi_pair_offer(pair, NULL, source, 4 * MIB, i);
    }
    epi_pair_wait(pair, &pair->r.offers, 4);
    begin = epi_now_ns();
    pair->ops->close(pair->receiver); /* with all of them parked */
    assert_true(epi_now_ns() - begin < 20 * EPI_S);
    pair->receiver = NULL;
    epi_pair_wait(pair, &pair->s.sent, 4);
    epi_pair_wait(pair, &pair->s.down, 1);
    expect_each_once(pair->s.sent_of, 4);
    free(source);
}

/** What the loop does: progress while there is something, arm, sleep. */
static bool sleep_until(epi_pair_t *pair, const size_t *counter, size_t value,
                        size_t *wakes)
{
    epi_dataplane_t *planes[2] = {pair->sender, pair->receiver};
    struct pollfd fds[2];
    uint64_t limit = epi_after(epi_now_ns(), 20 * EPI_S);

    while (*counter < value && epi_now_ns() < limit) {
        bool busy = pair->ops->progress(pair->sender);

        busy = pair->ops->progress(pair->receiver) || busy;
        epi_record_events(pair->sender, &pair->s);
        epi_record_events(pair->receiver, &pair->r);
        for (size_t i = 0; i < 2; i++) {
            fds[i] = (struct pollfd){.fd = pair->ops->event_fd(planes[i]),
                                     .events = POLLIN};
            busy = pair->ops->arm(planes[i]) != EPDX_OK || busy;
        }
        if (!busy && *counter < value) {
            /* Nothing but the descriptors ends this before the limit. */
            assert_int_not_equal(poll(fds, 2, 20000), 0);
            (*wakes)++;
        }
    }
    return *counter >= value;
}

static void test_descriptor_wakes(void **state)
{
    epi_pair_t *pair = *state;
    uint8_t *source = allocate(MIB);
    uint8_t *target = allocate(MIB);
    epi_dp_region_t *to = epi_test_map(pair->receiver, target, MIB);
    size_t wakes = 0;

    epi_test_fill(source, MIB, 2);
    for (size_t i = 0; i < 20; i++) {
        epi_pair_offer(pair, NULL, source, MIB, i);
        assert_true(sleep_until(pair, &pair->r.offers, i + 1, &wakes));
        memset(target, 0, MIB);
        assert_int_equal(epi_pair_pull(pair, i, to, target, i), EPDX_OK);
        assert_true(sleep_until(pair, &pair->s.sent_ok, i + 1, &wakes));
        assert_true(sleep_until(pair, &pair->r.pulled_ok, i + 1, &wakes));
        assert_memory_equal(target, source, MIB);
    }
    assert_true(wakes > 0);
    epi_pair_offer(pair, NULL, source, MIB, 20);
    assert_true(sleep_until(pair, &pair->r.offers, 21, &wakes));
    pair->ops->disconnect(pair->sender, pair->peer);
    assert_true(sleep_until(pair, &pair->s.sent, 21, &wakes));
    pair->ops->refuse(pair->receiver, pair->r.offer[20].offer);
    pair->ops->unmap(pair->receiver, to);
    free(source);
    free(target);
}

static void test_arm_tells_of_events(void **state)
{
    epi_pair_t *pair = *state;
    epi_ucx_plane_t *plane = epi_ucx_plane(pair->receiver);

    epi_pair_offer(pair, NULL, NULL, 0, 1);
    for (uint64_t limit = epi_after(epi_now_ns(), 20 * EPI_S);
         plane->events.count == 0 && epi_now_ns() < limit;) {
        (void)pair->ops->progress(pair->sender);
        (void)pair->ops->progress(pair->receiver);
    }
    assert_int_equal(pair->ops->arm(pair->receiver), EPDX_IN_PROGRESS);
    epi_pair_wait(pair, &pair->r.offers, 1);
    pair->ops->refuse(pair->receiver, pair->r.offer[0].offer);
}

/** An idle connection does not keep waking its owner. */
static void test_idle_sleeps(void **state)
{
    epi_pair_t *pair = *state;
    struct pollfd fd = {.fd = pair->ops->event_fd(pair->receiver),
                        .events = POLLIN};
    size_t wakes = 0;

    epi_pair_offer(pair, NULL, NULL, 0, 1);
    epi_pair_wait(pair, &pair->r.offers, 1);
    pair->ops->refuse(pair->receiver, pair->r.offer[0].offer);
    epi_pair_settle(pair);
    for (uint64_t end = epi_after(epi_now_ns(), EPI_S / 2);
         epi_now_ns() < end && wakes < 1000;) {
        while (pair->ops->progress(pair->receiver) ||
               pair->ops->arm(pair->receiver) != EPDX_OK) {
        }
        wakes += poll(&fd, 1, 100) > 0;
    }
    assert_true(wakes < 1000);
}

#define PAIR_TEST(name)                                                        \
    cmocka_unit_test_setup_teardown(name, epi_pair_setup, epi_pair_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PAIR_TEST(test_pull_after_the_sender_left),
        PAIR_TEST(test_connect_to_a_dead_port),
        PAIR_TEST(test_disconnect_with_offers_under_way),
        cmocka_unit_test(test_dropped_link_writes_no_more),
        PAIR_TEST(test_drop_refuses_what_is_parked),
        PAIR_TEST(test_no_word_of_a_peer_that_is_gone),
        PAIR_TEST(test_links_are_never_reused),
        PAIR_TEST(test_close_ends_what_is_under_way),
        PAIR_TEST(test_descriptor_wakes),
        PAIR_TEST(test_arm_tells_of_events),
        PAIR_TEST(test_idle_sleeps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
