/*
 * ballot.c: the votes of a drain. Admission calls it:
 *
 *     begin --> seal --> (MIN over the ranks) --> open_result --> result(i)
 *                ^                                     |
 *                '----------- again: wider ------------'
 *
 * Every rank reads the same reduced bytes, so each decision here, that of a
 * wider vote included, is the same on every rank without another message.
 */
#include "admission/ballot.h"

#include <endian.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define COUNT_AT  0
#define HASH_AT   16
#define FAILED_AT 32
#define LANDED_AT 33
/* Keeps twice any count of codes, and the header, inside a size_t. */
#define PENDING_MAX (UINT64_C(1) << 32)

static void put_u64(uint8_t *bytes, uint64_t value)
{
    uint64_t little = htole64(value);

    memcpy(bytes, &little, sizeof(little));
}

static uint64_t get_u64(const uint8_t *bytes)
{
    uint64_t little;

    memcpy(&little, bytes, sizeof(little));
    return le64toh(little);
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
    made.bytes =
        calloc(1, EPI_BALLOT_HEADER + made.codes_max + EPI_BALLOT_WATCH);
    if (made.bytes == NULL) {
        return epi_fail(EPDX_ERR_NO_MEMORY,
                        "out of memory for a ballot of %zu codes",
                        made.codes_max);
    }
    *ballot = made;
    return EPDX_OK;
}

void epi_ballot_watch(epi_ballot_t *ballot)
{
    ballot->watching = true;
}

static void begin(epi_ballot_t *ballot, size_t codes)
{
    ballot->codes = codes;
    ballot->wider = 0;
    ballot->well = true;
    ballot->complete = 0;
}

void epi_ballot_begin(epi_ballot_t *ballot)
{
    begin(ballot, EPI_BALLOT_FIRST);
}

bool epi_ballot_again(epi_ballot_t *ballot)
{
    if (ballot->wider == 0) {
        return false;
    }
    begin(ballot, ballot->wider);
    return true;
}

void epi_ballot_report(epi_ballot_t *ballot, bool well, uint64_t complete)
{
    ballot->well = well;
    /* Bytes have a minimum of their own; what is over comes in later votes. */
    ballot->complete = complete > UINT8_MAX ? UINT8_MAX : (uint8_t)complete;
}

/* What stands behind the codes of this vote. */
static uint8_t *watch_of(const epi_ballot_t *ballot)
{
    return ballot->bytes + EPI_BALLOT_HEADER + ballot->codes;
}

size_t epi_ballot_seal(epi_ballot_t *ballot, const epi_votes_t *votes)
{
    uint8_t *codes = ballot->bytes + EPI_BALLOT_HEADER;

    ballot->pending = votes->count;
    ballot->count = votes->count < ballot->codes ? votes->count : ballot->codes;
    put_pair(ballot->bytes + COUNT_AT, ballot->pending);
    put_pair(ballot->bytes + HASH_AT, votes->hash);
    memset(ballot->bytes + FAILED_AT, 0, EPI_BALLOT_HEADER - FAILED_AT);
    ballot->bytes[FAILED_AT] = (uint8_t)~size_log2(votes->failed_end);
    ballot->bytes[LANDED_AT] = (uint8_t)size_log2(votes->landed_end);
    memcpy(codes, votes->codes, ballot->count);
    /* Places of nobody: LANDED never wins. */
    memset(codes + ballot->count, EPDX_LANDED, ballot->codes - ballot->count);
    if (!ballot->watching) {
        return EPI_BALLOT_HEADER + ballot->codes;
    }
    watch_of(ballot)[0] = ballot->well ? 1 : 0;
    watch_of(ballot)[1] = ballot->complete;
    return EPI_BALLOT_HEADER + ballot->codes + EPI_BALLOT_WATCH;
}

/* log2 of the codes that it takes to decide all that can be decided. */
static unsigned wanted_log2(const epi_ballot_t *ballot)
{
    unsigned failed = (uint8_t)~ballot->bytes[FAILED_AT];
    unsigned landed = ballot->bytes[LANDED_AT];

    return failed > landed ? failed : landed;
}

epdx_status_t epi_ballot_open_result(epi_ballot_t *ballot)
{
    unsigned log2 = wanted_log2(ballot);

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
    if (log2 >= 64 || (UINT64_C(1) << log2) > ballot->codes_max) {
        return epi_fail(EPDX_ERR_DISAGREE,
                        "a rank wants a vote of 2^%u codes, this rank has at "
                        "most %zu: EPDX_MAX_REQUESTS differs across ranks",
                        log2, ballot->codes_max);
    }
    if (ballot->watching) {
        ballot->well = watch_of(ballot)[0] != 0;
        ballot->complete = watch_of(ballot)[1];
    }
    if (((size_t)1 << log2) > ballot->codes) {
        ballot->wider = (size_t)1 << log2;
    }
    return EPDX_OK;
}

bool epi_ballot_decides(const epi_ballot_t *ballot)
{
    const uint8_t *codes = ballot->bytes + EPI_BALLOT_HEADER;

    /* All are as the one before: with the first pending, all are. */
    return ballot->count > 0 &&
           (codes[0] != EPDX_PENDING ||
            memcmp(codes, codes + 1, ballot->count - 1) != 0);
}

bool epi_ballot_well(const epi_ballot_t *ballot)
{
    return ballot->well;
}

uint64_t epi_ballot_complete(const epi_ballot_t *ballot)
{
    return ballot->complete;
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
