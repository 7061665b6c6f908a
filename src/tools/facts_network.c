/* facts_network.c: addresses, interfaces and names, from the kernel and the
 * system's resolver. */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/resolve.h"
#include "base/text.h"
#include "tools/facts.h"

/** A numeric address of either family. */
typedef struct place {
    sa_family_t family;
    uint8_t bytes[16];
} place_t;

static bool parse_place(const char *text, place_t *place_p)
{
    memset(place_p, 0, sizeof(*place_p));
    place_p->family = AF_INET;
    if (inet_pton(AF_INET, text, place_p->bytes) == 1) {
        return true;
    }
    place_p->family = AF_INET6;
    return inet_pton(AF_INET6, text, place_p->bytes) == 1;
}

static bool place_of(const struct sockaddr *address, place_t *place_p)
{
    memset(place_p, 0, sizeof(*place_p));
    if (address == NULL) {
        return false;
    }
    place_p->family = address->sa_family;
    if (address->sa_family == AF_INET) {
        memcpy(place_p->bytes,
               &((const struct sockaddr_in *)(const void *)address)->sin_addr,
               4);
        return true;
    }
    if (address->sa_family == AF_INET6) {
        memcpy(place_p->bytes,
               &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr,
               16);
        return true;
    }
    return false;
}

static bool link_local(const place_t *place)
{
    return place->family == AF_INET
               ? place->bytes[0] == 169 && place->bytes[1] == 254
               : place->bytes[0] == 0xfe && (place->bytes[1] & 0xc0) == 0x80;
}

/** Its interface: that which has it, or, as for all of 127/8, the loopback. */
static const struct ifaddrs *interface_of(const struct ifaddrs *list,
                                          const place_t *wanted, bool loopback)
{
    const struct ifaddrs *fallback = NULL;
    place_t place;

    for (; list != NULL; list = list->ifa_next) {
        if (!place_of(list->ifa_addr, &place)) {
            continue;
        }
        if (memcmp(&place, wanted, sizeof(place)) == 0) {
            return list;
        }
        if (loopback && (list->ifa_flags & IFF_LOOPBACK) != 0) {
            fallback = list;
        }
    }
    return fallback;
}

/** The first address of an interface that UCX can take: the order is the
 *  kernel's. */
static void first_of(const struct ifaddrs *list, const char *name,
                     sa_family_t family, char *out)
{
    place_t place;

    for (; list != NULL; list = list->ifa_next) {
        if (strcmp(list->ifa_name, name) == 0 &&
            place_of(list->ifa_addr, &place) && place.family == family &&
            !link_local(&place)) {
            (void)inet_ntop(family, place.bytes, out, EPDX_ADDRESS_MAX);
            return;
        }
    }
}

static void find_interface(const place_t *place, epi_network_facts_t *facts)
{
    struct ifaddrs *list = NULL;
    const struct ifaddrs *found;

    if (getifaddrs(&list) != 0) {
        return;
    }
    found = interface_of(list, place, facts->loopback);
    if (found != NULL) {
        (void)epi_text_copy(facts->interface, sizeof(facts->interface),
                            found->ifa_name);
        facts->up = (found->ifa_flags & IFF_UP) != 0;
        first_of(list, found->ifa_name, place->family, facts->first);
    }
    freeifaddrs(list);
}

static void listen_there(const place_t *place, epi_network_facts_t *facts)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    const struct sockaddr *address = (const struct sockaddr *)(void *)&v6;
    socklen_t bytes = sizeof(v6);
    int fd = socket(place->family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    memcpy(&v4.sin_addr, place->bytes, sizeof(v4.sin_addr));
    memcpy(&v6.sin6_addr, place->bytes, sizeof(v6.sin6_addr));
    if (place->family == AF_INET) {
        address = (const struct sockaddr *)(void *)&v4;
        bytes = sizeof(v4);
    }
    if (fd < 0 || bind(fd, address, bytes) != 0 || listen(fd, 1) != 0) {
        (void)epi_text_copy(facts->bind_error, sizeof(facts->bind_error),
                            strerror(errno));
    }
    if (fd >= 0) {
        (void)close(fd);
    }
}

static void find_ports(epi_network_facts_t *facts)
{
    FILE *file = fopen("/proc/sys/net/ipv4/ip_local_port_range", "re");
    char line[64] = "";
    char *at;

    if (file == NULL) {
        return;
    }
    if (fgets(line, sizeof(line), file) != NULL &&
        (at = strpbrk(line, " \t")) != NULL) {
        *at++ = '\0';
        at += strspn(at, " \t");
        at[strcspn(at, "\n")] = '\0';
        if (!epi_text_number(line, 65535, &facts->port_low) ||
            !epi_text_number(at, 65535, &facts->port_high)) {
            facts->port_low = 0;
        }
    }
    (void)fclose(file);
}

static void find_name(epi_network_facts_t *facts)
{
    if (gethostname(facts->name, sizeof(facts->name) - 1) != 0) {
        (void)epi_text_copy(facts->name, sizeof(facts->name), "?");
    }
    if (epi_resolve(facts->name, facts->name_address,
                    sizeof(facts->name_address)) != EPDX_OK) {
        facts->name_address[0] = '\0';
        (void)epi_text_copy(facts->name_error, sizeof(facts->name_error),
                            epdx_last_error());
    }
    facts->name_loopback = epi_host_loopback(facts->name_address);
}

void epi_facts_network(const epi_options_t *options,
                       epi_network_facts_t *facts_p)
{
    epi_network_facts_t facts = {.port_low = 0};
    place_t place;

    (void)epi_text_copy(facts.host, sizeof(facts.host), options->host);
    find_name(&facts);
    find_ports(&facts);
    if (epi_resolve(facts.host, facts.address, sizeof(facts.address)) !=
        EPDX_OK) {
        facts.address[0] = '\0';
        (void)epi_text_copy(facts.error, sizeof(facts.error),
                            epdx_last_error());
    } else if (parse_place(facts.address, &place)) {
        facts.loopback = epi_host_loopback(facts.address);
        facts.link_local = link_local(&place);
        find_interface(&place, &facts);
        listen_there(&place, &facts);
    }
    *facts_p = facts;
}
