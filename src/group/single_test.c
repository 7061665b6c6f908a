/* single_test.c: a group of one rank. Its program is linked with
 * --wrap=calloc, so that a test can make memory run out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "group/group.h"

static bool out_of_memory;

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);

void *__wrap_calloc(size_t count, size_t size)
{
    return out_of_memory ? NULL : __real_calloc(count, size);
}

static epdx_group_t *open_single(void)
{
    epdx_group_t *group = NULL;

    assert_int_equal(epdx_group_single(&group), EPDX_OK);
    assert_non_null(group);
    return group;
}

static void is_rank_0_of_1(void **state)
{
    epdx_group_t *group = open_single();

    (void)state;
    assert_int_equal(epdx_group_rank(group), 0);
    assert_int_equal(epdx_group_size(group), 1);
    epdx_group_close(group);
}

static void collectives_leave_the_values(void **state)
{
    epdx_group_t *group = open_single();
    uint8_t codes[3] = {2, 0, 1};
    uint64_t words[2] = {7, UINT64_MAX};
    char text[6] = "words";
    uint64_t start = 0;
    uint64_t count = 2;
    epi_gather_t gather = {
        .base = text, .row_bytes = 3, .starts = &start, .counts = &count};

    (void)state;
    assert_int_equal(group->ops->min_u8(group, codes, 3), EPDX_OK);
    assert_memory_equal(codes, "\2\0\1", 3);
    assert_int_equal(group->ops->min_u64(group, words, 2), EPDX_OK);
    assert_int_equal(words[0], 7);
    assert_true(words[1] == UINT64_MAX);
    assert_int_equal(group->ops->broadcast(group, text, 6, 0), EPDX_OK);
    assert_int_equal(group->ops->gather(group, &gather, 1), EPDX_OK);
    assert_string_equal(text, "words");
    epdx_group_close(group);
}

static void broadcast_from_another_rank_is_invalid(void **state)
{
    epdx_group_t *group = open_single();
    char byte = 1;

    (void)state;
    assert_int_equal(group->ops->broadcast(group, &byte, 1, 1),
                     EPDX_ERR_INVALID);
    assert_non_null(strstr(epdx_last_error(), "rank 1"));
    epdx_group_close(group);
}

static void open_without_memory_is_no_memory(void **state)
{
    epdx_group_t *untouched = (epdx_group_t *)&out_of_memory;
    epdx_group_t *group = untouched;
    epdx_status_t status;

    (void)state;
    out_of_memory = true;
    status = epdx_group_single(&group);
    out_of_memory = false;
    assert_int_equal(status, EPDX_ERR_NO_MEMORY);
    assert_ptr_equal(group, untouched);
    assert_non_null(strstr(epdx_last_error(), "memory"));
}

static void close_of_null_is_allowed(void **state)
{
    (void)state;
    epdx_group_close(NULL);
}

static void null_is_no_group(void **state)
{
    (void)state;
    assert_int_equal(epdx_group_single(NULL), EPDX_ERR_INVALID);
    assert_string_equal(epdx_last_error(),
                        "epdx_group_single: group_p is NULL");
    assert_int_equal(epdx_group_rank(NULL), 0);
    assert_int_equal(epdx_group_size(NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_rank_0_of_1),
        cmocka_unit_test(collectives_leave_the_values),
        cmocka_unit_test(broadcast_from_another_rank_is_invalid),
        cmocka_unit_test(open_without_memory_is_no_memory),
        cmocka_unit_test(close_of_null_is_allowed),
        cmocka_unit_test(null_is_no_group),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
