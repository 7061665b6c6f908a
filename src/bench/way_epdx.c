/*
 * way_epdx.c: the product itself, with I/O threads of its own or run by its
 * callers: a bootstrap server and a sender on rank 0, a receiver on each other
 * rank. An item is a request of its own; it is looked up, leased, asked for,
 * offered and pulled within the time that is measured.
 *
 * The window is what the encode rank has sent and not yet seen taken, as in the
 * bare loops. A receiver stages a window of requests at once, as a scheduling
 * step does, and one window ahead: requests come in before their rows are
 * there, not once the rows before them have landed.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "bench/bench.h"
#include "epdx/epdx.h"

#define ROW_BYTES    2048
#define NAP_NS       (20 * EPI_US)
#define ROUND_NS     (60 * EPI_S)
#define JOBS_MAX     4096
#define OUTCOMES_MAX 64

typedef struct epdx_way {
    epi_way_t base;
    epdx_bootstrap_t *bootstrap;
    epdx_sender_t *sender;
    epdx_receiver_t *receiver;
    char encode[EPDX_ADDRESS_MAX + 1];
    uint64_t rooms;       /* used so far, alike on all ranks */
    uint8_t *own;         /* the caller's own memory, where that is wanted */
    bool ended[JOBS_MAX]; /* rank 0: items that have their outcome */
    epdx_job_t *jobs[JOBS_MAX];
} epdx_way_t;

static bool is_caller(const epdx_way_t *way)
{
    return way->base.ops == &epi_way_epdx_caller;
}

/* The I/O threads need the cores more than a caller that looks. */
static void rest(const epdx_way_t *way)
{
    const struct timespec nap = {0, NAP_NS};

    if (is_caller(way)) {
        (void)sched_yield();
    } else {
        (void)nanosleep(&nap, NULL);
    }
}

static epdx_progress_t progress_of(const epdx_way_t *way)
{
    return is_caller(way) ? EPDX_PROGRESS_CALLER : EPDX_PROGRESS_THREAD;
}

static epdx_status_t open_encode(epdx_way_t *way)
{
    epdx_bootstrap_params_t server = {.struct_size = sizeof(server),
                                      .listen = "127.0.0.1:0"};
    epdx_sender_params_t params = {
        .struct_size = sizeof(params),
        .dtype = EPDX_BFLOAT16,
        .hidden = ROW_BYTES / 2,
        .progress = progress_of(way),
        .ring_bytes = way->base.bytes,
    };
    epdx_status_t status = epdx_bootstrap_open(&server, &way->bootstrap);

    if (way->base.bench->options->own) {
        way->own = epi_bench_memory(way->base.bytes);
        if (way->own == NULL) {
            return epi_fail(EPDX_ERR_NO_MEMORY, "no memory for rows");
        }
    }
    if (status != EPDX_OK) {
        return status;
    }
    params.bootstrap = epdx_bootstrap_address(way->bootstrap);
    (void)epi_text_copy(way->encode, sizeof(way->encode), params.bootstrap);
    status = epdx_sender_open(&params, &way->sender);
    while (status == EPDX_OK && !epdx_sender_registered(way->sender)) {
        (void)epdx_sender_poll(way->sender, NULL, 0);
        rest(way);
    }
    return status;
}

static epdx_status_t open_prefill(epdx_way_t *way)
{
    const epi_team_t *team = way->base.bench->team;
    epdx_receiver_params_t params = {
        .struct_size = sizeof(params),
        .dtype = EPDX_BFLOAT16,
        .hidden = ROW_BYTES / 2,
        .tp_rank = team->rank - 1,
        .tp_size = team->size - 1,
        .shard = EPDX_OFF,
        .progress = progress_of(way),
        .pool_bytes = way->base.bytes,
    };

    return epdx_receiver_open(&params, &way->receiver);
}

static void way_close(epi_way_t *base)
{
    epdx_way_t *way = (epdx_way_t *)base;

    epdx_receiver_close(way->receiver);
    epdx_sender_close(way->sender);
    epdx_bootstrap_close(way->bootstrap);
    free(way->own);
    free(way);
}

