/* plan_test.c: which rows which rank gives, and in which order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "epdx/shard.h"
#include "reassembly/plan.h"
#include "testing/out_of_memory.h"

/* Addresses only: a plan does not touch the rows. */
static uint8_t memory[8];

static epdx_landed_t item_of(uint64_t span, void *main, void *deepstack)
{
    return (epdx_landed_t){.span = span, .main = main, .deepstack = deepstack};
}

static void assert_rows(const epi_gather_t *gather, uint32_t rank,
                        uint64_t start, uint64_t count)
{
    assert_int_equal(gather->starts[rank], start);
    assert_int_equal(gather->counts[rank], count);
}

static void test_span_10_on_2_ranks(void **state)
{
    epdx_landed_t item = item_of(10, &memory[0], NULL);
    epi_plan_t plan;

    (void)state;
    assert_int_equal(epi_plan_init(&plan, 4, 2), EPDX_OK);
    assert_int_equal(epi_plan_add(&plan, &item, 0, 32, 0), EPDX_OK);
    assert_int_equal(plan.gather_count, 1);
    assert_ptr_equal(plan.gathers[0].base, &memory[0]);
    assert_int_equal(plan.gathers[0].row_bytes, 32);
    assert_rows(&plan.gathers[0], 0, 0, 5);
    assert_rows(&plan.gathers[0], 1, 5, 5);
    assert_int_equal(plan.foreign_bytes, 5 * 32);
    epi_plan_fini(&plan);
}

static void test_deepstack_is_a_gather_with_its_own_row_bytes(void **state)
{
    epdx_landed_t item = item_of(7, &memory[0], &memory[1]);
    epi_plan_t plan;

    (void)state;
    assert_int_equal(epi_plan_init(&plan, 4, 2), EPDX_OK);
    assert_int_equal(epi_plan_add(&plan, &item, 1, 16, 48), EPDX_OK);
    assert_int_equal(plan.item_count, 1);
    assert_int_equal(plan.gather_count, 2);
    assert_ptr_equal(plan.gathers[0].base, &memory[0]);
    assert_int_equal(plan.gathers[0].row_bytes, 16);
    assert_ptr_equal(plan.gathers[1].base, &memory[1]);
    assert_int_equal(plan.gathers[1].row_bytes, 48);
    for (size_t i = 0; i < 2; i++) {
        assert_rows(&plan.gathers[i], 0, 0, 4);
        assert_rows(&plan.gathers[i], 1, 4, 3);
    }
    /* Rank 1 lacks the 4 rows of rank 0. */
    assert_int_equal(plan.foreign_bytes, 4 * (16 + 48));
    epi_plan_fini(&plan);
}

static void test_items_stay_in_order(void **state)
{
    epdx_landed_t items[3] = {item_of(8, &memory[0], &memory[1]),
                              item_of(5, &memory[2], NULL),
                              item_of(4, &memory[3], &memory[4])};
    static uint8_t *const bases[] = {&memory[0], &memory[1], &memory[2],
                                     &memory[3], &memory[4]};
    static const uint64_t second[] = {4, 4, 3, 2, 2};
    epi_plan_t plan;

    (void)state;
    assert_int_equal(epi_plan_init(&plan, 3, 2), EPDX_OK);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(epi_plan_add(&plan, &items[i], 0, 2, 6), EPDX_OK);
    }
    assert_int_equal(plan.item_count, 3);
    assert_int_equal(plan.gather_count, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_ptr_equal(plan.gathers[i].base, bases[i]);
        assert_int_equal(plan.gathers[i].starts[1], second[i]);
    }
    assert_int_equal(plan.foreign_bytes, 4 * 8 + 2 * 2 + 2 * 8);
    epi_plan_fini(&plan);
}

static void test_span_smaller_than_the_group(void **state)
{
    epdx_landed_t item = item_of(2, &memory[0], NULL);
    epi_plan_t plan;

    (void)state;
    assert_int_equal(epi_plan_init(&plan, 1, 4), EPDX_OK);
    assert_int_equal(epi_plan_add(&plan, &item, 3, 10, 0), EPDX_OK);
    assert_rows(&plan.gathers[0], 0, 0, 1);
    assert_rows(&plan.gathers[0], 1, 1, 1);
    assert_rows(&plan.gathers[0], 2, 2, 0);
    assert_rows(&plan.gathers[0], 3, 2, 0);
    /* Rank 3 has no row of its own: both come from others. */
    assert_int_equal(plan.foreign_bytes, 2 * 10);
    epi_plan_fini(&plan);
}

static void test_skipped_items_add_nothing(void **state)
{
    epdx_landed_t skipped = item_of(10, NULL, NULL);
    epdx_landed_t item = item_of(4, &memory[0], NULL);
    epi_plan_t plan;

    (void)state;
    assert_int_equal(epi_plan_init(&plan, 1, 2), EPDX_OK);
    assert_int_equal(epi_plan_add(&plan, &skipped, 0, 8, 8), EPDX_OK);
    assert_int_equal(plan.gather_count, 0);
    assert_int_equal(plan.foreign_bytes, 0);
    assert_int_equal(epi_plan_add(&plan, &item, 0, 8, 8), EPDX_OK);
    /* Also not when the plan is full. */
    assert_int_equal(epi_plan_add(&plan, &skipped, 0, 8, 8), EPDX_OK);
    assert_int_equal(plan.gather_count, 1);
    assert_int_equal(plan.item_count, 1);
    assert_int_equal(plan.foreign_bytes, 2 * 8);
    epi_plan_fini(&plan);
}

