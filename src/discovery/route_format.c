/* route_format.c: bodies as they are sent, byte for byte. Hosts and instance
 * ids are checked first, so nothing has to be escaped but the words of an
 * error. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "discovery/route.h"
#include "discovery/route_fields.h"

/* Of an instance and a key, with their names. */
#define LAST_FIELDS_MAX (EPI_ROUTE_INSTANCE_MAX + EPI_ROUTE_KEY + 64)

/* One body into out, which is written only where the body fits. */
static epdx_status_t write_body(char *out, size_t size, const char *format, ...)
    EPDX_PRINTF(3, 4);

static epdx_status_t write_body(char *out, size_t size, const char *format, ...)
{
    char body[EPI_ROUTE_BODY_MAX];
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(body, sizeof(body), format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= sizeof(body) ||
        (size_t)length >= size) {
        return epi_fail(EPDX_ERR_TOO_LARGE,
                        "a route body of %d bytes does not fit in %zu", length,
                        size);
    }
    memcpy(out, body, (size_t)length + 1);
    return EPDX_OK;
}

static epdx_status_t check_shape(uint32_t world_size, uint32_t dp_size)
{
    if (world_size == 0 || dp_size == 0 || world_size % dp_size != 0) {
        return epi_fail(EPDX_ERR_INVALID,
                        "a world of %" PRIu32 " ranks in %" PRIu32
                        " DP groups is none: both are at least 1, and the "
                        "ranks a multiple of the groups",
                        world_size, dp_size);
    }
    return EPDX_OK;
}

static epdx_status_t check_rank(const epi_address_t *address,
                                const char *instance, const char *curve_key)
{
    if (!epi_route_host_ok(address->host) || address->port == 0) {
        return epi_fail(EPDX_ERR_INVALID,
                        "address '%.255s' port %u cannot be published: peers "
                        "need a host that names one node, and a port",
                        address->host, address->port);
    }
    if (!epi_route_instance_ok(instance)) {
        return epi_fail(EPDX_ERR_INVALID,
                        "an instance id is at most %d letters, digits, '.', "
                        "'-' or '_'",
                        EPI_ROUTE_INSTANCE_MAX);
    }
    if (!epi_route_key_ok(curve_key)) {
        return epi_fail(EPDX_ERR_INVALID, "a CURVE key is %d characters of Z85",
                        EPI_ROUTE_KEY);
    }
    return EPDX_OK;
}

/* The fields that end a rank's body, each left out where it is empty. */
static void last_fields(const char *instance, const char *curve_key,
                        char out[LAST_FIELDS_MAX])
{
    int used = 0;

    out[0] = '\0';
    if (instance[0] != '\0') {
        used =
            snprintf(out, LAST_FIELDS_MAX, ",\"instance_id\":\"%s\"", instance);
    }
    if (curve_key[0] != '\0') {
        (void)snprintf(out + used, LAST_FIELDS_MAX - (size_t)used,
                       ",\"curve_public_key\":\"%s\"", curve_key);
    }
}

epdx_status_t epi_route_registration_format(const epi_route_registration_t *in,
                                            char *out, size_t size)
{
    char last[LAST_FIELDS_MAX];
    epdx_status_t status = check_shape(in->world_size, in->dp_size);

    if (status != EPDX_OK) {
        return status;
    }
    if (in->engine_rank >= in->world_size) {
        return epi_fail(EPDX_ERR_INVALID,
                        "engine rank %" PRIu32 " is not one of %" PRIu32,
                        in->engine_rank, in->world_size);
    }
    status = check_rank(&in->address, in->instance, in->curve_key);
    if (status != EPDX_OK) {
        return status;
    }
    last_fields(in->instance, in->curve_key, last);
    return write_body(out, size,
                      "{\"role\":\"Prefill\",\"world_size\":%" PRIu32
                      ",\"dp_size\":%" PRIu32 ",\"rank_ip\":\"%s\","
                      "\"rank_port\":%u,\"engine_rank\":%" PRIu32 "%s}",
                      in->world_size, in->dp_size, in->address.host,
                      in->address.port, in->engine_rank, last);
}

epdx_status_t epi_route_world_format(const epi_route_world_t *in, char *out,
                                     size_t size)
{
    epdx_status_t status = check_shape(in->world_size, in->dp_size);

    if (status != EPDX_OK) {
        return status;
    }
    return write_body(out, size,
                      "{\"prefill_tp_size\":%" PRIu32
                      ",\"prefill_dp_size\":%" PRIu32 "}",
                      in->world_size, in->dp_size);
}

epdx_status_t epi_route_rank_format(const epi_route_rank_t *in, char *out,
                                    size_t size)
{
    char last[LAST_FIELDS_MAX];
    epdx_status_t status =
        check_rank(&in->address, in->instance, in->curve_key);

    if (status != EPDX_OK) {
        return status;
    }
    last_fields(in->instance, in->curve_key, last);
    return write_body(out, size, "{\"rank_ip\":\"%s\",\"rank_port\":%u%s}",
                      in->address.host, in->address.port, last);
}

void epi_route_error_format(const char *words, char *out, size_t size)
{
    /* The longest escape and the end of the body. */
    const size_t reserve = sizeof("\\\"") + sizeof("\"}");
    size_t used = 0;

    if (!epi_text_copy(out, size, "{\"error\":\"")) {
        return;
    }
    used = strlen(out);
    for (; *words != '\0' && used + reserve <= size; words++) {
        unsigned char c = (unsigned char)*words;

        if (c == '"' || c == '\\') {
            out[used++] = '\\';
        }
        /* Words may quote what a stranger sent: keep the answer plain. */
        out[used++] = (char)(c < 0x20 || c > 0x7e ? '?' : c);
    }
    (void)epi_text_copy(out + used, size - used, "\"}");
}
