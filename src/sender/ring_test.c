/* ring_test.c: where an item's parts lie in the ring, and whose it is. */
#include <setjmp.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sender/ring.h"
#include "testing/out_of_memory.h"

static alignas(256) uint8_t memory[8192];

static void open_ring(epi_ring_t *ring, uint64_t main_row_bytes,
                      uint64_t deepstack_row_bytes)
{
    const epi_ring_params_t params = {
        .base = memory,
        .bytes = sizeof(memory),
        .lease_max = 8,
        .main_row_bytes = main_row_bytes,
        .deepstack_row_bytes = deepstack_row_bytes,
    };

    assert_int_equal(epi_ring_init(ring, &params), EPDX_OK);
}

static void test_lease_puts_deepstack_behind_main(void **state)
{
    epi_ring_t ring;
    epdx_chunk_t first, second;

    (void)state;
    open_ring(&ring, 100, 300);
    /* main 300 -> 512, deepstack 900: 1412 -> 1536 */
    assert_int_equal(epi_ring_lease(&ring, 3, &first), EPDX_OK);
    assert_int_equal(first.rows, 3);
    assert_ptr_equal(first.main, memory);
    assert_ptr_equal(first.deepstack, memory + 512);
    assert_int_equal(first.lease, 1);
    assert_int_equal(epi_arena_leased(ring.arena), 1536);
    assert_int_equal(epi_ring_lease(&ring, 1, &second), EPDX_OK);
    assert_ptr_equal(second.main, memory + 1536);
    assert_ptr_equal(second.deepstack, memory + 1536 + 256);
    assert_int_equal(second.lease, 1537);
    epi_ring_fini(&ring);
}

static void test_lease_without_deepstack(void **state)
{
    epi_ring_t ring;
    epdx_chunk_t chunk;

    (void)state;
    open_ring(&ring, 64, 0);
    assert_int_equal(epi_ring_lease(&ring, 4, &chunk), EPDX_OK);
    assert_null(chunk.deepstack);
    assert_int_equal(epi_arena_leased(ring.arena), 256);
    assert_true(epi_ring_holds(&ring, &chunk));
    epi_ring_fini(&ring);
}

static void test_holds_a_lease_that_is_out_and_unchanged(void **state)
{
    epi_ring_t ring;
    epdx_chunk_t chunk;

    (void)state;
    open_ring(&ring, 100, 300);
    assert_int_equal(epi_ring_lease(&ring, 3, &chunk), EPDX_OK);
    assert_true(epi_ring_holds(&ring, &chunk));
    assert_int_equal(epi_ring_release(&ring, chunk.lease), EPDX_OK);
    assert_false(epi_ring_holds(&ring, &chunk));
    epi_ring_fini(&ring);
}

static void test_holds_no_changed_chunk(void **state)
{
    epi_ring_t ring;
    epdx_chunk_t chunk, changed[8];

    (void)state;
    open_ring(&ring, 100, 300);
    assert_int_equal(epi_ring_lease(&ring, 3, &chunk), EPDX_OK);
    for (size_t i = 0; i < 8; i++) {
        changed[i] = chunk;
    }
    changed[0].lease = 0;
    changed[1].lease = 2;
    changed[2].lease = UINT64_MAX;
    changed[3].main = memory + 1;
    changed[4].deepstack = NULL;
    changed[5].deepstack = memory + 256;
    changed[6].rows = 0;
    changed[7].rows = UINT64_MAX / 2;
    for (size_t i = 0; i < 8; i++) {
        assert_false(epi_ring_holds(&ring, &changed[i]));
    }
    epi_ring_fini(&ring);
}

static void test_holds_no_more_rows_than_leased(void **state)
{
    epi_ring_t ring;
    epdx_chunk_t chunk;

    (void)state;
    open_ring(&ring, 128, 0);
    assert_int_equal(epi_ring_lease(&ring, 4, &chunk), EPDX_OK);
    chunk.rows = 5;
    assert_false(epi_ring_holds(&ring, &chunk));
    chunk.rows = 0;
    assert_false(epi_ring_holds(&ring, &chunk));
    chunk.rows = 4;
    assert_true(epi_ring_holds(&ring, &chunk));
    chunk.deepstack = memory;
    assert_false(epi_ring_holds(&ring, &chunk));
    epi_ring_fini(&ring);
}

static void test_released_memory_is_leased_again(void **state)
{
    epi_ring_t ring;
    epdx_chunk_t chunk;

    (void)state;
    open_ring(&ring, 1024, 0);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(epi_ring_lease(&ring, 8, &chunk), EPDX_OK);
        assert_ptr_equal(chunk.main, memory);
        assert_int_equal(epi_ring_release(&ring, chunk.lease), EPDX_OK);
    }
    epi_ring_fini(&ring);
}

static void test_lease_invalid(void **state)
{
    epi_ring_t ring;
    epdx_chunk_t chunk = {.rows = 7};

    (void)state;
    open_ring(&ring, 100, 300);
    assert_int_equal(epi_ring_lease(&ring, 0, &chunk), EPDX_ERR_INVALID);
    assert_int_equal(chunk.rows, 7);
    epi_ring_fini(&ring);
}

