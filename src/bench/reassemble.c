/*
 * reassemble.c: full rows from row shards: a whole drain's items in one gather
 * of the group, as epdx makes it, beside one MPI_Allgatherv an item. All ranks
 * are prefill ranks.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "bench/bench.h"
#include "bench/raw_mpi.h"
#include "bench/stats.h"
#include "epdx/shard.h"
#include "reassembly/plan.h"

#define ROW_BYTES 7168 /* 3584 of bfloat16 */
#define ITEMS_MAX 32
#define MIB       ((size_t)1 << 20)

typedef struct reassemble {
    epi_bench_t *bench;
    epdx_group_t *group;
    epi_plan_t plan;
    uint8_t *memory;
    size_t bytes;
    double ours[EPI_ROUNDS_MAX]; /* MB/s */
    double theirs[EPI_ROUNDS_MAX];
} reassemble_t;

/* Items one after the other in memory, as leases have them. */
static epdx_status_t make_plan(reassemble_t *self, size_t rows, size_t items)
{
    epdx_status_t status = EPDX_OK;

    epi_plan_clear(&self->plan);
    for (size_t i = 0; status == EPDX_OK && i < items; i++) {
        epdx_landed_t item = {
            .room = i + 1,
            .span = rows,
            .share =
                epdx_shard_rows(rows, self->group->rank, self->group->size),
            .main = self->memory + i * rows * ROW_BYTES,
            .main_bytes = rows * ROW_BYTES,
        };

        status =
            epi_plan_add(&self->plan, &item, self->group->rank, ROW_BYTES, 0);
    }
    return status;
}

static epdx_status_t measure(reassemble_t *self, bool bare, size_t steps,
                             double *rate_p)
{
    const epi_plan_t *plan = &self->plan;
    epdx_status_t status = epi_raw_mpi_barrier();
    uint64_t start = epi_now_ns();
    double seconds;

    for (size_t i = 0; status == EPDX_OK && i < steps; i++) {
        status = bare ? epi_raw_mpi_gather(plan->gathers, plan->gather_count,
                                           self->group->size)
                      : self->group->ops->gather(self->group, plan->gathers,
                                                 plan->gather_count);
    }
    seconds = (double)(epi_now_ns() - start) / 1e9;
    if (status == EPDX_OK) {
        status = epi_team_max(self->bench->team, &seconds);
    }
    *rate_p = (double)plan->foreign_bytes * (double)steps / seconds / 1e6;
    return status;
}

static epdx_status_t add(reassemble_t *self, const char *way, double *values,
                         epi_result_t *result)
{
    size_t rounds = (size_t)self->bench->options->rounds;

    (void)epi_text_copy(result->way, sizeof(result->way), way);
    result->value = epi_stats_median(values, rounds);
    result->low = values[0];
    result->high = values[rounds - 1];
    return epi_results_add(&self->bench->results, result);
}

static epdx_status_t report(reassemble_t *self, size_t rows, size_t items)
{
    double scratch[EPI_ROUNDS_MAX];
    epi_result_t result = {.what = "reassembly",
                           .unit = "MB/s",
                           .size = rows * ROW_BYTES,
                           .ranks = self->group->size,
                           .ready = items,
                           .baseline = "mpi_allgatherv"};
    epdx_status_t status;

    if (self->group->rank != 0) {
        return EPDX_OK;
    }
    result.ratio =
        epi_stats_ratio(self->ours, self->theirs,
                        (size_t)self->bench->options->rounds, scratch);
    status = add(self, "epdx", self->ours, &result);
    result.ratio = 0;
    return status == EPDX_OK
               ? add(self, "mpi_allgatherv", self->theirs, &result)
               : status;
}

static epdx_status_t run_case(reassemble_t *self, size_t rows, size_t items)
{
    size_t bytes = rows * ROW_BYTES * items;
    size_t budget = self->bench->options->quick ? 32 * MIB : 128 * MIB;
    size_t steps = budget / bytes + 1;
    epdx_status_t status = make_plan(self, rows, items);
    double warm;

    steps = steps > 50 ? 50 : steps;
    for (int bare = 0; status == EPDX_OK && bare < 2; bare++) {
        status = measure(self, bare != 0, steps, &warm);
    }
    for (size_t r = 0; status == EPDX_OK && r < self->bench->options->rounds;
         r++) {
        status = measure(self, false, steps, &self->ours[r]);
        if (status == EPDX_OK) {
            status = measure(self, true, steps, &self->theirs[r]);
        }
    }
    return status == EPDX_OK ? report(self, rows, items) : status;
}

static epdx_status_t run_cases(reassemble_t *self)
{
    /* Rows of an image: small, the trace's usual, large. */
    static const size_t rows[] = {16, 252, 1280};
    static const size_t items[] = {1, 8, ITEMS_MAX};
    epdx_status_t status = EPDX_OK;

    for (size_t r = 0; r < 3; r++) {
        for (size_t i = 0; status == EPDX_OK && i < 3; i++) {
            if (rows[r] * ROW_BYTES * items[i] <= self->bytes) {
                status = run_case(self, rows[r], items[i]);
            }
        }
    }
    return status;
}

static epdx_status_t run(epi_bench_t *bench)
{
    static reassemble_t self;
    epdx_status_t status;

    self = (reassemble_t){.bench = bench,
                          .bytes = (size_t)bench->options->memory_mb * MIB};
    status = epi_bench_group(bench, 0, &self.group);
    if (status != EPDX_OK) {
        return status;
    }
    status = epi_plan_init(&self.plan, ITEMS_MAX, self.group->size);
    self.memory = epi_bench_memory(self.bytes);
    if (status == EPDX_OK && self.memory == NULL) {
        status = epi_fail(EPDX_ERR_NO_MEMORY, "no memory for items");
    }
    status = epi_team_agree(bench->team, status);
    if (status == EPDX_OK) {
        status = run_cases(&self);
    }
    if (status == EPDX_OK) {
        free(self.memory);
        epi_plan_fini(&self.plan);
        epdx_group_close(self.group);
    }
    return status;
}

const epi_subject_t epi_subject_reassemble = {
    .name = "reassemble",
    .about = "full rows from row shards",
    .mpi = true,
    .run = run,
};
