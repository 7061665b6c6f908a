/*
 * ucx_mapped_test.c: pulls of rows that lie in shared memory: copied by the
 * receiver, whole or not at all.
 */
#include "dataplane/ucx_fixture.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/random.h"
#include "epdx/log.h"

#define MIB  ((size_t)1 << 20)
#define RING (24 * MIB)

typedef struct shared {
    epi_pair_t *pair;
    uint8_t *ring; /* of the sender */
    uint8_t *pool; /* of the receiver */
    epi_dp_region_t *from, *to;
} shared_t;

static int setup(void **state)
{
    shared_t *s = calloc(1, sizeof(*s));
    epi_pair_t *pair = calloc(1, sizeof(*pair));

    assert_non_null(s);
    assert_non_null(pair);
    s->pair = pair;
    assert_int_equal(epi_dataplane_ucx("127.0.0.1", &pair->sender), EPDX_OK);
    assert_int_equal(epi_dataplane_ucx("127.0.0.1", &pair->receiver), EPDX_OK);
    pair->ops = pair->sender->ops;
    pair->ops->admit(pair->receiver, "127.0.0.1");
    assert_int_equal(epi_memory_shared()->alloc(0, RING, (void **)&s->ring),
                     EPDX_OK);
    assert_int_equal(epi_memory_host()->alloc(0, RING, (void **)&s->pool),
                     EPDX_OK);
    epi_test_fill(s->ring, RING, 5);
    /* Shared before it connects. */
    assert_int_equal(pair->ops->map(pair->sender, epi_memory_shared(), s->ring,
                                    RING, &s->from),
                     EPDX_OK);
    s->to = epi_test_map(pair->receiver, s->pool, RING);
    assert_int_equal(pair->ops->connect(pair->sender,
                                        pair->ops->address(pair->receiver), 7,
                                        &pair->peer),
                     EPDX_OK);
    *state = s;
    return 0;
}

static int teardown(void **state)
{
    shared_t *s = *state;
    epi_pair_t *pair = s->pair;

    pair->ops->unmap(pair->sender, s->from);
    pair->ops->unmap(pair->receiver, s->to);
    pair->ops->close(pair->sender);
    pair->ops->close(pair->receiver);
    epi_memory_shared()->release(0, s->ring, RING);
    epi_memory_host()->release(0, s->pool, RING);
    free(pair);
    free(s);
    return 0;
}

/** Steps of both until what has begun to be copied is known to be. */
static void until_copying(shared_t *s, uint64_t cookie)
{
    const epi_ucx_plane_t *plane = epi_ucx_plane(s->pair->receiver);

    assert_int_equal(
        epi_pair_pull(s->pair, s->pair->r.offers - 1, s->to, s->pool, cookie),
        EPDX_OK);
    assert_true(plane->copies != NULL || plane->given != NULL);
}

static void offer(shared_t *s, size_t at, size_t bytes, uint64_t cookie)
{
    size_t offers = s->pair->r.offers;

    epi_pair_offer(s->pair, s->from, s->ring + at, bytes, cookie);
    epi_pair_wait(s->pair, &s->pair->r.offers, offers + 1);
}

static void test_rows_are_copied(void **state)
{
    static const size_t sizes[] = {1, 4096, MIB + 3, 9 * MIB + 1};
    shared_t *s = *state;
    epi_pair_t *pair = s->pair;
    char transport[EPI_DP_TRANSPORT_MAX];

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        memset(s->pool, 0, RING);
        offer(s, 100 + i, sizes[i], i);
        assert_int_equal(pair->r.offer[i].header_bytes, 4);
        assert_memory_equal(pair->r.offer[i].header, "head", 4);
        until_copying(s, i);
        assert_int_equal(pair->ops->arm(pair->receiver), EPDX_IN_PROGRESS);
        epi_pair_wait(pair, &pair->r.pulled_ok, i + 1);
        epi_pair_wait(pair, &pair->s.sent_ok, i + 1);
        assert_memory_equal(s->pool, s->ring + 100 + i, sizes[i]);
        assert_int_equal(s->pool[sizes[i]], 0);
    }
    pair->ops->transport(pair->receiver, transport, sizeof(transport));
    assert_string_equal(transport, "mapped/memory");
    pair->ops->transport(pair->sender, transport, sizeof(transport));
    assert_string_equal(transport, "mapped/memory");
    assert_int_equal(epi_ucx_plane(pair->sender)->source.free_count,
                     EPI_MAPPED_SLOTS);
}

