/*
 * ucx_internal.h: what the files of the plane over UCX share. Nobody else
 * includes it: ucp/ stays in this folder.
 *
 *     ucx_worker.c     open, close, progress, arm; the operation table
 *     ucx_conn.c       listener, connections made and accepted, their end
 *     ucx_gate.c       whose connections reach the listener
 *     ucx_mapped.c     within one host: copies out of the sender's memory
 *     ucx_transfer.c   offers, pulls, the handler of what comes in
 *     ucx_pool.c       where transfers come from
 *     ucx_config.c     settings, UCX's log, its status codes
 *     ucx_transport.c  what an endpoint uses, in words
 *
 * Facts about UCX that the code relies on, each seen in the source of 1.13.1
 * or measured with it:
 * - An endpoint fails only with UCP_ERR_HANDLING_MODE_PEER, and only then may
 *   it be closed by force. A forced close answers at once; what was under way
 *   on it completes later, from ucp_worker_progress(), once its lanes are
 *   gone. So a completion with an error says that nothing is written any more.
 * - The error callback is not called for an endpoint that was closed.
 * - ucp_am_recv_data_nbx() marks the descriptor as started before it can fail:
 *   one whose pull failed to start cannot be released, and its sender learns
 *   of it only by the end of the connection.
 * - A descriptor outlives its endpoint: receiving it then completes with
 *   "Request canceled", and releasing it is fine.
 * - A descriptor released unpulled completes at the sender as success.
 * - ucp_cleanup() aborts the process when a region is still mapped or in use.
 * - The header of a rendezvous message is read until the send completes.
 * - TCP endpoints whose two ends differ in their address family overrun a heap
 *   block: one plane, one family.
 * - TCP leaves out link-local addresses, and before 1.14 ::1: a listener there
 *   accepts, and no transport then reaches it.
 * - TCP ends an endpoint's connection when it was made through a listener, so
 *   nothing lands after a forced close. Between workers that exchanged
 * addresses the connection goes on: a put may land, and a message that the
 * close cut off leaves the stream out of step, so that what follows is taken
 * for its rest (seen: an assertion at the receiving end). So there is a
 * listener.
 * - Data messages of a rendezvous name the receiver's request, and those for
 *   one that has ended are dropped; a put writes to the address that it names.
 * - TCP asserts, at the reader, that a message fits its own segment, and that
 *   an answer to a put is waited for, which a failed send has taken back.
 * - A listener's port trusts the first bytes of a connection: see ucx_gate.c.
 *   TCP's other ports close connections whose first 8 bytes are not UCX's.
 * - ucp_ep_create() fails in the listener's callback when the peer is gone
 *   again; it has then consumed the request.
 */
#ifndef EPI_DATAPLANE_UCX_INTERNAL_H
#define EPI_DATAPLANE_UCX_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include <ucp/api/ucp.h>

#include "base/table.h"
#include "base/text.h"
#include "dataplane/dataplane.h"
#include "dataplane/mapped.h"
#include "dataplane/plane.h"

/** Offers that came in and were neither pulled nor refused yet. */
#define EPI_UCX_PARKED_MAX 65536
/** Connections, made and accepted together. */
#define EPI_UCX_CONN_MAX 65536
/** The kinds of active messages. */
#define EPI_UCX_OFFER_ID    1
#define EPI_UCX_CONFIRM_ID  3
#define EPI_UCX_PLACED_ID   4 /* an offer whose header ends in its place */
#define EPI_UCX_FIRST_ID    5 /* as that, then where the memory is */

#define EPI_UCX_ADDRESS_MAX (EPDX_ADDRESS_MAX + 16)

/** Hosts of encode ranks that a filter has room for. */
#define EPI_UCX_HOSTS_MAX  400
#define EPI_UCX_HOST_BYTES 16

typedef struct epi_ucx_plane epi_ucx_plane_t;
typedef struct epi_dp_peer epi_ucx_conn_t;

struct epi_dp_region {
    ucp_mem_h memh;
    void *base;
    size_t bytes;
    ucs_memory_type_t type;
};

/**
 * One end of a connection: made (a peer) or accepted (a link).
 *
 *     OPEN --error callback--> FAILED --progress()--> SHUT (ep is NULL)
 *       \------------ disconnect(), drop() ----------/
 *
 * A link is freed as it is shut; a peer stays until disconnect().
 */
struct epi_dp_peer {
    epi_ucx_plane_t *plane;
    ucp_ep_h ep; /* NULL: shut */
    uint32_t slot;
    bool accepted;
    bool failed;
    ucs_status_t cause;
    uint64_t link;       /* its id, never 0 and never reused */
    uint64_t cookie;     /* of a made one */
    uint64_t complaints; /* messages refused as not ours */
    bool near;           /* of a peer: of this host, it can be told */
    bool announced;      /* of a link: it told where its memory is */
    bool viewed; /* of a link: that was tried; of a peer: and can be read */
    uint8_t announce[EPI_MAPPED_ANNOUNCE_BYTES];
    epi_mapped_view_t view; /* of a link */
    char name[EPI_UCX_ADDRESS_MAX];
};

