/* utf8_test.c: what is a character, and what of a text may be sent. */
#include "wire/utf8.h"
#include "wire/wire_check.h"

static size_t length_of(check_frame_t text)
{
    return epi_utf8_length(text.bytes, text.length);
}

static void test_length_of_characters(void **state)
{
    (void)state;
    assert_int_equal(length_of((check_frame_t)TEXT("a")), 1);
    assert_int_equal(length_of((check_frame_t)TEXT("\x7f")), 1);
    assert_int_equal(length_of((check_frame_t)TEXT("\xc2\x80")), 2);
    assert_int_equal(length_of((check_frame_t)TEXT("\xdf\xbf")), 2);
    assert_int_equal(length_of((check_frame_t)TEXT("\xe0\xa0\x80")), 3);
    assert_int_equal(length_of((check_frame_t)TEXT("\xef\xbf\xbf")), 3);
    assert_int_equal(length_of((check_frame_t)TEXT("\xf0\x90\x80\x80")), 4);
    assert_int_equal(length_of((check_frame_t)TEXT("\xf4\x8f\xbf\xbf")), 4);
    assert_int_equal(length_of((check_frame_t)TEXT("\xe2\x89\xa0more")), 3);
}

static void test_length_0_where_no_character_opens(void **state)
{
    static const check_frame_t bad[] = {
        TEXT(""),                 /* nothing */
        TEXT("\x80"),             /* a continuation */
        TEXT("\xc3"),             /* cut */
        TEXT("\xe2\x89"),         /* cut */
        TEXT("\xc3q"),            /* continued by none */
        TEXT("\xc1\xbf"),         /* overlong */
        TEXT("\xe0\x9f\xbf"),     /* overlong */
        TEXT("\xf0\x8f\xbf\xbf"), /* overlong */
        TEXT("\xed\xa0\x80"),     /* surrogate */
        TEXT("\xed\xbf\xbf"),     /* surrogate */
        TEXT("\xf4\x90\x80\x80"), /* over U+10FFFF */
        TEXT("\xf8\x88\x80\x80"), /* lead of five */
        TEXT("\xff"),
    };
    size_t i;

    (void)state;
    for (i = 0; i < COUNT_OF(bad); i++) {
        assert_int_equal(length_of(bad[i]), 0);
    }
    /* Before and after the surrogates there are characters. */
    assert_int_equal(length_of((check_frame_t)TEXT("\xed\x9f\xbf")), 3);
    assert_int_equal(length_of((check_frame_t)TEXT("\xee\x80\x80")), 3);
}

static void test_valid(void **state)
{
    (void)state;
    assert_true(epi_utf8_valid("", 0));
    assert_true(epi_utf8_valid("a\xc3\xa9z", 4));
    assert_false(epi_utf8_valid("a\xc3\xa9z", 2));
    assert_false(epi_utf8_valid("a\xffz", 3));
}

static void test_has_control(void **state)
{
    (void)state;
    assert_false(epi_utf8_has_control("", 0));
    assert_false(epi_utf8_has_control("a \xc2\xa0\xe2\x89\xa0", 7));
    assert_true(epi_utf8_has_control("a\n", 2));
    assert_true(epi_utf8_has_control("\x1b[31m", 5));
    assert_true(epi_utf8_has_control("a\x7f", 2));
    assert_true(epi_utf8_has_control("\xc2\x9b", 2));
}

static void assert_cleaned(const char *text, const char *expected)
{
    char out[64];

    epi_utf8_clean(text, out, sizeof(out));
    assert_string_equal(out, expected);
}

static void test_clean_keeps_what_is_fit(void **state)
{
    (void)state;
    assert_cleaned("", "");
    assert_cleaned("hidden 4096 \xe2\x89\xa0 2048",
                   "hidden 4096 \xe2\x89\xa0 2048");
}

static void test_clean_replaces_what_is_not(void **state)
{
    (void)state;
    assert_cleaned("two\nlines\tand\x7f", "two lines and ");
    assert_cleaned("c1\xc2\x9bz", "c1 z");
    assert_cleaned("stray\xff z", "stray? z");
    assert_cleaned("\xe2\x89z", "??z");
    assert_cleaned("\xf0\x9fz", "??z");
}

static void test_clean_leaves_out_a_cut_character(void **state)
{
    (void)state;
    assert_cleaned("end\xe2\x89", "end");
    assert_cleaned("end\xe2", "end");
    assert_cleaned("end\xf0\x9f\x98", "end");
    assert_cleaned("end\x89", "end?");
}

static void test_clean_cuts_at_a_character(void **state)
{
    char out[6];

    (void)state;
    /* 3 + 3 bytes: the second does not fit the 5 that there are. */
    epi_utf8_clean("\xe2\x89\xa0\xe2\x89\xa0", out, sizeof(out));
    assert_string_equal(out, "\xe2\x89\xa0");
    epi_utf8_clean("abc\xe2\x89\xa0", out, sizeof(out));
    assert_string_equal(out, "abc");
    epi_utf8_clean("abcdefgh", out, sizeof(out));
    assert_string_equal(out, "abcde");
    epi_utf8_clean("ab\xe2\x89\xa0z", out, sizeof(out));
    assert_string_equal(out, "ab\xe2\x89\xa0");
}

static void test_clean_reads_an_unclosed_text_to_its_end(void **state)
{
    const char open[4] = {'a', 'b', 'c', 'd'};
    char out[4];

    (void)state;
    epi_utf8_clean(open, out, sizeof(out));
    assert_string_equal(out, "abc");
    epi_utf8_clean(open, out, 1);
    assert_string_equal(out, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_length_of_characters),
        cmocka_unit_test(test_length_0_where_no_character_opens),
        cmocka_unit_test(test_valid),
        cmocka_unit_test(test_has_control),
        cmocka_unit_test(test_clean_keeps_what_is_fit),
        cmocka_unit_test(test_clean_replaces_what_is_not),
        cmocka_unit_test(test_clean_leaves_out_a_cut_character),
        cmocka_unit_test(test_clean_cuts_at_a_character),
        cmocka_unit_test(test_clean_reads_an_unclosed_text_to_its_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
