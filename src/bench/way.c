/* way.c: what the ways have in common: the end of open, where items lie. */
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"

#define PAGE ((size_t)4096)

epdx_status_t epi_way_opened(epi_way_t *way, epdx_status_t status,
                             epi_way_t **way_p)
{
    if (status == EPDX_OK) {
        *way_p = way;
    } else {
        way->ops->close(way);
    }
    return status;
}

static size_t stride(const epi_round_t *round)
{
    return (round->size + PAGE - 1) & ~(PAGE - 1);
}

static size_t places(const epi_way_t *way, const epi_round_t *round)
{
    size_t fit = way->bytes / stride(round);
    size_t wanted = round->walk ? round->count : round->window;

    return wanted < fit ? wanted : fit;
}

size_t epi_round_place(const epi_way_t *way, const epi_round_t *round,
                       size_t index)
{
    return index % places(way, round) * stride(round);
}

size_t epi_round_window(const epi_way_t *way, const epi_round_t *round)
{
    size_t fit = places(way, round);

    return round->window < fit ? round->window : fit;
}

void *epi_bench_memory(size_t bytes)
{
    void *memory = aligned_alloc(PAGE, (bytes + PAGE - 1) & ~(PAGE - 1));

    if (memory != NULL) {
        memset(memory, 1, bytes);
    }
    return memory;
}
