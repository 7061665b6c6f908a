/*
 * bootstrap.h: the discovery server of an encode node, over HTTP. docs/wire.md
 * shows every request and answer.
 */
#ifndef EPDX_BOOTSTRAP_H
#define EPDX_BOOTSTRAP_H

#include "epdx/types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct epdx_bootstrap epdx_bootstrap_t;

typedef struct epdx_bootstrap_params {
    size_t struct_size; /**< sizeof(epdx_bootstrap_params_t) */
    /** "host:port" to listen on; port 0 takes a free one; a wildcard host is
     *  allowed. NULL: EPDX_HOST and port 0. */
    const char *listen;
    /** Bearer token that PUT and DELETE must carry; NULL: EPDX_BOOTSTRAP_TOKEN,
     *  and where that is empty none is asked for. */
    const char *token;
    /** PEM files of the server's certificate chain and its private key, which
     *  others must not be able to read: with them it speaks https. Both or
     *  neither; NULL: EPDX_TLS_CERT_FILE, EPDX_TLS_KEY_FILE; "": http. */
    const char *tls_cert_file;
    const char *tls_key_file;
} epdx_bootstrap_params_t;

/** Counters since the server was opened. */
typedef struct epdx_bootstrap_stats {
    uint64_t writes_refused; /**< PUT and DELETE without the right token */
} epdx_bootstrap_stats_t;

/**
 * Start a bootstrap server on a thread of its own.
 *
 * Shapes:  none.
 * Units:   none.
 * Owns:    params is read during the call only; *bootstrap_p is the caller's,
 *          who ends it with epdx_bootstrap_close().
 * Threads: any.
 * Errors:  EPDX_ERR_INVALID    listen is not "host:port", or its host does not
 *                              resolve; the token is not 1 to 255 printable
 *                              characters; a file of TLS cannot be read, is
 *                              readable by others or lacks the other one;
 *                              struct_size or an EPDX_* variable is out of
 *                              range;
 *          EPDX_ERR_UNSUPPORTED  TLS, and libmicrohttpd was built without it;
 *          EPDX_ERR_NO_MEMORY  it could not be allocated;
 *          EPDX_ERR_IO         the address cannot be bound, or libmicrohttpd
 *                              does not take the certificate or its key.
 *          On error *bootstrap_p is unchanged.
 */
EPDX_API EPDX_MUST_CHECK epdx_status_t epdx_bootstrap_open(
    const epdx_bootstrap_params_t *params, epdx_bootstrap_t **bootstrap_p);

/**
 * Where the server listens, "host:port" with the port that was taken, or
 * "https://host:port" with TLS: what senders and items name it by. Of a server
 * that listens on a wildcard it is that wildcard, such as "0.0.0.0:8998", which
 * is no name for anybody: publish the node's own address with this port.
 *
 * Shapes:  none.
 * Units:   none.
 * Owns:    the text is the server's, valid until it is closed.
 * Threads: any.
 * Errors:  none; "" for NULL.
 */
EPDX_API const char *epdx_bootstrap_address(const epdx_bootstrap_t *bootstrap);

/**
 * Copy the server's counters.
 *
 * Shapes:  none.
 * Units:   counts.
 * Owns:    *stats_p is the caller's.
 * Threads: any.
 * Errors:  none; with NULL nothing is copied.
 */
EPDX_API void epdx_bootstrap_stats(const epdx_bootstrap_t *bootstrap,
                                   epdx_bootstrap_stats_t *stats_p);

/**
 * End the server. Close the senders that are registered with it first: each
 * tells it that it is gone, and waits a little where nobody answers.
 *
 * Shapes:  none.
 * Units:   none.
 * Owns:    takes bootstrap; NULL is allowed.
 * Threads: any but the server's own; blocks while its thread ends.
 * Errors:  none.
 */
EPDX_API void epdx_bootstrap_close(epdx_bootstrap_t *bootstrap);

#ifdef __cplusplus
}
#endif
#endif
