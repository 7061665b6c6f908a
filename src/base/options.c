/*
 * options.c: the one table of settings. A default is written as the user would
 * write it and read by the same code. An empty variable counts as unset.
 */
#include "base/options.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/text.h"

#define MIB         (UINT64_C(1) << 20)
#define MAX_MB      (UINT64_C(1) << 24)
#define MAX_SECONDS UINT64_C(1000000)

#define NUMBER(name, unit, preset, kind, field, min, max, help)                \
    {                                                                          \
        name, unit, preset, help, kind, offsetof(epi_options_t, field),        \
            sizeof(uint64_t), min, max, false, NULL                            \
    }
#define COUNT(name, preset, field, min, max, help)                             \
    NUMBER(name, "", preset, EPI_OPTION_COUNT, field, min, max, help)
#define MEGABYTES(name, preset, field, help)                                   \
    NUMBER(name, "MiB", preset, EPI_OPTION_MB, field, 1, MAX_MB, help)
#define SECONDS(name, preset, field, positive, help)                           \
    {                                                                          \
        name, "s", preset, help, EPI_OPTION_SECONDS,                           \
            offsetof(epi_options_t, field), sizeof(uint64_t), 0, MAX_SECONDS,  \
            positive, NULL                                                     \
    }
#define TEXT(name, preset, field, help)                                        \
    {                                                                          \
        name, "", preset, help, EPI_OPTION_TEXT,                               \
            offsetof(epi_options_t, field),                                    \
            sizeof(((epi_options_t *)0)->field), 0, 0, false, NULL             \
    }
#define NAME(name, preset, field, min, names, help)                            \
    {                                                                          \
        name, "", preset, help, EPI_OPTION_NAME,                               \
            offsetof(epi_options_t, field), sizeof(uint64_t), min,             \
            (min) + sizeof(names) / sizeof((names)[0]) - 1, false, names       \
    }

#define TOKEN "EPDX_BOOTSTRAP_TOKEN"

static const char *const level_names[] = {"error", "warn", "info", "debug"};
static const char *const form_names[] = {"text", "timed", "json"};
static const char *const memory_names[] = {"host", "cuda"};

