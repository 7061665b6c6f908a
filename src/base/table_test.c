/* table_test.c: the table against an array, and its refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/table.h"
#include "testing/out_of_memory.h"
#include "testing/seeded.h"

#define KEYS 40

/* What the table must hold: value by key index, 0 for none. */
typedef struct model {
    uint64_t keys[KEYS];
    uint32_t values[KEYS];
    size_t count;
} model_t;

static void compare(const epi_table_t *table, const model_t *model)
{
    assert_int_equal(table->count, model->count);
    for (size_t i = 0; i < KEYS; i++) {
        uint32_t value = 0;

        assert_int_equal(epi_table_find(table, model->keys[i], &value),
                         model->values[i] != 0);
        assert_int_equal(value, model->values[i]);
    }
}

static void step(epi_table_t *table, model_t *model, test_seeded_t *random)
{
    size_t i = test_seeded_below(random, KEYS);
    uint32_t value = (uint32_t)(test_seeded_below(random, 1000) + 1);

    if (test_seeded_below(random, 3) == 0) {
        assert_int_equal(epi_table_remove(table, model->keys[i]),
                         model->values[i] != 0);
        model->count -= model->values[i] != 0;
        model->values[i] = 0;
    } else if (model->values[i] != 0) {
        assert_int_equal(epi_table_add(table, model->keys[i], value),
                         EPDX_ERR_DUPLICATE);
    } else if (model->count == table->capacity) {
        assert_int_equal(epi_table_add(table, model->keys[i], value),
                         EPDX_ERR_FULL);
    } else {
        assert_int_equal(epi_table_add(table, model->keys[i], value), EPDX_OK);
        model->values[i] = value;
        model->count++;
    }
}

static void behaves_as_an_array_does(void **state)
{
    test_seeded_t random = {20240611};

    (void)state;
    for (size_t round = 0; round < 60; round++) {
        epi_table_t table;
        model_t model = {.count = 0};

        /* Capacities that fill a small ring: gaps close across its end. */
        assert_int_equal(epi_table_init(&table, 1 + round % 32,
                                        test_seeded_below(&random, UINT64_MAX)),
                         EPDX_OK);
        for (size_t i = 0; i < KEYS; i++) {
            model.keys[i] =
                round % 2 ? i : test_seeded_below(&random, UINT64_MAX);
        }
        for (size_t i = 0; i < 2000; i++) {
            step(&table, &model, &random);
            compare(&table, &model);
        }
        epi_table_fini(&table);
    }
}

static void a_full_table_still_finds_and_removes(void **state)
{
    epi_table_t table;
    uint32_t value = 0;

    (void)state;
    assert_int_equal(epi_table_init(&table, 1000, 1), EPDX_OK);
    for (uint32_t i = 0; i < 1000; i++) {
        assert_int_equal(epi_table_add(&table, (uint64_t)i << 32, i), EPDX_OK);
    }
    assert_int_equal(epi_table_add(&table, 1, 1), EPDX_ERR_FULL);
    assert_false(epi_table_find(&table, 1, &value));
    for (uint32_t i = 0; i < 1000; i++) {
        assert_true(epi_table_find(&table, (uint64_t)i << 32, &value));
        assert_int_equal(value, i);
        assert_true(epi_table_remove(&table, (uint64_t)i << 32));
    }
    assert_int_equal(table.count, 0);
    epi_table_fini(&table);
}

static size_t longest_run(const epi_table_t *table)
{
    size_t longest = 0;
    size_t run = 0;

    for (size_t i = 0; i <= table->mask; i++) {
        run = table->entries[i].used ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    return longest;
}

static void chosen_keys_do_not_cluster(void **state)
{
    epi_table_t table;

    (void)state;
    for (unsigned shift = 0; shift <= 48; shift += 8) {
        assert_int_equal(epi_table_init(&table, 4096, 77), EPDX_OK);
        for (uint32_t i = 0; i < 4096; i++) {
            assert_int_equal(epi_table_add(&table, (uint64_t)i << shift, i),
                             EPDX_OK);
        }
        /* A half-full table of good hashes stays well under this. */
        assert_true(longest_run(&table) < 100);
        epi_table_fini(&table);
    }
}

static void the_seed_moves_the_keys(void **state)
{
    epi_table_t a;
    epi_table_t b;
    size_t same = 0;

    (void)state;
    assert_int_equal(epi_table_init(&a, 4096, 1), EPDX_OK);
    assert_int_equal(epi_table_init(&b, 4096, 2), EPDX_OK);
    for (uint32_t i = 0; i < 64; i++) {
        assert_int_equal(epi_table_add(&a, i, i), EPDX_OK);
        assert_int_equal(epi_table_add(&b, i, i), EPDX_OK);
    }
    for (size_t i = 0; i <= a.mask; i++) {
        same += a.entries[i].used && b.entries[i].used;
    }
    assert_true(same < 16);
    epi_table_fini(&a);
    epi_table_fini(&b);
}

static void err_invalid_capacity(void **state)
{
    epi_table_t table = {0};

    (void)state;
    assert_int_equal(epi_table_init(&table, 0, 1), EPDX_ERR_INVALID);
    assert_int_equal(epi_table_init(&table, SIZE_MAX, 1), EPDX_ERR_INVALID);
    assert_null(table.entries);
}

static void err_no_memory(void **state)
{
    epi_table_t table = {0};

    (void)state;
    test_calloc_left = 0;
    assert_int_equal(epi_table_init(&table, 8, 1), EPDX_ERR_NO_MEMORY);
    assert_null(table.entries);
}

static void fini_takes_a_zeroed_table(void **state)
{
    epi_table_t table = {0};

    (void)state;
    epi_table_fini(&table);
    assert_null(table.entries);
}

static void hash_tells_texts_apart(void **state)
{
    (void)state;
    /* The length decides, not a closing zero. */
    assert_int_equal(epi_hash("abc", 3), epi_hash("abcd", 3));
    assert_int_not_equal(epi_hash("abc", 3), epi_hash("abcd", 4));
    assert_int_not_equal(epi_hash("abc", 3), epi_hash("acb", 3));
    assert_int_not_equal(epi_hash("", 0), epi_hash("\0", 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(behaves_as_an_array_does),
        cmocka_unit_test(a_full_table_still_finds_and_removes),
        cmocka_unit_test(chosen_keys_do_not_cluster),
        cmocka_unit_test(the_seed_moves_the_keys),
        cmocka_unit_test(err_invalid_capacity),
        cmocka_unit_test(err_no_memory),
        cmocka_unit_test(fini_takes_a_zeroed_table),
        cmocka_unit_test(hash_tells_texts_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
