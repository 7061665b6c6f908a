/*
 * access.h: who may connect to a control socket: CURVE keys, the list of
 * allowed ones, libzmq's questions about them (ZAP), and the count of those
 * that were refused. The I/O thread's. Only control.c.
 *
 * Facts of libzmq 4.3.4 that this relies on:
 * - A CURVE server asks inproc://zeromq.zap.01 of its own context before it
 *   takes a client, and takes any when nobody is bound there: so that is bound
 *   first (curve_server.cpp, process_initiate).
 * - The handshake waits for the answer, at most ZMQ_HANDSHAKE_IVL, in libzmq's
 *   own thread and without holding up other connections.
 * - The user id of the answer becomes the "User-Id" of every message that comes
 *   by the connection (zmq_msg_gets(3)).
 * - A peer with another mechanism, also one of ZMTP before 3.0, which has none,
 *   is refused before anything is asked.
 */
#ifndef EPI_CONTROL_ACCESS_H
#define EPI_CONTROL_ACCESS_H

#include "base/seldom.h"
#include "control/allowed.h"
#include "control/control_monitor.h"
#include "control/curve.h"

typedef struct epi_access {
    bool curve; /* there are keys */
    epi_curve_pair_t pair;
    epi_allowed_t allowed;
    void *zap; /* REP: libzmq asks, we answer; NULL without keys */
    int zap_fd;
    void *guarded;      /* the socket that clients connect to */
    epi_monitor_t door; /* of that */
    uint64_t refused;
    epi_seldom_t seldom;
    char denied[128]; /* the last key that was not on the list, in words */
} epi_access_t;

/** Read the files; NULL or "": none. EPDX_ERR_INVALID with words: a file, or a
 *  list without keys; _UNSUPPORTED, _NO_MEMORY. */
EPDX_MUST_CHECK epdx_status_t epi_access_open(epi_access_t *access,
                                              const char *key_file,
                                              const char *allowed_file);

/** Set up a socket that clients will connect to, before it is bound, and watch
 *  it. Once. EPDX_ERR_IO. */
EPDX_MUST_CHECK epdx_status_t epi_access_guard(epi_access_t *access,
                                               void *context, void *socket);

/** Set up a socket that will connect to a server of this key; "": a server
 *  without keys. EPDX_ERR_INVALID: one end has keys and the other has none, or
 *  it is no key; _IO. */
EPDX_MUST_CHECK epdx_status_t epi_access_join(const epi_access_t *access,
                                              void *socket,
                                              const char *server_key);

/** Answer and count what has come. Afterwards the descriptors, zap_fd (only
 *  with keys) and door.fd, tell of more. */
void epi_access_work(epi_access_t *access, uint64_t now);

/** Whether a message of this key is still to be taken: a key may have gone
 *  from the list since it connected. */
bool epi_access_holds(epi_access_t *access, const char *key, uint64_t now);

/** Say in the log how far the sockets at host are open. */
void epi_access_tell(const epi_access_t *access, const char *host);

/** Before the guarded socket is closed. Halfway open is allowed. */
void epi_access_close(epi_access_t *access);

#endif