/** A small one is copied by its pull, and goes back in the step that follows.
 */
static void test_a_small_one_is_copied_at_once(void **state)
{
    shared_t *s = *state;
    const epi_ucx_plane_t *plane = epi_ucx_plane(s->pair->receiver);

    offer(s, 3, 65536, 1);
    until_copying(s, 1);
    assert_null(plane->copies);
    assert_memory_equal(s->pool, s->ring + 3, 65536);
    epi_record_events(s->pair->receiver, &s->pair->r);
    assert_int_equal(s->pair->r.pulled_ok, 1);
    assert_null(plane->given);
    epi_pair_wait(s->pair, &s->pair->s.sent_ok, 1);
    offer(s, 5, 65537, 2);
    until_copying(s, 2);
    assert_non_null(plane->copies);
    epi_pair_wait(s->pair, &s->pair->r.pulled_ok, 2);
}

/** Rows of the caller's own memory lie in no file. */
static void test_other_memory_goes_through_ucx(void **state)
{
    shared_t *s = *state;
    epi_pair_t *pair = s->pair;
    uint8_t *own = malloc(MIB);

    assert_non_null(own);
    epi_test_fill(own, MIB, 3);
    epi_pair_offer(pair, NULL, own, MIB, 0);
    epi_pair_wait(pair, &pair->r.offers, 1);
    assert_int_equal(epi_pair_pull(pair, 0, s->to, s->pool, 0), EPDX_OK);
    assert_null(epi_ucx_plane(pair->receiver)->copies);
    epi_pair_wait(pair, &pair->r.pulled_ok, 1);
    assert_memory_equal(s->pool, own, MIB);
    free(own);
}

static void test_refused_offer_is_sent(void **state)
{
    shared_t *s = *state;
    epi_pair_t *pair = s->pair;

    offer(s, 0, MIB, 1);
    pair->ops->refuse(pair->receiver, pair->r.offer[0].offer);
    epi_pair_wait(pair, &pair->s.sent_ok, 1);
    assert_int_equal(epi_ucx_plane(pair->sender)->source.free_count,
                     EPI_MAPPED_SLOTS);
}

/**
 * The sender takes its offer back amid the copy, and writes other rows there:
 * the pull must not end well, and writes nothing after its end.
 */
static void test_a_copy_of_what_was_taken_back_fails(void **state)
{
    shared_t *s = *state;
    epi_pair_t *pair = s->pair;

    offer(s, 0, 12 * MIB, 1); /* three steps */
    until_copying(s, 1);
    (void)pair->ops->progress(pair->receiver);
    assert_int_equal(epi_ucx_plane(pair->receiver)->copies->copied, 4 * MIB);
    pair->ops->disconnect(pair->sender, pair->peer);
    while (pair->s.sent == 0) {
        (void)pair->ops->progress(
            pair->sender); /* the receiver knows nothing */
        epi_record_events(pair->sender, &pair->s);
    }
    assert_int_equal(pair->s.sent_ok, 0);
    memset(s->ring, 0xee, RING);
    while (epi_ucx_plane(pair->receiver)->copies != NULL) {
        (void)epi_ucx_copy(epi_ucx_plane(pair->receiver));
    }
    epi_record_events(pair->receiver, &pair->r);
    assert_int_equal(pair->r.pulled, 1);
    assert_int_equal(pair->r.pulled_ok, 0);
    memset(s->pool, 0x11, RING);
    epi_pair_settle(pair);
    for (size_t i = 0; i < RING; i++) {
        if (s->pool[i] != 0x11) {
            fail_msg("written at %zu after its end", i);
        }
    }
}

