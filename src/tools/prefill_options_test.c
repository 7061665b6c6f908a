/* prefill_options_test.c: what options of epdx_prefill say together. */
#include "tools/prefill_options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static epi_prefill_options_t options;

static epdx_status_t parse(char **argv)
{
    const epi_prefill_options_t preset = EPI_PREFILL_OPTIONS_PRESET;
    const char *show;

    options = preset;
    return epi_args_parse(&epi_prefill_args, argv, &options, &show);
}

#define PARSE(...) parse((char *[]){"epdx_prefill", __VA_ARGS__, NULL})

#define ASSERT_WRONG(words, ...)                                               \
    do {                                                                       \
        assert_int_equal(PARSE(__VA_ARGS__), EPDX_ERR_INVALID);                \
        assert_string_equal(epdx_last_error(), words);                         \
    } while (0)

static void defaults(void **state)
{
    (void)state;
    assert_int_equal(PARSE("--workload=w", "--encode=h:1"), EPDX_OK);
    assert_int_equal(options.concurrency, 32);
    assert_int_equal(options.collective_timeout_ns, 300000000000);
    assert_false(options.realtime);
    assert_false(options.verify);
}

static void sizes_need_no_node(void **state)
{
    (void)state;
    assert_int_equal(PARSE("--workload=w", "--sizes"), EPDX_OK);
}

static void a_node_is_needed(void **state)
{
    (void)state;
    ASSERT_WRONG("--encode is needed", "--workload=w");
}

static void a_source_is_needed(void **state)
{
    (void)state;
    ASSERT_WRONG("one of --workload and --npy is needed", "--encode=h:1");
    ASSERT_WRONG("--workload and --npy do not go together", "--encode=h:1",
                 "--workload=w", "--npy=d");
}

static void a_node_twice(void **state)
{
    (void)state;
    ASSERT_WRONG("--encode: h:1 is there twice", "--workload=w", "--encode=h:1",
                 "--encode=h:2", "--encode=h:1");
}

static void out_is_for_arrays(void **state)
{
    (void)state;
    ASSERT_WRONG("--out goes with --npy", "--workload=w", "--encode=h:1",
                 "--out=d");
    assert_int_equal(PARSE("--npy=d", "--encode=h:1", "--out=o"), EPDX_OK);
}

static void realtime_or_concurrency(void **state)
{
    (void)state;
    ASSERT_WRONG("--realtime and --concurrency do not go together",
                 "--workload=w", "--encode=h:1", "--realtime",
                 "--concurrency=2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults),
        cmocka_unit_test(sizes_need_no_node),
        cmocka_unit_test(a_node_is_needed),
        cmocka_unit_test(a_source_is_needed),
        cmocka_unit_test(a_node_twice),
        cmocka_unit_test(out_is_for_arrays),
        cmocka_unit_test(realtime_or_concurrency),
    };

    return cmocka_run_group_tests_name("prefill_options", tests, NULL, NULL);
}