static const epi_option_info_t options_table[] = {
    COUNT("EPDX_EMBEDDING_SHARD", "1", embedding_shard, 0, 1,
          "1: each rank pulls its shard and the group rebuilds full rows"),
    MEGABYTES("EPDX_RECV_POOL_MB", "4096", recv_pool_bytes,
              "receive pool of a prefill rank"),
    SECONDS("EPDX_WAITING_TIMEOUT_S", "300", waiting_timeout_ns, true,
            "from staging until a request must have landed"),
    SECONDS("EPDX_BOOTSTRAP_TIMEOUT_S", "120", bootstrap_timeout_ns, true,
            "until an encode rank must be discovered and registered"),
    SECONDS("EPDX_LOOKUP_TIMEOUT_S", "5", lookup_timeout_ns, true,
            "one HTTP exchange with a bootstrap server"),
    MEGABYTES("EPDX_ENCODE_RING_MB", "1024", encode_ring_bytes,
              "send ring of an encode rank"),
    SECONDS("EPDX_ASK_INTERVAL_S", "1", ask_interval_ns, true,
            "before an unanswered ask is sent again"),
    SECONDS("EPDX_HEARTBEAT_S", "5", heartbeat_ns, false,
            "silence after which a peer is given up; 0: off"),
    NUMBER("EPDX_SPIN_US", "us", "0", EPI_OPTION_MICROSECONDS, spin_ns, 0,
           1000000, "polling before the I/O thread sleeps"),
    SECONDS("EPDX_ENDED_ROOMS_S", "300", ended_memory_ns, false,
            "how long an encode rank remembers an ended room"),
    COUNT("EPDX_MAX_REQUESTS", "4096", max_requests, 1, 65536,
          "requests pending at once on a prefill rank"),
    COUNT("EPDX_MAX_ITEMS", "16384", max_items, 1, 262144,
          "items pending at once on a prefill rank"),
    COUNT("EPDX_MAX_ROOMS", "16384", max_rooms, 1, 1048576,
          "rooms an encode rank knows at once, ended ones included"),
    COUNT("EPDX_MAX_PEERS", "1024", max_peers, 1, 65536, "peers known at once"),
    NAME("EPDX_MEMORY", "host", memory, EPDX_MEMORY_HOST, memory_names,
         "host or cuda: where receive pool and send ring are"),
    MEGABYTES("EPDX_CUDA_STAGING_MB", "256", cuda_staging_bytes,
              "pinned host memory of a rank with CUDA memory, through which "
              "rows are copied where UCX does not reach the device; the "
              "largest share of an item must fit"),
    NAME("EPDX_LOG_LEVEL", "warn", log_level, EPDX_LOG_ERROR, level_names,
         "error, warn, info or debug"),
    TEXT("EPDX_LOG_FILE", "", log_file,
         "%h host, %p pid, %r rank; empty: standard error"),
    NAME("EPDX_LOG_FORMAT", "text", log_form, EPI_LOG_TEXT, form_names,
         "text, timed or json: the time before each line, or JSON lines"),
    COUNT("EPDX_LOG_BURST", "100", log_burst, 0, 1000000,
          "lines of one kind in 10 s; more are left out and counted; 0: no "
          "limit"),
    TEXT("EPDX_METRICS", "", metrics,
         "host:port or port to answer Prometheus at, to which the rank on its "
         "host is added; on: only collect; empty or 0: off"),
    TEXT("EPDX_METRICS_FILE", "", metrics_file,
         "metrics are written there, too; %h host, %p pid, %r rank"),
    SECONDS("EPDX_METRICS_INTERVAL_S", "10", metrics_interval_ns, true,
            "how often that file is written"),
    TEXT("EPDX_TRACE_FILE", "", trace_file,
         "a Chrome trace of every item; %h host, %p pid, %r rank; empty: none"),
    MEGABYTES("EPDX_TRACE_MB", "256", trace_bytes,
              "largest trace; what comes later is counted and left out"),
    COUNT("EPDX_TRACE_EVENTS", "65536", trace_events, 64, 16777216,
          "events of a thread that may wait to be written to the trace"),
    TEXT("EPDX_HOST", "127.0.0.1", host,
         "this node's address, as peers reach it"),
    TEXT(TOKEN, "", bootstrap_token,
         "bearer token for registering encode ranks; empty: none"),
    TEXT("EPDX_CURVE_KEY_FILE", "", files.curve_key,
         "this process's CURVE key pair, from epdx_keygen; empty: the control "
         "plane is neither encrypted nor closed to strangers"),
    TEXT("EPDX_CURVE_ALLOWED_FILE", "", files.curve_allowed,
         "public keys that may connect, one a line, read again when it "
         "changes; empty: any key may"),
    TEXT("EPDX_CA_FILE", "", files.ca,
         "certificates, in PEM, that https bootstrap servers are checked "
         "against; empty: the system's"),
    TEXT("EPDX_TLS_CERT_FILE", "", tls_cert_file,
         "the bootstrap server's certificate chain, in PEM; with it the server "
         "speaks https; empty: http"),
    TEXT("EPDX_TLS_KEY_FILE", "", tls_key_file,
         "the private key of that certificate, in PEM"),
};

#define OPTION_COUNT (sizeof(options_table) / sizeof(options_table[0]))

static bool parse_name(const epi_option_info_t *info, const char *text,
                       uint64_t *value_p)
{
    for (uint64_t value = info->min; value <= info->max; value++) {
        if (strcmp(text, info->names[value - info->min]) == 0) {
            *value_p = value;
            return true;
        }
    }
    return false;
}

/* How many kept units make a written one. */
static uint64_t unit_of(epi_option_kind_t kind)
{
    switch (kind) {
    case EPI_OPTION_MB:
        return MIB;
    case EPI_OPTION_SECONDS:
        return EPI_S;
    case EPI_OPTION_MICROSECONDS:
        return EPI_US;
    case EPI_OPTION_COUNT:
    case EPI_OPTION_NAME:
    case EPI_OPTION_TEXT:
        break;
    }
    return 1;
}

static bool parse_number(const epi_option_info_t *info, const char *text,
                         uint64_t *value_p)
{
    uint64_t unit = unit_of(info->kind);
    uint64_t value;

    if (info->kind == EPI_OPTION_SECONDS) {
        if (!epi_text_seconds(text, &value)) {
            return false;
        }
    } else {
        if (!epi_text_number(text, info->max, &value)) {
            return false;
        }
        value *= unit;
    }
    if (value < info->min * unit || value > info->max * unit ||
        (info->positive && value == 0)) {
        return false;
    }
    *value_p = value;
    return true;
}

