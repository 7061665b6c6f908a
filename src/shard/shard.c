/*
 * shard.c: the one split of an item's rows over ranks. Pure; anyone may call
 * it.
 */
#include "epdx/shard.h"

epdx_rows_t epdx_shard_rows(uint64_t span, uint32_t rank, uint32_t size)
{
    epdx_rows_t rows = {0, 0};
    uint64_t base;
    uint64_t remainder;

    if (rank >= size) { /* covers size 0 */
        return rows;
    }

    /* rank * base + min(rank, remainder) <= span: nothing here can wrap. */
    base = span / size;
    remainder = span % size;
    rows.start = rank * base + (rank < remainder ? rank : remainder);
    rows.count = base + (rank < remainder ? 1 : 0);
    return rows;
}
