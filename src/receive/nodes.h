/*
 * nodes.h: the encode nodes and ranks that a receiver pulls from: look-up at
 * the node's bootstrap server, connection, registration, and the loss of
 * either. The I/O thread's.
 *
 *     node (a bootstrap address):   IDLE --> ASKING --> DONE
 *     peer (a node's DP group):     IDLE --> ASKING --> CONNECTING --> DONE
 *
 * A look-up that fails goes back to IDLE and is tried again, later each time,
 * while items wait; a peer that goes down does the same, and both then forget
 * what they knew. Items wait in lists: at their node until it is DONE, then at
 * their peer; a peer that is lost or not reached sends those that still look
 * for it back to their node.
 */
#ifndef EPI_RECEIVE_NODES_H
#define EPI_RECEIVE_NODES_H

#include "base/table.h"
#include "base/timers.h"
#include "control/control.h"
#include "dataplane/dataplane.h"
#include "discovery/http.h"
#include "discovery/route.h"
#include "receive/item.h"

typedef enum epi_find_state {
    EPI_FIND_IDLE,
    EPI_FIND_ASKING,
    EPI_FIND_CONNECTING,
    EPI_FIND_DONE, /* a node is known, a peer is up */
} epi_find_state_t;

/** What node and peer share: one thing to find, retried with back-off. */
typedef struct epi_find {
    epi_find_state_t state;
    uint32_t tries;      /* since it was last found */
    uint64_t failing_ns; /* when the first of them failed, where any did */
    uint32_t first_item; /* those that wait here, oldest first */
    uint32_t last_item;
    char error[256]; /* why the last try failed */
} epi_find_t;

typedef struct epi_node {
    bool used;
    epi_find_t find;
    char address[EPDX_ADDRESS_MAX + 1];
    epi_route_world_t world;
} epi_node_t;

typedef struct epi_peer {
    bool used;
    epi_find_t find;
    uint32_t node;
    uint32_t group;
    uint32_t fanout;
    uint32_t control; /* the control part's number for it, EPI_NONE: none */
    epi_route_rank_t rank;
} epi_peer_t;

/** What the items' owner does when something happens here. */
typedef struct epi_nodes_events {
    /** Its encode rank is up: it may be asked. */
    void (*item_up)(void *self, uint32_t slot);
    /** Its encode rank went away: what it was to serve has failed, words say
     *  why. */
    void (*item_lost)(void *self, uint32_t slot, const char *words);
    /** An item can never be served: the node does not fit this engine. */
    void (*item_refused)(void *self, uint32_t slot, epdx_status_t status,
                         const char *words);
    void *self;
} epi_nodes_events_t;

typedef struct epi_nodes {
    epi_receive_shared_t *shared;
    epi_control_t *control; /* not owned */
    epi_http_t *http;       /* not owned */
    epi_dataplane_t *dp;    /* not owned; NULL: nobody to admit to */
    const char *session;
    char instance[17]; /* of this process's receiver */
    epi_nodes_events_t events;
    epi_node_t *nodes;
    epi_peer_t *peers;
    uint32_t max;
    epi_table_t node_by_address;
    epi_table_t peer_by_group;
    uint32_t *peer_by_control;
    epi_timers_t timers; /* nodes, then peers */
} epi_nodes_t;

/** Errors: EPDX_ERR_NO_MEMORY. shared, control and http must outlive it. */
EPDX_MUST_CHECK epdx_status_t epi_nodes_init(epi_nodes_t *nodes,
                                             epi_receive_shared_t *shared,
                                             epi_control_t *control,
                                             epi_http_t *http);

/** The entry of a bootstrap address, of a node's DP group, made when it is new.
 *  EPI_NONE: EPDX_MAX_PEERS are in use, or another address has the same 64-bit
 *  hash. In directory.c. */
uint32_t epi_node_get(epi_nodes_t *nodes, const char *address);
uint32_t epi_peer_get(epi_nodes_t *nodes, uint32_t node, uint32_t group);

/** Let an item wait for its encode rank; item_up may come at once. False: as
 *  epi_node_get(). */
bool epi_nodes_join(epi_nodes_t *nodes, uint32_t slot, uint64_t now);

/** Take an item out of the list it waits in. */
void epi_nodes_leave(epi_nodes_t *nodes, uint32_t slot);

/** Whether the item's encode rank is up. */
bool epi_nodes_up(const epi_nodes_t *nodes, uint32_t slot);

/** Since when the search of an item has failed without a break; EPI_NEVER
 *  where its last try did not fail. */
uint64_t epi_nodes_failing(const epi_nodes_t *nodes, uint32_t slot);

/** Where the item's search stands, in words, for the reason of a deadline. */
void epi_nodes_explain(const epi_nodes_t *nodes, uint32_t slot, char *words,
                       size_t size);

/** Pieces of nodes.c that find.c uses: look-ups begin and end there. */
void epi_list_append(epi_nodes_t *nodes, epi_find_t *list, uint32_t slot);
void epi_list_remove(epi_nodes_t *nodes, epi_find_t *list, uint32_t slot);
void epi_nodes_seat(epi_nodes_t *nodes, uint32_t node, uint64_t now);
void epi_nodes_unseat(epi_nodes_t *nodes, uint32_t peer, uint64_t now);

/** Tell a peer that is up who asks. Errors: EPDX_ERR_FULL: its queue is. In
 *  find.c. */
EPDX_MUST_CHECK epdx_status_t epi_nodes_register(const epi_nodes_t *nodes,
                                                 uint32_t peer);

/** Begin a look-up that is not under way yet. In find.c. */
void epi_find_node(epi_nodes_t *nodes, uint32_t node, uint64_t now);
void epi_find_peer(epi_nodes_t *nodes, uint32_t peer, uint64_t now);

/** Feed what came in. */
void epi_nodes_reply(epi_nodes_t *nodes, const epi_http_reply_t *reply,
                     uint64_t now);
void epi_nodes_control_up(epi_nodes_t *nodes, uint32_t control);
void epi_nodes_control_down(epi_nodes_t *nodes, uint32_t control, uint64_t now);
void epi_nodes_control_refused(epi_nodes_t *nodes, uint32_t control,
                               uint64_t now);

/** Retry what is due; true when something was done. */
bool epi_nodes_tick(epi_nodes_t *nodes, uint64_t now);

void epi_nodes_fini(epi_nodes_t *nodes);

#endif
