/*
 * dataplane.h: moving rows. The sending end offers; the receiving end sees the
 * offer's header, and pulls the payload to where it chooses or refuses it.
 *
 *     offer() --header--> EPI_DP_OFFER --> pull() --payload--> EPI_DP_PULLED
 *        |                            \--> refuse()
 *        '--> EPI_DP_SENT (the payload may be reused: it was pulled, refused,
 *             or the peer is gone; success does not tell pulled from refused)
 *
 * What the completions prove: PULLED with EPDX_OK: every byte of the payload is
 * at its destination. PULLED with an error: the destination will not be written
 * any more, and holds anything. Until PULLED comes the destination is in use.
 *
 * A data plane belongs to one thread, that which progresses it; map and unmap
 * may also be called before that thread starts and after it ended. Events are
 * queued by progress() and taken with next(), so nothing calls back.
 *
 * ucx_worker.c and ucx_transfer.c carry it over UCX; loopback.c within one
 * process, for tests.
 */
#ifndef EPI_DATAPLANE_DATAPLANE_H
#define EPI_DATAPLANE_DATAPLANE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "epdx/status.h"
#include "memory/memory.h"

#define EPI_DP_HEADER_MAX    128
#define EPI_DP_TRANSPORT_MAX 64

typedef struct epi_dataplane epi_dataplane_t;
typedef struct epi_dp_region epi_dp_region_t; /* memory made known */
typedef struct epi_dp_peer epi_dp_peer_t;     /* where offers are sent to */
typedef struct epi_dp_offer epi_dp_offer_t;   /* an offer that came in */

typedef enum epi_dp_event_kind {
    EPI_DP_OFFER,     /* offer, header, payload_bytes, link */
    EPI_DP_PULLED,    /* cookie, status */
    EPI_DP_SENT,      /* cookie, status */
    EPI_DP_PEER_DOWN, /* cookie of connect(), status: offers to it fail; the
                         owner disconnects it. Once a peer. */
} epi_dp_event_kind_t;

typedef struct epi_dp_event {
    epi_dp_event_kind_t kind;
    epdx_status_t status;
    uint64_t cookie;
    epi_dp_offer_t *offer;
    uint64_t link; /* the incoming connection an offer came by; never 0 */
    size_t header_bytes;
    uint8_t header[EPI_DP_HEADER_MAX];
    uint64_t payload_bytes;
} epi_dp_event_t;

/** What is offered, and how its end is told. */
typedef struct epi_dp_send {
    const void *header; /* copied */
    size_t header_bytes;
    epi_dp_region_t *region; /* where payload lies; NULL: not mapped */
    const void *payload;
    size_t payload_bytes; /* 0 is allowed */
    /** cudaEvent_t after which the payload holds its rows; NULL: now. Only a
     *  plane over device memory looks at it. */
    void *ready;
    uint64_t cookie;
} epi_dp_send_t;

/** Where an offer's payload goes, and how its end is told. */
typedef struct epi_dp_target {
    epi_dp_region_t *region;
    void *at;     /* inside region */
    size_t bytes; /* the offer's payload_bytes */
    uint64_t cookie;
} epi_dp_target_t;

