/*
 * withdraw.h: the slots of withdrawals, as both threads take them. What the
 * I/O thread does with them is in intake.h.
 */
#ifndef EPI_RECEIVE_WITHDRAW_H
#define EPI_RECEIVE_WITHDRAW_H

#include "receive/item.h"

/** What an encode rank is to be told. */
typedef struct epi_withdrawal {
    uint64_t room;
    uint64_t generation; /* of its ask; any where there was none */
    uint64_t deadline_ns;
    const char *encode; /* its bootstrap server, checked */
    const char *words;
} epi_withdrawal_t;

/** The free slots, once slots are there. Errors: EPDX_ERR_NO_MEMORY. */
EPDX_MUST_CHECK epdx_status_t epi_withdrawn_init(epi_receive_shared_t *shared);

/** Copy a withdrawal into a free slot, which is then the calling thread's.
 *  Either thread. False: EPI_WITHDRAWN_MAX are under way. */
bool epi_withdrawn_take(epi_receive_shared_t *shared,
                        const epi_withdrawal_t *withdrawal, uint32_t *slot_p);

/** Also of one that was not initialised. */
void epi_withdrawn_fini(epi_receive_shared_t *shared);

#endif
