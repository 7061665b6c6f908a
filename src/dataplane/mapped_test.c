/* mapped_test.c: what a view believes, and what it does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dataplane/mapped.h"
#include "memory/memory.h"

#define BYTES ((size_t)1 << 16)

typedef struct fixture {
    uint8_t *rows;
    epi_mapped_source_t source;
    epi_mapped_view_t view;
    uint8_t announce[EPI_MAPPED_ANNOUNCE_BYTES];
} fixture_t;

static fixture_t f;

static int setup(void **state)
{
    (void)state;
    memset(&f, 0, sizeof(f));
    assert_int_equal(epi_memory_shared()->alloc(0, BYTES, (void **)&f.rows),
                     EPDX_OK);
    assert_int_equal(epi_mapped_source_open(f.rows, BYTES,
                                            epi_memory_shared_fd(f.rows),
                                            &f.source),
                     EPDX_OK);
    epi_mapped_announce(&f.source, f.announce);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    epi_mapped_view_close(&f.view);
    epi_mapped_source_close(&f.source);
    epi_memory_shared()->release(0, f.rows, BYTES);
    return 0;
}

static void open_view(void)
{
    assert_int_equal(
        epi_mapped_view_open(f.announce, sizeof(f.announce), &f.view), EPDX_OK);
}

static void test_view_sees_the_rows(void **state)
{
    epi_mapped_place_t place;
    const uint8_t *at;

    (void)state;
    open_view();
    assert_int_equal(f.view.bytes, BYTES);
    assert_ptr_not_equal(f.view.rows, f.rows);
    assert_true(epi_mapped_begin(&f.source, f.rows + 77, 1000, &place));
    assert_int_equal(place.offset, 77);
    f.rows[77] = 0x5a;
    at = epi_mapped_at(&f.view, &place, 1000);
    assert_non_null(at);
    assert_int_equal(*at, 0x5a);
    assert_true(epi_mapped_holds(&f.view, &place));
    epi_mapped_end(&f.source, place.slot);
    assert_false(epi_mapped_holds(&f.view, &place));
}

static void test_a_slot_used_again_is_another(void **state)
{
    epi_mapped_place_t first, second;

    (void)state;
    open_view();
    assert_true(epi_mapped_begin(&f.source, f.rows, 8, &first));
    epi_mapped_end(&f.source, first.slot);
    assert_true(epi_mapped_begin(&f.source, f.rows, 8, &second));
    assert_int_equal(first.slot, second.slot);
    assert_false(epi_mapped_holds(&f.view, &first));
    assert_true(epi_mapped_holds(&f.view, &second));
}

static void test_slots_run_out(void **state)
{
    epi_mapped_place_t place;

    (void)state;
    for (size_t i = 0; i < EPI_MAPPED_SLOTS; i++) {
        assert_true(epi_mapped_begin(&f.source, f.rows, 8, &place));
    }
    assert_false(epi_mapped_begin(&f.source, f.rows, 8, &place));
    epi_mapped_end(&f.source, 17);
    assert_true(epi_mapped_begin(&f.source, f.rows, 8, &place));
    assert_int_equal(place.slot, 17);
}

static void test_payload_outside_has_no_place(void **state)
{
    epi_mapped_place_t place;
    uint8_t other[8] = {0};

    (void)state;
    assert_false(epi_mapped_begin(&f.source, other, 8, &place));
    assert_false(epi_mapped_begin(&f.source, f.rows + BYTES - 7, 8, &place));
    assert_true(epi_mapped_begin(&f.source, f.rows + BYTES - 8, 8, &place));
}

/** A place comes from the network. */
static void test_places_are_bounded(void **state)
{
    epi_mapped_place_t place = {0};

    (void)state;
    open_view();
    assert_non_null(epi_mapped_at(&f.view, &place, BYTES));
    assert_null(epi_mapped_at(&f.view, &place, BYTES + 1));
    place.offset = BYTES;
    assert_non_null(epi_mapped_at(&f.view, &place, 0));
    assert_null(epi_mapped_at(&f.view, &place, 1));
    place.offset = UINT64_MAX;
    assert_null(epi_mapped_at(&f.view, &place, 1));
    place.offset = 8;
    assert_null(epi_mapped_at(&f.view, &place, UINT64_MAX));
    place.offset = 0;
    place.slot = EPI_MAPPED_SLOTS;
    assert_null(epi_mapped_at(&f.view, &place, 1));
}

