/*
 * offer.h: the header of an active message that offers rows: fixed size,
 * little-endian, versioned. Pure. A share with rows is offered in one message
 * a part (main, then deepstack where there is one); a share without rows in
 * one header of part main with no payload.
 */
#ifndef EPI_WIRE_OFFER_H
#define EPI_WIRE_OFFER_H

#include "epdx/types.h"

#define EPI_OFFER_BYTES 64

typedef enum epi_part {
    EPI_PART_MAIN = 0,
    EPI_PART_DEEPSTACK = 1,
} epi_part_t;

/*
 *  0  "EPDX"        4  version u16 = 1   6  part u8     7  dtype u8
 *  8  room u64     16  generation u64   24  row_start u64
 * 32  rows u64     40  span u64         48  width u64, elements of a row
 * 56  encode rank u32                   60  zero u32
 */
typedef struct epi_offer {
    epi_part_t part;
    epdx_dtype_t dtype;
    uint64_t room;
    uint64_t generation;
    uint64_t row_start;
    uint64_t rows;
    uint64_t span;
    uint64_t width;
    uint32_t encode_rank;
} epi_offer_t;

void epi_offer_pack(const epi_offer_t *offer, uint8_t out[EPI_OFFER_BYTES]);

/** EPDX_ERR_MALFORMED: length, magic, version, part, dtype, reserved bytes, or
 *  a range that does not lie in its span; *offer_p is unchanged. */
EPDX_MUST_CHECK epdx_status_t epi_offer_unpack(const void *bytes, size_t length,
                                               epi_offer_t *offer_p);

/** rows * width * element bytes; false when it overflows. */
bool epi_offer_payload(const epi_offer_t *offer, uint64_t *bytes_p);

#endif
