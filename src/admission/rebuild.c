/*
 * rebuild.c: a drain's landed shards to full rows, and what becomes of those
 * that were admitted when that fails later. Decisions here are made of what all
 * ranks know: the counts that the ballot carries, and shared outcomes.
 *
 *     host:      landed --gather--> admitted
 *     deferred:  landed --queued on every rank--> admitted, flying
 *                  \--a rank could not--> failed    |   \--> complete on every
 *                                                   |        rank: done with
 *                            a rank's word is "failed" --> abort everywhere;
 *                                                        flying: revoked
 *
 * After a failure there is no more reassembly: requests that need it fail, all
 * others go on as before.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "admission/admission_internal.h"
#include "base/error.h"
#include "base/log.h"
#include "base/text.h"

bool epi_rebuild_init(epi_rebuild_t *rebuild, size_t entry_max, size_t job_max)
{
    rebuild->flying = calloc(entry_max, sizeof(*rebuild->flying));
    rebuild->revoked = calloc(entry_max, sizeof(*rebuild->revoked));
    rebuild->pins = calloc(job_max, sizeof(*rebuild->pins));
    return rebuild->flying != NULL && rebuild->revoked != NULL &&
           rebuild->pins != NULL;
}

bool epi_rebuild_fini(epi_rebuild_t *rebuild)
{
    bool whole = epi_reassembly_close(rebuild->with);

    free(rebuild->flying);
    free(rebuild->revoked);
    free(rebuild->pins);
    *rebuild = (epi_rebuild_t){0};
    return whole;
}

/* A batch works on the rows until it is done on this rank, also if the caller
 * releases them at once: their lease rests until then. */
static void pin(epi_rebuild_t *rebuild, epdx_job_t *job, uint64_t batch)
{
    job->holds++;
    rebuild->pins[rebuild->pin_count++] = (epi_pin_t){job, batch};
}

static void unpin(epi_rebuild_t *rebuild)
{
    size_t over = 0;

    while (over < rebuild->pin_count &&
           rebuild->pins[over].batch <= rebuild->with->done) {
        epdx_job_t *job = rebuild->pins[over++].job;

        job->holds--;
        epi_job_retire(job);
    }
    rebuild->pin_count -= over;
    memmove(rebuild->pins, rebuild->pins + over,
            rebuild->pin_count * sizeof(*rebuild->pins));
}

void epi_rebuild_poll(epdx_admission_t *admission)
{
    epi_rebuild_t *rebuild = &admission->rebuild;
    epdx_status_t status = rebuild->with->ops->poll(rebuild->with);

    rebuild->ready = NULL;
    rebuild->revoked_count = 0;
    /* An outcome carries words, which are not to be moved in every drain. */
    if (status != EPDX_OK || rebuild->own.status != EPDX_OK) {
        rebuild->own = epi_outcome_of(status);
    }
    unpin(rebuild);
}

static bool failed(const epi_rebuild_t *rebuild)
{
    return rebuild->failure.status != EPDX_OK;
}

bool epi_rebuild_watches(const epdx_admission_t *admission)
{
    const epi_rebuild_t *rebuild = &admission->rebuild;

    return !failed(rebuild) && rebuild->complete < rebuild->with->launched;
}

void epi_rebuild_vote(epdx_admission_t *admission)
{
    const epi_rebuild_t *rebuild = &admission->rebuild;

    if (!failed(rebuild)) {
        epi_ballot_report(&admission->ballot, rebuild->own.status == EPDX_OK,
                          rebuild->with->done - rebuild->complete);
    }
}

/* Items that were not skipped, of a group that shards. */
static bool needs_rows(const epdx_admission_t *admission,
                       const epi_entry_t *entry)
{
    return admission->sharded && entry->job->live > 0;
}

bool epi_rebuild_refuses(const epdx_admission_t *admission, epi_entry_t *entry)
{
    const epi_outcome_t *failure = &admission->rebuild.failure;

    if (failure->status == EPDX_OK || !needs_rows(admission, entry)) {
        return false;
    }
    entry->status = failure->status;
    (void)epi_text_copy(entry->reason, sizeof(entry->reason), failure->reason);
    return true;
}

bool epi_rebuild_defers(const epdx_admission_t *admission,
                        const epi_entry_t *entry)
{
    const epi_rebuild_t *rebuild = &admission->rebuild;

    return needs_rows(admission, entry) &&
           (failed(rebuild) || rebuild->with->launched - rebuild->complete ==
                                   EPI_REASSEMBLY_BATCHES);
}

static void forget_complete(epdx_admission_t *admission)
{
    epi_rebuild_t *rebuild = &admission->rebuild;
    size_t over = 0;

    while (over < rebuild->flying_count) {
        epi_entry_t *entry = &admission->entries[rebuild->flying[over]];

        if (entry->batch > rebuild->complete) {
            break;
        }
        entry->flying = false;
        over++;
    }
    rebuild->flying_count -= over;
    memmove(rebuild->flying, rebuild->flying + over,
            rebuild->flying_count * sizeof(*rebuild->flying));
}

