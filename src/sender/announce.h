/*
 * announce.h: telling the bootstrap server where this rank is: at once, again
 * with growing pauses until it is taken, then at intervals so that a server
 * that restarted learns of it, and once more at the end. The I/O thread's.
 *
 *     ASKING --200--> STANDING --interval--> ASKING
 *        \--else, or no answer--> pause --> ASKING
 */
#ifndef EPI_SENDER_ANNOUNCE_H
#define EPI_SENDER_ANNOUNCE_H

#include "discovery/http.h"
#include "discovery/route.h"
#include "sender/shared.h"

typedef struct epi_announce {
    epi_send_shared_t *shared;
    epi_http_t *http;
    bool under_way; /* a PUT is */
    bool sent;      /* one was: the server may know of us */
    bool complained;
    uint64_t pause_ns;
    uint64_t due_ns; /* of the next PUT; EPI_NEVER: no server */
    char put_url[EPI_HTTP_URL_MAX];
    char delete_url[EPI_HTTP_URL_MAX];
    char body[EPI_ROUTE_BODY_MAX];
} epi_announce_t;

/** EPDX_ERR_INVALID: the bootstrap address. port is the control socket's. */
EPDX_MUST_CHECK epdx_status_t epi_announce_init(epi_announce_t *announce,
                                                epi_send_shared_t *shared,
                                                epi_http_t *http,
                                                uint16_t port);

/** Begin what is due; true when something was begun. */
bool epi_announce_tick(epi_announce_t *announce, uint64_t now);

void epi_announce_reply(epi_announce_t *announce, const epi_http_reply_t *reply,
                        uint64_t now);

/** Take the registration back, if the server may have it. Waits for its answer
 *  for at most a second; no loop may run. */
void epi_announce_withdraw(epi_announce_t *announce);

#endif
