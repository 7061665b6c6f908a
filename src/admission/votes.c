/* votes.c: see votes.h. */
#include "admission/votes.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/table.h"

epdx_status_t epi_votes_init(epi_votes_t *votes, size_t max)
{
    epi_votes_t made = {.max = max};

    made.codes = calloc(max, sizeof(*made.codes));
    made.terms = calloc(max, sizeof(*made.terms));
    if (made.codes == NULL || made.terms == NULL) {
        epi_votes_fini(&made);
        return epi_fail(EPDX_ERR_NO_MEMORY,
                        "no memory for the votes on %zu requests", max);
    }
    *votes = made;
    return EPDX_OK;
}

/* Sums do not tell an order: a request's term has its number in it. */
static uint64_t term_of(uint64_t hash, uint64_t number)
{
    uint64_t words[] = {hash, number};

    return epi_hash(words, sizeof(words));
}

static void note_end(epi_votes_t *votes, size_t place)
{
    size_t end = place + 1;

    if (votes->codes[place] == EPDX_FAILED && end > votes->failed_end) {
        votes->failed_end = end;
    }
    if (votes->codes[place] == EPDX_LANDED && end > votes->landed_end) {
        votes->landed_end = end;
    }
}

void epi_votes_add(epi_votes_t *votes, uint64_t hash, epdx_state_t state)
{
    size_t place = votes->count++;

    votes->codes[place] = (uint8_t)state;
    votes->terms[place] = term_of(hash, votes->added++);
    votes->hash += votes->terms[place];
    note_end(votes, place);
}

void epi_votes_set(epi_votes_t *votes, size_t place, epdx_state_t state)
{
    votes->codes[place] = (uint8_t)state;
    note_end(votes, place);
}

void epi_votes_keep(epi_votes_t *votes, size_t from, size_t to)
{
    votes->codes[to] = votes->codes[from];
    votes->terms[to] = votes->terms[from];
}

void epi_votes_drop(epi_votes_t *votes, size_t place)
{
    votes->hash -= votes->terms[place];
}

void epi_votes_end(epi_votes_t *votes, size_t kept)
{
    votes->count = kept;
    votes->failed_end = 0;
    votes->landed_end = 0;
    for (size_t place = 0; place < kept; place++) {
        note_end(votes, place);
    }
}

void epi_votes_fini(epi_votes_t *votes)
{
    free(votes->codes);
    free(votes->terms);
    *votes = (epi_votes_t){0};
}