static bool parse(epi_options_t *options, const epi_option_info_t *info,
                  const char *text)
{
    char *field = (char *)options + info->offset;

    switch (info->kind) {
    case EPI_OPTION_TEXT:
        return epi_text_copy(field, info->bytes, text);
    case EPI_OPTION_NAME:
        return parse_name(info, text, (uint64_t *)(void *)field);
    case EPI_OPTION_COUNT:
    case EPI_OPTION_MB:
    case EPI_OPTION_SECONDS:
    case EPI_OPTION_MICROSECONDS:
        break;
    }
    return parse_number(info, text, (uint64_t *)(void *)field);
}

static epdx_status_t refuse(const epi_option_info_t *info, const char *text)
{
    switch (info->kind) {
    case EPI_OPTION_TEXT:
        /* Without the value, which may be a secret. */
        return epi_fail(EPDX_ERR_INVALID,
                        "%s has %zu bytes; at most %zu are allowed", info->name,
                        strlen(text), info->bytes - 1);
    case EPI_OPTION_NAME:
        return epi_fail(EPDX_ERR_INVALID, "%s is '%.64s'; it takes %s",
                        info->name, text, info->help);
    case EPI_OPTION_COUNT:
    case EPI_OPTION_MB:
    case EPI_OPTION_SECONDS:
    case EPI_OPTION_MICROSECONDS:
        break;
    }
    return epi_fail(
        EPDX_ERR_INVALID,
        "%s is '%.64s'; it takes a number %s %" PRIu64 " to %" PRIu64 "%s%s",
        info->name, text, info->positive ? "above" : "from", info->min,
        info->max, info->unit[0] == '\0' ? "" : " ", info->unit);
}

epdx_status_t epi_options_load(epi_options_t *options_p)
{
    epi_options_t options;

    memset(&options, 0, sizeof(options));
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const epi_option_info_t *info = &options_table[i];
        const char *text = getenv(info->name);

        if (text == NULL || text[0] == '\0') {
            text = info->preset;
        }
        if (!parse(&options, info, text)) {
            return refuse(info, text);
        }
    }
    *options_p = options;
    epi_log_configure(
        &(epi_log_setup_t){.level = (epdx_log_level_t)options.log_level,
                           .file = options_p->log_file,
                           .form = (epi_log_form_t)options.log_form,
                           .burst = (uint32_t)options.log_burst});
    return EPDX_OK;
}

size_t epi_option_count(void)
{
    return OPTION_COUNT;
}

const epi_option_info_t *epi_option_info(size_t index)
{
    return index < OPTION_COUNT ? &options_table[index] : NULL;
}

/* With as many decimals as it needs. */
static void format_seconds(uint64_t nanoseconds, char *out, size_t size)
{
    char digits[24];
    size_t kept = 9;

    (void)snprintf(digits, sizeof(digits), "%09" PRIu64, nanoseconds % EPI_S);
    while (kept > 0 && digits[kept - 1] == '0') {
        kept--;
    }
    digits[kept] = '\0';
    (void)snprintf(out, size, "%" PRIu64 "%s%s", nanoseconds / EPI_S,
                   kept > 0 ? "." : "", digits);
}

void epi_option_format(const epi_options_t *options, size_t index, char *out,
                       size_t size)
{
    const epi_option_info_t *info = &options_table[index];
    const char *field = (const char *)options + info->offset;
    uint64_t value = 0;

    if (info->kind == EPI_OPTION_TEXT) {
        bool secret = strcmp(info->name, TOKEN) == 0 && field[0] != '\0';

        (void)epi_text_copy(out, size, secret ? "***" : field);
        return;
    }
    memcpy(&value, field, sizeof(value));
    if (info->kind == EPI_OPTION_NAME) {
        (void)epi_text_copy(out, size, info->names[value - info->min]);
    } else if (info->kind == EPI_OPTION_SECONDS) {
        format_seconds(value, out, size);
    } else {
        (void)snprintf(out, size, "%" PRIu64, value / unit_of(info->kind));
    }
}
