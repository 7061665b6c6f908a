/* arena_test.c: leases against a map with one owner for each 256 bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pool/arena.h"
#include "testing/out_of_memory.h"
#include "testing/seeded.h"

#define SEED      UINT64_C(20260901)
#define UNITS     200
#define LEASE_MAX 24

/* The region in units of 256 bytes, each with the lease that owns it, 0 none */
typedef struct model {
    uint32_t owner[UNITS];
    struct {
        uint32_t id;
        uint64_t offset;
        uint64_t bytes;
    } leases[LEASE_MAX];
    size_t count;
    uint32_t next_id;
} model_t;

static uint64_t units_of(uint64_t bytes)
{
    return (bytes + EPI_ARENA_ALIGN - 1) / EPI_ARENA_ALIGN;
}

/* The first unit of the lowest free run of units, UNITS when there is none. */
static size_t model_fit(const model_t *model, uint64_t units)
{
    uint64_t run = 0;

    for (size_t i = 0; i < UNITS; i++) {
        run = model->owner[i] == 0 ? run + 1 : 0;
        if (run == units) {
            return i + 1 - (size_t)units;
        }
    }
    return UNITS;
}

static uint64_t model_leased(const model_t *model)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < UNITS; i++) {
        bytes += model->owner[i] != 0 ? EPI_ARENA_ALIGN : 0;
    }
    return bytes;
}

static void model_take(model_t *model, size_t unit, uint64_t bytes)
{
    uint32_t id = ++model->next_id;

    for (uint64_t i = 0; i < units_of(bytes); i++) {
        assert_int_equal(model->owner[unit + i], 0);
        model->owner[unit + i] = id;
    }
    model->leases[model->count].id = id;
    model->leases[model->count].offset = unit * EPI_ARENA_ALIGN;
    model->leases[model->count].bytes = bytes;
    model->count++;
}

static void step_lease(model_t *model, epi_arena_t *arena, uint64_t bytes)
{
    uint64_t offset = UINT64_MAX;
    size_t unit = model_fit(model, units_of(bytes));
    epdx_status_t status = epi_arena_lease(arena, bytes, &offset);

    if (units_of(bytes) > UNITS) {
        assert_int_equal(status, EPDX_ERR_TOO_LARGE);
        assert_int_equal(offset, UINT64_MAX);
    } else if (unit == UNITS || model->count == LEASE_MAX) {
        assert_int_equal(status, EPDX_ERR_FULL);
        assert_int_equal(offset, UINT64_MAX);
    } else {
        assert_int_equal(status, EPDX_OK);
        assert_int_equal(offset % EPI_ARENA_ALIGN, 0);
        assert_int_equal(offset / EPI_ARENA_ALIGN, unit);
        model_take(model, unit, bytes);
    }
}

static void step_release(model_t *model, epi_arena_t *arena, size_t index)
{
    uint32_t id = model->leases[index].id;

    assert_int_equal(epi_arena_release(arena, model->leases[index].offset),
                     EPDX_OK);
    for (size_t i = 0; i < UNITS; i++) {
        if (model->owner[i] == id) {
            model->owner[i] = 0;
        }
    }
    model->leases[index] = model->leases[--model->count];
}

static void assert_equal(const model_t *model, const epi_arena_t *arena)
{
    assert_int_equal(epi_arena_lease_count(arena), model->count);
    assert_int_equal(epi_arena_leased(arena), model_leased(model));
    for (size_t i = 0; i < model->count; i++) {
        assert_int_equal(epi_arena_lease_bytes(arena, model->leases[i].offset),
                         units_of(model->leases[i].bytes) * EPI_ARENA_ALIGN);
    }
}

static void assert_one_free_range(epi_arena_t *arena)
{
    uint64_t offset;

    assert_int_equal(epi_arena_leased(arena), 0);
    assert_int_equal(epi_arena_lease_count(arena), 0);
    assert_int_equal(epi_arena_lease(arena, epi_arena_capacity(arena), &offset),
                     EPDX_OK);
    assert_int_equal(offset, 0);
    assert_int_equal(epi_arena_release(arena, 0), EPDX_OK);
}

/* Mostly small, at times a large part, rarely more than there is. */
static uint64_t any_bytes(test_seeded_t *seeded)
{
    switch (test_seeded_below(seeded, 16)) {
    case 0:
        return 1 + test_seeded_below(seeded, (UNITS + 8) * EPI_ARENA_ALIGN);
    case 1:
    case 2:
    case 3:
        return 1 + test_seeded_below(seeded, 40 * EPI_ARENA_ALIGN);
    default:
        return 1 + test_seeded_below(seeded, 12 * EPI_ARENA_ALIGN);
    }
}

