/* options_test.c: defaults, the environment, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/options.h"

#define MIB (UINT64_C(1) << 20)

/* Every setting unset, before each test. */
static int clear(void **state)
{
    (void)state;
    for (size_t i = 0; i < epi_option_count(); i++) {
        (void)unsetenv(epi_option_info(i)->name);
    }
    return 0;
}

static void set(const char *name, const char *value)
{
    assert_int_equal(setenv(name, value, 1), 0);
}

static void defaults_are_those_of_the_page(void **state)
{
    epi_options_t options;

    (void)state;
    assert_int_equal(epi_options_load(&options), EPDX_OK);
    assert_int_equal(options.embedding_shard, 1);
    assert_int_equal(options.recv_pool_bytes, 4096 * MIB);
    assert_int_equal(options.waiting_timeout_ns, 300 * EPI_S);
    assert_int_equal(options.bootstrap_timeout_ns, 120 * EPI_S);
    assert_int_equal(options.lookup_timeout_ns, 5 * EPI_S);
    assert_int_equal(options.encode_ring_bytes, 1024 * MIB);
    assert_int_equal(options.ask_interval_ns, EPI_S);
    assert_int_equal(options.heartbeat_ns, 5 * EPI_S);
    assert_int_equal(options.spin_ns, 0);
    assert_int_equal(options.ended_memory_ns, 300 * EPI_S);
    assert_int_equal(options.max_requests, 4096);
    assert_int_equal(options.max_items, 16384);
    assert_int_equal(options.max_rooms, 16384);
    assert_int_equal(options.max_peers, 1024);
    assert_int_equal(options.memory, EPDX_MEMORY_HOST);
    assert_int_equal(options.cuda_staging_bytes, 256 * MIB);
    assert_int_equal(options.log_level, EPDX_LOG_WARN);
    assert_string_equal(options.log_file, "");
    assert_int_equal(options.log_form, EPI_LOG_TEXT);
    assert_int_equal(options.log_burst, 100);
    assert_string_equal(options.metrics, "");
    assert_string_equal(options.metrics_file, "");
    assert_int_equal(options.metrics_interval_ns, 10 * EPI_S);
    assert_string_equal(options.trace_file, "");
    assert_int_equal(options.trace_bytes, 256 * MIB);
    assert_int_equal(options.trace_events, 65536);
    assert_string_equal(options.host, "127.0.0.1");
    assert_string_equal(options.bootstrap_token, "");
    assert_string_equal(options.files.curve_key, "");
    assert_string_equal(options.files.curve_allowed, "");
    assert_string_equal(options.files.ca, "");
    assert_string_equal(options.tls_cert_file, "");
    assert_string_equal(options.tls_key_file, "");
}

static void the_environment_wins_over_defaults(void **state)
{
    epi_options_t options;

    (void)state;
    set("EPDX_EMBEDDING_SHARD", "0");
    set("EPDX_RECV_POOL_MB", "64");
    set("EPDX_ASK_INTERVAL_S", "0.25");
    set("EPDX_HEARTBEAT_S", "0");
    set("EPDX_SPIN_US", "50");
    set("EPDX_MAX_REQUESTS", "65536");
    set("EPDX_MEMORY", "cuda");
    set("EPDX_CUDA_STAGING_MB", "7");
    set("EPDX_LOG_LEVEL", "debug");
    set("EPDX_LOG_FORMAT", "json");
    set("EPDX_LOG_BURST", "0");
    set("EPDX_METRICS", "9400");
    set("EPDX_METRICS_FILE", "/m/%r.prom");
    set("EPDX_METRICS_INTERVAL_S", "0.5");
    set("EPDX_TRACE_FILE", "trace.%r.json");
    set("EPDX_TRACE_MB", "3");
    set("EPDX_TRACE_EVENTS", "64");
    set("EPDX_HOST", "::1");
    set("EPDX_BOOTSTRAP_TOKEN", "a secret");
    set("EPDX_CURVE_KEY_FILE", "/k/own");
    set("EPDX_CURVE_ALLOWED_FILE", "/k/allowed");
    set("EPDX_CA_FILE", "/t/ca.pem");
    set("EPDX_TLS_CERT_FILE", "/t/cert.pem");
    set("EPDX_TLS_KEY_FILE", "/t/key.pem");
    assert_int_equal(epi_options_load(&options), EPDX_OK);
    assert_string_equal(options.files.curve_key, "/k/own");
    assert_string_equal(options.files.curve_allowed, "/k/allowed");
    assert_string_equal(options.files.ca, "/t/ca.pem");
    assert_string_equal(options.tls_cert_file, "/t/cert.pem");
    assert_string_equal(options.tls_key_file, "/t/key.pem");
    assert_int_equal(options.embedding_shard, 0);
    assert_int_equal(options.recv_pool_bytes, 64 * MIB);
    assert_int_equal(options.ask_interval_ns, EPI_S / 4);
    assert_int_equal(options.heartbeat_ns, 0);
    assert_int_equal(options.spin_ns, 50 * EPI_US);
    assert_int_equal(options.max_requests, 65536);
    assert_int_equal(options.memory, EPDX_MEMORY_CUDA);
    assert_int_equal(options.cuda_staging_bytes, 7 * MIB);
    assert_int_equal(options.log_level, EPDX_LOG_DEBUG);
    assert_int_equal(options.log_form, EPI_LOG_JSON);
    assert_int_equal(options.log_burst, 0);
    assert_string_equal(options.metrics, "9400");
    assert_string_equal(options.metrics_file, "/m/%r.prom");
    assert_int_equal(options.metrics_interval_ns, EPI_S / 2);
    assert_string_equal(options.trace_file, "trace.%r.json");
    assert_int_equal(options.trace_bytes, 3 * MIB);
    assert_int_equal(options.trace_events, 64);
    assert_string_equal(options.host, "::1");
    assert_string_equal(options.bootstrap_token, "a secret");
}