static void test_a_group_of_one_adds_nothing(void **state)
{
    epdx_landed_t item = item_of(10, &memory[0], &memory[1]);
    epi_plan_t plan;

    (void)state;
    assert_int_equal(epi_plan_init(&plan, 1, 1), EPDX_OK);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(epi_plan_add(&plan, &item, 0, 8, 8), EPDX_OK);
    }
    assert_int_equal(plan.item_count, 0);
    assert_int_equal(plan.gather_count, 0);
    assert_int_equal(plan.foreign_bytes, 0);
    epi_plan_fini(&plan);
}

/* What the ranks receive, together, is every row size - 1 times. */
static void test_foreign_bytes_of_all_ranks(void **state)
{
    (void)state;
    for (uint32_t size = 2; size <= 8; size++) {
        for (uint64_t span = 1; span <= 129; span++) {
            uint64_t sum = 0;

            for (uint32_t rank = 0; rank < size; rank++) {
                epdx_landed_t item = item_of(span, &memory[0], &memory[1]);
                epdx_rows_t own = epdx_shard_rows(span, rank, size);
                epi_plan_t plan;

                assert_int_equal(epi_plan_init(&plan, 1, size), EPDX_OK);
                assert_int_equal(epi_plan_add(&plan, &item, rank, 3, 9),
                                 EPDX_OK);
                assert_int_equal(plan.foreign_bytes, (span - own.count) * 12);
                sum += plan.foreign_bytes;
                epi_plan_fini(&plan);
            }
            assert_int_equal(sum, span * 12 * (size - 1));
        }
    }
}

static void test_every_rank_makes_the_same_gathers(void **state)
{
    epdx_landed_t item = item_of(11, &memory[0], &memory[1]);
    epi_plan_t plans[3];

    (void)state;
    for (uint32_t rank = 0; rank < 3; rank++) {
        assert_int_equal(epi_plan_init(&plans[rank], 2, 3), EPDX_OK);
        assert_int_equal(epi_plan_add(&plans[rank], &item, rank, 3, 9),
                         EPDX_OK);
        assert_int_equal(plans[rank].gather_count, plans[0].gather_count);
        for (size_t i = 0; i < plans[0].gather_count; i++) {
            const epi_gather_t *gather = &plans[rank].gathers[i];

            assert_int_equal(gather->row_bytes, plans[0].gathers[i].row_bytes);
            assert_memory_equal(gather->starts, plans[0].gathers[i].starts,
                                3 * sizeof(uint64_t));
            assert_memory_equal(gather->counts, plans[0].gathers[i].counts,
                                3 * sizeof(uint64_t));
        }
    }
    for (uint32_t rank = 0; rank < 3; rank++) {
        epi_plan_fini(&plans[rank]);
    }
}

static void test_clear_empties_the_plan(void **state)
{
    epdx_landed_t first = item_of(10, &memory[0], &memory[1]);
    epdx_landed_t second = item_of(3, &memory[2], NULL);
    epi_plan_t plan;

    (void)state;
    assert_int_equal(epi_plan_init(&plan, 1, 2), EPDX_OK);
    assert_int_equal(epi_plan_add(&plan, &first, 0, 8, 8), EPDX_OK);
    epi_plan_clear(&plan);
    assert_int_equal(plan.gather_count, 0);
    assert_int_equal(plan.item_count, 0);
    assert_int_equal(plan.foreign_bytes, 0);
    assert_int_equal(epi_plan_add(&plan, &second, 0, 8, 0), EPDX_OK);
    assert_int_equal(plan.gather_count, 1);
    assert_ptr_equal(plan.gathers[0].base, &memory[2]);
    assert_rows(&plan.gathers[0], 1, 2, 1);
    assert_int_equal(plan.foreign_bytes, 8);
    epi_plan_fini(&plan);
}

static void test_add_full(void **state)
{
    epdx_landed_t item = item_of(10, &memory[0], &memory[1]);
    epi_plan_t plan;

    (void)state;
    assert_int_equal(epi_plan_init(&plan, 2, 2), EPDX_OK);
    assert_int_equal(epi_plan_add(&plan, &item, 0, 8, 8), EPDX_OK);
    assert_int_equal(epi_plan_add(&plan, &item, 0, 8, 8), EPDX_OK);
    assert_int_equal(epi_plan_add(&plan, &item, 0, 8, 8), EPDX_ERR_FULL);
    assert_int_equal(plan.item_count, 2);
    assert_int_equal(plan.gather_count, 4);
    assert_int_equal(plan.foreign_bytes, 2 * 5 * 16);
    epi_plan_fini(&plan);
}

static void test_init_no_memory(void **state)
{
    epi_plan_t plan = {.size = 7};

    (void)state;
    for (int calls = 0; calls < 3; calls++) {
        test_calloc_left = calls;
        assert_int_equal(epi_plan_init(&plan, 4, 2), EPDX_ERR_NO_MEMORY);
        assert_int_equal(plan.size, 7);
    }
    assert_int_equal(epi_plan_init(&plan, SIZE_MAX, 2), EPDX_ERR_NO_MEMORY);
    assert_int_equal(epi_plan_init(&plan, SIZE_MAX / 4, 8), EPDX_ERR_NO_MEMORY);
    assert_int_equal(plan.size, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_span_10_on_2_ranks),
        cmocka_unit_test(test_deepstack_is_a_gather_with_its_own_row_bytes),
        cmocka_unit_test(test_items_stay_in_order),
        cmocka_unit_test(test_span_smaller_than_the_group),
        cmocka_unit_test(test_skipped_items_add_nothing),
        cmocka_unit_test(test_a_group_of_one_adds_nothing),
        cmocka_unit_test(test_foreign_bytes_of_all_ranks),
        cmocka_unit_test(test_every_rank_makes_the_same_gathers),
        cmocka_unit_test(test_clear_empties_the_plan),
        cmocka_unit_test(test_add_full),
        cmocka_unit_test(test_init_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
