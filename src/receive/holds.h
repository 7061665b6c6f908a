/*
 * holds.h: who else has a part of the receive pool, and how long the pool's
 * memory lives.
 *
 *     free --take--> out --give back--> returned --take in--> free
 *       receiver's thread     any thread      receiver's thread
 *
 * The receiver has a share in the holds from open to close, and so has each
 * hold that is out. The last to go frees them, and with them the pool: what is
 * out outlives the receiver. Giving back takes no lock and never waits.
 */
#ifndef EPI_RECEIVE_HOLDS_H
#define EPI_RECEIVE_HOLDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "memory/memory.h"

/** Bytes of a hold, of which the first are its epi_hold_t and the rest the
 *  taker's. */
#define EPI_HOLD_BYTES 256

typedef struct epi_holds epi_holds_t;

typedef struct epi_hold {
    epi_holds_t *holds;
    uint32_t index;
    uint32_t job;  /* whose rows it holds */
    uint32_t next; /* in the list that it is in */
} epi_hold_t;

/** The pool's memory, to be freed in the end. */
typedef struct epi_holds_pool {
    epi_memory_t memory; /* no ops: it is not freed */
    void *base;
    size_t bytes;
} epi_holds_pool_t;

/** At most hold_max holds out at a time. EPDX_ERR_INVALID (0),
 *  EPDX_ERR_NO_MEMORY. */
EPDX_MUST_CHECK epdx_status_t epi_holds_open(size_t hold_max,
                                             epi_holds_t **holds_p);

/** Take a hold for a job. The memory of all holds is allocated by the first
 *  call that succeeds. The receiver's thread. EPDX_ERR_FULL: hold_max are out;
 *  EPDX_ERR_NO_MEMORY: the first call. */
EPDX_MUST_CHECK epdx_status_t epi_hold_take(epi_holds_t *holds, uint32_t job,
                                            epi_hold_t **hold_p);

/** Any thread, once a hold, also after epi_holds_close(). */
void epi_hold_give_back(epi_hold_t *hold);

/** Take in one hold that was given back; false when there is none. The
 *  receiver's thread. Costs one atomic load when there is none. */
bool epi_holds_take_in(epi_holds_t *holds, uint32_t *job_p);

/** The receiver is done with it. The pool, unless its memory has no ops, is
 *  freed now, or when the last hold comes back, on the thread that gives it
 * back. NULL holds, as after a failed open: now. */
void epi_holds_close(epi_holds_t *holds, const epi_holds_pool_t *pool);

#endif
