/* check.c: see check.h. */
#include "receive/check.h"

#include <inttypes.h>

#include "base/error.h"

uint8_t epi_parts_expected(const epi_receive_config_t *config,
                           const epi_item_slot_t *slot)
{
    uint8_t parts = 1U << EPI_PART_MAIN;

    if (config->levels > 0 && slot->share.count > 0) {
        parts |= 1U << EPI_PART_DEEPSTACK;
    }
    return parts;
}

static epdx_status_t differs(const char *what, uint64_t offered, uint64_t asked)
{
    return epi_fail(EPDX_ERR_MISMATCH,
                    "the offer has %s %" PRIu64 ", %" PRIu64 " was asked for",
                    what, offered, asked);
}

static epdx_status_t check_rows(const epi_item_slot_t *slot,
                                const epi_offer_t *offer)
{
    if (offer->room != slot->room) {
        return differs("room", offer->room, slot->room);
    }
    if (offer->span != slot->span) {
        return differs("span", offer->span, slot->span);
    }
    if (offer->row_start != slot->share.start) {
        return differs("first row", offer->row_start, slot->share.start);
    }
    if (offer->rows != slot->share.count) {
        return differs("row count", offer->rows, slot->share.count);
    }
    return EPDX_OK;
}

epdx_status_t epi_offer_check(const epi_receive_config_t *config,
                              const epi_item_slot_t *slot,
                              const epi_offer_t *offer, uint64_t payload_bytes,
                              epi_landing_t *landing_p)
{
    bool main_part = offer->part == EPI_PART_MAIN;
    uint64_t width =
        main_part ? config->hidden : config->hidden * config->levels;
    uint64_t row_bytes =
        main_part ? config->main_row_bytes : config->deepstack_row_bytes;
    uint8_t bit = (uint8_t)(1U << offer->part);
    epdx_status_t status = check_rows(slot, offer);
    uint64_t bytes;

    if (status != EPDX_OK) {
        return status;
    }
    if (offer->dtype != config->dtype) {
        return epi_fail(
            EPDX_ERR_MISMATCH, "the offer has dtype %s, %s was asked for",
            epdx_dtype_name(offer->dtype), epdx_dtype_name(config->dtype));
    }
    if ((epi_parts_expected(config, slot) & bit) == 0) {
        return epi_fail(EPDX_ERR_MISMATCH,
                        "deepstack rows are offered, none were asked for");
    }
    if (offer->width != width) {
        return differs("row width", offer->width, width);
    }
    /* The lease holds span rows of row_bytes: the product was checked. */
    bytes = slot->share.count * row_bytes;
    if (payload_bytes != bytes) {
        return differs("payload bytes", payload_bytes, bytes);
    }
    if ((slot->parts_posted & bit) != 0) {
        return epi_fail(EPDX_ERR_DUPLICATE, "that part was offered before");
    }
    landing_p->target = (main_part ? slot->main : slot->deepstack) +
                        slot->share.start * row_bytes;
    landing_p->bytes = bytes;
    return EPDX_OK;
}
