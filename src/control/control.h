/*
 * control.h: control messages over ZeroMQ: one PULL socket that others send
 * to, one PUSH socket a peer. Sends never block and may be lost: every message
 * here is repeated by its owner until answered. One thread (the I/O thread);
 * open and close may be called before it starts and after it ended.
 *
 * A connected peer costs three ZeroMQ sockets and four file descriptors (see
 * ulimit -n), but nothing each time the loop looks or waits. Names are looked
 * up by ZeroMQ's own thread, where a slow one delays all peers: give numeric
 * hosts. A frame over 8 KiB ends the connection that it comes by; a message of
 * endless small frames is read by libzmq until memory ends, which only
 * authentication keeps out.
 *
 * With a key file both the PULL socket and the PUSH sockets speak CURVE, by one
 * key pair, and a handshake waits for epi_control_next(), which answers it.
 */
#ifndef EPI_CONTROL_CONTROL_H
#define EPI_CONTROL_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "epdx/status.h"
#include "wire/frame.h"

typedef struct epi_control epi_control_t;

/** Characters of a CURVE public key, in Z85. */
#define EPI_CONTROL_KEY 40

typedef struct epi_control_params {
    const char *host;         /* numeric address to bind, no brackets */
    size_t peer_max;          /* PUSH sockets at a time */
    uint64_t heartbeat_ns;    /* silence after which a peer is down; 0: off */
    const char *key_file;     /* this process's CURVE keys; NULL or "": none */
    const char *allowed_file; /* who may connect; NULL or "": any key */
} epi_control_params_t;

typedef enum epi_control_event_kind {
    EPI_CONTROL_MESSAGE,      /* message */
    EPI_CONTROL_PEER_UP,      /* peer: its connection stands (again) */
    EPI_CONTROL_PEER_DOWN,    /* peer: it broke, or was silent too long; ZeroMQ
                                 goes on trying to connect */
    EPI_CONTROL_PEER_REFUSED, /* peer: the handshake failed: one end has CURVE
                                 and the other has not, our key is not on its
                                 list, or it speaks something else; the next
                                 send tries again */
} epi_control_event_kind_t;

typedef struct epi_control_event {
    epi_control_event_kind_t kind;
    uint32_t peer;
    epi_message_t message;
    char key[EPI_CONTROL_KEY + 1]; /* message: whose; "" without CURVE */
} epi_control_event_t;

/** Binds host and a free port. EPDX_ERR_INVALID, _IO, _NO_MEMORY,
 *  _UNSUPPORTED (CURVE), with words. */
EPDX_MUST_CHECK epdx_status_t
epi_control_open(const epi_control_params_t *params, epi_control_t **control_p);

/** The port that was taken. */
uint16_t epi_control_port(const epi_control_t *control);

/** This process's CURVE public key, for who is to connect; "" without. */
const char *epi_control_key(const epi_control_t *control);

/** Begin a connection to host (numeric or a name; IPv6 without brackets) and
 *  port, whose CURVE public key is server_key ("": none). Either both ends have
 *  keys or neither. *peer_p is a small number, reused after disconnect.
 *  EPDX_ERR_FULL (peer_max), _INVALID, _IO. */
EPDX_MUST_CHECK epdx_status_t epi_control_connect_key(epi_control_t *control,
                                                      const char *host,
                                                      uint16_t port,
                                                      const char *server_key,
                                                      uint32_t *peer_p);

/** The same without keys. */
EPDX_MUST_CHECK epdx_status_t epi_control_connect(epi_control_t *control,
                                                  const char *host,
                                                  uint16_t port,
                                                  uint32_t *peer_p);

/** Drop a peer's socket; what it had not sent is lost. No event of the peer
 *  comes afterwards. */
void epi_control_disconnect(epi_control_t *control, uint32_t peer);

/** Send, or EPDX_ERR_FULL when the peer's queue is full: the message is lost,
 *  and the caller repeats it in time. */
EPDX_MUST_CHECK epdx_status_t epi_control_send(epi_control_t *control,
                                               uint32_t peer,
                                               const epi_message_t *message);

/** Take the next event; false when there is none now. A message with too many
 *  frames or bytes is dropped whole and counted, never delivered cut; so is one
 *  whose key was taken off the list since it connected. */
bool epi_control_next(epi_control_t *control, epi_control_event_t *event_p);

/** Messages dropped because they did not fit epi_message_t, or because of
 *  their key. */
uint64_t epi_control_dropped(const epi_control_t *control);

/** Connections refused: without CURVE, with a key that is not allowed, or of
 *  something that is not ZeroMQ. */
uint64_t epi_control_refused(const epi_control_t *control);

/** What to wait for, to be readable: one descriptor, however many peers there
 *  are. *ready_p is set true when there is something to take already: ZeroMQ's
 *  descriptors are edge-triggered, so do not sleep then. */
int epi_control_wait_fd(epi_control_t *control, bool *ready_p);

/** Ends sockets and context; does not wait for unsent messages for more than
 *  100 ms. NULL is allowed. */
void epi_control_close(epi_control_t *control);

#endif