/** One transfer: an offer being sent, an offer parked, or one being pulled. */
struct epi_dp_offer {
    epi_dp_offer_t *next_free;
    epi_ucx_plane_t *plane;
    void *descriptor; /* of a parked offer; NULL: header only */
    uint64_t link;    /* the connection it goes or came by */
    uint64_t cookie;
    uint64_t payload_bytes;
    size_t header_bytes;
    uint8_t header[EPI_DP_HEADER_MAX + sizeof(epi_mapped_place_t) +
                   EPI_MAPPED_ANNOUNCE_BYTES];

    bool large;  /* counted in its plane's */
    bool placed; /* its payload is in memory that is shared */
    bool first;  /* it says where that memory is */
    epi_mapped_place_t place;
    epi_dp_offer_t *next_copy; /* of those copied, or given */
    const void *source;
    void *target;
    size_t copied; /* bytes */
};

/** Transfers in blocks that double, freed together: none is allocated once as
 *  many as are ever under way at a time exist. */
typedef struct epi_ucx_pool {
    epi_dp_offer_t *free;
    epi_dp_offer_t *blocks[32];
    size_t block_count;
} epi_ucx_pool_t;

/** Who may connect. */
typedef struct epi_ucx_gate {
    int fd; /* of the listener, UCX's; -1: everybody may */
    size_t count;
    uint8_t hosts[EPI_UCX_HOSTS_MAX][EPI_UCX_HOST_BYTES];
} epi_ucx_gate_t;

struct epi_ucx_plane {
    epi_dataplane_t base;
    ucp_context_h context;
    ucp_worker_h worker;
    ucp_listener_h listener;
    epi_ucx_gate_t gate;
    int event_fd;
    sa_family_t family;           /* of host, and so of every connection */
    struct sockaddr_storage host; /* port 0: where connections are made from */
    socklen_t host_bytes;
    char address[EPI_UCX_ADDRESS_MAX];
    char transport[EPI_DP_TRANSPORT_MAX];

    epi_dp_events_t events;
    epi_ucx_pool_t pool;
    size_t regions;   /* mapped */
    size_t under_way; /* sends and pulls whose completion UCX owes */
    size_t large;     /* of them, those whose bytes take their time */
    size_t parked;
    bool parked_full_told;

    epi_mapped_source_t source; /* our memory, where it is shared */
    uint8_t announce[EPI_MAPPED_ANNOUNCE_BYTES];
    epi_dp_offer_t *copies; /* pulls that are copied, oldest first */
    epi_dp_offer_t **copies_end;
    epi_dp_offer_t *given; /* copied and told; to be given back */

    epi_table_t by_ep;      /* endpoint to slot */
    epi_ucx_conn_t **conns; /* by slot; NULL: free */
    uint32_t conn_slots;
    uint64_t link_count;
    bool attention; /* an endpoint failed */
    bool closing;
};

static inline epi_ucx_plane_t *epi_ucx_plane(epi_dataplane_t *dp)
{
    return (epi_ucx_plane_t *)dp;
}

/* ucx_config.c */

/** What of the host's address decides settings. */
typedef struct epi_ucx_host {
    bool loopback;
    bool ipv6;
} epi_ucx_host_t;

/** A context with active messages and wake-up, configured for peers that may
 *  die. */
EPDX_MUST_CHECK epdx_status_t epi_ucx_context(epi_ucx_host_t host,
                                              ucp_context_h *context_p);

/** Ours for UCX's. */
epdx_status_t epi_ucx_status(ucs_status_t status);

/* ucx_conn.c */

/** Listen on host and a free port; sets listener and address. */
EPDX_MUST_CHECK epdx_status_t epi_ucx_listen(epi_ucx_plane_t *plane);

/** host without brackets to a socket address; false: not numeric. */
bool epi_ucx_sockaddr(const char *host, uint16_t port,
                      struct sockaddr_storage *address_p, socklen_t *bytes_p);

/** A socket address as "host:port", IPv6 in brackets; "?" where it is none. */
void epi_ucx_name(const struct sockaddr_storage *address, char *out,
                  size_t size);

/** The live accepted connection of an endpoint or of a link id, else NULL. */
epi_ucx_conn_t *epi_ucx_conn_of_ep(const epi_ucx_plane_t *plane, ucp_ep_h ep);
epi_ucx_conn_t *epi_ucx_conn_of_link(const epi_ucx_plane_t *plane,
                                     uint64_t link);

/** The connection of an id, whether made or accepted, else NULL. */
epi_ucx_conn_t *epi_ucx_conn_of_id(const epi_ucx_plane_t *plane, uint64_t id);

/** The live connection that a message came by, else NULL. */
epi_ucx_conn_t *epi_ucx_conn_of_param(const epi_ucx_plane_t *plane,
                                      const ucp_am_recv_param_t *param);

/** Do what callbacks left to do, and shut what failed since last time; true
 *  when there was something. */
bool epi_ucx_attend(epi_ucx_plane_t *plane);

/** Force every connection shut. */
void epi_ucx_shut_all(epi_ucx_plane_t *plane);

