/*
 * fuzz_offer.c: arbitrary bytes as an offer header. What unpacks is packed
 * again and must be the same bytes; what does not must leave its output alone.
 */
#include <stdlib.h>
#include <string.h>

#include "wire/offer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t again[EPI_OFFER_BYTES];
    uint64_t bytes = 0;
    epi_offer_t before;
    epi_offer_t offer;

    memset(&before, 0xa5, sizeof(before));
    memset(&offer, 0xa5, sizeof(offer));
    if (epi_offer_unpack(data, size, &offer) != EPDX_OK) {
        require(memcmp(&before, &offer, sizeof(offer)) == 0);
        require(strncmp(epdx_last_error(), "offer", 5) == 0);
        return 0;
    }
    epi_offer_pack(&offer, again);
    require(size == sizeof(again) && memcmp(data, again, size) == 0);
    require(offer.rows <= offer.span &&
            offer.row_start <= offer.span - offer.rows);
    if (epi_offer_payload(&offer, &bytes) && offer.rows > 0 &&
        offer.width > 0) {
        require(bytes / offer.rows / offer.width ==
                epdx_dtype_bytes(offer.dtype));
    }
    return 0;
}
