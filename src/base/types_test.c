/* types_test.c: spelling and width of the dtypes, values on the wire. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "epdx/types.h"

static void dtypes_have_their_width(void **state)
{
    (void)state;
    assert_int_equal(epdx_dtype_bytes(EPDX_BFLOAT16), 2);
    assert_int_equal(epdx_dtype_bytes(EPDX_FLOAT16), 2);
    assert_int_equal(epdx_dtype_bytes(EPDX_FLOAT32), 4);
    assert_int_equal(epdx_dtype_bytes(EPDX_DTYPE_NONE), 0);
    assert_int_equal(epdx_dtype_bytes((epdx_dtype_t)99), 0);
}

static void dtypes_are_spelled_as_torch_does(void **state)
{
    (void)state;
    assert_string_equal(epdx_dtype_name(EPDX_BFLOAT16), "torch.bfloat16");
    assert_string_equal(epdx_dtype_name(EPDX_FLOAT16), "torch.float16");
    assert_string_equal(epdx_dtype_name(EPDX_FLOAT32), "torch.float32");
    assert_string_equal(epdx_dtype_name(EPDX_DTYPE_NONE), "none");
    assert_string_equal(epdx_dtype_name((epdx_dtype_t)99), "none");
}

static void dtypes_are_read_with_and_without_prefix(void **state)
{
    (void)state;
    assert_int_equal(epdx_dtype_parse("torch.bfloat16"), EPDX_BFLOAT16);
    assert_int_equal(epdx_dtype_parse("bfloat16"), EPDX_BFLOAT16);
    assert_int_equal(epdx_dtype_parse("torch.float16"), EPDX_FLOAT16);
    assert_int_equal(epdx_dtype_parse("float16"), EPDX_FLOAT16);
    assert_int_equal(epdx_dtype_parse("torch.float32"), EPDX_FLOAT32);
    assert_int_equal(epdx_dtype_parse("float32"), EPDX_FLOAT32);
}

static void other_texts_are_no_dtype(void **state)
{
    static const char *const texts[] = {
        "",        "torch.",   "none",     "torch.int8",
        "Float32", " float32", "float32 ", "torch.torch.float32",
        "float",
    };

    (void)state;
    assert_int_equal(epdx_dtype_parse(NULL), EPDX_DTYPE_NONE);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_int_equal(epdx_dtype_parse(texts[i]), EPDX_DTYPE_NONE);
    }
}

static void values_are_those_of_the_vote_and_the_wire(void **state)
{
    (void)state;
    assert_int_equal(EPDX_FAILED, 0);
    assert_int_equal(EPDX_PENDING, 1);
    assert_int_equal(EPDX_LANDED, 2);
    assert_int_equal(EPDX_BFLOAT16, 1);
    assert_int_equal(EPDX_FLOAT16, 2);
    assert_int_equal(EPDX_FLOAT32, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dtypes_have_their_width),
        cmocka_unit_test(dtypes_are_spelled_as_torch_does),
        cmocka_unit_test(dtypes_are_read_with_and_without_prefix),
        cmocka_unit_test(other_texts_are_no_dtype),
        cmocka_unit_test(values_are_those_of_the_vote_and_the_wire),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
