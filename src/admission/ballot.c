/*
 * ballot.c: the vote of a drain. Admission calls it:
 *
 *     begin --> add ... add --> seal --> (MIN over the ranks) --> open_result
 *       ^                                                              |
 *       '------------------------- result(i) <-------------------------'
 *
 * Every rank reads the same reduced bytes, so each decision here, the size of
 * the next vote included, is the same on every rank without another message.
 */
#include "admission/ballot.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/table.h"

#define COUNT_AT  0
#define HASH_AT   16
#define WANTED_AT 32
/* Keeps twice any count of codes, and the header, inside a size_t. */
#define PENDING_MAX (UINT64_C(1) << 32)
#define HASH_START  UINT64_C(0x9e3779b97f4a7c15)

static void put_u64(uint8_t *bytes, uint64_t value)
{
    for (unsigned i = 0; i < 8; i++) {
        bytes[i] = (uint8_t)(value >> (8 * i));
    }
}

static uint64_t get_u64(const uint8_t *bytes)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < 8; i++) {
        value |= (uint64_t)bytes[i] << (8 * i);
    }
    return value;
}

static void put_pair(uint8_t *bytes, uint64_t value)
{
    put_u64(bytes, value);
    put_u64(bytes + 8, ~value);
}

/* Whether all ranks gave the same value: at a byte where two ranks differ, one
 * half holds the least x, the other the complement of the largest. */
static bool pair_agrees(const uint8_t *bytes)
{
    return get_u64(bytes) == ~get_u64(bytes + 8);
}

/* log2 of the least size of a vote that holds count codes. */
static unsigned size_log2(uint64_t count)
{
    unsigned log2 = 0;

    while ((UINT64_C(1) << log2) < count ||
           (UINT64_C(1) << log2) < EPI_BALLOT_FIRST) {
        log2++;
    }
    return log2;
}

epdx_status_t epi_ballot_init(epi_ballot_t *ballot, size_t pending_max)
{
    epi_ballot_t made = {.codes = EPI_BALLOT_FIRST};

    if (pending_max == 0 || pending_max > PENDING_MAX) {
        return epi_fail(EPDX_ERR_INVALID, "a ballot for %zu pending requests",
                        pending_max);
    }
    made.codes_max = (size_t)1 << size_log2(pending_max);
    made.bytes = calloc(1, EPI_BALLOT_HEADER + made.codes_max);
    if (made.bytes == NULL) {
        return epi_fail(EPDX_ERR_NO_MEMORY,
                        "out of memory for a ballot of %zu codes",
                        made.codes_max);
    }
    *ballot = made;
    return EPDX_OK;
}

void epi_ballot_begin(epi_ballot_t *ballot)
{
    ballot->count = 0;
    ballot->pending = 0;
    ballot->hash = HASH_START;
    memset(ballot->bytes + EPI_BALLOT_HEADER, EPDX_LANDED, ballot->codes);
}

void epi_ballot_add(epi_ballot_t *ballot, uint64_t id_hash, epdx_state_t state)
{
    uint8_t link[16];

    /* A chain: what an id adds depends on all ids before it. */
    put_u64(link, ballot->hash);
    put_u64(link + 8, id_hash);
    ballot->hash = epi_hash(link, sizeof(link));
    ballot->pending++;
    if (ballot->count < ballot->codes) {
        ballot->bytes[EPI_BALLOT_HEADER + ballot->count] = (uint8_t)state;
        ballot->count++;
    }
}

size_t epi_ballot_seal(epi_ballot_t *ballot)
{
    put_pair(ballot->bytes + COUNT_AT, ballot->pending);
    put_pair(ballot->bytes + HASH_AT, ballot->hash);
    memset(ballot->bytes + WANTED_AT, 0, EPI_BALLOT_HEADER - WANTED_AT);
    ballot->bytes[WANTED_AT] = (uint8_t)~size_log2(ballot->pending);
    return EPI_BALLOT_HEADER + ballot->codes;
}

epdx_status_t epi_ballot_open_result(epi_ballot_t *ballot)
{
    unsigned log2 = (uint8_t)~ballot->bytes[WANTED_AT];

    if (!pair_agrees(ballot->bytes + COUNT_AT)) {
        return epi_fail(EPDX_ERR_DISAGREE,
                        "pending requests differ across ranks: this rank has "
                        "%" PRIu64,
                        ballot->pending);
    }
    if (!pair_agrees(ballot->bytes + HASH_AT)) {
        return epi_fail(EPDX_ERR_DISAGREE,
                        "pending requests differ across ranks: all have the "
                        "same number, %" PRIu64
                        ", but other ids, other items (room, "
                        "span, skipped), or another order",
                        ballot->pending);
    }
    if (log2 >= 64 || (UINT64_C(1) << log2) > ballot->codes_max ||
        (UINT64_C(1) << log2) < EPI_BALLOT_FIRST) {
        return epi_fail(EPDX_ERR_DISAGREE,
                        "a rank wants a vote of 2^%u codes, this rank has at "
                        "most %zu: EPDX_MAX_REQUESTS differs across ranks",
                        log2, ballot->codes_max);
    }
    ballot->codes = (size_t)1 << log2;
    return EPDX_OK;
}

epdx_state_t epi_ballot_result(const epi_ballot_t *ballot, size_t index)
{
    if (index >= ballot->count) {
        return EPDX_PENDING;
    }
    return (epdx_state_t)ballot->bytes[EPI_BALLOT_HEADER + index];
}

void epi_ballot_fini(epi_ballot_t *ballot)
{
    free(ballot->bytes);
    *ballot = (epi_ballot_t){0};
}
