/* loopback_test.c: the promises of dataplane.h, as the loopback keeps them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "dataplane/loopback.h"
#include "dataplane/plane.h"

typedef struct fixture {
    epi_loopback_hub_t *hub;
    epi_dataplane_t *sender;
    epi_dataplane_t *receiver;
    epi_dp_peer_t *peer;
    epi_dp_region_t *region;
    uint8_t target[64];
} fixture_t;

static int setup(void **state)
{
    static fixture_t f;

    memset(&f, 0, sizeof(f));
    assert_int_equal(epi_loopback_hub_open(&f.hub), EPDX_OK);
    assert_int_equal(epi_dataplane_loopback(f.hub, &f.sender), EPDX_OK);
    assert_int_equal(epi_dataplane_loopback(f.hub, &f.receiver), EPDX_OK);
    assert_int_equal(
        f.sender->ops->connect(f.sender, f.receiver->ops->address(f.receiver),
                               7, &f.peer),
        EPDX_OK);
    assert_int_equal(f.receiver->ops->map(f.receiver, epi_memory_host(),
                                          f.target, sizeof(f.target),
                                          &f.region),
                     EPDX_OK);
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    fixture_t *f = *state;

    f->receiver->ops->unmap(f->receiver, f->region);
    f->sender->ops->close(f->sender);
    f->receiver->ops->close(f->receiver);
    epi_loopback_hub_close(f->hub);
    return 0;
}

static epi_dp_event_t expect(epi_dataplane_t *dp, epi_dp_event_kind_t kind,
                             epdx_status_t status, uint64_t cookie)
{
    epi_dp_event_t event = {0};

    (void)dp->ops->progress(dp);
    assert_true(dp->ops->next(dp, &event));
    assert_int_equal(event.kind, kind);
    assert_int_equal(event.status, status);
    assert_int_equal(event.cookie, cookie);
    return event;
}

static void expect_none(epi_dataplane_t *dp)
{
    epi_dp_event_t event;

    (void)dp->ops->progress(dp);
    assert_false(dp->ops->next(dp, &event));
}

static void offer(fixture_t *f, const char *text, uint64_t cookie)
{
    assert_int_equal(
        f->sender->ops->offer(f->sender, f->peer,
                              &(epi_dp_send_t){.header = "head",
                                               .header_bytes = 4,
                                               .region = NULL,
                                               .payload = text,
                                               .payload_bytes = strlen(text),
                                               .cookie = cookie}),
        EPDX_OK);
}

static epi_dp_offer_t *expect_offer(fixture_t *f, uint64_t bytes)
{
    epi_dp_event_t event = expect(f->receiver, EPI_DP_OFFER, EPDX_OK, 0);

    assert_int_equal(event.payload_bytes, bytes);
    assert_int_equal(event.header_bytes, 4);
    assert_memory_equal(event.header, "head", 4);
    assert_int_not_equal(event.link, 0);
    return event.offer;
}

static epdx_status_t pull(fixture_t *f, epi_dp_offer_t *taken, void *target,
                          size_t bytes)
{
    return f->receiver->ops->pull(
        f->receiver, taken,
        &(epi_dp_target_t){
            .region = f->region, .at = target, .bytes = bytes, .cookie = 11});
}

static void test_pull_copies_and_ends_both(void **state)
{
    fixture_t *f = *state;

    offer(f, "rows", 3);
    assert_int_equal(pull(f, expect_offer(f, 4), f->target + 8, 4), EPDX_OK);
    expect_none(f->sender);
    (void)expect(f->receiver, EPI_DP_PULLED, EPDX_OK, 11);
    assert_memory_equal(f->target + 8, "rows", 4);
    (void)expect(f->sender, EPI_DP_SENT, EPDX_OK, 3);
    expect_none(f->sender);
    expect_none(f->receiver);
}

static void test_events_show_after_progress(void **state)
{
    fixture_t *f = *state;
    epi_dp_event_t event;

    offer(f, "rows", 3);
    assert_false(f->receiver->ops->next(f->receiver, &event));
    assert_int_equal(f->receiver->ops->arm(f->receiver), EPDX_IN_PROGRESS);
    assert_true(f->receiver->ops->progress(f->receiver));
    assert_true(f->receiver->ops->next(f->receiver, &event));
    assert_false(f->receiver->ops->progress(f->receiver));
    assert_int_equal(f->receiver->ops->arm(f->receiver), EPDX_OK);
    f->receiver->ops->refuse(f->receiver, event.offer);
}

static void test_empty_offer_is_sent_at_once(void **state)
{
    fixture_t *f = *state;
    epi_dp_offer_t *taken;

    offer(f, "", 3);
    (void)expect(f->sender, EPI_DP_SENT, EPDX_OK, 3);
    taken = expect_offer(f, 0);
    assert_int_equal(f->receiver->ops->pull(f->receiver, taken,
                                            &(epi_dp_target_t){.region = NULL,
                                                               .at = NULL,
                                                               .bytes = 0,
                                                               .cookie = 12}),
                     EPDX_OK);
    (void)expect(f->receiver, EPI_DP_PULLED, EPDX_OK, 12);
    expect_none(f->sender);
}

static void test_refused_offer_is_sent(void **state)
{
    fixture_t *f = *state;

    offer(f, "rows", 3);
    f->receiver->ops->refuse(f->receiver, expect_offer(f, 4));
    (void)expect(f->sender, EPI_DP_SENT, EPDX_OK, 3);
    expect_none(f->receiver);
}

static void test_pull_invalid(void **state)
{
    fixture_t *f = *state;

    offer(f, "rows", 3);
    assert_int_equal(pull(f, expect_offer(f, 4), f->target, 3),
                     EPDX_ERR_INVALID);
    offer(f, "rows", 4);
    assert_int_equal(pull(f, expect_offer(f, 4), f->target + 61, 4),
                     EPDX_ERR_INVALID);
    (void)expect(f->sender, EPI_DP_SENT, EPDX_OK, 3);
    (void)expect(f->sender, EPI_DP_SENT, EPDX_OK, 4);
    expect_none(f->receiver);
    assert_int_equal(f->target[0], 0);
}

static void test_offer_header_invalid(void **state)
{
    fixture_t *f = *state;
    uint8_t header[EPI_DP_HEADER_MAX + 1] = {0};

    assert_int_equal(
        f->sender->ops->offer(f->sender, f->peer,
                              &(epi_dp_send_t){.header = header,
                                               .header_bytes = sizeof(header),
                                               .region = NULL,
                                               .payload = "x",
                                               .payload_bytes = 1,
                                               .cookie = 0}),
        EPDX_ERR_INVALID);
    expect_none(f->receiver);
}

static void test_connect_invalid(void **state)
{
    fixture_t *f = *state;
    epi_dp_peer_t *peer = NULL;

    assert_int_equal(f->sender->ops->connect(f->sender, "loopback", 1, &peer),
                     EPDX_ERR_INVALID);
    assert_null(peer);
}

static void test_connect_to_nobody(void **state)
{
    fixture_t *f = *state;
    epi_dp_peer_t *peer = NULL;

    assert_int_equal(
        f->sender->ops->connect(f->sender, "loopback:99", 5, &peer), EPDX_OK);
    (void)expect(f->sender, EPI_DP_PEER_DOWN, EPDX_ERR_UNREACHABLE, 5);
    assert_int_equal(f->sender->ops->offer(f->sender, peer,
                                           &(epi_dp_send_t){.header = NULL,
                                                            .header_bytes = 0,
                                                            .region = NULL,
                                                            .payload = "x",
                                                            .payload_bytes = 1,
                                                            .cookie = 0}),
                     EPDX_ERR_UNREACHABLE);
    f->sender->ops->disconnect(f->sender, peer);
    expect_none(f->sender);
}

static void test_held_pull_waits(void **state)
{
    fixture_t *f = *state;

    epi_loopback_hold_pulls(f->receiver, true);
    offer(f, "rows", 3);
    assert_int_equal(pull(f, expect_offer(f, 4), f->target, 4), EPDX_OK);
    expect_none(f->receiver);
    epi_loopback_hold_pulls(f->receiver, false);
    (void)expect(f->receiver, EPI_DP_PULLED, EPDX_OK, 11);
    (void)expect(f->sender, EPI_DP_SENT, EPDX_OK, 3);
}

static void test_cut_ends_all(void **state)
{
    fixture_t *f = *state;
    epi_dp_offer_t *parked;

    epi_loopback_hold_pulls(f->receiver, true);
    offer(f, "rows", 3);
    offer(f, "more", 4);
    assert_int_equal(pull(f, expect_offer(f, 4), f->target, 4), EPDX_OK);
    parked = expect_offer(f, 4);
    epi_loopback_cut(f->receiver);
    epi_loopback_hold_pulls(f->receiver, false);
    (void)expect(f->receiver, EPI_DP_PULLED, EPDX_ERR_UNREACHABLE, 11);
    (void)expect(f->sender, EPI_DP_SENT, EPDX_ERR_UNREACHABLE, 4);
    (void)expect(f->sender, EPI_DP_SENT, EPDX_ERR_UNREACHABLE, 3);
    (void)expect(f->sender, EPI_DP_PEER_DOWN, EPDX_ERR_UNREACHABLE, 7);
    assert_int_equal(pull(f, parked, f->target, 4), EPDX_ERR_UNREACHABLE);
    expect_none(f->receiver);
    expect_none(f->sender);
    assert_int_equal(f->target[0], 0);
}

static void test_disconnect_ends_offers(void **state)
{
    fixture_t *f = *state;
    epi_dp_offer_t *parked;

    offer(f, "rows", 3);
    parked = expect_offer(f, 4);
    epi_loopback_cut(f->sender);
    f->sender->ops->disconnect(f->sender, f->peer);
    (void)expect(f->sender, EPI_DP_SENT, EPDX_ERR_UNREACHABLE, 3);
    expect_none(f->sender); /* no word of a peer that is gone */
    f->receiver->ops->refuse(f->receiver, parked);
    expect_none(f->receiver);
}

