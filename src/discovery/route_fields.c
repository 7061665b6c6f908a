/* route_fields.c: hosts and instance ids as routes carry them. They are put
 * into JSON and into queries as they are, so nothing here may need escaping. */
#include "discovery/route_fields.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "discovery/route.h"

static bool plain(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z') || c == '.' || c == '-' || c == '_';
}

static bool all_plain(const char *text)
{
    for (; *text != '\0'; text++) {
        if (!plain(*text)) {
            return false;
        }
    }
    return true;
}

bool epi_route_host_ok(const char *host)
{
    struct in6_addr v6;
    struct in_addr v4;

    if (strlen(host) > EPDX_ADDRESS_MAX || epi_address_wildcard(host)) {
        return false;
    }
    if (strchr(host, ':') != NULL) {
        return inet_pton(AF_INET6, host, &v6) == 1;
    }
    /* inet_aton takes what a resolver takes: "0" and "0x0" are wildcards. */
    return all_plain(host) &&
           !(inet_aton(host, &v4) != 0 && v4.s_addr == INADDR_ANY);
}

bool epi_route_instance_ok(const char *instance)
{
    return strlen(instance) <= EPI_ROUTE_INSTANCE_MAX && all_plain(instance);
}

bool epi_route_key_ok(const char *key)
{
    static const char marks[] = ".-:+=^!/*?&<>()[]{}@%$#";
    size_t length = strlen(key);

    for (size_t i = 0; i < length; i++) {
        char c = key[i];

        if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'z') &&
            !(c >= 'A' && c <= 'Z') && strchr(marks, c) == NULL) {
            return false;
        }
    }
    return length == EPI_ROUTE_KEY || length == 0;
}
