/* check.h: whether an offer is the one an item asked for. Pure. */
#ifndef EPI_RECEIVE_CHECK_H
#define EPI_RECEIVE_CHECK_H

#include "receive/item.h"
#include "wire/offer.h"

/** Where an accepted offer's payload goes. */
typedef struct epi_landing {
    void *target;
    uint64_t bytes; /* 0: the header alone lands the share */
} epi_landing_t;

/** EPDX_OK; EPDX_ERR_DUPLICATE: that part was offered before;
 *  EPDX_ERR_MISMATCH with the first difference in words. The header's room and
 *  generation have found the slot. */
EPDX_MUST_CHECK epdx_status_t epi_offer_check(
    const epi_receive_config_t *config, const epi_item_slot_t *slot,
    const epi_offer_t *offer, uint64_t payload_bytes, epi_landing_t *landing_p);

/** The parts a share comes in, a bit each. */
uint8_t epi_parts_expected(const epi_receive_config_t *config,
                           const epi_item_slot_t *slot);

#endif