static void test_drop_ends_a_link(void **state)
{
    fixture_t *f = *state;
    epi_dp_event_t event;

    offer(f, "rows", 3);
    event = expect(f->receiver, EPI_DP_OFFER, EPDX_OK, 0);
    f->receiver->ops->drop(f->receiver, event.link + 1);
    expect_none(f->sender);
    f->receiver->ops->drop(f->receiver, event.link);
    (void)expect(f->sender, EPI_DP_SENT, EPDX_ERR_UNREACHABLE, 3);
    (void)expect(f->sender, EPI_DP_PEER_DOWN, EPDX_ERR_UNREACHABLE, 7);
    f->receiver->ops->refuse(f->receiver, event.offer);
}

static void test_receiver_closes_first(void **state)
{
    fixture_t *f = *state;

    offer(f, "rows", 3);
    (void)expect_offer(f, 4);
    f->receiver->ops->unmap(f->receiver, f->region);
    f->receiver->ops->close(f->receiver);
    (void)expect(f->sender, EPI_DP_SENT, EPDX_ERR_UNREACHABLE, 3);
    (void)expect(f->sender, EPI_DP_PEER_DOWN, EPDX_ERR_UNREACHABLE, 7);
    assert_int_equal(epi_dataplane_loopback(f->hub, &f->receiver), EPDX_OK);
    f->region = NULL;
}

