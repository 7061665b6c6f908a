/* route_url.c: the addresses that a client asks. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "discovery/route.h"
#include "discovery/route_fields.h"

/* "http://HOST:PORT", brackets put back where they belong. */
static epdx_status_t base_url(const char *bootstrap, char *out, size_t size)
{
    char host_port[EPDX_ADDRESS_MAX + 16];
    const char *scheme = "http://";
    const char *rest = bootstrap;
    epi_address_t address;
    int length;

    if (strncmp(bootstrap, "http://", 7) == 0) {
        rest += 7;
    } else if (strncmp(bootstrap, "https://", 8) == 0) {
        scheme = "https://";
        rest += 8;
    }
    if (!epi_address_parse(rest, &address) || address.port == 0 ||
        !epi_route_host_ok(address.host) ||
        !epi_address_format(address.host, address.port, host_port,
                            sizeof(host_port))) {
        return epi_fail(EPDX_ERR_INVALID,
                        "bootstrap address '%.300s' is not \"host:port\" or "
                        "\"[v6]:port\" with a host that can be reached",
                        bootstrap);
    }
    length = snprintf(out, size, "%s%s", scheme, host_port);
    if (length < 0 || (size_t)length >= size) {
        return epi_fail(EPDX_ERR_TOO_LARGE, "a url does not fit in %zu bytes",
                        size);
    }
    return EPDX_OK;
}

/* base_url() and a path; out is written on success only. */
static epdx_status_t join(const char *bootstrap, const char *path, char *out,
                          size_t size)
{
    char base[EPDX_ADDRESS_MAX + 32];
    epdx_status_t status = base_url(bootstrap, base, sizeof(base));

    if (status != EPDX_OK) {
        return status;
    }
    if (strlen(base) + strlen(path) >= size) {
        return epi_fail(EPDX_ERR_TOO_LARGE, "a url does not fit in %zu bytes",
                        size);
    }
    (void)snprintf(out, size, "%s%s", base, path);
    return EPDX_OK;
}

epdx_status_t epi_route_query_url(const char *bootstrap, int64_t rank,
                                  int64_t group, char *out, size_t size)
{
    char path[128];

    if (rank < -1 || group < -1 || (rank == -1) != (group == -1)) {
        return epi_fail(EPDX_ERR_INVALID,
                        "rank %" PRId64 " of group %" PRId64
                        " cannot be asked for: both are >= 0, or both -1",
                        rank, group);
    }
    (void)snprintf(path, sizeof(path),
                   "/route?engine_rank=%" PRId64 "&target_dp_group=%" PRId64,
                   rank, group);
    return join(bootstrap, path, out, size);
}

epdx_status_t epi_route_put_url(const char *bootstrap, char *out, size_t size)
{
    return join(bootstrap, "/route", out, size);
}

epdx_status_t epi_route_delete_url(const char *bootstrap, uint32_t rank,
                                   const char *instance, char *out, size_t size)
{
    char path[128];

    if (!epi_route_instance_ok(instance)) {
        return epi_fail(EPDX_ERR_INVALID,
                        "an instance id is at most %d letters, digits, '.', "
                        "'-' or '_'",
                        EPI_ROUTE_INSTANCE_MAX);
    }
    (void)snprintf(path, sizeof(path), "/route?engine_rank=%" PRIu32 "%s%s",
                   rank, instance[0] == '\0' ? "" : "&instance_id=", instance);
    return join(bootstrap, path, out, size);
}
