/* listener.h: a listening TCP socket. Open calls only. */
#ifndef EPI_BASE_LISTENER_H
#define EPI_BASE_LISTENER_H

#include <stddef.h>
#include <stdint.h>

#include "epdx/types.h"

typedef struct epi_listener {
    int fd;
    char address[EPDX_ADDRESS_MAX + 1]; /* "host:port" as bound */
} epi_listener_t;

/** host is numeric; "::" takes IPv4, too. EPDX_ERR_INVALID: host; _IO: it
 *  cannot be bound. *listener_p is set on success only. */
EPDX_MUST_CHECK epdx_status_t epi_listener_open(const char *host, uint16_t port,
                                                epi_listener_t *listener_p);

#endif