static void test_events_keep_order_as_they_grow(void **state)
{
    epi_dp_events_t events = {0};
    epi_dp_note_t note = {.kind = EPI_DP_SENT};

    (void)state;
    for (uint64_t i = 0; i < 40; i++) {
        assert_int_equal(epi_dp_events_reserve(&events), EPDX_OK);
        epi_dp_events_push(&events, &(epi_dp_note_t){.cookie = i});
    }
    for (uint64_t i = 0; i < 40; i++) {
        assert_true(epi_dp_events_pop(&events, &note));
        assert_int_equal(note.cookie, i);
    }
    for (uint64_t i = 0; i < 1000; i++) { /* begins amid the ring */
        assert_int_equal(epi_dp_events_reserve(&events), EPDX_OK);
        epi_dp_events_push(&events, &(epi_dp_note_t){.cookie = i});
    }
    assert_int_equal(events.capacity, 1024);
    for (uint64_t i = 0; i < 1000; i++) {
        assert_true(epi_dp_events_pop(&events, &note));
        assert_int_equal(note.cookie, i);
    }
    assert_false(epi_dp_events_pop(&events, &note));
    epi_dp_events_fini(&events);
}

static void test_events_no_memory_past_the_bound(void **state)
{
    epi_dp_events_t events = {0};

    (void)state;
    for (size_t i = 0; i < EPI_DP_EVENTS_MAX; i++) {
        assert_int_equal(epi_dp_events_reserve(&events), EPDX_OK);
    }
    assert_int_equal(epi_dp_events_reserve(&events), EPDX_ERR_NO_MEMORY);
    epi_dp_events_unreserve(&events);
    assert_int_equal(epi_dp_events_reserve(&events), EPDX_OK);
    epi_dp_events_fini(&events);
}

