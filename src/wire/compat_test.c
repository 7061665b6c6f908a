/* compat_test.c: what two ends must share, as a text and its differences. */
#include "wire/wire_check.h"

static const epi_compat_t sample = {EPDX_BFLOAT16, 2048, 3, 4};

static void test_format(void **state)
{
    char text[EPI_COMPAT_MAX + 1];

    (void)state;
    epi_compat_format(&sample, text, sizeof(text));
    assert_string_equal(text, "dtype=torch.bfloat16 hidden=2048 levels=3 tp=4");
}

static void test_round_trip_at_full_bounds(void **state)
{
    static const epi_compat_t in = {EPDX_FLOAT32, UINT64_MAX, UINT32_MAX,
                                    UINT32_MAX};
    char text[EPI_COMPAT_MAX + 1];
    epi_compat_t out;

    (void)state;
    epi_compat_format(&in, text, sizeof(text));
    assert_string_equal(text, "dtype=torch.float32 "
                              "hidden=18446744073709551615 "
                              "levels=4294967295 tp=4294967295");
    assert_int_equal(epi_compat_parse(text, &out), EPDX_OK);
    assert_int_equal(out.dtype, EPDX_FLOAT32);
    assert_int_equal(out.hidden, UINT64_MAX);
    assert_int_equal(out.levels, UINT32_MAX);
    assert_int_equal(out.tp_size, UINT32_MAX);
}

static void test_parse_malformed(void **state)
{
    static const struct {
        const char *text, *words;
    } bad[] = {
        {"", "compat: dtype is missing, out of its place or not readable"},
        {"dtype=torch.int8 hidden=1 levels=0 tp=1",
         "compat: dtype is missing, out of its place or not readable"},
        {"dtype=torch.bfloat16torch.bfloat16torch.bfloat16 hidden=1",
         "compat: dtype is missing, out of its place or not readable"},
        {"hidden=1 dtype=torch.float32 levels=0 tp=1",
         "compat: dtype is missing, out of its place or not readable"},
        {"dtype=torch.float32", "compat: hidden is missing, out of its place "
                                "or not readable"},
        {"dtype=torch.float32 hidden=-1 levels=0 tp=1",
         "compat: hidden is missing, out of its place or not readable"},
        {"dtype=torch.float32 hidden=1 levels=4294967296 tp=1",
         "compat: levels is missing, out of its place or not readable"},
        {"dtype=torch.float32 hidden=1 levels=0 tp=",
         "compat: tp is missing, out of its place or not readable"},
        {"dtype=torch.float32 hidden=1 levels=0 tp=1 ",
         "compat: is not spelled \"dtype=torch.float32 hidden=1 levels=0 "
         "tp=1\""},
        {"dtype=torch.float32 hidden=1 levels=0 tp=1 more=1",
         "compat: is not spelled \"dtype=torch.float32 hidden=1 levels=0 "
         "tp=1\""},
        {"dtype=float32 hidden=1 levels=0 tp=1",
         "compat: is not spelled \"dtype=torch.float32 hidden=1 levels=0 "
         "tp=1\""},
        {"dtype=torch.float32  hidden=1 levels=0 tp=1",
         "compat: hidden is missing, out of its place or not readable"},
    };
    size_t i;

    (void)state;
    for (i = 0; i < COUNT_OF(bad); i++) {
        check_malformed(epi_compat_t, epi_compat_parse, bad[i].text,
                        bad[i].words);
    }
}

static void assert_differs(epi_compat_t peer, const char *expected)
{
    char words[EPDX_REASON_MAX] = "old";

    assert_true(epi_compat_differs(&sample, &peer, words, sizeof(words)));
    assert_string_equal(words, expected);
}

static void test_differs_names_both_values(void **state)
{
    (void)state;
    assert_differs(
        (epi_compat_t){EPDX_FLOAT16, 2048, 3, 4},
        "dtype is torch.bfloat16 here and torch.float16 at the peer");
    assert_differs((epi_compat_t){EPDX_BFLOAT16, 4096, 3, 4},
                   "hidden is 2048 here and 4096 at the peer");
    assert_differs((epi_compat_t){EPDX_BFLOAT16, 2048, 0, 4},
                   "levels is 3 here and 0 at the peer");
    assert_differs((epi_compat_t){EPDX_BFLOAT16, 4096, 0, 4},
                   "hidden is 2048 here and 4096 at the peer, "
                   "levels is 3 here and 0 at the peer");
}

static void test_differs_leaves_tp_out(void **state)
{
    epi_compat_t peer = sample;
    char words[16] = "old";

    (void)state;
    assert_false(epi_compat_differs(&sample, &peer, words, sizeof(words)));
    assert_string_equal(words, "");
    peer.tp_size = 8;
    assert_false(epi_compat_differs(&sample, &peer, words, sizeof(words)));
    assert_string_equal(words, "");
}

static void test_differs_is_cut_at_its_size(void **state)
{
    static const epi_compat_t peer = {EPDX_FLOAT16, 4096, 0, 4};
    char words[12] = "old";

    (void)state;
    assert_true(epi_compat_differs(&sample, &peer, words, sizeof(words)));
    assert_string_equal(words, "dtype is to");
    assert_true(epi_compat_differs(&sample, &peer, words, 1));
    assert_string_equal(words, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_format),
        cmocka_unit_test(test_round_trip_at_full_bounds),
        cmocka_unit_test(test_parse_malformed),
        cmocka_unit_test(test_differs_names_both_values),
        cmocka_unit_test(test_differs_leaves_tp_out),
        cmocka_unit_test(test_differs_is_cut_at_its_size),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
