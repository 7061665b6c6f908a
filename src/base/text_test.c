/* text_test.c: what is read, and above all what is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/text.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void copies_say_when_they_cut(void **state)
{
    char out[4] = "xxx";

    (void)state;
    assert_true(epi_text_copy(out, sizeof(out), "abc"));
    assert_string_equal(out, "abc");
    assert_false(epi_text_copy(out, sizeof(out), "abcd"));
    assert_string_equal(out, "abc");
    assert_true(epi_text_copy(out, 1, ""));
    assert_string_equal(out, "");
    assert_false(epi_text_copy(out, 0, ""));
}

static void formatted_texts_are_cut_and_closed(void **state)
{
    char out[6] = "xxxxx";

    (void)state;
    epi_text_format(out, sizeof(out), "%d-%s", 7, "ab");
    assert_string_equal(out, "7-ab");
    epi_text_format(out, sizeof(out), "%d-%s", 7, "abcdefg");
    assert_string_equal(out, "7-abc");
}

static void numbers_are_read_up_to_max(void **state)
{
    uint64_t value = 7;

    (void)state;
    assert_true(epi_text_number("0", 0, &value));
    assert_int_equal(value, 0);
    assert_true(epi_text_number("65535", 65535, &value));
    assert_int_equal(value, 65535);
    assert_true(epi_text_number("18446744073709551615", UINT64_MAX, &value));
    assert_int_equal(value, UINT64_MAX);
    assert_true(epi_text_u64("123x", 3, 1000, &value));
    assert_int_equal(value, 123);
}

static void other_numbers_are_refused(void **state)
{
    static const char *const texts[] = {
        "",
        " 1",
        "1 ",
        "+1",
        "-1",
        "01",
        "00",
        "0x1",
        "1e3",
        "1.0",
        "abc",
        "1a",
        "\n1",
        "18446744073709551616",
        "1001",
        "\xd9\xa1",
        "99999999999999999999999999",
    };
    uint64_t value = 7;

    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++) {
        uint64_t max = strcmp(texts[i], "1001") == 0 ? 1000 : UINT64_MAX;

        assert_false(epi_text_number(texts[i], max, &value));
        assert_int_equal(value, 7);
    }
    assert_false(epi_text_u64("1\0", 2, 100, &value));
    assert_false(epi_text_u64("1", 0, 100, &value));
}

static void seconds_are_read_exactly(void **state)
{
    static const struct {
        const char *text;
        uint64_t nanoseconds;
    } cases[] = {
        {"0", 0},
        {"300", UINT64_C(300000000000)},
        {"0.5", 500000000},
        {"1e-3", 1000000},
        {"1E-3", 1000000},
        {"2.5e+1", UINT64_C(25000000000)},
        {"0.1", 100000000},
        {"0.000000001", 1},
        {"1e-10", 1},
        {"0.0000000011", 2},
        {"1e9", UINT64_C(1000000000000000000)},
        {"1000000000", UINT64_C(1000000000000000000)},
        {"0e99", 0},
        {"1e-99", 1},
        {"007", UINT64_C(7000000000)},
        {"1e007", UINT64_C(10000000000000000)},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        uint64_t value = 7;

        assert_true(epi_text_seconds(cases[i].text, &value));
        assert_int_equal(value, cases[i].nanoseconds);
    }
}

static void other_seconds_are_refused(void **state)
{
    static const char *const texts[] = {
        "",
        ".",
        ".5",
        "5.",
        "-1",
        "+1",
        " 1",
        "1 ",
        "1s",
        "1,5",
        "1e",
        "1e+",
        "1e-",
        "1e1.5",
        "inf",
        "nan",
        "0x10",
        "1e10",
        "1e99",
        "1e100",
        "1000000001",
        "1e--1",
        "1.2.3",
        "1000000000.000000001",
        "123456789012345678901234567890",
        "1e-999",
    };
    uint64_t value = 7;

    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++) {
        assert_false(epi_text_seconds(texts[i], &value));
        assert_int_equal(value, 7);
    }
}

static void addresses_split_at_the_last_colon(void **state)
{
    static const struct {
        const char *text;
        const char *host;
        uint16_t port;
    } cases[] = {
        {"127.0.0.1:8998", "127.0.0.1", 8998},
        {"node-1.cluster:0", "node-1.cluster", 0},
        {"[::1]:65535", "::1", 65535},
        {"::1:80", "::1", 80},
        {"fe80::1:2:80", "fe80::1:2", 80},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        epi_address_t address;

        assert_true(epi_address_parse(cases[i].text, &address));
        assert_string_equal(address.host, cases[i].host);
        assert_int_equal(address.port, cases[i].port);
    }
}

static void other_addresses_are_refused(void **state)
{
    static const char *const texts[] = {
        "",           ":",        ":80",
        "host",       "host:",    "host:65536",
        "host:080",   "host:-1",  "host: 1",
        "ho st:1",    "a/b:1",    "a?b:1",
        "a#b:1",      "u@host:1", "a%1:1",
        "[]:1",       "[::1:80",  "::1]:80",
        "[[::1]]:80", "ho\nst:1", "h\xc3\xb6st:1",
        "host:80/",   "[::1]80",
    };
    epi_address_t address = {.host = "same", .port = 9};

    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++) {
        assert_false(epi_address_parse(texts[i], &address));
        assert_string_equal(address.host, "same");
        assert_int_equal(address.port, 9);
    }
}

static void a_host_has_at_most_its_room(void **state)
{
    char text[EPDX_ADDRESS_MAX + 8];
    epi_address_t address;

    (void)state;
    memset(text, 'a', EPDX_ADDRESS_MAX + 1);
    memcpy(text + EPDX_ADDRESS_MAX, ":1", 3);
    assert_true(epi_address_parse(text, &address));
    assert_int_equal(strlen(address.host), EPDX_ADDRESS_MAX);
    memcpy(text + EPDX_ADDRESS_MAX, "a:1", 4);
    assert_false(epi_address_parse(text, &address));
}

static void addresses_are_written_with_brackets_where_needed(void **state)
{
    char out[32] = "";

    (void)state;
    assert_true(epi_address_format("10.0.0.1", 80, out, sizeof(out)));
    assert_string_equal(out, "10.0.0.1:80");
    assert_true(epi_address_format("::1", 65535, out, sizeof(out)));
    assert_string_equal(out, "[::1]:65535");
    assert_true(epi_address_format("abc", 1, out, 6));
    assert_false(epi_address_format("abcd", 1, out, 6));
    assert_false(epi_address_format("abcd", 1, out, 0));
}

static void addresses_survive_a_round_trip(void **state)
{
    static const char *const hosts[] = {"127.0.0.1", "::1", "a.b",
                                        "2001:db8::1"};

    (void)state;
    for (size_t i = 0; i < COUNT(hosts); i++) {
        char out[64];
        epi_address_t address;

        assert_true(epi_address_format(hosts[i], 4711, out, sizeof(out)));
        assert_true(epi_address_parse(out, &address));
        assert_string_equal(address.host, hosts[i]);
        assert_int_equal(address.port, 4711);
    }
}

static void wildcards_in_every_spelling(void **state)
{
    static const char *const wild[] = {"",        "*",
                                       "0.0.0.0", "::",
                                       "[::]",    "0:0:0:0:0:0:0:0",
                                       "::0",     "::ffff:0.0.0.0"};
    static const char *const single[] = {"127.0.0.1", "::1", "localhost",
                                         "0.0.0.1", "::ffff:127.0.0.1"};

    (void)state;
    for (size_t i = 0; i < COUNT(wild); i++) {
        assert_true(epi_address_wildcard(wild[i]));
    }
    for (size_t i = 0; i < COUNT(single); i++) {
        assert_false(epi_address_wildcard(single[i]));
    }
}

static void printable_is_ascii_without_space(void **state)
{
    (void)state;
    assert_true(epi_text_printable("!~azAZ09", 8));
    assert_false(epi_text_printable("", 0));
    assert_false(epi_text_printable("a b", 3));
    assert_false(epi_text_printable("a\0b", 3));
    assert_false(epi_text_printable("\x7f", 1));
    assert_false(epi_text_printable("\xc3\xb6", 2));
    assert_true(epi_text_printable("ab\n", 2));
}

static void quotable_is_short_and_without_control_characters(void **state)
{
    (void)state;
    assert_true(epi_text_quotable("r 1/\xc3\xa9", 7));
    assert_true(epi_text_quotable("1234567", 7));
    assert_false(epi_text_quotable("12345678", 7));
    assert_false(epi_text_quotable("", 7));
    assert_false(epi_text_quotable("a\nb", 7));
    assert_false(epi_text_quotable("a\x7f", 7));
}

static void anything_is_shown_in_one_line(void **state)
{
    char out[16];

    (void)state;
    epi_text_show(out, sizeof(out), "");
    assert_string_equal(out, "");
    epi_text_show(out, sizeof(out), "a b:1");
    assert_string_equal(out, "a b:1");
    epi_text_show(out, sizeof(out), "\n\xff");
    assert_string_equal(out, "\\x0a\\xff");
    epi_text_show(out, sizeof(out), "\"\\");
    assert_string_equal(out, "\\x22\\x5c");
    epi_text_show(out, sizeof(out), "123456789");
    assert_string_equal(out, "123456789");
    epi_text_show(out, sizeof(out), "1234567890");
    assert_string_equal(out, "123456789...");
    epi_text_show(out, sizeof(out), "12345678\n...........");
    assert_string_equal(out, "12345678\\x0a...");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quotable_is_short_and_without_control_characters),
        cmocka_unit_test(copies_say_when_they_cut),
        cmocka_unit_test(formatted_texts_are_cut_and_closed),
        cmocka_unit_test(numbers_are_read_up_to_max),
        cmocka_unit_test(other_numbers_are_refused),
        cmocka_unit_test(seconds_are_read_exactly),
        cmocka_unit_test(other_seconds_are_refused),
        cmocka_unit_test(addresses_split_at_the_last_colon),
        cmocka_unit_test(other_addresses_are_refused),
        cmocka_unit_test(a_host_has_at_most_its_room),
        cmocka_unit_test(addresses_are_written_with_brackets_where_needed),
        cmocka_unit_test(addresses_survive_a_round_trip),
        cmocka_unit_test(wildcards_in_every_spelling),
        cmocka_unit_test(printable_is_ascii_without_space),
        cmocka_unit_test(anything_is_shown_in_one_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
