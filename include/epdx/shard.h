/*
 * shard.h: whose rows are whose. Receiver, sender and reassembly all use this
 * one function, so that their geometry cannot diverge.
 */
#ifndef EPDX_SHARD_H
#define EPDX_SHARD_H

#include "epdx/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The rows of a rank when span rows are split over size ranks: contiguous, in
 * rank order, the first span % size ranks with one row more.
 *
 * Shapes:  the shares of ranks 0 ... size - 1 tile [0, span) exactly; a share
 *          has 0 rows where span < size and the rank comes too late.
 * Units:   rows and ranks.
 * Owns:    nothing.
 * Threads: any.
 * Errors:  none; rank < size and size > 0 are the caller's to keep, and
 *          {0, 0} comes back where they are not kept.
 */
EPDX_API epdx_rows_t epdx_shard_rows(uint64_t span, uint32_t rank,
                                     uint32_t size);

#ifdef __cplusplus
}
#endif
#endif
