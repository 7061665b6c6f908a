/*
 * offer.c: the header of an offer of rows, see offer.h. Packed by the sending
 * end, unpacked by the receiving end, which checks it against its own lease
 * before it pulls.
 */
#include "wire/offer.h"

#include <inttypes.h>
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "wire/bytes.h"

#define OFFER_VERSION 1

enum {
    AT_MAGIC = 0,
    AT_VERSION = 4,
    AT_PART = 6,
    AT_DTYPE = 7,
    AT_ROOM = 8,
    AT_GENERATION = 16,
    AT_ROW_START = 24,
    AT_ROWS = 32,
    AT_SPAN = 40,
    AT_WIDTH = 48,
    AT_ENCODE_RANK = 56,
    AT_ZERO = 60,
};

static const char magic[4] = {'E', 'P', 'D', 'X'};

void epi_offer_pack(const epi_offer_t *offer, uint8_t out[EPI_OFFER_BYTES])
{
    memcpy(out + AT_MAGIC, magic, sizeof(magic));
    epi_bytes_put(out + AT_VERSION, OFFER_VERSION, 2);
    epi_bytes_put(out + AT_PART, (uint64_t)offer->part, 1);
    epi_bytes_put(out + AT_DTYPE, (uint64_t)offer->dtype, 1);
    epi_bytes_put(out + AT_ROOM, offer->room, 8);
    epi_bytes_put(out + AT_GENERATION, offer->generation, 8);
    epi_bytes_put(out + AT_ROW_START, offer->row_start, 8);
    epi_bytes_put(out + AT_ROWS, offer->rows, 8);
    epi_bytes_put(out + AT_SPAN, offer->span, 8);
    epi_bytes_put(out + AT_WIDTH, offer->width, 8);
    epi_bytes_put(out + AT_ENCODE_RANK, offer->encode_rank, 4);
    epi_bytes_put(out + AT_ZERO, 0, 4);
}

static epdx_status_t fault(unsigned at, const char *name, const char *cause)
{
    return epi_fail(EPDX_ERR_MALFORMED, "offer byte %u (%s): %s", at, name,
                    cause);
}

/** What says that these 64 bytes are an offer of this version. */
static epdx_status_t check_form(const uint8_t *in)
{
    if (memcmp(in + AT_MAGIC, magic, sizeof(magic)) != 0) {
        return fault(AT_MAGIC, "magic", "is not \"EPDX\"");
    }
    if (epi_bytes_get(in + AT_VERSION, 2) != OFFER_VERSION) {
        return epi_fail(EPDX_ERR_MALFORMED,
                        "offer byte %u (version): is %u, not %u: the two ends "
                        "run different versions of epdx",
                        (unsigned)AT_VERSION,
                        (unsigned)epi_bytes_get(in + AT_VERSION, 2),
                        (unsigned)OFFER_VERSION);
    }
    if (in[AT_PART] > EPI_PART_DEEPSTACK) {
        return fault(AT_PART, "part", "is neither main nor deepstack");
    }
    if (epdx_dtype_bytes((epdx_dtype_t)in[AT_DTYPE]) == 0) {
        return fault(AT_DTYPE, "dtype", "is no known dtype");
    }
    if (epi_bytes_get(in + AT_ZERO, 4) != 0) {
        return fault(AT_ZERO, "reserved", "is not zero");
    }
    return EPDX_OK;
}

epdx_status_t epi_offer_unpack(const void *bytes, size_t length,
                               epi_offer_t *offer_p)
{
    const uint8_t *in = bytes;
    epdx_status_t status;
    epi_offer_t offer;
    uint64_t end;

    if (length != EPI_OFFER_BYTES) {
        return epi_fail(EPDX_ERR_MALFORMED, "offer: has %zu bytes, not %u",
                        length, (unsigned)EPI_OFFER_BYTES);
    }
    status = check_form(in);
    if (status != EPDX_OK) {
        return status;
    }
    offer.part = (epi_part_t)in[AT_PART];
    offer.dtype = (epdx_dtype_t)in[AT_DTYPE];
    offer.room = epi_bytes_get(in + AT_ROOM, 8);
    offer.generation = epi_bytes_get(in + AT_GENERATION, 8);
    offer.row_start = epi_bytes_get(in + AT_ROW_START, 8);
    offer.rows = epi_bytes_get(in + AT_ROWS, 8);
    offer.span = epi_bytes_get(in + AT_SPAN, 8);
    offer.width = epi_bytes_get(in + AT_WIDTH, 8);
    offer.encode_rank = (uint32_t)epi_bytes_get(in + AT_ENCODE_RANK, 4);
    if (!epi_add_u64(offer.row_start, offer.rows, &end) || end > offer.span) {
        return epi_fail(
            EPDX_ERR_MALFORMED,
            "offer byte %u (row_start): %" PRIu64 " rows from %" PRIu64
            " do not lie in the span of %" PRIu64,
            (unsigned)AT_ROW_START, offer.rows, offer.row_start, offer.span);
    }
    *offer_p = offer;
    return EPDX_OK;
}

bool epi_offer_payload(const epi_offer_t *offer, uint64_t *bytes_p)
{
    uint64_t bytes;

    if (!epi_mul_u64(offer->rows, offer->width, &bytes) ||
        !epi_mul_u64(bytes, epdx_dtype_bytes(offer->dtype), &bytes)) {
        return false;
    }
    *bytes_p = bytes;
    return true;
}
