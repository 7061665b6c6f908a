/* allowed_test.c: the list of keys that may connect, and its changes. Time is
 * an argument, so nothing here waits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "control/allowed.h"
#include "epdx/log.h"
#include "testing/secrets.h"

static secrets_t secrets;
static epi_curve_pair_t a, b;
static int warnings;
static char line[1024];

static void keep(void *context, epdx_log_level_t level, const char *text)
{
    (void)context;
    warnings += level == EPDX_LOG_WARN;
    (void)snprintf(line, sizeof(line), "%s", text);
}

static int open_all(void **state)
{
    (void)state;
    secrets_open(&secrets);
    warnings = 0;
    epdx_log_set_sink(keep, NULL);
    return epi_curve_keypair(&a) == EPDX_OK && epi_curve_keypair(&b) == EPDX_OK
               ? 0
               : -1;
}

static int close_all(void **state)
{
    (void)state;
    epdx_log_set_sink(NULL, NULL);
    secrets_close(&secrets);
    return 0;
}

static void put(const char *text)
{
    secrets_write(&secrets, "list", 0644, text);
}

static void put_keys(const char *first, const char *second)
{
    char text[256];

    (void)snprintf(text, sizeof(text), "%s\n%s\n", first, second);
    put(text);
}

static epdx_status_t open_list(epi_allowed_t *allowed)
{
    return epi_allowed_open(allowed, secrets_at(&secrets, "list").text, 0);
}

static bool holds(epi_allowed_t *allowed, const epi_curve_pair_t *pair,
                  uint64_t now)
{
    return epi_allowed_holds(allowed, pair->public_key, now);
}

static void test_no_list_allows_every_key(void **state)
{
    epi_allowed_t allowed;

    (void)state;
    assert_int_equal(epi_allowed_open(&allowed, "", 0), EPDX_OK);
    assert_true(holds(&allowed, &a, 0));
    assert_true(holds(&allowed, &b, EPI_NEVER));
    epi_allowed_close(&allowed);
}

static void test_a_list_allows_its_keys(void **state)
{
    epi_allowed_t allowed;
    epi_curve_pair_t other;
    char text[512];

    (void)state;
    (void)snprintf(text, sizeof(text),
                   "# node 1\r\n\n  %s \t# a\r\n#%s\n# b: %s\n%s", a.public_key,
                   b.public_key, b.public_key, a.public_key);
    put(text);
    assert_int_equal(open_list(&allowed), EPDX_OK);
    assert_int_equal(allowed.count, 2);
    assert_true(holds(&allowed, &a, 0));
    assert_false(holds(&allowed, &b, 0));
    assert_false(epi_allowed_holds(&allowed, "", 0));
    epi_allowed_close(&allowed);
    put("");
    assert_int_equal(open_list(&allowed), EPDX_OK);
    assert_false(holds(&allowed, &a, 0));
    epi_allowed_close(&allowed);
    put_keys(b.public_key, a.public_key);
    assert_int_equal(open_list(&allowed), EPDX_OK);
    assert_true(holds(&allowed, &a, 0));
    assert_true(holds(&allowed, &b, 0));
    assert_int_equal(epi_curve_keypair(&other), EPDX_OK);
    assert_false(holds(&allowed, &other, 0));
    epi_allowed_close(&allowed);
}

/* What docs/wire.md says of comments: a key cannot look like one. */
static void test_no_key_begins_with_the_comment_mark(void **state)
{
    char text[] = "#000000000000000000000000000000000000000";

    (void)state;
    assert_int_equal(strlen(text), EPI_CURVE_KEY);
    assert_false(epi_curve_key_ok(text));
    text[0] = '%';
    assert_true(epi_curve_key_ok(text));
}

static void test_a_change_counts_a_second_later(void **state)
{
    epi_allowed_t allowed;

    (void)state;
    put(a.public_key);
    assert_int_equal(open_list(&allowed), EPDX_OK);
    put_keys(b.public_key, "# a is gone");
    assert_true(holds(&allowed, &a, EPI_S - 1));
    assert_false(holds(&allowed, &b, EPI_S - 1));
    assert_false(holds(&allowed, &a, EPI_S));
    assert_true(holds(&allowed, &b, EPI_S));
    put_keys(b.public_key, a.public_key);
    assert_false(holds(&allowed, &a, 2 * EPI_S - 1));
    assert_true(holds(&allowed, &a, 2 * EPI_S));
    assert_int_equal(warnings, 0);
    epi_allowed_close(&allowed);
}

static void test_a_bad_change_leaves_what_was(void **state)
{
    epi_allowed_t allowed;

    (void)state;
    put(a.public_key);
    assert_int_equal(open_list(&allowed), EPDX_OK);
    put("garbage");
    assert_true(holds(&allowed, &a, EPI_S));
    assert_int_equal(warnings, 1);
    assert_non_null(strstr(line, "line 1"));
    assert_non_null(strstr(line, "1 keys read before stay"));
    assert_true(holds(&allowed, &a, 2 * EPI_S)); /* told once */
    assert_int_equal(warnings, 1);
    assert_int_equal(unlink(secrets_at(&secrets, "list").text), 0);
    assert_true(holds(&allowed, &a, 3 * EPI_S));
    assert_true(holds(&allowed, &a, 4 * EPI_S));
    assert_int_equal(warnings, 2);
    put(b.public_key);
    assert_true(holds(&allowed, &b, 5 * EPI_S));
    assert_false(holds(&allowed, &a, 5 * EPI_S));
    epi_allowed_close(&allowed);
}

static void expect_refused(const char *words)
{
    epi_allowed_t allowed = {.count = 99};

    assert_int_equal(open_list(&allowed), EPDX_ERR_INVALID);
    assert_int_equal(allowed.count, 99);
    assert_non_null(strstr(epdx_last_error(), "EPDX_CURVE_ALLOWED_FILE"));
    if (strstr(epdx_last_error(), words) == NULL) {
        fail_msg("\"%s\" has no \"%s\"", epdx_last_error(), words);
    }
}

static void test_err_invalid(void **state)
{
    epi_allowed_t allowed;
    char text[700];

    (void)state;
    expect_refused("No such file");
    put_keys(a.public_key, "abc");
    expect_refused("line 2 is neither");
    (void)snprintf(text, sizeof(text), "%s %s", a.public_key, b.public_key);
    put(text);
    expect_refused("line 1 is neither");
    secrets_write(&secrets, "list", 0666, a.public_key);
    expect_refused("others can change it");
    memset(text, '/', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    assert_int_equal(epi_allowed_open(&allowed, text, 0), EPDX_ERR_INVALID);
    assert_non_null(strstr(epdx_last_error(), "is over 511 characters"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_all, close_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_no_list_allows_every_key),
        TEST(test_a_list_allows_its_keys),
        TEST(test_no_key_begins_with_the_comment_mark),
        TEST(test_a_change_counts_a_second_later),
        TEST(test_a_bad_change_leaves_what_was),
        TEST(test_err_invalid),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
