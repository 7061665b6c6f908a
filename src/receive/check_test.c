/* check_test.c: which offers an item takes, and where their rows go. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "receive/check.h"

static uint8_t main_memory[10 * 8];
static uint8_t deepstack_memory[10 * 16];

static const epi_receive_config_t CONFIG = {.dtype = EPDX_BFLOAT16,
                                            .hidden = 4,
                                            .levels = 2,
                                            .main_row_bytes = 8,
                                            .deepstack_row_bytes = 16};

/* Rank 1 of 2 of an item of 10 rows. */
static epi_item_slot_t slot(void)
{
    return (epi_item_slot_t){.room = 7,
                             .span = 10,
                             .share = {5, 5},
                             .main = main_memory,
                             .deepstack = deepstack_memory};
}

static epi_offer_t offer(epi_part_t part)
{
    return (epi_offer_t){.part = part,
                         .dtype = EPDX_BFLOAT16,
                         .room = 7,
                         .row_start = 5,
                         .rows = 5,
                         .span = 10,
                         .width = part == EPI_PART_MAIN ? 4 : 8};
}

static void test_a_share_lands_at_its_absolute_rows(void **state)
{
    epi_item_slot_t item = slot();
    epi_offer_t main_offer = offer(EPI_PART_MAIN);
    epi_offer_t deep_offer = offer(EPI_PART_DEEPSTACK);
    epi_landing_t landing;

    (void)state;
    assert_int_equal(epi_offer_check(&CONFIG, &item, &main_offer, 40, &landing),
                     EPDX_OK);
    assert_ptr_equal(landing.target, main_memory + 40);
    assert_int_equal(landing.bytes, 40);
    assert_int_equal(epi_offer_check(&CONFIG, &item, &deep_offer, 80, &landing),
                     EPDX_OK);
    assert_ptr_equal(landing.target, deepstack_memory + 80);
    assert_int_equal(landing.bytes, 80);
}

/* One field of an offer that is wrong, and the words that must name it. */
static void refuses(const epi_offer_t *wrong, uint64_t payload_bytes,
                    const char *word)
{
    epi_item_slot_t item = slot();
    epi_landing_t landing = {.bytes = 1};

    assert_int_equal(
        epi_offer_check(&CONFIG, &item, wrong, payload_bytes, &landing),
        EPDX_ERR_MISMATCH);
    assert_int_equal(landing.bytes, 1);
    if (strstr(epdx_last_error(), word) == NULL) {
        fail_msg("\"%s\" does not name \"%s\"", epdx_last_error(), word);
    }
}

static void test_mismatches_are_refused_by_name(void **state)
{
    epi_offer_t wrong;

    (void)state;
    wrong = offer(EPI_PART_MAIN);
    wrong.room = 8;
    refuses(&wrong, 40, "room 8");
    wrong = offer(EPI_PART_MAIN);
    wrong.span = 11;
    refuses(&wrong, 40, "span 11");
    wrong = offer(EPI_PART_MAIN);
    wrong.row_start = 4;
    refuses(&wrong, 40, "first row 4");
    wrong = offer(EPI_PART_MAIN);
    wrong.rows = 4;
    refuses(&wrong, 32, "row count 4");
    wrong = offer(EPI_PART_MAIN);
    wrong.dtype = EPDX_FLOAT16;
    refuses(&wrong, 40, "torch.float16");
    wrong = offer(EPI_PART_MAIN);
    wrong.width = 5;
    refuses(&wrong, 50, "row width 5");
    wrong = offer(EPI_PART_DEEPSTACK);
    wrong.width = 4;
    refuses(&wrong, 40, "row width 4");
    wrong = offer(EPI_PART_MAIN);
    refuses(&wrong, 41, "payload bytes 41");
}

static void test_deepstack_is_refused_where_there_is_none(void **state)
{
    epi_receive_config_t plain = CONFIG;
    epi_item_slot_t item = slot();
    epi_offer_t wrong = offer(EPI_PART_DEEPSTACK);
    epi_landing_t landing;

    (void)state;
    plain.levels = 0;
    assert_int_equal(epi_offer_check(&plain, &item, &wrong, 80, &landing),
                     EPDX_ERR_MISMATCH);
    assert_non_null(strstr(epdx_last_error(), "deepstack"));
}

static void test_a_part_is_taken_once(void **state)
{
    epi_item_slot_t item = slot();
    epi_offer_t again = offer(EPI_PART_MAIN);
    epi_landing_t landing;

    (void)state;
    item.parts_posted = 1U << EPI_PART_MAIN;
    assert_int_equal(epi_offer_check(&CONFIG, &item, &again, 40, &landing),
                     EPDX_ERR_DUPLICATE);
}

static void test_a_share_without_rows_has_one_part(void **state)
{
    epi_item_slot_t item = slot();
    epi_offer_t empty = offer(EPI_PART_MAIN);
    epi_landing_t landing;

    (void)state;
    assert_int_equal(epi_parts_expected(&CONFIG, &item), 3);
    item.share = (epdx_rows_t){10, 0};
    assert_int_equal(epi_parts_expected(&CONFIG, &item), 1);
    empty.row_start = 10;
    empty.rows = 0;
    assert_int_equal(epi_offer_check(&CONFIG, &item, &empty, 0, &landing),
                     EPDX_OK);
    assert_int_equal(landing.bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_share_lands_at_its_absolute_rows),
        cmocka_unit_test(test_mismatches_are_refused_by_name),
        cmocka_unit_test(test_deepstack_is_refused_where_there_is_none),
        cmocka_unit_test(test_a_part_is_taken_once),
        cmocka_unit_test(test_a_share_without_rows_has_one_part),
    };

    return cmocka_run_group_tests_name("receive/check", tests, NULL, NULL);
}
