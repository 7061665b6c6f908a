/*
 * control_socket.h: how every control socket is set up, and its addresses.
 * Only control.c uses it.
 */
#ifndef EPI_CONTROL_CONTROL_SOCKET_H
#define EPI_CONTROL_CONTROL_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "epdx/types.h"

/** Room for "tcp://host:port". */
#define EPI_SOCKET_ENDPOINT_MAX (EPDX_ADDRESS_MAX + 32)

/** EPDX_ERR_IO with ZeroMQ's words for what failed where. */
EPDX_MUST_CHECK epdx_status_t epi_socket_failed(const char *what,
                                                const char *where);

/** Limits, intervals and heartbeat; IPv6 when host is such an address. */
bool epi_socket_set_up(void *socket, const char *host, uint64_t heartbeat_ns);

/** Whether host is made of nothing but a host's characters. */
bool epi_socket_host_plain(const char *host);

bool epi_socket_host_numeric(const char *host);

/** "tcp://host:port", bracketed if IPv6; false when it does not fit. */
bool epi_socket_endpoint(const char *host, uint16_t port, char *out,
                         size_t size);

/** The port that a bound socket took. */
bool epi_socket_port(void *socket, uint16_t *port_p);

#endif
