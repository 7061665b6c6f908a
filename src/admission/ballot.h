/*
 * ballot.h: states to codes to minimum to decision. Pure.
 *
 * The vote is one array of bytes, reduced with MIN over the ranks:
 *
 *     0   count, little-endian u64      8  ~count
 *    16   hash of the ordered ids u64  24  ~hash
 *    32   ~log2(codes wanted in the next vote), one byte; 7 bytes of 0
 *    40   codes, one byte a pending request: FAILED 0 < PENDING 1 < LANDED 2
 *
 * Bytes of (x, ~x) reduced with MIN are complements of each other exactly when
 * all ranks gave the same x. The array has the same size on every rank: it is
 * that which the ranks agreed on in the vote before (EPI_BALLOT_FIRST codes at
 * first): each vote carries ~log2 of the size that the rank wants next, whose
 * minimum is the largest wish. Requests past the size wait for the next vote.
 */
#ifndef EPI_ADMISSION_BALLOT_H
#define EPI_ADMISSION_BALLOT_H

#include "epdx/types.h"

#define EPI_BALLOT_FIRST  64 /* codes of the first vote; a power of two */
#define EPI_BALLOT_HEADER 40

typedef struct epi_ballot {
    uint8_t *bytes;
    size_t codes;     /* of this vote: agreed by the vote before */
    size_t codes_max; /* a power of two >= the pending requests possible */
    size_t count;     /* codes added to this vote */
    uint64_t pending; /* requests pending, also those past codes */
    uint64_t hash;
} epi_ballot_t;

/** For at most pending_max requests. EPDX_ERR_INVALID (0), _NO_MEMORY. */
EPDX_MUST_CHECK epdx_status_t epi_ballot_init(epi_ballot_t *ballot,
                                              size_t pending_max);

/** Begin a vote: the codes are cleared to LANDED, which never wins. */
void epi_ballot_begin(epi_ballot_t *ballot);

/** Add the next pending request, in stage order: its id goes into count and
 *  hash, its state into the codes where there is room. The hash depends on
 *  each id and on its place. */
void epi_ballot_add(epi_ballot_t *ballot, uint64_t id_hash, epdx_state_t state);

/** Close the vote: write the header. Returns the bytes to reduce. */
size_t epi_ballot_seal(epi_ballot_t *ballot);

/** After the reduction: EPDX_OK, and codes of the next vote are set;
 *  EPDX_ERR_DISAGREE with words: "pending requests differ across ranks: this
 *  rank has N" when the counts differ, or "... the same number, N, but other
 *  ids or another order". */
EPDX_MUST_CHECK epdx_status_t epi_ballot_open_result(epi_ballot_t *ballot);

/** The decision for the index-th request added; PENDING past the codes. */
epdx_state_t epi_ballot_result(const epi_ballot_t *ballot, size_t index);

void epi_ballot_fini(epi_ballot_t *ballot);

#endif
