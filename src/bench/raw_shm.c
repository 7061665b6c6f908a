/*
 * raw_shm.c: memory that rank 0 and the others map: rank 0 says which items are
 * there, each other rank copies them out to memory of its own. What one copy
 * costs, and nothing else. On one host only.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "bench/bench.h"

#define HEAD_BYTES ((size_t)1 << 16)

typedef struct head {
    _Alignas(64) _Atomic uint64_t there; /* items, since the start */
    struct {
        _Alignas(64) _Atomic uint64_t taken;
    } ranks[EPI_TEAM_RANKS_MAX];
} head_t;

_Static_assert(sizeof(head_t) <= HEAD_BYTES, "the head fits");

typedef struct shm_way {
    epi_way_t base;
    head_t *head;
    uint8_t *shared;
    uint8_t *memory; /* of a receiver */
    uint64_t before; /* items of earlier rounds */
} shm_way_t;

static void way_close(epi_way_t *base)
{
    shm_way_t *way = (shm_way_t *)base;

    if (way->head != NULL) {
        (void)munmap(way->head, HEAD_BYTES + way->base.bytes);
    }
    free(way->memory);
    free(way);
}

static epdx_status_t map(shm_way_t *way, const char *name, int flags)
{
    size_t bytes = HEAD_BYTES + way->base.bytes;
    int fd = shm_open(name, O_RDWR | flags, 0600);
    void *at = MAP_FAILED;

    if (fd >= 0 &&
        ((flags & O_CREAT) == 0 || ftruncate(fd, (off_t)bytes) == 0)) {
        at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_POPULATE, fd, 0);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    if (at == MAP_FAILED) {
        return epi_fail(EPDX_ERR_UNSUPPORTED,
                        "memory of %zu bytes to share: %s", bytes,
                        strerror(errno));
    }
    way->head = at;
    way->shared = (uint8_t *)at + HEAD_BYTES;
    return EPDX_OK;
}

/* The name is gone once all have mapped it. */
static epdx_status_t join(shm_way_t *way)
{
    epi_team_t *team = way->base.bench->team;
    char all[EPI_TEAM_RANKS_MAX][32];
    char name[32];
    epdx_status_t status = EPDX_OK;

    (void)snprintf(name, sizeof(name), "/epdx_bench.%ld", (long)getpid());
    if (team->rank == 0) {
        status = map(way, name, O_CREAT | O_EXCL);
    }
    status = epi_team_agree(team, status);
    if (status == EPDX_OK) {
        status = team->ops->share(team, name, sizeof(name), all);
    }
    if (status == EPDX_OK && team->rank > 0) {
        status = map(way, all[0], 0);
        way->memory = epi_bench_memory(way->base.bytes);
        if (status == EPDX_OK && way->memory == NULL) {
            status = epi_fail(EPDX_ERR_NO_MEMORY, "no memory to copy to");
        }
    }
    status = epi_team_agree(team, status);
    if (team->rank == 0) {
        (void)shm_unlink(name);
    }
    return status;
}

static epdx_status_t way_open(epi_bench_t *bench, epi_way_t **way_p)
{
    shm_way_t *way = calloc(1, sizeof(*way));
    epdx_status_t status;

    if (way == NULL) {
        return epi_fail(EPDX_ERR_NO_MEMORY, "no memory for a way");
    }
    way->base = (epi_way_t){.ops = &epi_way_shm,
                            .bench = bench,
                            .bytes = (size_t)bench->options->memory_mb << 20};
    status = join(way);
    return epi_way_opened(&way->base, status, way_p);
}

/* Items that every receiver has taken. */
static uint64_t taken_by_all(const shm_way_t *way)
{
    uint64_t least = UINT64_MAX;

    for (uint32_t i = 1; i < way->base.bench->team->size; i++) {
        uint64_t taken = atomic_load_explicit(&way->head->ranks[i].taken,
                                              memory_order_acquire);

        least = taken < least ? taken : least;
    }
    return least;
}

static void serve(shm_way_t *way, const epi_round_t *round)
{
    size_t window = epi_round_window(&way->base, round);
    uint64_t end = way->before + round->count;

    while (taken_by_all(way) < end) {
        uint64_t until = taken_by_all(way) + window;

        atomic_store_explicit(&way->head->there, until < end ? until : end,
                              memory_order_release);
        (void)sched_yield();
    }
}

static void receive(shm_way_t *way, const epi_round_t *round)
{
    _Atomic uint64_t *taken =
        &way->head->ranks[way->base.bench->team->rank].taken;

    for (size_t i = 0; i < round->count; i++) {
        size_t place = epi_round_place(&way->base, round, i);

        while (atomic_load_explicit(&way->head->there, memory_order_acquire) <=
               way->before + i) {
            (void)sched_yield();
        }
        memcpy(way->memory + place, way->shared + place, round->size);
        atomic_store_explicit(taken, way->before + i + 1, memory_order_release);
    }
}

static epdx_status_t way_round(epi_way_t *base, const epi_round_t *round,
                               double *seconds_p)
{
    shm_way_t *way = (shm_way_t *)base;
    uint64_t start = epi_now_ns();

    if (epi_bench_encode(base->bench)) {
        serve(way, round);
        *seconds_p = 0;
    } else {
        receive(way, round);
        *seconds_p = (double)(epi_now_ns() - start) / 1e9;
    }
    way->before += round->count;
    return EPDX_OK;
}

static void way_transport(epi_way_t *base, char *out, size_t size)
{
    (void)base;
    if (size > 0) {
        out[0] = '\0';
    }
}

const epi_way_ops_t epi_way_shm = {
    .name = "shm_memcpy",
    .open = way_open,
    .round = way_round,
    .transport = way_transport,
    .close = way_close,
};
