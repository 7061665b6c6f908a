/*
 * holds.c: see holds.h.
 *
 * What was given back is a stack: any thread puts one on top, the receiver's
 * thread takes it whole. Since nobody takes a single one off it, a top that
 * comes back unchanged is harmless.
 */
#include "receive/holds.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/error.h"

#define NONE UINT32_MAX

struct epi_holds {
    _Atomic uint32_t returned; /* top of the stack, any thread */
    atomic_size_t shares;      /* the receiver's and one a hold out */
    unsigned char *blocks;     /* hold_max of EPI_HOLD_BYTES; NULL at first */
    uint32_t hold_max;
    uint32_t fresh; /* blocks from here on were never used */
    uint32_t free;  /* list of those that were */
    uint32_t taken; /* list: off the stack, not taken in yet */
    /* To be freed; written before the receiver's share goes. */
    epi_holds_pool_t pool;
};

static epi_hold_t *hold_at(const epi_holds_t *holds, uint32_t index)
{
    return (epi_hold_t *)(void *)(holds->blocks +
                                  (size_t)index * EPI_HOLD_BYTES);
}

epdx_status_t epi_holds_open(size_t hold_max, epi_holds_t **holds_p)
{
    epi_holds_t *holds;

    if (hold_max == 0 || hold_max >= NONE) {
        return epi_fail(EPDX_ERR_INVALID, "holds: %zu of them", hold_max);
    }
    holds = calloc(1, sizeof(*holds));
    if (holds == NULL) {
        return epi_fail(EPDX_ERR_NO_MEMORY, "no memory for a pool's holds");
    }
    atomic_init(&holds->returned, NONE);
    atomic_init(&holds->shares, 1);
    holds->hold_max = (uint32_t)hold_max;
    holds->free = NONE;
    holds->taken = NONE;
    *holds_p = holds;
    return EPDX_OK;
}

epdx_status_t epi_hold_take(epi_holds_t *holds, uint32_t job,
                            epi_hold_t **hold_p)
{
    uint32_t index = holds->free;
    epi_hold_t *hold;

    if (holds->blocks == NULL) {
        holds->blocks = calloc(holds->hold_max, EPI_HOLD_BYTES);
        if (holds->blocks == NULL) {
            return epi_fail(EPDX_ERR_NO_MEMORY,
                            "no memory for %u holds of the receive pool",
                            (unsigned)holds->hold_max);
        }
    }
    if (index == NONE && holds->fresh == holds->hold_max) {
        return epi_fail(EPDX_ERR_FULL, "%u holds of the receive pool are out",
                        (unsigned)holds->hold_max);
    }
    if (index == NONE) {
        index = holds->fresh++;
        hold = hold_at(holds, index);
    } else {
        hold = hold_at(holds, index);
        holds->free = hold->next;
    }
    *hold = (epi_hold_t){holds, index, job, NONE};
    atomic_fetch_add_explicit(&holds->shares, 1, memory_order_relaxed);
    *hold_p = hold;
    return EPDX_OK;
}

static void free_pool(const epi_holds_pool_t *pool)
{
    if (pool->memory.ops != NULL) {
        pool->memory.ops->release(pool->memory.device, pool->base, pool->bytes);
    }
}

/* One share less; the last frees everything. */
static void leave(epi_holds_t *holds)
{
    if (atomic_fetch_sub_explicit(&holds->shares, 1, memory_order_acq_rel) >
        1) {
        return;
    }
    free_pool(&holds->pool);
    free(holds->blocks);
    free(holds);
}

void epi_hold_give_back(epi_hold_t *hold)
{
    epi_holds_t *holds = hold->holds;
    uint32_t index = hold->index;
    uint32_t top = atomic_load_explicit(&holds->returned, memory_order_relaxed);

    do {
        hold->next = top;
    } while (!atomic_compare_exchange_weak_explicit(&holds->returned, &top,
                                                    index, memory_order_release,
                                                    memory_order_relaxed));
    /* From here on the block may be another hold's. */
    leave(holds);
}

bool epi_holds_take_in(epi_holds_t *holds, uint32_t *job_p)
{
    uint32_t index = holds->taken;
    epi_hold_t *hold;

    if (index == NONE &&
        atomic_load_explicit(&holds->returned, memory_order_relaxed) != NONE) {
        index = atomic_exchange_explicit(&holds->returned, NONE,
                                         memory_order_acquire);
    }
    if (index == NONE) {
        return false;
    }
    hold = hold_at(holds, index);
    holds->taken = hold->next;
    hold->next = holds->free;
    holds->free = index;
    *job_p = hold->job;
    return true;
}

void epi_holds_close(epi_holds_t *holds, const epi_holds_pool_t *pool)
{
    if (holds != NULL) {
        holds->pool = *pool;
        leave(holds);
    } else {
        free_pool(pool);
    }
}