/** Free what connections and slots there are. */
void epi_ucx_conns_fini(epi_ucx_plane_t *plane);

epdx_status_t epi_ucx_connect(epi_dataplane_t *dp, const char *address,
                              uint64_t cookie, epi_dp_peer_t **peer_p);
void epi_ucx_disconnect(epi_dataplane_t *dp, epi_dp_peer_t *peer);
void epi_ucx_drop(epi_dataplane_t *dp, uint64_t link);

/* ucx_gate.c */

/** Shut the gate of the listener. Where that cannot be done it stays open,
 *  with a warning. */
void epi_ucx_gate(epi_ucx_plane_t *plane);

void epi_ucx_admit(epi_dataplane_t *dp, const char *host);

/* ucx_mapped.c */

/** A region was mapped, or is to be unmapped: share it where it can be. */
void epi_ucx_share(epi_ucx_plane_t *plane, const epi_dp_region_t *region);
void epi_ucx_unshare(epi_ucx_plane_t *plane, const epi_dp_region_t *region);

/** Whether a new peer is of this host, and our memory is shared. */
bool epi_ucx_near(const epi_ucx_conn_t *peer);

/** Where its memory is, as a link's peer says. */
void epi_ucx_hear(epi_ucx_conn_t *link, const void *announce);
ucs_status_t epi_ucx_on_confirm(void *arg, const void *header,
                                size_t header_bytes, void *data, size_t bytes,
                                const ucp_am_recv_param_t *param);

/** Open the view of a link that announced, and close that of one that ends:
 *  pulls that are copied out of it end with an error. */
void epi_ucx_view(epi_ucx_conn_t *link);
void epi_ucx_unview(epi_ucx_conn_t *link);

/** Give an offer a place, where its payload has one. */
void epi_ucx_place(epi_ucx_conn_t *peer, const epi_dp_send_t *send,
                   epi_dp_offer_t *transfer);

/** Take its place back: from now on no copy of it is whole. */
void epi_ucx_unplace(epi_dp_offer_t *transfer);

/** Take a pull over; false: UCX has to do it. */
bool epi_ucx_copy_begin(epi_dp_offer_t *offer, const epi_dp_target_t *target);

/** Copy on; true when there was something. */
bool epi_ucx_copy(epi_ucx_plane_t *plane);

/** Give what was copied back to its senders. That takes a system call each, so
 *  it comes after the ends of the pulls were told. */
void epi_ucx_give_back(epi_ucx_plane_t *plane);

/* ucx_transfer.c */

/** Tell the end of a send or a pull by an event. */
void epi_ucx_tell(epi_dp_offer_t *transfer, epi_dp_event_kind_t kind,
                  epdx_status_t status);

/** Tell it, and make the transfer free again. */
void epi_ucx_complete(epi_dp_offer_t *transfer, epi_dp_event_kind_t kind,
                      epdx_status_t status);

/** The handlers of offers: without a place, with one, and with one and where
 *  the memory is. */
ucs_status_t epi_ucx_on_offer(void *arg, const void *header,
                              size_t header_bytes, void *data, size_t bytes,
                              const ucp_am_recv_param_t *param);
ucs_status_t epi_ucx_on_placed(void *arg, const void *header,
                               size_t header_bytes, void *data, size_t bytes,
                               const ucp_am_recv_param_t *param);
ucs_status_t epi_ucx_on_first(void *arg, const void *header,
                              size_t header_bytes, void *data, size_t bytes,
                              const ucp_am_recv_param_t *param);

epdx_status_t epi_ucx_offer(epi_dataplane_t *dp, epi_dp_peer_t *peer,
                            const epi_dp_send_t *send);
epdx_status_t epi_ucx_pull(epi_dataplane_t *dp, epi_dp_offer_t *offer,
                           const epi_dp_target_t *target);
void epi_ucx_refuse(epi_dataplane_t *dp, epi_dp_offer_t *offer);

/* ucx_pool.c */

/** A transfer; NULL: no memory, or as many as events are under way. */
epi_dp_offer_t *epi_ucx_take(epi_ucx_plane_t *plane);

/** Make a transfer that has ended free again. */
void epi_ucx_give(epi_dp_offer_t *transfer);

/** Release every parked offer that is still queued or held. */
void epi_ucx_release_parked(epi_ucx_plane_t *plane);

void epi_ucx_pool_fini(epi_ucx_pool_t *pool);

/* ucx_transport.c */

void epi_ucx_transport(epi_dataplane_t *dp, char *out, size_t size);

/** Take note of what moves a connection's payloads, once: transfer was just
 *  moved. Not earlier: UCX 1.13.1 prints the lanes of an endpoint that is still
 * being connected from beyond the end of its table of resources. */
void epi_ucx_transport_note(epi_ucx_conn_t *conn,
                            const epi_dp_offer_t *transfer);

/** The transports of the lanes that carry data in the text of
 *  ucp_ep_print_info(), comma separated, without duplicates: "tcp/lo". */
void epi_ucx_transport_parse(const char *info, char *out, size_t size);

#endif
