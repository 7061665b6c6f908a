/*
 * fake_encode.h: an encode rank played by a test, for tests of the receiver:
 * a bootstrap server, a control socket and a loopback data plane, all driven
 * by the test's own thread. It does only what the test tells it to.
 */
#ifndef EPI_TESTING_FAKE_ENCODE_H
#define EPI_TESTING_FAKE_ENCODE_H

#include "control/control.h"
#include "dataplane/loopback.h"
#include "discovery/http.h"
#include "epdx/bootstrap.h"
#include "wire/control.h"
#include "wire/offer.h"

#define FAKE_ENCODE_MAX 256

typedef struct fake_encode {
    epdx_bootstrap_t *bootstrap;
    epi_http_t *http;
    epi_control_t *control;
    epi_dataplane_t *dp;
    uint32_t world_size;
    uint32_t engine_rank;
    /* What came in, in order; of cancels and registers the last so many: the
     * n-th stands at n % FAKE_ENCODE_MAX. */
    epi_ask_t asks[FAKE_ENCODE_MAX];
    size_t ask_count;
    epi_cancel_t cancels[FAKE_ENCODE_MAX];
    size_t cancel_count;
    size_t asks_before_cancel; /* the last one */
    epi_register_t registers[FAKE_ENCODE_MAX];
    size_t register_count;
    size_t sent_count;                     /* offers that came to their end */
    epdx_status_t sent_status;             /* of the last */
    epi_dp_peer_t *peers[FAKE_ENCODE_MAX]; /* by ask */
} fake_encode_t;

/** A registered encode rank 0 of world_size ranks on plane dp, which it
 *  takes. Asserts on failure. */
void fake_encode_open(fake_encode_t *encode, epi_dataplane_t *dp,
                      uint32_t world_size);

/** Register engine rank `rank` at the bootstrap server, at this rank's own
 *  control port. */
void fake_encode_register(fake_encode_t *encode, uint32_t rank);

/** "host:port" of its bootstrap server. */
const char *fake_encode_address(const fake_encode_t *encode);

/** Take in what has come. */
void fake_encode_step(fake_encode_t *encode);

/** Answer ask `index` with one part, as the header says it; NULL: the header
 *  that fits. payload must live until sent_count tells. */
void fake_encode_offer(fake_encode_t *encode, size_t index, epi_part_t part,
                       const epi_offer_t *header, const void *payload,
                       size_t bytes);

/** The header that fits ask `index`. */
epi_offer_t fake_encode_header(const fake_encode_t *encode, size_t index,
                               epi_part_t part, uint32_t levels);

/** Send a status to the rank that made ask `index`. */
void fake_encode_status(fake_encode_t *encode, size_t index,
                        epi_room_status_t status, const char *reason);

/** Send any frames to it. */
void fake_encode_send(fake_encode_t *encode, size_t index,
                      const epi_message_t *message);

/** Close the control socket and the data plane, as a dying process does; the
 *  bootstrap server goes on. */
void fake_encode_die(fake_encode_t *encode);

void fake_encode_close(fake_encode_t *encode);

#endif
