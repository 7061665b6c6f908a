/*
 * fanout.c: whether a room's asks, together, are right for its chunk. The
 * sender calls it once all asks are in. Asks come from the network and were
 * parsed, no more: each number in them may be any number.
 */
#include "sender/fanout.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/checked.h"
#include "epdx/shard.h"

typedef struct words {
    char *text;
    size_t size;
} words_t;

EPDX_PRINTF(2, 3)
static bool differs(words_t words, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(words.text, words.size, format, args);
    va_end(args);
    return false;
}

static bool whole(const epi_ask_t *ask)
{
    return ask->row_start == 0 && ask->rows == ask->span;
}

static bool check_shape(const epi_ask_t *ask, const epi_chunk_shape_t *chunk,
                        words_t words)
{
    if (ask->hidden != chunk->hidden) {
        return differs(
            words, "ask of %s has hidden %" PRIu64 ", the chunk has %" PRIu64,
            ask->session, ask->hidden, chunk->hidden);
    }
    if (ask->dtype != chunk->dtype) {
        return differs(words, "ask of %s has dtype %s, the chunk has %s",
                       ask->session, epdx_dtype_name(ask->dtype),
                       epdx_dtype_name(chunk->dtype));
    }
    if (ask->span != chunk->rows) {
        return differs(words,
                       "ask of %s has span %" PRIu64 ", the chunk has %" PRIu64
                       " rows",
                       ask->session, ask->span, chunk->rows);
    }
    if (ask->has_deepstack != chunk->has_deepstack) {
        return differs(words, "ask of %s %s deepstack, the chunk %s",
                       ask->session,
                       ask->has_deepstack ? "wants" : "does not want",
                       chunk->has_deepstack ? "has it" : "has none");
    }
    return true;
}

static bool check_range(const epi_ask_t *ask, words_t words)
{
    uint64_t end;

    if (!epi_add_u64(ask->row_start, ask->rows, &end) || end > ask->span) {
        return differs(words,
                       "ask of %s is for %" PRIu64 " rows from row %" PRIu64
                       ", the chunk has %" PRIu64 " rows",
                       ask->session, ask->rows, ask->row_start, ask->span);
    }
    return true;
}

static bool check_each(const epi_fanout_t *fanout,
                       const epi_chunk_shape_t *chunk, words_t words)
{
    for (size_t i = 0; i < fanout->count; i++) {
        const epi_ask_t *ask = fanout->asks[i];

        if (!check_shape(ask, chunk, words) || !check_range(ask, words)) {
            return false;
        }
        if (ask->required != fanout->count) {
            return differs(
                words, "ask of %s requires %" PRIu32 " asks, the room has %zu",
                ask->session, ask->required, fanout->count);
        }
    }
    return true;
}

/* Whether some asks are for the whole item and some for shares. An item of one
 * row is left to the tiling: there the whole is the first rank's share. */
static bool mixed(const epi_fanout_t *fanout, words_t words)
{
    const epi_ask_t *identity = NULL, *shard = NULL;

    for (size_t i = 0; i < fanout->count; i++) {
        if (whole(fanout->asks[i])) {
            identity = fanout->asks[i];
        } else {
            shard = fanout->asks[i];
        }
    }
    if (identity == NULL || shard == NULL || identity->span == 1) {
        return false;
    }
    (void)differs(words,
                  "ask of %s is for all %" PRIu64
                  " rows, ask of %s for %" PRIu64 " rows from row %" PRIu64
                  ": EPDX_EMBEDDING_SHARD must be the same on all ranks",
                  identity->session, identity->span, shard->session,
                  shard->rows, shard->row_start);
    return true;
}

static bool all_whole(const epi_fanout_t *fanout)
{
    for (size_t i = 0; i < fanout->count; i++) {
        if (!whole(fanout->asks[i])) {
            return false;
        }
    }
    return true;
}

/* Order by start, then rows, then place, so that no two asks are equal. */
static bool before(const epi_fanout_t *fanout, size_t a, size_t b)
{
    const epi_ask_t *x = fanout->asks[a], *y = fanout->asks[b];

    if (x->row_start != y->row_start) {
        return x->row_start < y->row_start;
    }
    if (x->rows != y->rows) {
        return x->rows < y->rows;
    }
    return a < b;
}

/* The index of the least ask after last, of all where last is count. Asks are
 * few, and this needs neither memory nor a changed array. */
static size_t next_ask(const epi_fanout_t *fanout, size_t last)
{
    size_t next = fanout->count;

    for (size_t i = 0; i < fanout->count; i++) {
        if ((last == fanout->count || before(fanout, last, i)) &&
            (next == fanout->count || before(fanout, i, next))) {
            next = i;
        }
    }
    return next;
}

/* Shares in rank order are in the order of before(): those of 0 rows all
 * start at the span, behind the others. */
static bool check_tiling(const epi_fanout_t *fanout, uint64_t span,
                         words_t words)
{
    size_t last = fanout->count;
    const epi_ask_t *ask;
    uint64_t ranks;

    if (!epi_mul_u64(fanout->blocks, fanout->count, &ranks) ||
        ranks > UINT32_MAX) {
        return differs(words,
                       "%zu asks in each of %" PRIu32
                       " blocks are more ranks than there can be",
                       fanout->count, fanout->blocks);
    }
    for (size_t i = 0; i < fanout->count; i++) {
        uint64_t rank = fanout->block * (uint64_t)fanout->count + i;
        epdx_rows_t share =
            epdx_shard_rows(span, (uint32_t)rank, (uint32_t)ranks);

        last = next_ask(fanout, last);
        ask = fanout->asks[last];
        if (ask->row_start != share.start || ask->rows != share.count) {
            return differs(words,
                           "asks leave a gap or overlap: ask of %s is for "
                           "rows [%" PRIu64 ", %" PRIu64 "), rank %" PRIu64
                           " of %" PRIu64 " has [%" PRIu64 ", %" PRIu64 ")",
                           ask->session, ask->row_start,
                           ask->row_start + ask->rows, rank, ranks, share.start,
                           share.start + share.count);
        }
    }
    return true;
}

epdx_status_t epi_fanout_validate(const epi_fanout_t *fanout,
                                  const epi_chunk_shape_t *chunk, char *reason,
                                  size_t reason_size)
{
    words_t words = {.text = reason, .size = reason_size};

    if (!check_each(fanout, chunk, words) || mixed(fanout, words)) {
        return EPDX_ERR_MISMATCH;
    }
    if (!all_whole(fanout) && !check_tiling(fanout, chunk->rows, words)) {
        return EPDX_ERR_MISMATCH;
    }
    return EPDX_OK;
}
