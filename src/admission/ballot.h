/*
 * ballot.h: states to codes to minimum to decision. Pure.
 *
 * The vote is one array of bytes, reduced with MIN over the ranks:
 *
 *     0   count, little-endian u64      8  ~count
 *    16   hash of the ordered ids u64  24  ~hash
 *    32   ~log2 of the codes that hold every request that failed here
 *    33    log2 of those that hold every one that landed here; 6 bytes of 0
 *    40   codes, one byte a pending request: FAILED 0 < PENDING 1 < LANDED 2
 *
 * and, where reassembly is deferred (see epi_ballot_watch()), behind the codes:
 *
 *     0   1 where this rank's reassembly is well, 0 where it failed
 *     1   batches complete since those that were agreed on, 255 at most
 *
 * Bytes of (x, ~x) reduced with MIN are complements of each other exactly when
 * all ranks gave the same x.
 *
 * A drain's vote has EPI_BALLOT_FIRST codes, of the oldest requests, so that it
 * costs the same however many are pending. Its minima at 32 and 33 tell every
 * rank alike whether a later request may be decided: the largest end of what
 * failed anywhere, the least of what landed. Then a wider vote follows at once,
 * over as many codes as that takes.
 */
#ifndef EPI_ADMISSION_BALLOT_H
#define EPI_ADMISSION_BALLOT_H

#include "admission/votes.h"
#include "epdx/types.h"

#define EPI_BALLOT_FIRST  64 /* codes of a drain's first vote */
#define EPI_BALLOT_HEADER 40
#define EPI_BALLOT_WATCH  2

typedef struct epi_ballot {
    uint8_t *bytes;
    size_t codes;     /* of this vote */
    size_t codes_max; /* a power of two >= the pending requests possible */
    size_t wider;     /* codes of the vote that must follow; 0: none */
    size_t count;     /* requests that this vote is about */
    uint64_t pending; /* requests pending, also those past codes */
    bool watching;
    bool well; /* this rank's word, then that of all */
    uint8_t complete;
} epi_ballot_t;

/** For at most pending_max requests. EPDX_ERR_INVALID (0), _NO_MEMORY. */
EPDX_MUST_CHECK epdx_status_t epi_ballot_init(epi_ballot_t *ballot,
                                              size_t pending_max);

/** Also vote on reassembly, from the first vote on, on every rank. */
void epi_ballot_watch(epi_ballot_t *ballot);

/** Begin a drain's first vote, of EPI_BALLOT_FIRST codes. */
void epi_ballot_begin(epi_ballot_t *ballot);

/** Whether the ranks agreed on a wider vote: then that one is begun. */
bool epi_ballot_again(epi_ballot_t *ballot);

/** This rank's word on reassembly: whether it is well, and how many batches are
 *  complete here beyond those that are agreed to be. Until the next vote
 *  begins; without it the word is "well, none". */
void epi_ballot_report(epi_ballot_t *ballot, bool well, uint64_t complete);

/** Write this rank's vote. Returns the bytes to reduce. */
size_t epi_ballot_seal(epi_ballot_t *ballot, const epi_votes_t *votes);

/** After the reduction: EPDX_OK, or EPDX_ERR_DISAGREE with words: "pending
 *  requests differ across ranks: this rank has N" when the counts differ, or
 *  "... the same number, N, but other ids or another order". */
EPDX_MUST_CHECK epdx_status_t epi_ballot_open_result(epi_ballot_t *ballot);

/** Whether a request is decided by this vote. */
bool epi_ballot_decides(const epi_ballot_t *ballot);

/** Whether reassembly is well on every rank; true where it is not watched. */
bool epi_ballot_well(const epi_ballot_t *ballot);

/** How many more batches are complete on every rank. */
uint64_t epi_ballot_complete(const epi_ballot_t *ballot);

/** The decision for the index-th request; PENDING past the codes. */
epdx_state_t epi_ballot_result(const epi_ballot_t *ballot, size_t index);

void epi_ballot_fini(epi_ballot_t *ballot);

#endif
