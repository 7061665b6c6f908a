/* listener.c: bound here and not by whoever serves, so that a failure says what
 * failed and why. */
#include "base/listener.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text.h"

#define BACKLOG 256

static int bound_socket(const struct addrinfo *where)
{
    int on = 1;
    int off = 0;
    int fd =
        socket(where->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0) {
        return -1;
    }
    /* A restart must not wait for the last life's connections. */
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
        (where->ai_family == AF_INET6 &&
         setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) != 0) ||
        bind(fd, where->ai_addr, where->ai_addrlen) != 0 ||
        listen(fd, BACKLOG) != 0) {
        int cause = errno;

        (void)close(fd);
        errno = cause;
        return -1;
    }
    return fd;
}

static epdx_status_t describe(epi_listener_t *listener)
{
    struct sockaddr_storage address = {0};
    socklen_t length = sizeof(address);
    char host[NI_MAXHOST];
    char port[NI_MAXSERV];
    uint64_t number = 0;

    if (getsockname(listener->fd, (struct sockaddr *)&address, &length) != 0 ||
        getnameinfo((struct sockaddr *)&address, length, host, sizeof(host),
                    port, sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV) != 0 ||
        !epi_text_number(port, UINT16_MAX, &number) ||
        !epi_address_format(host, (uint16_t)number, listener->address,
                            sizeof(listener->address))) {
        return epi_fail(EPDX_ERR_IO,
                        "a bound socket does not tell its address");
    }
    return EPDX_OK;
}

epdx_status_t epi_listener_open(const char *host, uint16_t port,
                                epi_listener_t *listener_p)
{
    struct addrinfo hints = {.ai_flags =
                                 AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
                             .ai_family = AF_UNSPEC,
                             .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    epi_listener_t listener = {.fd = -1};
    char service[8];
    epdx_status_t status;

    (void)snprintf(service, sizeof(service), "%u", port);
    if (getaddrinfo(host, service, &hints, &found) != 0) {
        return epi_fail(EPDX_ERR_INVALID, "'%s' is not a numeric address",
                        host);
    }
    listener.fd = bound_socket(found);
    freeaddrinfo(found);
    if (listener.fd < 0) {
        return epi_fail(EPDX_ERR_IO, "%s port %u cannot be bound: %s", host,
                        port, strerrordesc_np(errno));
    }
    status = describe(&listener);
    if (status != EPDX_OK) {
        (void)close(listener.fd);
        return status;
    }
    *listener_p = listener;
    return EPDX_OK;
}