static epdx_status_t open_as(epi_bench_t *bench, const epi_way_ops_t *ops,
                             epi_way_t **way_p)
{
    char all[EPI_TEAM_RANKS_MAX][EPDX_ADDRESS_MAX + 1];
    epdx_way_t *way = calloc(1, sizeof(*way));
    epdx_status_t status;

    if (way == NULL) {
        return epi_fail(EPDX_ERR_NO_MEMORY, "no memory for a way");
    }
    way->base = (epi_way_t){.ops = ops,
                            .bench = bench,
                            .bytes = (size_t)bench->options->memory_mb << 20};
    status = epi_bench_encode(bench) ? open_encode(way) : open_prefill(way);
    status = epi_team_agree(bench->team, status);
    if (status == EPDX_OK) {
        status = bench->team->ops->share(bench->team, way->encode,
                                         sizeof(way->encode), all);
        memcpy(way->encode, all[0], sizeof(way->encode));
    }
    return epi_way_opened(&way->base, status, way_p);
}

static epdx_status_t way_open(epi_bench_t *bench, epi_way_t **way_p)
{
    return open_as(bench, &epi_way_epdx, way_p);
}

static epdx_status_t way_open_caller(epi_bench_t *bench, epi_way_t **way_p)
{
    return open_as(bench, &epi_way_epdx_caller, way_p);
}

/* Marks an item, so that the other end sees that it is the right one. */
static epdx_status_t send_item(epdx_way_t *way, const epi_round_t *round,
                               size_t index)
{
    uint64_t room = way->rooms + index + 1;
    epdx_chunk_t chunk = {.rows = round->size / ROW_BYTES};
    epdx_status_t status = EPDX_OK;

    if (way->own != NULL) {
        chunk.main = way->own + epi_round_place(&way->base, round, index);
    } else {
        status = epdx_sender_lease(way->sender, chunk.rows, &chunk);
    }
    if (status == EPDX_OK) {
        memcpy(chunk.main, &room, sizeof(room));
        status = epdx_sender_send(way->sender, room, &chunk);
    }
    return status;
}

/* Take outcomes, which come in any order; *oldest_p is the first item without
 * one: the place of a later item may be that of an earlier one. */
static epdx_status_t take_outcomes(epdx_way_t *way, size_t *count_p,
                                   size_t *oldest_p)
{
    epdx_outcome_t outcomes[OUTCOMES_MAX];
    size_t count = epdx_sender_poll(way->sender, outcomes, OUTCOMES_MAX);

    for (size_t i = 0; i < count; i++) {
        if (outcomes[i].status != EPDX_OK) {
            return epi_fail(outcomes[i].status, "%s", outcomes[i].reason);
        }
        way->ended[(outcomes[i].room - way->rooms - 1) % JOBS_MAX] = true;
    }
    while (way->ended[*oldest_p % JOBS_MAX]) {
        way->ended[(*oldest_p)++ % JOBS_MAX] = false;
    }
    *count_p = count;
    return EPDX_OK;
}

static epdx_status_t serve(epdx_way_t *way, const epi_round_t *round)
{
    uint64_t limit = epi_now_ns() + ROUND_NS;
    size_t window = epi_round_window(&way->base, round);
    size_t sent = 0, oldest = 0;
    epdx_status_t status = EPDX_OK;

    while (oldest < round->count) {
        size_t count = 0;

        while (status == EPDX_OK && sent < round->count &&
               sent < oldest + window) {
            status = send_item(way, round, sent);
            sent += status == EPDX_OK;
        }
        if (status != EPDX_OK && status != EPDX_ERR_FULL) {
            return status;
        }
        status = take_outcomes(way, &count, &oldest);
        if (status != EPDX_OK) {
            return status;
        }
        if (epi_now_ns() > limit) {
            return epi_fail(EPDX_ERR_TIMEOUT, "%zu of %zu items went out",
                            oldest, round->count);
        }
        if (count == 0) {
            rest(way);
        }
    }
    return EPDX_OK;
}

