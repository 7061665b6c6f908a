/*
 * ucx_config.c: how UCX is configured, where its log goes, and what its status
 * codes are in ours. For the files of the plane over UCX only.
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ucs/debug/log_def.h>

#include "base/error.h"
#include "base/log.h"
#include "dataplane/ucx_internal.h"

#define SEGMENT "512k" /* of TCP, docs/wire.md */

typedef struct setting {
    const char *key;
    const char *value;
    const char *unset;   /* applied only where the user did not set this */
    const char *ignored; /* applied even where the user set this */
    bool loopback;       /* only for a host of the loopback interface */
    bool ipv6;           /* only for an IPv6 host */
} setting_t;

/*
 * Set in the configuration of our own context, as an environment variable
 * would reach MPI's UCX too. A key that UCX does not know is not an error but
 * a warning as the worker is created.
 */
static const setting_t settings[] = {
    /* UCX's shared memory takes no part, which it does only with this.
     * In 1.13.1 what was sent to a peer that died with more than 64 messages
     * unread never completes there, nothing reaches a peer of another user, and
     * one of another PID namespace is taken for dead. Rows of this host have a
     * way of their own (ucx_mapped.c). */
    {.key = "MM_ERROR_HANDLING",
     .value = "n",
     .ignored = "UCX_MM_ERROR_HANDLING"},
    /* How often an endpoint looks whether its peer lives: with the default of
     * 20 s, sends to a killed peer succeeded for 18 s; with 1 s, for 1. */
    {.key = "KEEPALIVE_INTERVAL",
     .value = "1s",
     .unset = "UCX_KEEPALIVE_INTERVAL"},
    /* TCP listens on every interface, however the listener is bound: a plane
     * on 127.0.0.1 was seen to accept connections by the network's address. */
    {.key = "NET_DEVICES",
     .value = "lo",
     .unset = "UCX_NET_DEVICES",
     .loopback = true},
    /* TCP uses the first family that an interface has, IPv4, and then cannot
     * reach, but overruns a heap block for, a peer that came by IPv6. The key
     * is known without its prefix only. */
    {.key = "AF_PRIO",
     .value = "inet6",
     .unset = "UCX_TCP_AF_PRIO",
     .ipv6 = true},
    /* Payload over TCP goes as messages that are copied out of it, not as puts,
     * nor out of its own place. By either a sender whose receiver died can be
     * ended by an assertion of UCX 1.13.1 (tcp_ep.c): uct_tcp_ep_send() or
     * _sendv() fails, uct_tcp_ep_handle_disconnected() takes back what is under
     * way, and uct_tcp_ep_handle_put_ack(), for an answer that was read later,
     * or _sendv() itself, then completes it once more. PUT_ENABLE and the sizes
     * are known without their prefix only. */
    {.key = "PUT_ENABLE", .value = "n", .ignored = "UCX_TCP_PUT_ENABLE"},
    {.key = "ZCOPY_THRESH", .value = "inf", .ignored = "UCX_ZCOPY_THRESH"},
    /* Such a message has a segment of payload, of 8 KiB by default. One that is
     * longer than its reader's segment ends the reader, so that one is part of
     * what both ends must agree on. */
    {.key = "TX_SEG_SIZE", .value = SEGMENT, .unset = "UCX_TCP_TX_SEG_SIZE"},
    {.key = "RX_SEG_SIZE", .value = SEGMENT, .ignored = "UCX_TCP_RX_SEG_SIZE"},
#if UCP_API_VERSION < UCP_VERSION(1, 15)
    /* Until then an experiment that ends processes (1.13.1, proto_reconfig.c).
     */
    {.key = "PROTO_ENABLE", .value = "n", .ignored = "UCX_PROTO_ENABLE"},
#endif
};

#define SETTING_COUNT (sizeof(settings) / sizeof(settings[0]))

static bool is_set(const char *name)
{
    return name != NULL && getenv(name) != NULL;
}

