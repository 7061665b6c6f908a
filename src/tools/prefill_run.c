/*
 * prefill_run.c: the loop of a prefill rank.
 *
 * Ranks must stage the same requests in the same order between two drains. How
 * many are due follows from what was decided, which is the same everywhere, or
 * with --realtime from rank 0's clock, which is broadcast.
 */
#include "tools/prefill_run.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "tools/prefill_check.h"
#include "tools/rooms.h"

#define NAP_NS (100 * EPI_US)

typedef struct run {
    const epi_prefill_t *prefill;
    const epi_workload_t *workload;
    epi_prefill_totals_t *totals;
    epdx_item_t *items;  /* of the request that is staged */
    uint64_t *staged_ns; /* by request */
    size_t staged;
    size_t ended;
    uint64_t start_ns;
    epi_progress_line_t progress;
} run_t;

static void keep_failure(run_t *run, const char *id, const char *reason)
{
    epi_prefill_totals_t *totals = run->totals;
    epi_prefill_failure_t *failure;
    size_t index;

    if (totals->failures_kept == EPI_PREFILL_FAILURES_KEPT ||
        !epi_workload_find(run->workload, id, &index)) {
        return;
    }
    failure = &totals->failures[totals->failures_kept++];
    failure->id = run->workload->requests[index].id;
    (void)epi_text_copy(failure->reason, sizeof(failure->reason), reason);
}

static void set_items(run_t *run, size_t index)
{
    const epi_arg_list_t *encode = &run->prefill->options->encode;
    size_t count = run->workload->requests[index].count;

    memset(run->items, 0, count * sizeof(*run->items));
    for (size_t j = 0; j < count; j++) {
        epi_source_item_t at = {index, j};

        run->items[j].room = epi_room(index, j);
        run->items[j].span = epi_source_rows(run->prefill->source, at);
        run->items[j].encode =
            encode->values[epi_room_node(index, j, (uint32_t)encode->count)];
    }
}

/* A request that was refused, alike on every rank. */
static void give_up(run_t *run, const epdx_request_t *request)
{
    char reason[EPDX_REASON_MAX];

    (void)epi_text_copy(reason, sizeof(reason), epdx_last_error());
    keep_failure(run, request->id, reason);
    if (epdx_admission_withdraw(run->prefill->admission, request, reason) !=
        EPDX_OK) {
        epi_log_warn("%s", epdx_last_error());
    }
}

/* Stage the next request; false when it must wait for others to end. */
static bool stage_next(run_t *run)
{
    const epi_workload_request_t *next = &run->workload->requests[run->staged];
    epdx_request_t request = {
        .id = next->id,
        .items = run->items,
        .item_count = next->count,
        .timeout_ns = run->prefill->options->timeout_ns,
    };
    epdx_status_t status;

    set_items(run, run->staged);
    run->staged_ns[run->staged] = epi_now_ns();
    status = epdx_admission_stage(run->prefill->admission, &request);
    if (status == EPDX_ERR_FULL && run->staged > run->ended) {
        return false;
    }
    run->staged++;
    if (status != EPDX_OK) {
        run->ended++;
        run->totals->failed++;
        give_up(run, &request);
    }
    return true;
}

static uint64_t count_due(const run_t *run)
{
    uint64_t now_ns = epi_now_ns() - run->start_ns;
    uint64_t due = run->staged;

    while (due < run->workload->count &&
           run->workload->requests[due].due_ns <= now_ns) {
        due++;
    }
    return due;
}

/* How many requests are to be staged by now. */
static epdx_status_t due_now(const run_t *run, uint64_t *due_p)
{
    uint64_t total = run->workload->count;
    uint64_t due;

    if (run->staged == total) {
        *due_p = total;
        return EPDX_OK;
    }
    if (!run->prefill->options->realtime) {
        due = run->ended + run->prefill->options->concurrency;
        *due_p = due < total ? due : total;
        return EPDX_OK;
    }
    *due_p = run->prefill->world->rank == 0 ? count_due(run) : 0;
    return epi_world_broadcast(run->prefill->world, due_p, sizeof(*due_p));
}

static void take_admitted(run_t *run, const epdx_admitted_t *admitted)
{
    epi_prefill_totals_t *totals = run->totals;
    uint64_t now_ns = epi_now_ns();
    size_t index = 0;

    run->ended++;
    totals->admitted++;
    epi_log_info("request %s is admitted", admitted->id);
    if (!epi_workload_find(run->workload, admitted->id, &index)) {
        epi_log_error("admitted request %s is not of this workload",
                      admitted->id);
        totals->mismatched_bytes++;
        return;
    }
    epi_latencies_add(&totals->latencies, now_ns - run->staged_ns[index]);
    totals->items += run->workload->requests[index].count;
    for (size_t j = 0; j < run->workload->requests[index].count; j++) {
        epi_source_item_t at = {index, j};

        totals->rows += epi_source_rows(run->prefill->source, at);
    }
    epi_prefill_check(run->prefill, index, admitted, totals);
    totals->verify_ns += epi_now_ns() - now_ns;
}