static epdx_status_t stage_item(epdx_way_t *way, const epi_round_t *round,
                                size_t index)
{
    uint64_t room = way->rooms + index + 1;
    char id[24];
    epdx_item_t item = {
        .room = room, .span = round->size / ROW_BYTES, .encode = way->encode};
    epdx_request_t request = {.id = id, .items = &item, .item_count = 1};

    (void)snprintf(id, sizeof(id), "%llu", (unsigned long long)room);
    return epdx_receiver_stage(way->receiver, &request,
                               &way->jobs[index % JOBS_MAX]);
}

static epdx_status_t stage_window(epdx_way_t *way, const epi_round_t *round,
                                  size_t *staged_p)
{
    epdx_status_t status = EPDX_OK;

    for (size_t i = 0;
         i < round->window && *staged_p < round->count && status == EPDX_OK;
         i++) {
        status = stage_item(way, round, *staged_p);
        *staged_p += status == EPDX_OK;
    }
    return status;
}

/* Whether the item has landed; its mark is checked. */
static epdx_status_t look(epdx_way_t *way, size_t index, bool *landed_p)
{
    epdx_job_t *job = way->jobs[index % JOBS_MAX];
    const char *reason;
    epdx_status_t status = epdx_job_failure(job, &reason);
    const epdx_landed_t *items;
    uint64_t mark = 0;
    size_t count;

    if (status != EPDX_OK) {
        return epi_fail(status, "%s", reason);
    }
    *landed_p = epdx_job_state(job) == EPDX_LANDED;
    if (*landed_p) {
        items = epdx_job_items(job, &count);
        memcpy(&mark, items[0].main, sizeof(mark));
        if (mark != way->rooms + index + 1) {
            return epi_fail(EPDX_ERR_MISMATCH, "item %zu is another's", index);
        }
    }
    return EPDX_OK;
}

static epdx_status_t receive(epdx_way_t *way, const epi_round_t *round)
{
    uint64_t limit = epi_now_ns() + ROUND_NS;
    size_t staged = 0, landed = 0;
    epdx_status_t status = EPDX_OK;

    while (status == EPDX_OK && landed < round->count) {
        bool done = false;

        if (staged <= landed + round->window) {
            status = stage_window(way, round, &staged);
        }
        epdx_receiver_poll(way->receiver);
        if (status == EPDX_OK) {
            status = look(way, landed, &done);
        }
        if (done) {
            if (!round->walk) {
                epdx_job_release(way->jobs[landed % JOBS_MAX]);
            }
            landed++;
        } else {
            rest(way);
        }
        if (epi_now_ns() > limit) {
            return epi_fail(EPDX_ERR_TIMEOUT, "%zu of %zu items landed", landed,
                            round->count);
        }
    }
    return status;
}

static epdx_status_t way_round(epi_way_t *base, const epi_round_t *round,
                               double *seconds_p)
{
    epdx_way_t *way = (epdx_way_t *)base;
    uint64_t start = epi_now_ns();
    epdx_status_t status;

    if (epi_bench_encode(base->bench)) {
        *seconds_p = 0;
        status = serve(way, round);
    } else {
        status = receive(way, round);
        *seconds_p = (double)(epi_now_ns() - start) / 1e9;
        for (size_t i = 0; round->walk && i < round->count; i++) {
            epdx_job_release(way->jobs[i]);
        }
    }
    way->rooms += round->count;
    return status;
}

static void way_transport(epi_way_t *base, char *out, size_t size)
{
    epdx_way_t *way = (epdx_way_t *)base;
    epdx_sender_stats_t stats = {0};

    if (way->sender != NULL) {
        epdx_sender_stats(way->sender, &stats);
    }
    (void)epi_text_copy(out, size, stats.transport);
}

const epi_way_ops_t epi_way_epdx = {
    .name = "epdx",
    .open = way_open,
    .round = way_round,
    .transport = way_transport,
    .close = way_close,
};

const epi_way_ops_t epi_way_epdx_caller = {
    .name = "epdx_caller",
    .open = way_open_caller,
    .round = way_round,
    .transport = way_transport,
    .close = way_close,
};