static epdx_status_t apply_settings(ucp_config_t *config, epi_ucx_host_t host)
{
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        const setting_t *setting = &settings[i];
        ucs_status_t status;

        if ((setting->loopback && !host.loopback) ||
            (setting->ipv6 && !host.ipv6) || is_set(setting->unset)) {
            continue;
        }
        if (is_set(setting->ignored)) {
            epi_log_warn("ucx: %s is not heeded: it is %s, at both ends",
                         setting->ignored, setting->value);
        }
        status = ucp_config_modify(config, setting->key, setting->value);
        if (status != UCS_OK) {
            return epi_fail(EPDX_ERR_IO, "ucx: cannot set %s to %s: %s",
                            setting->key, setting->value,
                            ucs_status_string(status));
        }
    }
    return EPDX_OK;
}

static epdx_log_level_t level_of(ucs_log_level_t level, const char *format)
{
    static const char unknown_key[] = "invalid configuration";

    if (strncmp(format, unknown_key, sizeof(unknown_key) - 1) == 0) {
        /* A key of ours whose transport the user left out: no harm. */
        return EPDX_LOG_INFO;
    }
    if (level <= UCS_LOG_LEVEL_ERROR) {
        return EPDX_LOG_ERROR;
    }
    if (level == UCS_LOG_LEVEL_WARN) {
        return EPDX_LOG_WARN;
    }
    return level <= UCS_LOG_LEVEL_INFO ? EPDX_LOG_INFO : EPDX_LOG_DEBUG;
}

EPDX_PRINTF(6, 0)
static ucs_log_func_rc_t log_line(const char *file, unsigned line,
                                  const char *function, ucs_log_level_t level,
                                  const ucs_log_component_config_t *component,
                                  const char *format, va_list args)
{
    epdx_log_level_t ours = level_of(level, format);
    char text[512];

    (void)file;
    (void)line;
    (void)function;
    (void)component;
    if (epi_log_on(ours)) {
        (void)vsnprintf(text, sizeof(text), format, args);
        epi_log(ours, "ucx: %s", text);
    }
    return UCS_LOG_FUNC_RC_STOP;
}

/** UCX writes its log to standard output, where tools put their results. The
 *  handler is one for the process, so lines of another user of UCX in it come
 *  to our log too; it stays, as nobody could tell whose is on top. */
static void take_log(void)
{
    if (getenv("UCX_LOG_FILE") == NULL) {
        ucs_log_push_handler(log_line);
    }
}

epdx_status_t epi_ucx_context(epi_ucx_host_t host, ucp_context_h *context_p)
{
    static pthread_once_t log_once = PTHREAD_ONCE_INIT;
    ucp_params_t params = {
        .field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_NAME,
        .features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP,
        .name = "epdx",
    };
    ucp_config_t *config;
    epdx_status_t result;
    ucs_status_t status;

    (void)pthread_once(&log_once, take_log);
    status = ucp_config_read(NULL, NULL, &config);
    if (status != UCS_OK) {
        return epi_fail(EPDX_ERR_IO, "ucx: cannot read its settings: %s",
                        ucs_status_string(status));
    }
    result = apply_settings(config, host);
    if (result == EPDX_OK) {
        status = ucp_init(&params, config, context_p);
        if (status != UCS_OK) {
            result = epi_fail(epi_ucx_status(status),
                              "ucx: cannot make a context: %s",
                              ucs_status_string(status));
        }
    }
    ucp_config_release(config);
    return result;
}

epdx_status_t epi_ucx_status(ucs_status_t status)
{
    switch (status) {
    case UCS_OK:
        return EPDX_OK;
    case UCS_INPROGRESS:
        return EPDX_IN_PROGRESS;
    case UCS_ERR_NO_MEMORY:
        return EPDX_ERR_NO_MEMORY;
    case UCS_ERR_INVALID_ADDR:
    case UCS_ERR_UNREACHABLE:
    case UCS_ERR_CONNECTION_RESET:
    case UCS_ERR_NOT_CONNECTED:
    case UCS_ERR_ENDPOINT_TIMEOUT:
    case UCS_ERR_TIMED_OUT:
    case UCS_ERR_REJECTED:
    case UCS_ERR_CANCELED:
        return EPDX_ERR_UNREACHABLE;
    default:
        return EPDX_ERR_IO;
    }
}