static void test_err_malformed(void **state)
{
    uint8_t bytes[EPI_MAPPED_ANNOUNCE_BYTES];

    (void)state;
    assert_int_equal(
        epi_mapped_view_open(f.announce, sizeof(f.announce) - 1, &f.view),
        EPDX_ERR_MALFORMED);
    memcpy(bytes, f.announce, sizeof(bytes));
    bytes[0] ^= 1; /* the magic number */
    assert_int_equal(epi_mapped_view_open(bytes, sizeof(bytes), &f.view),
                     EPDX_ERR_MALFORMED);
    memcpy(bytes, f.announce, sizeof(bytes));
    memset(bytes + 24, 0xff, 4); /* the process */
    assert_int_equal(epi_mapped_view_open(bytes, sizeof(bytes), &f.view),
                     EPDX_ERR_MALFORMED);
    assert_null(f.view.head);
}

/** The announcement with another number in one of its fields. */
static void expect_unreachable(size_t field, int32_t number, const char *words)
{
    uint8_t bytes[EPI_MAPPED_ANNOUNCE_BYTES];

    memcpy(bytes, f.announce, sizeof(bytes));
    memcpy(bytes + field, &number, sizeof(number));
    assert_int_equal(epi_mapped_view_open(bytes, sizeof(bytes), &f.view),
                     EPDX_ERR_UNREACHABLE);
    assert_non_null(strstr(epdx_last_error(), words));
    assert_null(f.view.head);
}

static void test_err_unreachable(void **state)
{
    enum { NONCE = 8, PID = 24, ROWS_FD = 28, HEAD_FD = 32 };
    int null = open("/dev/null", O_RDONLY);
    int loose = memfd_create("epdx", MFD_ALLOW_SEALING);

    (void)state;
    assert_true(null >= 0 && loose >= 0);
    assert_int_equal(ftruncate(loose, 1 << 20), 0);
    expect_unreachable(PID, INT32_MAX, "no such file");
    expect_unreachable(HEAD_FD, -1, "no such file");
    expect_unreachable(HEAD_FD, null, "no such file"); /* not opened at all */
    expect_unreachable(ROWS_FD, null, "no such file");
    expect_unreachable(HEAD_FD, loose, "not sealed");
    expect_unreachable(ROWS_FD, loose, "not sealed");
    expect_unreachable(NONCE, 1, "another one");
    expect_unreachable(HEAD_FD, f.source.rows_fd, "another one");
    assert_int_equal(close(null), 0);
    assert_int_equal(close(loose), 0);
}

/** A head that speaks of more rows than there are. */
static void test_err_unreachable_short_rows(void **state)
{
    uint8_t *rows = NULL;

    (void)state;
    epi_mapped_source_close(&f.source);
    assert_int_equal(epi_memory_shared()->alloc(0, 4096, (void **)&rows),
                     EPDX_OK);
    assert_int_equal(epi_mapped_source_open(
                         f.rows, BYTES, epi_memory_shared_fd(rows), &f.source),
                     EPDX_OK);
    epi_mapped_announce(&f.source, f.announce);
    assert_int_equal(
        epi_mapped_view_open(f.announce, sizeof(f.announce), &f.view),
        EPDX_ERR_UNREACHABLE);
    assert_non_null(strstr(epdx_last_error(), "rows of a peer: it is shorter"));
    epi_memory_shared()->release(0, rows, 4096);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_view_sees_the_rows), TEST(test_a_slot_used_again_is_another),
        TEST(test_slots_run_out),      TEST(test_payload_outside_has_no_place),
        TEST(test_places_are_bounded), TEST(test_err_malformed),
        TEST(test_err_unreachable),    TEST(test_err_unreachable_short_rows),
    };

    return cmocka_run_group_tests_name("dataplane/mapped", tests, NULL, NULL);
}
