/* curve_test.c: key pairs and the files that hold them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "control/curve.h"
#include "testing/secrets.h"

static secrets_t secrets;

static int open_folder(void **state)
{
    (void)state;
    secrets_open(&secrets);
    return 0;
}

static int close_folder(void **state)
{
    (void)state;
    secrets_close(&secrets);
    return 0;
}

static epdx_status_t read_file(epi_curve_pair_t *pair_p)
{
    return epi_curve_read(secrets_at(&secrets, "key").text, pair_p);
}

static void test_pairs_differ(void **state)
{
    epi_curve_pair_t before = {{0}, {0}};
    epi_curve_pair_t pair;

    (void)state;
    for (int i = 0; i < 20; i++) {
        assert_int_equal(epi_curve_keypair(&pair), EPDX_OK);
        assert_true(epi_curve_key_ok(pair.public_key));
        assert_true(epi_curve_key_ok(pair.secret_key));
        assert_string_not_equal(pair.public_key, before.public_key);
        before = pair;
    }
    epi_curve_wipe(&pair);
    assert_string_equal(pair.secret_key, "");
}

static void test_a_file_holds_a_pair(void **state)
{
    epi_curve_pair_t made = secrets_pair(&secrets, "key");
    epi_curve_pair_t pair;
    char text[256];

    (void)state;
    assert_int_equal(read_file(&pair), EPDX_OK);
    assert_memory_equal(&pair, &made, sizeof(pair));
    (void)snprintf(text, sizeof(text),
                   "# of node 7\r\n\n  secret-key=\"%s\"\r\n"
                   "\tpublic-key \t=  \"%s\" \t",
                   made.secret_key, made.public_key);
    secrets_write(&secrets, "key", 0400, text);
    memset(&pair, 0, sizeof(pair));
    assert_int_equal(read_file(&pair), EPDX_OK);
    assert_memory_equal(&pair, &made, sizeof(pair));
    assert_false(epi_curve_format(&made, text, 100));
}

static void expect_refused(const char *words)
{
    epi_curve_pair_t pair = {"untouched", ""};

    assert_int_equal(read_file(&pair), EPDX_ERR_INVALID);
    assert_string_equal(pair.public_key, "untouched");
    assert_non_null(strstr(epdx_last_error(), "EPDX_CURVE_KEY_FILE"));
    if (strstr(epdx_last_error(), words) == NULL) {
        fail_msg("\"%s\" has no \"%s\"", epdx_last_error(), words);
    }
}

static void test_err_invalid_no_file(void **state)
{
    (void)state;
    expect_refused("No such file");
}

static void test_err_invalid_mode(void **state)
{
    epi_curve_pair_t pair = secrets_pair(&secrets, "key");
    char text[256];

    (void)state;
    assert_true(epi_curve_format(&pair, text, sizeof(text)));
    secrets_write(&secrets, "key", 0644, text);
    expect_refused("has mode 644");
    assert_non_null(strstr(epdx_last_error(), "chmod 600"));
}

static void test_err_invalid_garbage(void **state)
{
    epi_curve_pair_t a = secrets_pair(&secrets, "key");
    epi_curve_pair_t b = secrets_pair(&secrets, "key");
    const char *p = a.public_key;
    const char *s = a.secret_key;
    const struct {
        const char *format, *first, *second, *words;
    } cases[] = {
        {"%s%s", "", "", "lacks"},
        {"public-key = \"%s\"\n%s", p, "", "lacks"},
        {"%s%s\n", "garbage", "", "line 1 is neither"},
        {"public-key = \"%s\"\npublic-key = \"%s\"\n", p, p, "line 2"},
        {"public-key = \"%s\"\nsecret-key = \"%s\" x\n", p, s, "line 2"},
        {"public-key = \"%s\"\nsecret-key = \"%.39s\"\n", p, s, "line 2"},
        {"public-key = \"%s\"\nsecret-key = \"%s1\"\n", p, s, "line 2"},
        {"public-key = \"%s\"\nsecret-key = %s\n", p, s, "line 2"},
        {"public-key = \"%s\"\nsecret-key : \"%s\"\n", p, s, "line 2"},
        {"public-key = \"%s\"\nsecret-key = \"%.39s~\"\n", p, s, "line 2"},
        {"public-key = \"%s\"\nsecret-key = \"%s\"\n", b.public_key, s,
         "is not that of"},
    };
    char text[256];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *end = text;
        const char *at = cases[i].format;

        /* The formats are this table's own: "%s", "%.39s" and text. */
        for (int part = 0; *at != '\0';) {
            const char *key = part == 0 ? cases[i].first : cases[i].second;

            if (*at != '%') {
                *end++ = *at++;
                continue;
            }
            end += snprintf(end, 128, "%.*s", at[1] == '.' ? 39 : 128, key);
            at = strchr(at, 's') + 1;
            part++;
        }
        *end = '\0';
        secrets_write(&secrets, "key", 0600, text);
        expect_refused(cases[i].words);
        /* What the file holds may be a secret: it is not repeated. */
        assert_null(strstr(epdx_last_error(), s));
        assert_null(strstr(epdx_last_error(), "garbage"));
    }
}

static void test_err_invalid_no_text(void **state)
{
    static char large[8192];
    epi_curve_pair_t pair;
    FILE *file;

    (void)state;
    memset(large, '#', sizeof(large) - 1);
    secrets_write(&secrets, "key", 0600, large);
    expect_refused("is over 4096 bytes");
    secrets_write(&secrets, "key", 0600, "");
    file = fopen(secrets_at(&secrets, "key").text, "w");
    assert_non_null(file);
    assert_int_equal(fwrite("#\0\n", 3, 1, file), 1);
    assert_int_equal(fclose(file), 0);
    expect_refused("is no text");
    pair = secrets_pair(&secrets, "key");
    epi_curve_wipe(&pair);
}

static void test_what_is_a_key(void **state)
{
    epi_curve_pair_t pair;
    char key[64];

    (void)state;
    assert_int_equal(epi_curve_keypair(&pair), EPDX_OK);
    (void)snprintf(key, sizeof(key), "%s", pair.public_key);
    assert_true(epi_curve_key_ok(key));
    key[39] = '\0';
    assert_false(epi_curve_key_ok(key));
    (void)snprintf(key, sizeof(key), "%s1", pair.public_key);
    assert_false(epi_curve_key_ok(key));
    (void)snprintf(key, sizeof(key), "%.39s~", pair.public_key);
    assert_false(epi_curve_key_ok(key));
    assert_false(epi_curve_key_ok(""));
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, open_folder, close_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs_differ),
        cmocka_unit_test(test_what_is_a_key),
        TEST(test_a_file_holds_a_pair),
        TEST(test_err_invalid_no_file),
        TEST(test_err_invalid_mode),
        TEST(test_err_invalid_garbage),
        TEST(test_err_invalid_no_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
