/* resolve.c: host names to numeric addresses, through the system's resolver. */
#include "base/resolve.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/text.h"

/* Without brackets; false when it is no host at all. */
static bool bare_host(const char *host, char *out, size_t size)
{
    size_t length = strlen(host);

    if (length >= 2 && host[0] == '[' && host[length - 1] == ']') {
        host++;
        length -= 2;
    }
    if (length == 0 || length >= size) {
        return false;
    }
    memcpy(out, host, length);
    out[length] = '\0';
    return true;
}

epdx_status_t epi_resolve(const char *host, char *out, size_t size)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC,
                             .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    char bare[EPDX_ADDRESS_MAX + 1];
    char numeric[NI_MAXHOST];
    int code;

    if (host == NULL || !bare_host(host, bare, sizeof(bare)) ||
        epi_address_wildcard(bare)) {
        return epi_fail(EPDX_ERR_INVALID,
                        "host '%s' names no single address; give the address "
                        "that peers can reach, as in EPDX_HOST",
                        host == NULL ? "" : host);
    }
    code = getaddrinfo(bare, NULL, &hints, &found);
    if (code != 0) {
        return epi_fail(EPDX_ERR_INVALID, "host '%s' does not resolve: %s",
                        bare, gai_strerror(code));
    }
    code = getnameinfo(found->ai_addr, found->ai_addrlen, numeric,
                       sizeof(numeric), NULL, 0, NI_NUMERICHOST);
    freeaddrinfo(found);
    if (code != 0 || epi_address_wildcard(numeric)) {
        return epi_fail(EPDX_ERR_INVALID,
                        "host '%s' has no usable numeric address", bare);
    }
    if (strlen(numeric) >= size) {
        return epi_fail(EPDX_ERR_TOO_LARGE,
                        "the address of host '%s' needs %zu bytes of %zu", bare,
                        strlen(numeric) + 1, size);
    }
    (void)epi_text_copy(out, size, numeric);
    return EPDX_OK;
}

static bool v4_loopback(uint32_t network_order)
{
    return ntohl(network_order) >> 24 == 127;
}

bool epi_host_loopback(const char *host)
{
    struct in6_addr v6;
    struct in_addr v4;

    if (inet_pton(AF_INET, host, &v4) == 1) {
        return v4_loopback(v4.s_addr);
    }
    return inet_pton(AF_INET6, host, &v6) == 1 &&
           (IN6_IS_ADDR_LOOPBACK(&v6) ||
            (IN6_IS_ADDR_V4MAPPED(&v6) && v4_loopback(v6.s6_addr32[3])));
}