static void test_lease_too_large(void **state)
{
    epi_ring_t ring;
    epdx_chunk_t chunk = {.rows = 7};

    (void)state;
    open_ring(&ring, 100, 300);
    assert_int_equal(epi_ring_lease(&ring, 21, &chunk), EPDX_ERR_TOO_LARGE);
    assert_string_equal(
        epdx_last_error(),
        "an item of 21 rows of 400 bytes can never fit the ring of 8192 "
        "bytes: send it from own memory, or raise EPDX_ENCODE_RING_MB");
    assert_int_equal(chunk.rows, 7);
    assert_int_equal(epi_ring_lease(&ring, 20, &chunk), EPDX_OK);
    epi_ring_fini(&ring);
}

static void test_lease_too_large_when_bytes_overflow(void **state)
{
    static const uint64_t rows[] = {UINT64_MAX, UINT64_MAX / 100,
                                    UINT64_MAX / 300, UINT64_MAX / 400};
    epi_ring_t ring;
    epdx_chunk_t chunk = {.rows = 7};

    (void)state;
    open_ring(&ring, 100, 300);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(epi_ring_lease(&ring, rows[i], &chunk),
                         EPDX_ERR_TOO_LARGE);
        assert_int_equal(chunk.rows, 7);
    }
    assert_int_equal(epi_arena_leased(ring.arena), 0);
    epi_ring_fini(&ring);
    /* Deepstack alone overflows, to 0 bytes. */
    open_ring(&ring, 1, UINT64_C(1) << 60);
    assert_int_equal(epi_ring_lease(&ring, 16, &chunk), EPDX_ERR_TOO_LARGE);
    epi_ring_fini(&ring);
}

static void test_lease_full(void **state)
{
    epi_ring_t ring;
    epdx_chunk_t first, second = {.rows = 7};

    (void)state;
    open_ring(&ring, 512, 0);
    assert_int_equal(epi_ring_lease(&ring, 10, &first), EPDX_OK);
    assert_int_equal(epi_ring_lease(&ring, 7, &second), EPDX_ERR_FULL);
    assert_string_equal(epdx_last_error(),
                        "the ring has no range of 3584 bytes now (5120 of "
                        "8192 are leased, in 1 leases): poll, or send from "
                        "own memory");
    assert_int_equal(second.rows, 7);
    assert_int_equal(epi_ring_release(&ring, first.lease), EPDX_OK);
    assert_int_equal(epi_ring_lease(&ring, 7, &second), EPDX_OK);
    epi_ring_fini(&ring);
}

static void test_release_not_found(void **state)
{
    epi_ring_t ring;
    epdx_chunk_t chunk;

    (void)state;
    open_ring(&ring, 512, 0);
    assert_int_equal(epi_ring_lease(&ring, 2, &chunk), EPDX_OK);
    assert_int_equal(epi_ring_release(&ring, 0), EPDX_ERR_NOT_FOUND);
    assert_string_equal(epdx_last_error(), "the caller's own memory is no "
                                           "lease of the ring");
    assert_int_equal(epi_ring_release(&ring, 2), EPDX_ERR_NOT_FOUND);
    assert_int_equal(epi_ring_release(&ring, UINT64_MAX), EPDX_ERR_NOT_FOUND);
    assert_true(epi_ring_holds(&ring, &chunk));
    assert_int_equal(epi_ring_release(&ring, chunk.lease), EPDX_OK);
    assert_int_equal(epi_ring_release(&ring, chunk.lease), EPDX_ERR_NOT_FOUND);
    epi_ring_fini(&ring);
}

static void test_init_invalid(void **state)
{
    const epi_ring_params_t good = {.base = memory,
                                    .bytes = 4096,
                                    .lease_max = 1,
                                    .main_row_bytes = 2,
                                    .deepstack_row_bytes = 6};
    epi_ring_params_t bad[6] = {good, good, good, good, good, good};
    epi_ring_t ring = {.main_row_bytes = 7};

    (void)state;
    bad[0].base = NULL;
    bad[1].base = memory + 128;
    bad[2].bytes = 255;
    bad[3].lease_max = 0;
    bad[4].main_row_bytes = 0;
    bad[5].deepstack_row_bytes = UINT64_MAX;
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(epi_ring_init(&ring, &bad[i]), EPDX_ERR_INVALID);
        assert_int_equal(ring.main_row_bytes, 7);
    }
}

static void test_init_no_memory(void **state)
{
    const epi_ring_params_t params = {
        .base = memory, .bytes = 4096, .lease_max = 1, .main_row_bytes = 2};
    epi_ring_t ring = {.main_row_bytes = 7};

    (void)state;
    test_calloc_left = 0;
    assert_int_equal(epi_ring_init(&ring, &params), EPDX_ERR_NO_MEMORY);
    assert_int_equal(ring.main_row_bytes, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lease_puts_deepstack_behind_main),
        cmocka_unit_test(test_lease_without_deepstack),
        cmocka_unit_test(test_holds_a_lease_that_is_out_and_unchanged),
        cmocka_unit_test(test_holds_no_changed_chunk),
        cmocka_unit_test(test_holds_no_more_rows_than_leased),
        cmocka_unit_test(test_released_memory_is_leased_again),
        cmocka_unit_test(test_lease_invalid),
        cmocka_unit_test(test_lease_too_large),
        cmocka_unit_test(test_lease_too_large_when_bytes_overflow),
        cmocka_unit_test(test_lease_full),
        cmocka_unit_test(test_release_not_found),
        cmocka_unit_test(test_init_invalid),
        cmocka_unit_test(test_init_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
