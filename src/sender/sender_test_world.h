/* sender_test_world.h: a sender over a loopback data plane and real control
 * sockets, and the prefill ranks that a test plays, all in one thread. */
#ifndef EPI_SENDER_SENDER_TEST_WORLD_H
#define EPI_SENDER_SENDER_TEST_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "control/control.h"
#include "dataplane/loopback.h"
#include "epdx/sender.h"
#include "sender/sender_internal.h"
#include "wire/control.h"
#include "wire/offer.h"

#define WORLD_RANKS    4
#define WORLD_STATUSES 16
#define WORLD_OUTCOMES 64
#define WORLD_ROWS     64 /* most of an item here */
#define WORLD_HIDDEN   8
#define WORLD_LEVELS   3

/** One prefill rank. Its rows lie at their place in the whole item. */
typedef struct rank {
    epi_control_t *control;
    epi_dataplane_t *dp;
    epi_dp_region_t *region;
    uint32_t encode; /* its control peer */
    char session[64];
    char instance[EPI_INSTANCE_MAX + 1];
    bool refuse; /* offers */
    int offers;  /* that came */
    int pulled;  /* with success */
    int failed;  /* pulls with an error */
    epi_offer_t last;
    epi_status_t statuses[WORLD_STATUSES];
    size_t status_count;
    uint16_t main[WORLD_ROWS * WORLD_HIDDEN];
    uint16_t deepstack[WORLD_ROWS * WORLD_HIDDEN * WORLD_LEVELS];
} rank_t;

typedef struct world {
    epi_loopback_hub_t *hub;
    epi_dataplane_t *plane; /* the sender's */
    epdx_sender_t *sender;
    rank_t ranks[WORLD_RANKS];
    epdx_outcome_t outcomes[WORLD_OUTCOMES];
    size_t outcome_count;
    uint16_t source_main[WORLD_ROWS * WORLD_HIDDEN];
    uint16_t source_deepstack[WORLD_ROWS * WORLD_HIDDEN * WORLD_LEVELS];
} world_t;

/** Parameters of the sender that tests change from: bfloat16, no deepstack,
 *  one rank, a ring of 64 KiB, 60 s. */
epdx_sender_params_t world_params(void);

void world_open(world_t *world, const epdx_sender_params_t *params);
void world_close(world_t *world);

/** Open a rank's sockets and connect to the sender. */
void rank_open(world_t *world, size_t index);
/** The same with CURVE: its own key file, and the sender's public key. */
void rank_open_key(world_t *world, size_t index, const char *key_file,
                   const char *sender_key);
void rank_close(world_t *world, size_t index);
/** Its control socket only. */
void rank_close_control(world_t *world, size_t index);

/** An ask of a rank for rows of an item of world_params() form. */
epi_ask_t rank_ask(const world_t *world, size_t index, uint64_t room,
                   epdx_rows_t share, uint64_t span);
void rank_send_ask(world_t *world, size_t index, const epi_ask_t *ask);
/** The same in one: the only ask of its room, for all rows. */
void rank_ask_whole(world_t *world, size_t index, uint64_t room, uint64_t span);
/** Ask for the rank's shard of size. */
void rank_ask_shard(world_t *world, size_t index, uint64_t room, uint64_t span,
                    uint32_t size);
void rank_cancel(world_t *world, size_t index, uint64_t room,
                 uint64_t generation, const char *reason);
void rank_register(world_t *world, size_t index, uint64_t hidden,
                   uint32_t levels);
void rank_send(world_t *world, size_t index, const epi_message_t *message);

/** One step of everyone. */
void world_step(world_t *world);

/** Step until the condition holds; the test fails after 20 s. */
#define WORLD_UNTIL(world, condition)                                          \
    do {                                                                       \
        uint64_t world_limit_ = epi_now_ns() + 20 * EPI_S;                     \
        while (!(condition)) {                                                 \
            world_step(world);                                                 \
            assert_true(epi_now_ns() < world_limit_);                          \
        }                                                                      \
    } while (0)

epdx_sender_stats_t world_stats(const world_t *world);

/** Send a room from own memory, its rows told apart by room. */
void world_send(world_t *world, uint64_t room, uint64_t rows, bool deepstack);

/** The next outcome is of that room, status, and its reason has words. */
void world_expect(world_t *world, uint64_t room, epdx_status_t status,
                  const char *words);
/** A rank's next status is Failed, of that room and generation, with words. */
void rank_expect_failed(world_t *world, size_t index, uint64_t room,
                        uint64_t generation, const char *words);

/** Rows [start, start + count) are at the rank as room has them, and no row
 *  beyond. */
void rank_expect_rows(const world_t *world, size_t index, uint64_t room,
                      epdx_rows_t share, bool deepstack);

/** Nothing is open any more. */
void world_expect_quiet(world_t *world);

#endif