typedef struct epi_dp_ops {
    /** "host:port" (IPv6 in brackets) that peers connect to: the session id. */
    const char *(*address)(epi_dataplane_t *dp);
    /** Expect connections from a host, a numeric address; from others none
     *  come in, as far as the plane can tell hosts apart. */
    void (*admit)(epi_dataplane_t *dp, const char *host);
    /** Make memory known. It stays the caller's. EPDX_ERR_NO_MEMORY, _IO. */
    epdx_status_t (*map)(epi_dataplane_t *dp, const epi_memory_ops_t *memory,
                         void *base, size_t bytes, epi_dp_region_t **region_p);
    /** No transfer may use the region any more. NULL is allowed. */
    void (*unmap)(epi_dataplane_t *dp, epi_dp_region_t *region);
    /** Begin a connection; offers may be made at once. cookie comes back with
     *  EPI_DP_PEER_DOWN. EPDX_ERR_INVALID (address), _UNREACHABLE, _NO_MEMORY,
     *  _IO. Names are not resolved: the host is a numeric address. */
    epdx_status_t (*connect)(epi_dataplane_t *dp, const char *address,
                             uint64_t cookie, epi_dp_peer_t **peer_p);
    /** Force the connection shut. peer is gone when this returns, and no
     *  EPI_DP_PEER_DOWN about it comes any more; each of its offers still under
     *  way gives its EPI_DP_SENT (with an error) later, and only then may its
     *  payload be reused. NULL is allowed. */
    void (*disconnect)(epi_dataplane_t *dp, epi_dp_peer_t *peer);
    /** Offer a payload, which must stay unchanged until EPI_DP_SENT with its
     *  cookie, which comes exactly once after EPDX_OK. EPDX_ERR_INVALID (header
     *  too long, payload outside region), _NO_MEMORY, _UNREACHABLE, _IO. */
    epdx_status_t (*offer)(epi_dataplane_t *dp, epi_dp_peer_t *peer,
                           const epi_dp_send_t *send);
    /** Pull an offer's whole payload. Takes offer, also on error.
     *  EPI_DP_PULLED with the target's cookie comes exactly once after EPDX_OK.
     *  EPDX_ERR_INVALID (target outside its region or of another size; for 0
     *  bytes region and at may be NULL), _UNREACHABLE, _NO_MEMORY, _IO: then
     *  nothing will be written. */
    epdx_status_t (*pull)(epi_dataplane_t *dp, epi_dp_offer_t *offer,
                          const epi_dp_target_t *target);
    /** Give an offer back unpulled. Takes offer. */
    void (*refuse)(epi_dataplane_t *dp, epi_dp_offer_t *offer);
    /** Force an incoming connection shut: its pulls end in EPI_DP_PULLED with
     *  an error, and its offers at the sender in EPI_DP_SENT with one. Offers
     *  of it that were given out, or still wait in next(), stay the owner's to
     *  pull (an error) or refuse. An unknown link is ignored. */
    void (*drop)(epi_dataplane_t *dp, uint64_t link);
    /** Do what can be done now; true when something was done. Never waits. */
    bool (*progress)(epi_dataplane_t *dp);
    /** Take the oldest event; false when there is none. Take until then: what
     *  was pulled goes back to its sender only after its end was taken. */
    bool (*next)(epi_dataplane_t *dp, epi_dp_event_t *event_p);
    /** A descriptor that turns readable once arm() gave EPDX_OK and there is
     *  something to progress; -1 for a plane that must be polled. */
    int (*event_fd)(epi_dataplane_t *dp);
    /** EPDX_OK: sleep on event_fd; EPDX_IN_PROGRESS: progress again first. */
    epdx_status_t (*arm)(epi_dataplane_t *dp);
    /** What the transfers use, e.g. "tcp/lo"; "" until a payload was moved. */
    void (*transport)(epi_dataplane_t *dp, char *out, size_t size);
    /** Shuts everything; every offer and pull under way ends first, waited for
     *  at most 2 s. Regions must be unmapped before. NULL is allowed. */
    void (*close)(epi_dataplane_t *dp);
} epi_dp_ops_t;

struct epi_dataplane {
    const epi_dp_ops_t *ops; /* first member of every implementation */
};

/** UCX, bound to host (numeric) and a free port. EPDX_ERR_INVALID, _IO,
 *  _NO_MEMORY, with words. */
EPDX_MUST_CHECK epdx_status_t epi_dataplane_ucx(const char *host,
                                                epi_dataplane_t **dp_p);

/** Whether [target, target + length) lies in [base, base + bytes). */
static inline bool epi_dp_inside(const void *base, size_t bytes,
                                 const void *target, size_t length)
{
    uintptr_t first = (uintptr_t)base;
    uintptr_t at = (uintptr_t)target;

    return at >= first && at - first <= bytes && length <= bytes - (at - first);
}

#endif