static void test_drop_ends_what_is_copied(void **state)
{
    shared_t *s = *state;
    epi_pair_t *pair = s->pair;

    offer(s, 0, 12 * MIB, 1);
    until_copying(s, 1);
    (void)pair->ops->progress(pair->receiver);
    pair->ops->drop(pair->receiver, pair->r.offer[0].link);
    assert_null(epi_ucx_plane(pair->receiver)->copies);
    epi_record_events(pair->receiver, &pair->r);
    assert_int_equal(pair->r.pulled, 1);
    assert_int_equal(pair->r.pulled_ok, 0);
    epi_pair_wait(pair, &pair->s.sent, 1);
    epi_pair_wait(pair, &pair->s.down, 1);
}

static void test_close_ends_what_is_copied(void **state)
{
    shared_t *s = *state;
    epi_pair_t *pair = s->pair;
    epi_dataplane_t *other;

    offer(s, 0, 12 * MIB, 1);
    until_copying(s, 1);
    pair->ops->unmap(pair->receiver, s->to);
    pair->ops->close(pair->receiver);
    pair->receiver = NULL;
    epi_pair_wait(pair, &pair->s.down, 1);
    assert_int_equal(epi_dataplane_ucx("127.0.0.1", &other), EPDX_OK);
    pair->receiver = other; /* for the teardown */
    s->to = epi_test_map(other, s->pool, RING);
}

/** Several at a time end in the order of their pulls, each whole. */
static void test_many_at_a_time(void **state)
{
    enum { COUNT = 20 };
    shared_t *s = *state;
    epi_pair_t *pair = s->pair;

    for (size_t i = 0; i < COUNT; i++) {
        offer(s, i * MIB, MIB, i);
    }
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(epi_pair_pull(pair, i, s->to, s->pool + i * MIB, i),
                         EPDX_OK);
    }
    epi_pair_wait(pair, &pair->r.pulled_ok, COUNT);
    epi_pair_wait(pair, &pair->s.sent_ok, COUNT);
    assert_memory_equal(s->pool, s->ring, COUNT * MIB);
}

/** With no slot free an offer goes through UCX. */
static void test_slots_are_bounded(void **state)
{
    shared_t *s = *state;
    epi_pair_t *pair = s->pair;
    epi_mapped_source_t *source = &epi_ucx_plane(pair->sender)->source;
    uint32_t count = source->free_count;

    source->free_count = 0;
    offer(s, 0, MIB, 1);
    assert_int_equal(epi_pair_pull(pair, 0, s->to, s->pool, 1), EPDX_OK);
    assert_null(epi_ucx_plane(pair->receiver)->copies);
    epi_pair_wait(pair, &pair->r.pulled_ok, 1);
    source->free_count = count;
    assert_memory_equal(s->pool, s->ring, MIB);
}

#define SHARED_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SHARED_TEST(test_rows_are_copied),
        SHARED_TEST(test_a_small_one_is_copied_at_once),
        SHARED_TEST(test_other_memory_goes_through_ucx),
        SHARED_TEST(test_refused_offer_is_sent),
        SHARED_TEST(test_a_copy_of_what_was_taken_back_fails),
        SHARED_TEST(test_drop_ends_what_is_copied),
        SHARED_TEST(test_close_ends_what_is_copied),
        SHARED_TEST(test_many_at_a_time),
        SHARED_TEST(test_slots_are_bounded),
    };

    return cmocka_run_group_tests_name("dataplane/ucx_mapped", tests, NULL,
                                       NULL);
}