static void an_empty_variable_is_unset(void **state)
{
    epi_options_t options;

    (void)state;
    set("EPDX_RECV_POOL_MB", "");
    set("EPDX_HOST", "");
    assert_int_equal(epi_options_load(&options), EPDX_OK);
    assert_int_equal(options.recv_pool_bytes, 4096 * MIB);
    assert_string_equal(options.host, "127.0.0.1");
}

static void err_invalid_names_variable_value_and_range(void **state)
{
    static const struct {
        const char *name;
        const char *value;
        const char *allowed;
    } cases[] = {
        {"EPDX_EMBEDDING_SHARD", "2", "from 0 to 1"},
        {"EPDX_EMBEDDING_SHARD", "yes", "from 0 to 1"},
        {"EPDX_RECV_POOL_MB", "0", "from 1 to 16777216 MiB"},
        {"EPDX_RECV_POOL_MB", "16777217", "from 1 to 16777216 MiB"},
        {"EPDX_RECV_POOL_MB", "1.5", "from 1 to 16777216 MiB"},
        {"EPDX_ENCODE_RING_MB", "-1", "from 1 to 16777216 MiB"},
        {"EPDX_WAITING_TIMEOUT_S", "0", "above 0 to 1000000 s"},
        {"EPDX_ASK_INTERVAL_S", "0.0", "above 0 to 1000000 s"},
        {"EPDX_HEARTBEAT_S", "1000000.5", "from 0 to 1000000 s"},
        {"EPDX_SPIN_US", "1000001", "from 0 to 1000000 us"},
        {"EPDX_MAX_REQUESTS", "0", "from 1 to 65536"},
        {"EPDX_MAX_REQUESTS", "65537", "from 1 to 65536"},
        {"EPDX_MAX_ITEMS", "262145", "from 1 to 262144"},
        {"EPDX_MAX_ROOMS", "1048577", "from 1 to 1048576"},
        {"EPDX_MAX_PEERS", "65537", "from 1 to 65536"},
        {"EPDX_LOG_LEVEL", "loud", "error, warn, info or debug"},
        {"EPDX_LOG_FORMAT", "xml", "text, timed or json"},
        {"EPDX_LOG_BURST", "-1", "from 0 to 1000000"},
        {"EPDX_METRICS_INTERVAL_S", "0", "above 0 to"},
        {"EPDX_TRACE_MB", "0", "from 1 to"},
        {"EPDX_TRACE_EVENTS", "63", "from 64 to 16777216"},
        {"EPDX_MEMORY", "gpu", "host or cuda"},
        {"EPDX_MEMORY", "1", "host or cuda"},
        {"EPDX_CUDA_STAGING_MB", "0", "from 1 to"},
    };
    epi_options_t options;

    memset(&options, 0xab, sizeof(options));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        (void)clear(state);
        set(cases[i].name, cases[i].value);
        assert_int_equal(epi_options_load(&options), EPDX_ERR_INVALID);
        assert_non_null(strstr(epdx_last_error(), cases[i].name));
        assert_non_null(strstr(epdx_last_error(), cases[i].value));
        assert_non_null(strstr(epdx_last_error(), cases[i].allowed));
    }
    for (size_t i = 0; i < sizeof(options); i++) {
        assert_int_equal(((unsigned char *)&options)[i], 0xab);
    }
}

