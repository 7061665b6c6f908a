/* route_fields.h: what a host and an instance id may look like in a route,
 * for both ends. Pure. Only the route_*.c files and their tests. */
#ifndef EPI_DISCOVERY_ROUTE_FIELDS_H
#define EPI_DISCOVERY_ROUTE_FIELDS_H

#include <stdbool.h>

/** A name or a numeric address without brackets: letters, digits, '.', '-',
 *  '_', and ':' in an IPv6 address; no wildcard in any spelling. */
bool epi_route_host_ok(const char *host);

/** At most EPI_ROUTE_INSTANCE_MAX letters, digits, '.', '-', '_': what a query
 *  carries unescaped. "" is allowed. */
bool epi_route_instance_ok(const char *instance);

/** EPI_ROUTE_KEY characters of Z85, none of which JSON escapes; or "". */
bool epi_route_key_ok(const char *key);

#endif
