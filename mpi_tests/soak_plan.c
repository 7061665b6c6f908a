/* soak_plan.c: see soak.h. Pure. */
#include "soak.h"

#include <string.h>

test_seeded_t soak_seeded(uint64_t seed, uint64_t number, uint64_t purpose)
{
    uint64_t x = seed + number * UINT64_C(0x9e3779b97f4a7c15) +
                 purpose * UINT64_C(0xd1b54a32d192ed03);

    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (test_seeded_t){(x ^ (x >> 31)) | 1};
}

/* Mostly small, some without rows for most ranks, few of megabytes. */
static uint64_t pick_span(test_seeded_t *seeded)
{
    uint64_t kind = test_seeded_below(seeded, 1000);

    if (kind < 150) {
        return 1 + test_seeded_below(seeded, 3);
    }
    if (kind < 900) {
        return 1 + test_seeded_below(seeded, 64);
    }
    if (kind < 990) {
        return 64 + test_seeded_below(seeded, 1000);
    }
    return 2000 + test_seeded_below(seeded, 4000);
}

static soak_act_t pick_act(test_seeded_t *seeded)
{
    uint64_t kind = test_seeded_below(seeded, 1000);

    if (kind < 4) {
        return SOAK_FAIL;
    }
    if (kind < 8) {
        return SOAK_WRONG_SPAN;
    }
    if (kind < 10) {
        return SOAK_NEVER;
    }
    return kind < 100 ? SOAK_SEND_LATE : SOAK_SEND;
}

void soak_plan(uint64_t seed, uint64_t number, uint32_t ranks,
               soak_request_t *request_p)
{
    test_seeded_t seeded = soak_seeded(seed, number, 1);

    memset(request_p, 0, sizeof(*request_p));
    request_p->item_count = 1 + (size_t)test_seeded_below(&seeded, 10) / 3;
    request_p->cancel_rank = test_seeded_below(&seeded, 30) == 0
                                 ? (uint32_t)test_seeded_below(&seeded, ranks)
                                 : UINT32_MAX;
    request_p->cancel_after = (uint32_t)test_seeded_below(&seeded, 6);
    for (size_t i = 0; i < request_p->item_count; i++) {
        soak_item_t *item = &request_p->items[i];

        item->room = ((number + 1) << 8) | i;
        item->span = pick_span(&seeded);
        item->node = (uint32_t)test_seeded_below(&seeded, SOAK_NODES);
        item->act = pick_act(&seeded);
        item->delay = (uint32_t)test_seeded_below(&seeded, 50);
    }
}