static void err_invalid_long_text_without_its_value(void **state)
{
    epi_options_t options;
    char secret[300];

    (void)state;
    memset(secret, 's', sizeof(secret) - 1);
    secret[sizeof(secret) - 1] = '\0';
    set("EPDX_BOOTSTRAP_TOKEN", secret);
    assert_int_equal(epi_options_load(&options), EPDX_ERR_INVALID);
    assert_non_null(strstr(epdx_last_error(), "EPDX_BOOTSTRAP_TOKEN"));
    assert_non_null(strstr(epdx_last_error(), "255"));
    assert_null(strstr(epdx_last_error(), "sss"));
}

static void the_table_is_whole(void **state)
{
    (void)state;
    assert_int_equal(epi_option_count(), 33);
    assert_null(epi_option_info(epi_option_count()));
    for (size_t i = 0; i < epi_option_count(); i++) {
        const epi_option_info_t *info = epi_option_info(i);

        assert_int_equal(strncmp(info->name, "EPDX_", 5), 0);
        assert_true(strlen(info->help) > 0);
        assert_true(info->offset + info->bytes <= sizeof(epi_options_t));
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(info->name, epi_option_info(j)->name);
            assert_int_not_equal(info->offset, epi_option_info(j)->offset);
        }
    }
}

static void defaults_are_shown_as_written(void **state)
{
    epi_options_t options;
    char out[300];

    (void)state;
    assert_int_equal(epi_options_load(&options), EPDX_OK);
    for (size_t i = 0; i < epi_option_count(); i++) {
        epi_option_format(&options, i, out, sizeof(out));
        assert_string_equal(out, epi_option_info(i)->preset);
    }
}

static void shown(const epi_options_t *options, const char *name,
                  const char *want)
{
    char out[300] = "";

    for (size_t i = 0; i < epi_option_count(); i++) {
        if (strcmp(epi_option_info(i)->name, name) == 0) {
            epi_option_format(options, i, out, sizeof(out));
        }
    }
    assert_string_equal(out, want);
}

static void values_are_shown_as_written(void **state)
{
    epi_options_t options;

    (void)state;
    set("EPDX_RECV_POOL_MB", "64");
    set("EPDX_ASK_INTERVAL_S", "2.25e-1");
    set("EPDX_HEARTBEAT_S", "10.000000001");
    set("EPDX_SPIN_US", "50");
    set("EPDX_LOG_LEVEL", "info");
    set("EPDX_MEMORY", "cuda");
    set("EPDX_LOG_FILE", "/tmp/%p");
    set("EPDX_BOOTSTRAP_TOKEN", "a secret");
    assert_int_equal(epi_options_load(&options), EPDX_OK);
    shown(&options, "EPDX_RECV_POOL_MB", "64");
    shown(&options, "EPDX_ASK_INTERVAL_S", "0.225");
    shown(&options, "EPDX_HEARTBEAT_S", "10.000000001");
    shown(&options, "EPDX_SPIN_US", "50");
    shown(&options, "EPDX_LOG_LEVEL", "info");
    shown(&options, "EPDX_MEMORY", "cuda");
    shown(&options, "EPDX_LOG_FILE", "/tmp/%p");
    shown(&options, "EPDX_BOOTSTRAP_TOKEN", "***");
}

/* Runs first: a process configures its log once. */
static void load_configures_the_log(void **state)
{
    epi_options_t options;

    (void)state;
    assert_false(epi_log_on(EPDX_LOG_INFO));
    set("EPDX_LOG_LEVEL", "info");
    assert_int_equal(epi_options_load(&options), EPDX_OK);
    assert_true(epi_log_on(EPDX_LOG_INFO));
    assert_false(epi_log_on(EPDX_LOG_DEBUG));
}

#define TEST(name) cmocka_unit_test_setup(name, clear)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(load_configures_the_log),
        TEST(defaults_are_those_of_the_page),
        TEST(the_environment_wins_over_defaults),
        TEST(an_empty_variable_is_unset),
        TEST(err_invalid_names_variable_value_and_range),
        TEST(err_invalid_long_text_without_its_value),
        TEST(the_table_is_whole),
        TEST(defaults_are_shown_as_written),
        TEST(values_are_shown_as_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
