/*
 * landing_fixture.h: a receiver over the loopback plane and an encode rank that
 * the test plays, for tests of what happens once rows have landed. The test
 * runs the receiver's loop.
 */
#ifndef EPI_RECEIVE_LANDING_FIXTURE_H
#define EPI_RECEIVE_LANDING_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "receive/receiver_internal.h"
#include "testing/fake_encode.h"
#include "testing/until.h"

typedef struct landing {
    epi_loopback_hub_t *hub;
    fake_encode_t encode;
    epdx_receiver_t *receiver;
    uint64_t next_room;
    uint8_t rows[64 * 1024]; /* what is sent: of no two places the same */
} landing_t;

/** 16 KiB of pool, rows of 8 bfloat16, no deepstack: 1024 rows. */
epdx_receiver_params_t landing_params(void);

/** There are as many encode ranks as params->tp_size; rank 0 is registered. */
landing_t *landing_open(const epdx_receiver_params_t *params);
/** The receiver, unless it was closed and set to NULL, and the rest. */
void landing_close(landing_t *landing);

/** Stage a request of one item. */
epdx_job_t *landing_stage(landing_t *landing, const char *id, uint64_t span);

/** Send the item of the last staged request, whose ask is awaited: the main
 *  rows from rows + from, the deepstack rows behind them; until it landed. */
void landing_send(landing_t *landing, epdx_job_t *job, size_t from);

/** Both of it. */
epdx_job_t *landing_land(landing_t *landing, const char *id, uint64_t span,
                         size_t from);

epdx_receiver_stats_t landing_stats(const landing_t *landing);

/** How many more withdrawals there may be; the receiver has no thread. */
uint32_t landing_free_withdrawals(const epdx_receiver_t *receiver);

/** Poll until holds is true, 20 s at most. */
#define landing_until(landing, holds)                                          \
    EPI_UNTIL(holds, 20 * EPI_S, landing_step(landing))

void landing_step(landing_t *landing);

#endif