static void take_failed(run_t *run, const epdx_rejected_t *failed)
{
    char reason[EPDX_REASON_MAX + 64];

    (void)snprintf(reason, sizeof(reason), "rank %u: %s", failed->rank,
                   failed->reason);
    keep_failure(run, failed->id, reason);
}

/* Its rows are in use until they are whole, also where nobody reads them. */
static void give_back(run_t *run, const char *id, void *ready)
{
    if (epdx_admission_release_after(run->prefill->admission, id, ready) !=
        EPDX_OK) {
        epi_log_error("release of request %s: %s", id, epdx_last_error());
    }
}

static epdx_status_t take_decisions(run_t *run,
                                    const epdx_decisions_t *decisions)
{
    epdx_status_t status =
        epi_device_after(run->prefill->device, decisions->ready);

    if (status != EPDX_OK) {
        return status;
    }
    for (size_t i = 0; i < decisions->revoked_count; i++) {
        run->totals->revoked++;
        take_failed(run, &decisions->revoked[i]);
    }
    for (size_t i = 0; i < decisions->failed_count; i++) {
        run->ended++;
        run->totals->failed++;
        take_failed(run, &decisions->failed[i]);
    }
    for (size_t i = 0; i < decisions->admitted_count; i++) {
        take_admitted(run, &decisions->admitted[i]);
        give_back(run, decisions->admitted[i].id, decisions->ready);
    }
    return EPDX_OK;
}

/* One cycle; *idle_p: nothing was decided. */
static epdx_status_t cycle(run_t *run, bool *idle_p)
{
    epdx_decisions_t decisions = {.admitted = NULL};
    uint64_t due;
    epdx_status_t status = due_now(run, &due);

    if (status != EPDX_OK) {
        return status;
    }
    while (run->staged < due && stage_next(run)) {
    }
    status = epdx_admission_drain(run->prefill->admission, &decisions);
    if (status != EPDX_OK) {
        return status;
    }
    *idle_p = decisions.failed_count + decisions.admitted_count == 0;
    return take_decisions(run, &decisions);
}

/* The I/O thread needs the core more than an empty drain does. */
static void nap(void)
{
    const struct timespec time = {0, NAP_NS};

    (void)nanosleep(&time, NULL);
}

static epdx_status_t run_all(run_t *run)
{
    epdx_status_t status = EPDX_OK;
    bool idle = false;

    run->start_ns = epi_now_ns();
    while (status == EPDX_OK && run->ended < run->workload->count) {
        status = cycle(run, &idle);
        if (idle) {
            nap();
        }
        epi_progress_show(&run->progress, epi_now_ns(), run->ended,
                          run->totals->failed);
    }
    epi_progress_clear(&run->progress);
    run->totals->elapsed_ns = epi_now_ns() - run->start_ns;
    return status;
}

static size_t most_items(const epi_workload_t *workload)
{
    size_t most = 1;

    for (size_t i = 0; i < workload->count; i++) {
        if (workload->requests[i].count > most) {
            most = workload->requests[i].count;
        }
    }
    return most;
}

epdx_status_t epi_prefill_run(const epi_prefill_t *prefill,
                              epi_prefill_totals_t *totals)
{
    run_t run = {
        .prefill = prefill,
        .workload = &prefill->source->workload,
        .totals = totals,
        .staged = (size_t)prefill->options->skip,
        .ended = (size_t)prefill->options->skip,
    };
    epdx_status_t status =
        epi_latencies_init(&totals->latencies, run.workload->count);

    if (status != EPDX_OK) {
        return status;
    }
    run.items = calloc(most_items(run.workload), sizeof(*run.items));
    run.staged_ns = calloc(run.workload->count, sizeof(*run.staged_ns));
    if (run.items == NULL || run.staged_ns == NULL) {
        status = epi_fail(EPDX_ERR_NO_MEMORY, "no memory for %zu requests",
                          run.workload->count);
    } else {
        epi_progress_init(&run.progress, epi_prefill_args.program, "requests",
                          run.workload->count, prefill->options->progress);
        run.progress.on = run.progress.on && prefill->world->rank == 0;
        status = run_all(&run);
    }
    free(run.items);
    free(run.staged_ns);
    return status;
}

void epi_prefill_totals_fini(epi_prefill_totals_t *totals)
{
    epi_latencies_fini(&totals->latencies);
}