/* The ranks agreed that it failed, and why: end it on this one. */
static void break_off(epdx_admission_t *admission, const epi_outcome_t *cause)
{
    epi_rebuild_t *rebuild = &admission->rebuild;
    epi_outcome_t *failure = &rebuild->failure;

    failure->status = cause->status;
    failure->rank = cause->rank;
    epi_text_format(failure->reason, sizeof(failure->reason),
                    "reassembly failed on rank %" PRIu32
                    ", and is over until admission is opened anew: %.380s",
                    cause->rank, cause->reason);
    rebuild->with->ops->abort(rebuild->with);
    admission->votes_stale = true;
    for (size_t i = 0; i < rebuild->flying_count; i++) {
        epi_entry_t *entry = &admission->entries[rebuild->flying[i]];

        entry->flying = false;
        rebuild->revoked[rebuild->revoked_count++] = (epdx_rejected_t){
            entry->id, failure->status, failure->reason, failure->rank};
    }
    admission->stats.revoked += rebuild->flying_count;
    epi_log_error("%s; %zu admitted requests are revoked", failure->reason,
                  rebuild->flying_count);
    rebuild->flying_count = 0;
}

epdx_status_t epi_rebuild_settle(epdx_admission_t *admission)
{
    epi_rebuild_t *rebuild = &admission->rebuild;
    epdx_status_t status;

    rebuild->complete += epi_ballot_complete(&admission->ballot);
    forget_complete(admission);
    if (epi_ballot_well(&admission->ballot)) {
        return EPDX_OK;
    }
    status = epi_outcome_agree(admission->group, &rebuild->own,
                               &admission->stats.collectives.reason);
    if (status == EPDX_OK) {
        break_off(admission, &rebuild->own);
    }
    return status;
}

static epdx_status_t make_plan(epdx_admission_t *admission, size_t admitted)
{
    const epi_receive_config_t *config =
        epi_receiver_config(admission->receiver);
    epi_plan_t *plan = &admission->plan;

    epi_plan_clear(plan);
    for (size_t i = 0; i < admitted; i++) {
        for (size_t j = 0; j < admission->admitted[i].item_count; j++) {
            epdx_status_t status = epi_plan_add(
                plan, &admission->admitted[i].items[j], admission->group->rank,
                (size_t)config->main_row_bytes,
                (size_t)config->deepstack_row_bytes);

            if (status != EPDX_OK) {
                return status;
            }
        }
    }
    return EPDX_OK;
}

/* The batch that was just launched works on the rows of those that need it. */
static void take_off(epdx_admission_t *admission, size_t admitted, bool well)
{
    epi_rebuild_t *rebuild = &admission->rebuild;

    for (size_t i = 0; i < admitted; i++) {
        epi_entry_t *entry = &admission->entries[admission->landed[i]];

        if (!needs_rows(admission, entry)) {
            continue;
        }
        entry->batch = rebuild->with->launched;
        pin(rebuild, entry->job, entry->batch);
        if (well) {
            entry->flying = true;
            rebuild->flying[rebuild->flying_count++] = admission->landed[i];
        }
    }
}

/* Nobody was told of them yet: they fail instead. Returns how many of the
 * admitted are left. */
static size_t turn_back(epdx_admission_t *admission, size_t admitted)
{
    const epi_outcome_t *failure = &admission->rebuild.failure;
    size_t kept = 0;

    for (size_t i = 0; i < admitted; i++) {
        uint32_t index = admission->landed[i];
        epi_entry_t *entry = &admission->entries[index];

        if (!epi_rebuild_refuses(admission, entry)) {
            admission->landed[kept] = index;
            admission->admitted[kept++] = admission->admitted[i];
            continue;
        }
        entry->admitted = false;
        (void)epi_table_remove(&admission->by_id, entry->id_hash);
        admission->ended[admission->ended_count++] = index;
        epi_entry_reject(admission, index, failure->rank);
    }
    return kept;
}

/* Only where the batch is queued on every rank may any caller have its rows. */
static epdx_status_t run_deferred(epdx_admission_t *admission, size_t *admitted)
{
    epi_rebuild_t *rebuild = &admission->rebuild;
    epi_reassembly_t *with = rebuild->with;
    void *ready = NULL;
    epi_outcome_t begun =
        epi_outcome_of(with->ops->run(with, &admission->plan, &ready));
    epdx_status_t status;

    admission->stats.collectives.nccl_groups = with->counters.groups;
    admission->stats.collectives.nccl_broadcasts = with->counters.broadcasts;
    status = epi_outcome_agree(admission->group, &begun,
                               &admission->stats.collectives.launch);
    take_off(admission, *admitted,
             status == EPDX_OK && begun.status == EPDX_OK);
    if (status != EPDX_OK) {
        return status;
    }
    if (begun.status != EPDX_OK) {
        break_off(admission, &begun);
        *admitted = turn_back(admission, *admitted);
    } else {
        rebuild->ready = ready;
    }
    return EPDX_OK;
}

epdx_status_t epi_rebuild_run(epdx_admission_t *admission, size_t *admitted)
{
    epi_reassembly_t *with = admission->rebuild.with;
    const epi_plan_t *plan = &admission->plan;
    epdx_status_t status = make_plan(admission, *admitted);
    void *ready;

    if (status != EPDX_OK || plan->gather_count == 0) {
        return status;
    }
    admission->stats.collectives.reassembly += plan->gather_count;
    admission->stats.reassembled_bytes += plan->foreign_bytes;
    return with->ops->deferred ? run_deferred(admission, admitted)
                               : with->ops->run(with, plan, &ready);
}
