/* listen_address.h: where a bootstrap server listens, and whether that leaves
 * it open to strangers. Only bootstrap.c. */
#ifndef EPI_BOOTSTRAP_LISTEN_ADDRESS_H
#define EPI_BOOTSTRAP_LISTEN_ADDRESS_H

#include <stdbool.h>

#include "base/text.h"

/** listen is "host:port"; NULL: default_host and port 0. A name is looked up,
 *  which may block. A wildcard is allowed, since the server publishes nothing
 *  of its own, and comes out as "0.0.0.0" or "::". EPDX_ERR_INVALID with
 *  words: no address, or it does not resolve. *address_p on success only. */
EPDX_MUST_CHECK epdx_status_t epi_listen_address(const char *listen,
                                                 const char *default_host,
                                                 epi_address_t *address_p);

/** Whether strangers can register: no token, and a numeric host that others
 *  than this machine may reach. */
bool epi_listen_is_open(const char *host, const char *token);

#endif
