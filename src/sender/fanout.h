/*
 * fanout.h: whether a room's asks, together, are right for its chunk. Pure.
 */
#ifndef EPI_SENDER_FANOUT_H
#define EPI_SENDER_FANOUT_H

#include "epdx/types.h"
#include "wire/control.h"

/** The chunk's geometry, as the asks must have it. */
typedef struct epi_chunk_shape {
    uint64_t rows;
    uint64_t hidden;
    epdx_dtype_t dtype;
    bool has_deepstack;
} epi_chunk_shape_t;

/** A room's asks, and which block of the group's ranks made them. */
typedef struct epi_fanout {
    const epi_ask_t *const *asks; /* in any order of ranks */
    size_t count;                 /* >= 1 */
    uint32_t block, blocks;       /* this encode rank, of the encode ranks */
} epi_fanout_t;

/**
 * Check a room's asks for its chunk: hidden, dtype, span = rows, range inside
 * the span, required equal in all and equal to count, deepstack on both sides
 * or neither, and either every ask is the identity [0, span) or they tile this
 * encode rank's block without gap or overlap: each is the share that one of
 * the ranks block * count ... block * count + count - 1 of blocks * count has
 * by epdx_shard_rows(). An ask of 0 rows tiles where its rank has 0 rows.
 *
 * EPDX_OK, or EPDX_ERR_MISMATCH with the first difference in words in reason
 * (what the ask says, what the chunk has).
 */
EPDX_MUST_CHECK epdx_status_t
epi_fanout_validate(const epi_fanout_t *fanout, const epi_chunk_shape_t *chunk,
                    char *reason, size_t reason_size);

#endif