static void test_random_leases_are_those_of_the_map(void **state)
{
    test_seeded_t seeded = {.state = SEED};
    epi_arena_t *arena;

    (void)state;
    print_message("seed %llu\n", (unsigned long long)SEED);
    for (int round = 0; round < 20; round++) {
        model_t model = {.next_id = 0};

        assert_int_equal(
            epi_arena_open(UNITS * EPI_ARENA_ALIGN + 255, LEASE_MAX, &arena),
            EPDX_OK);
        for (int step = 0; step < 2000; step++) {
            if (model.count > 0 && test_seeded_below(&seeded, 100) < 48) {
                step_release(&model, arena,
                             test_seeded_below(&seeded, model.count));
            } else {
                step_lease(&model, arena, any_bytes(&seeded));
            }
            assert_equal(&model, arena);
        }
        while (model.count > 0) {
            step_release(&model, arena,
                         test_seeded_below(&seeded, model.count));
            assert_equal(&model, arena);
        }
        assert_one_free_range(arena);
        epi_arena_close(arena);
    }
}

/* Every order of giving back three neighbours ends in one range. */
static void test_release_coalesces_in_any_order(void **state)
{
    static const int order[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                    {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    epi_arena_t *arena;
    uint64_t offset[3];

    (void)state;
    assert_int_equal(epi_arena_open(768, 3, &arena), EPDX_OK);
    for (size_t i = 0; i < 6; i++) {
        for (size_t k = 0; k < 3; k++) {
            assert_int_equal(epi_arena_lease(arena, 256, &offset[k]), EPDX_OK);
        }
        for (size_t k = 0; k < 3; k++) {
            assert_int_equal(epi_arena_release(arena, offset[order[i][k]]),
                             EPDX_OK);
        }
        assert_one_free_range(arena);
    }
    epi_arena_close(arena);
}

static void test_lease_takes_the_lowest_range_that_fits(void **state)
{
    epi_arena_t *arena;
    uint64_t offset;

    (void)state;
    assert_int_equal(epi_arena_open(8 * 256, 8, &arena), EPDX_OK);
    for (int i = 0; i < 8; i++) {
        assert_int_equal(epi_arena_lease(arena, 256, &offset), EPDX_OK);
    }
    assert_int_equal(epi_arena_release(arena, 1 * 256), EPDX_OK);
    assert_int_equal(epi_arena_release(arena, 3 * 256), EPDX_OK);
    assert_int_equal(epi_arena_release(arena, 4 * 256), EPDX_OK);
    assert_int_equal(epi_arena_release(arena, 6 * 256), EPDX_OK);
    assert_int_equal(epi_arena_lease(arena, 257, &offset), EPDX_OK);
    assert_int_equal(offset, 3 * 256);
    assert_int_equal(epi_arena_lease_bytes(arena, 3 * 256), 512);
    assert_int_equal(epi_arena_lease(arena, 1, &offset), EPDX_OK);
    assert_int_equal(offset, 1 * 256);
    epi_arena_close(arena);
}

/* As many as EPDX_MAX_REQUESTS: every second one goes back, then the rest. */
static void test_thousands_of_leases(void **state)
{
    enum { COUNT = 4096 };
    epi_arena_t *arena;
    uint64_t offset;

    (void)state;
    assert_int_equal(epi_arena_open(COUNT * 256, COUNT, &arena), EPDX_OK);
    for (uint64_t i = 0; i < COUNT; i++) {
        assert_int_equal(epi_arena_lease(arena, 1, &offset), EPDX_OK);
        assert_int_equal(offset, i * 256);
    }
    for (uint64_t i = 0; i < COUNT; i += 2) {
        assert_int_equal(epi_arena_release(arena, i * 256), EPDX_OK);
        assert_int_equal(epi_arena_lease_bytes(arena, i * 256), 0);
        assert_int_equal(epi_arena_lease_bytes(arena, (i + 1) * 256), 256);
    }
    assert_int_equal(epi_arena_lease(arena, 257, &offset), EPDX_ERR_FULL);
    for (uint64_t i = 1; i < COUNT; i += 2) {
        assert_int_equal(epi_arena_release(arena, i * 256), EPDX_OK);
    }
    assert_one_free_range(arena);
    epi_arena_close(arena);
}

static void test_capacity_is_a_multiple_of_256(void **state)
{
    epi_arena_t *arena;
    uint64_t offset;

    (void)state;
    assert_int_equal(epi_arena_open(1023, 1, &arena), EPDX_OK);
    assert_int_equal(epi_arena_capacity(arena), 768);
    assert_int_equal(epi_arena_lease(arena, 769, &offset), EPDX_ERR_TOO_LARGE);
    assert_int_equal(epi_arena_lease(arena, 768, &offset), EPDX_OK);
    assert_int_equal(epi_arena_leased(arena), 768);
    epi_arena_close(arena);
}

static void test_open_invalid(void **state)
{
    epi_arena_t *arena = NULL;

    (void)state;
    assert_int_equal(epi_arena_open(255, 1, &arena), EPDX_ERR_INVALID);
    assert_int_equal(epi_arena_open(256, 0, &arena), EPDX_ERR_INVALID);
    assert_int_equal(epi_arena_open(256, SIZE_MAX, &arena), EPDX_ERR_INVALID);
    assert_null(arena);
}

static void test_open_no_memory(void **state)
{
    epi_arena_t *arena = NULL;
    int calls = 0;

    (void)state;
    for (;; calls++) {
        test_calloc_left = calls;
        if (epi_arena_open(4096, 4, &arena) == EPDX_OK) {
            break;
        }
        assert_non_null(strstr(epdx_last_error(), "memory"));
        assert_null(arena);
    }
    test_calloc_left = -1;
    /* the arena, three arrays, the table */
    assert_int_equal(calls, 5);
    epi_arena_close(arena);
}

static void test_lease_invalid(void **state)
{
    epi_arena_t *arena;
    uint64_t offset = 7;

    (void)state;
    assert_int_equal(epi_arena_open(4096, 4, &arena), EPDX_OK);
    assert_int_equal(epi_arena_lease(arena, 0, &offset), EPDX_ERR_INVALID);
    assert_int_equal(offset, 7);
    epi_arena_close(arena);
}

static void test_lease_too_large(void **state)
{
    epi_arena_t *arena;
    uint64_t offset = 7;

    (void)state;
    assert_int_equal(epi_arena_open(4096, 4, &arena), EPDX_OK);
    assert_int_equal(epi_arena_lease(arena, 4097, &offset), EPDX_ERR_TOO_LARGE);
    assert_string_equal(epdx_last_error(),
                        "4097 bytes can never fit an arena of 4096");
    assert_int_equal(epi_arena_lease(arena, UINT64_MAX, &offset),
                     EPDX_ERR_TOO_LARGE);
    assert_int_equal(offset, 7);
    assert_int_equal(epi_arena_leased(arena), 0);
    epi_arena_close(arena);
}

static void test_lease_full_of_bytes(void **state)
{
    epi_arena_t *arena;
    uint64_t offset;

    (void)state;
    assert_int_equal(epi_arena_open(1024, 4, &arena), EPDX_OK);
    assert_int_equal(epi_arena_lease(arena, 600, &offset), EPDX_OK);
    assert_int_equal(epi_arena_lease(arena, 257, &offset), EPDX_ERR_FULL);
    assert_string_equal(epdx_last_error(),
                        "no range of 512 bytes is free now: 768 of 1024 bytes "
                        "are leased, in 1 of at most 4 leases");
    assert_int_equal(epi_arena_lease(arena, 256, &offset), EPDX_OK);
    assert_int_equal(offset, 768);
    epi_arena_close(arena);
}

static void test_lease_full_of_leases(void **state)
{
    epi_arena_t *arena;
    uint64_t offset;

    (void)state;
    assert_int_equal(epi_arena_open(4096, 2, &arena), EPDX_OK);
    assert_int_equal(epi_arena_lease(arena, 1, &offset), EPDX_OK);
    assert_int_equal(epi_arena_lease(arena, 1, &offset), EPDX_OK);
    assert_int_equal(epi_arena_lease(arena, 1, &offset), EPDX_ERR_FULL);
    assert_int_equal(epi_arena_release(arena, 0), EPDX_OK);
    assert_int_equal(epi_arena_lease(arena, 1, &offset), EPDX_OK);
    assert_int_equal(offset, 0);
    epi_arena_close(arena);
}

static void test_release_not_found(void **state)
{
    epi_arena_t *arena;
    uint64_t offset;

    (void)state;
    assert_int_equal(epi_arena_open(4096, 4, &arena), EPDX_OK);
    assert_int_equal(epi_arena_lease(arena, 512, &offset), EPDX_OK);
    assert_int_equal(epi_arena_release(arena, 256), EPDX_ERR_NOT_FOUND);
    assert_int_equal(epi_arena_release(arena, UINT64_MAX), EPDX_ERR_NOT_FOUND);
    assert_int_equal(epi_arena_lease_bytes(arena, 256), 0);
    assert_int_equal(epi_arena_leased(arena), 512);
    assert_int_equal(epi_arena_release(arena, 0), EPDX_OK);
    assert_int_equal(epi_arena_release(arena, 0), EPDX_ERR_NOT_FOUND);
    assert_one_free_range(arena);
    epi_arena_close(arena);
}

static void test_close_takes_null(void **state)
{
    (void)state;
    epi_arena_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_leases_are_those_of_the_map),
        cmocka_unit_test(test_release_coalesces_in_any_order),
        cmocka_unit_test(test_lease_takes_the_lowest_range_that_fits),
        cmocka_unit_test(test_thousands_of_leases),
        cmocka_unit_test(test_capacity_is_a_multiple_of_256),
        cmocka_unit_test(test_open_invalid),
        cmocka_unit_test(test_open_no_memory),
        cmocka_unit_test(test_lease_invalid),
        cmocka_unit_test(test_lease_too_large),
        cmocka_unit_test(test_lease_full_of_bytes),
        cmocka_unit_test(test_lease_full_of_leases),
        cmocka_unit_test(test_release_not_found),
        cmocka_unit_test(test_close_takes_null),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
