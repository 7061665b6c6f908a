/*
 * control_socket.h: how every control socket is set up, its addresses, and
 * whole messages in and out. Only the control*.c and access.c use it.
 */
#ifndef EPI_CONTROL_CONTROL_SOCKET_H
#define EPI_CONTROL_CONTROL_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "epdx/types.h"
#include "wire/frame.h"

/** Room for "tcp://host:port". */
#define EPI_SOCKET_ENDPOINT_MAX (EPDX_ADDRESS_MAX + 32)

/** Room for a "User-Id", which is a key; more is cut. */
#define EPI_SOCKET_USER_MAX 41

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

/** A context for peer_max PUSH sockets with their monitors, a PULL socket, and
 *  what guards that. EPDX_ERR_NO_MEMORY, _IO. */
EPDX_MUST_CHECK epdx_status_t epi_socket_context(size_t peer_max,
                                                 void **context_p);

/** The next frame, without waiting: part is an initialised zmq_msg_t. False:
 *  there is none now. A signal does not end it: libzmq looks at its descriptors
 *  in between, and a call that a signal broke off says nothing of what there
 *  is, which the descriptor does not tell of again. */
bool epi_socket_frame(void *socket, void *part);

/** Take one whole message, without waiting; false when there is none. *fits_p
 *  tells whether message_p holds all of it. user, when it is not NULL, is who
 *  sent it, as the handshake found out; "" without. */
bool epi_socket_take(void *socket, epi_message_t *message_p,
                     char user[EPI_SOCKET_USER_MAX], bool *fits_p);

/** Send a message, without waiting; false when it is lost. */
bool epi_socket_send(void *socket, const epi_message_t *message);

#endif