static void test_events_forgotten_do_not_come(void **state)
{
    epi_dp_events_t events = {0};
    epi_dp_note_t note = {.kind = EPI_DP_PEER_DOWN, .subject = &events};

    (void)state;
    assert_int_equal(epi_dp_events_reserve(&events), EPDX_OK);
    assert_int_equal(epi_dp_events_reserve(&events), EPDX_OK);
    epi_dp_events_push(&events, &note);
    epi_dp_events_push(&events, &(epi_dp_note_t){.cookie = 9});
    assert_false(
        epi_dp_events_forget(&events, EPI_DP_PEER_DOWN, &events.count));
    assert_true(epi_dp_events_forget(&events, EPI_DP_PEER_DOWN, &events));
    assert_true(epi_dp_events_pop(&events, &note));
    assert_int_equal(note.cookie, 9);
    assert_false(epi_dp_events_pop(&events, &note));
    epi_dp_events_fini(&events);
}

static void test_inside(void **state)
{
    uint8_t bytes[8] = {0};

    (void)state;
    assert_true(epi_dp_inside(bytes, 8, bytes, 8));
    assert_true(epi_dp_inside(bytes, 8, bytes + 8, 0));
    assert_false(epi_dp_inside(bytes, 8, bytes + 1, 8));
    assert_false(epi_dp_inside(bytes + 1, 7, bytes, 1));
    assert_false(epi_dp_inside(bytes, 8, bytes + 4, SIZE_MAX));
}

#define PLANE_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLANE_TEST(test_pull_copies_and_ends_both),
        PLANE_TEST(test_events_show_after_progress),
        PLANE_TEST(test_empty_offer_is_sent_at_once),
        PLANE_TEST(test_refused_offer_is_sent),
        PLANE_TEST(test_pull_invalid),
        PLANE_TEST(test_offer_header_invalid),
        PLANE_TEST(test_connect_invalid),
        PLANE_TEST(test_connect_to_nobody),
        PLANE_TEST(test_held_pull_waits),
        PLANE_TEST(test_cut_ends_all),
        PLANE_TEST(test_disconnect_ends_offers),
        PLANE_TEST(test_drop_ends_a_link),
        PLANE_TEST(test_receiver_closes_first),
        cmocka_unit_test(test_events_keep_order_as_they_grow),
        cmocka_unit_test(test_events_no_memory_past_the_bound),
        cmocka_unit_test(test_events_forgotten_do_not_come),
        cmocka_unit_test(test_inside),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
