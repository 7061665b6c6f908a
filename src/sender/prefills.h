/*
 * prefills.h: the prefill ranks that registered or asked, by session id: how
 * to answer them (control) and where to offer rows (data plane). The I/O
 * thread's.
 *
 * They come from the network, so they are bounded: the one that was silent
 * longest and has no open ask makes room for a new one. A rank that went away
 * is forgotten, and made anew when it asks again.
 */
#ifndef EPI_SENDER_PREFILLS_H
#define EPI_SENDER_PREFILLS_H

#include "base/table.h"
#include "control/control.h"
#include "dataplane/dataplane.h"
#include "sender/shared.h"

/** Who a message says that it comes from. */
typedef struct epi_prefill_name {
    const char *session;
    const char *endpoint; /* host of its control socket */
    uint16_t status_port;
    const char *instance; /* "" when it did not say */
    const char *key; /* CURVE public key that it came with; "" without CURVE.
                        The way back is to a socket of the same key. */
} epi_prefill_name_t;

typedef struct epi_prefill {
    bool used;
    bool connected; /* the way back to it stands: it is who it says */
    char session[EPDX_ADDRESS_MAX + 1];
    char endpoint[EPDX_ADDRESS_MAX + 1];
    uint16_t status_port;
    char instance[EPI_INSTANCE_MAX + 1];
    char curve_key[EPI_CONTROL_KEY + 1];
    uint64_t key;
    uint32_t control;    /* its peer */
    uint32_t life;       /* tells one use of this place from the next */
    epi_dp_peer_t *rows; /* NULL until it is connected to */
    bool has_compat;
    epi_compat_t compat;
    uint32_t open_asks;
    uint32_t older, newer; /* of those without open asks; newer: next free */
} epi_prefill_t;

typedef struct epi_prefills {
    epi_control_t *control;
    epi_dataplane_t *dp;
    epi_prefill_t *prefills;
    uint32_t *by_control; /* control peer to index */
    size_t capacity;
    size_t count;
    epi_table_t by_session;
    uint64_t seed;
    uint32_t first_free;
    uint32_t oldest, newest; /* without open asks */
} epi_prefills_t;

EPDX_MUST_CHECK epdx_status_t epi_prefills_init(epi_prefills_t *prefills,
                                                epi_control_t *control,
                                                epi_dataplane_t *dp,
                                                size_t capacity);
/** Drops all of them. */
void epi_prefills_fini(epi_prefills_t *prefills);

uint32_t epi_prefills_index(const epi_prefills_t *prefills,
                            const epi_prefill_t *prefill);

/** NULL when it is not known. */
epi_prefill_t *epi_prefills_find(epi_prefills_t *prefills, const char *session);
epi_prefill_t *epi_prefills_of_control(epi_prefills_t *prefills, uint32_t peer);
/** By the cookie of an EPI_DP_PEER_DOWN. */
epi_prefill_t *epi_prefills_of_cookie(epi_prefills_t *prefills,
                                      uint64_t cookie);

/** Whether name speaks for another process than the one that is known by that
 *  session id: it restarted. */
bool epi_prefills_changed(const epi_prefill_t *prefill,
                          const epi_prefill_name_t *name);

/** Make a rank known that is not. EPDX_ERR_FULL: all known ones have open
 *  asks; EPDX_ERR_INVALID, _IO: its control address. */
EPDX_MUST_CHECK epdx_status_t epi_prefills_add(epi_prefills_t *prefills,
                                               const epi_prefill_name_t *name,
                                               epi_prefill_t **prefill_p);

/** Forget it and its connections. Its offers end later. */
void epi_prefills_drop(epi_prefills_t *prefills, epi_prefill_t *prefill);

/** Count an open ask, or one less. */
void epi_prefills_hold(epi_prefills_t *prefills, epi_prefill_t *prefill);
void epi_prefills_release(epi_prefills_t *prefills, epi_prefill_t *prefill);

/** It was heard of: it goes last among those that could be dropped. */
void epi_prefills_touch(epi_prefills_t *prefills, epi_prefill_t *prefill);

/** Connect its data plane peer, if that is not done. Errors of connect(). */
EPDX_MUST_CHECK epdx_status_t epi_prefills_connect(epi_prefills_t *prefills,
                                                   epi_prefill_t *prefill);

/** Send a room's status. One that is lost is asked for again. */
void epi_prefills_tell(epi_prefills_t *prefills, const epi_prefill_t *prefill,
                       const epi_status_t *status);

#endif
