/*
 * clocks.c: how far this rank's clock is from that of rank 0, for traces that
 * are merged (trace/clocks.h says why the bound holds). A reduction is a round:
 * nobody has its result before all have entered.
 */
#include "trace/clocks.h"
#include "admission/watch.h"
#include "base/clock.h"
#include "base/random.h"

/* The narrowest counts; the first ones also warm the path up. */
#define ROUNDS 32

typedef struct rounds {
    epi_round_t rounds[ROUNDS];
    uint64_t group; /* a number of rank 0's, that tells groups apart */
} rounds_t;

static epdx_status_t take_part(epdx_group_t *group, rounds_t *mine)
{
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t word = 0;
        epdx_status_t status;

        mine->rounds[i].entered_ns = epi_now_ns();
        status = group->ops->min_u64(group, &word, 1);
        mine->rounds[i].left_ns = epi_now_ns();
        if (status != EPDX_OK) {
            return status;
        }
    }
    return EPDX_OK;
}

epdx_status_t epi_admission_clocks(epdx_admission_t *admission)
{
    epdx_group_t *group = admission->group;
    rounds_t mine = {.group = epi_random_u64()};
    rounds_t first;
    epi_clocks_t clocks;
    epi_trace_event_t event;
    epdx_status_t status = take_part(group, &mine);

    first = mine;
    admission->stats.collectives.creation += ROUNDS + 1;
    if (status == EPDX_OK) {
        status = group->ops->broadcast(group, &first, sizeof(first), 0);
    }
    if (status != EPDX_OK) {
        return status;
    }
    epi_clocks_init(&clocks);
    for (int i = 0; i < ROUNDS; i++) {
        epi_clocks_add(&clocks, &mine.rounds[i], &first.rounds[i]);
    }
    event = group->rank == 0 ? epi_trace_clock(first.group, 0, 0, 0)
                             : epi_trace_clock(first.group, group->rank,
                                               epi_clocks_offset(&clocks),
                                               epi_clocks_error(&clocks));
    epi_watch_put(&admission->watch, &event);
    return EPDX_OK;
}
