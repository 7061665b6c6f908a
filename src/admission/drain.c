/*
 * drain.c: one step of all ranks: poll, vote, decide alike, share reasons,
 * reassemble. Decide first, then act: what the vote decided is split into
 * lists before any request is touched.
 */
#include <inttypes.h>

#include "admission/admission_internal.h"
#include "admission/watch.h"
#include "base/error.h"
#include "base/log.h"
#include "base/params.h"
#include "base/text.h"
#include "observe/nvtx.h"

/* Entries that failed in the drain before, or were released since: what the
 * caller had of them was valid until now. Released ones that fly may yet have
 * to be told as revoked. */
static void forget_ended(epdx_admission_t *admission)
{
    size_t kept = 0;

    for (size_t i = 0; i < admission->ended_count; i++) {
        epi_entry_free(admission, admission->ended[i]);
    }
    admission->ended_count = 0;
    admission->failed_count = 0;
    for (size_t i = 0; i < admission->released_count; i++) {
        uint32_t index = admission->released[i];

        if (admission->entries[index].flying) {
            admission->released[kept++] = index;
        } else {
            epi_entry_free(admission, index);
        }
    }
    admission->released_count = kept;
}

static epdx_state_t vote_of(const epdx_admission_t *admission,
                            epi_entry_t *entry)
{
    const char *reason;

    if (entry->status != EPDX_OK) {
        return EPDX_FAILED; /* cancelled here, or not staged here */
    }
    entry->status = epdx_job_failure(entry->job, &reason);
    if (entry->status != EPDX_OK) {
        (void)epi_text_copy(entry->reason, sizeof(entry->reason), reason);
    } else if (epi_rebuild_refuses(admission, entry)) {
        return EPDX_FAILED;
    }
    return epdx_job_state(entry->job);
}

void epi_entry_vote(epdx_admission_t *admission, epi_entry_t *entry)
{
    entry->vote = vote_of(admission, entry);
    if (entry->vote != EPDX_PENDING) {
        epi_votes_set(&admission->votes, entry->place, entry->vote);
    }
}

/* Votes of the requests that landed or failed here since the last drain. */
static void take_changes(epdx_admission_t *admission)
{
    epdx_job_t *job;

    while ((job = epi_receiver_changed(admission->receiver)) != NULL) {
        epi_entry_t *entry = &admission->entries[job->owner];

        if (entry->job == job && !entry->admitted) {
            epi_entry_vote(admission, entry);
        }
    }
    if (admission->votes_stale) {
        admission->votes_stale = false;
        for (size_t i = 0; i < admission->pending_count; i++) {
            epi_entry_vote(admission,
                           &admission->entries[admission->pending[i]]);
        }
    }
}

static epdx_status_t vote(epdx_admission_t *admission)
{
    epdx_group_t *group = admission->group;
    epi_ballot_t *ballot = &admission->ballot;
    uint64_t begun = epi_admission_now(admission);
    epdx_status_t status;

    epi_nvtx_push("epdx vote");
    epi_ballot_begin(ballot);
    do {
        size_t bytes;

        epi_rebuild_vote(admission);
        bytes = epi_ballot_seal(ballot, &admission->votes);
        admission->stats.collectives.ballot++;
        status = group->ops->min_u8(group, ballot->bytes, bytes);
        if (status == EPDX_OK) {
            status = epi_ballot_open_result(ballot);
        }
    } while (status == EPDX_OK && epi_ballot_again(ballot));
    epi_nvtx_pop();
    epi_admission_watch_step(admission, EPI_NAME_VOTE, begun, status);
    return status;
}

/* What became of one pending request; it is taken off the list but where it
 * stays pending. */
static epdx_state_t decide(epdx_admission_t *admission, size_t place)
{
    epi_entry_t *entry = &admission->entries[admission->pending[place]];
    epdx_state_t state = epi_ballot_result(&admission->ballot, place);

    if (state == EPDX_LANDED && epi_rebuild_defers(admission, entry)) {
        state = EPDX_PENDING;
    }
    if (state != EPDX_PENDING) {
        epi_votes_drop(&admission->votes, place);
    }
    return state;
}

static void admit(epdx_admission_t *admission, uint32_t index, size_t admitted)
{
    epi_entry_t *entry = &admission->entries[index];

    entry->admitted = true;
    admission->landed[admitted] = index;
    admission->admitted[admitted].id = entry->id;
    admission->admitted[admitted].items =
        epdx_job_items(entry->job, &admission->admitted[admitted].item_count);
}

/* Split the pending list by the vote. Returns how many were admitted. */
static size_t split(epdx_admission_t *admission)
{
    size_t kept = 0;
    size_t admitted = 0;

    for (size_t i = 0; i < admission->pending_count; i++) {
        uint32_t index = admission->pending[i];
        epi_entry_t *entry = &admission->entries[index];

        switch (decide(admission, i)) {
        case EPDX_FAILED:
            /* Its id may be staged again at once; its words stay. */
            (void)epi_table_remove(&admission->by_id, entry->id_hash);
            admission->ended[admission->ended_count++] = index;
            break;
        case EPDX_LANDED:
            admit(admission, index, admitted++);
            break;
        case EPDX_PENDING:
            epi_votes_keep(&admission->votes, i, kept);
            entry->place = (uint32_t)kept;
            admission->pending[kept++] = index;
            break;
        }
    }
    admission->pending_count = kept;
    epi_votes_end(&admission->votes, kept);
    return admitted;
}

void epi_entry_reject(epdx_admission_t *admission, uint32_t index,
                      uint32_t rank)
{
    epi_entry_t *entry = &admission->entries[index];

    epdx_job_release(entry->job);
    entry->job = NULL;
    admission->failed[admission->failed_count++] =
        (epdx_rejected_t){entry->id, entry->status, entry->reason, rank};
    admission->stats.failed++;
    admission->stats.cancelled += entry->status == EPDX_ERR_CANCELLED;
    epi_admission_watch_failed(admission, entry->status);
    epi_log_info("request %s failed on rank %" PRIu32 ": %s", entry->id, rank,
                 entry->reason);
}

/* End on this rank what failed on some rank. */
static epdx_status_t end_failed(epdx_admission_t *admission)
{
    uint64_t begun = epi_admission_now(admission);
    epdx_status_t status;

    if (admission->ended_count == 0) {
        return EPDX_OK;
    }
    status = epi_share_reasons(admission);
    epi_admission_watch_step(admission, EPI_NAME_REASONS, begun, status);
    for (size_t i = 0; i < admission->ended_count; i++) {
        epi_entry_reject(admission, admission->ended[i],
                         (uint32_t)admission->first_failed[i]);
    }
    return status;
}

/* Full rows of what was admitted, where it was pulled in shards. */
static epdx_status_t rebuild(epdx_admission_t *admission, size_t *admitted_p)
{
    uint64_t begun = epi_admission_now(admission);
    epdx_status_t status;

    epi_nvtx_push("epdx reassembly");
    status = epi_rebuild_run(admission, admitted_p);
    epi_nvtx_pop();
    epi_admission_watch_step(admission, EPI_NAME_REBUILD, begun, status);
    return status;
}

/* What the vote decided, done. */
static epdx_status_t act(epdx_admission_t *admission, size_t *admitted_p)
{
    epdx_status_t status = epi_rebuild_settle(admission);

    if (status != EPDX_OK) {
        return status;
    }
    if (!epi_ballot_decides(&admission->ballot)) {
        return EPDX_OK;
    }
    *admitted_p = split(admission);
    status = end_failed(admission);
    if (status == EPDX_OK && admission->sharded && *admitted_p > 0) {
        status = rebuild(admission, admitted_p);
    }
    return status;
}

/* Vote, and do what was decided. */
static epdx_status_t step(epdx_admission_t *admission, size_t *admitted_p)
{
    epdx_status_t status;

    if (admission->pending_count == 0 && !admission->strict &&
        !epi_rebuild_watches(admission)) {
        return EPDX_OK; /* alike on all ranks, so all skip the vote */
    }
    admission->stats.drains_pending += admission->pending_count > 0;
    take_changes(admission);
    status = vote(admission);
    return status != EPDX_OK ? status : act(admission, admitted_p);
}

epdx_status_t epdx_admission_drain(epdx_admission_t *admission,
                                   epdx_decisions_t *decisions_p)
{
    epdx_status_t status = epi_given(admission, decisions_p);
    size_t admitted = 0;
    uint64_t begun;

    if (status != EPDX_OK) {
        return status;
    }
    begun = epi_admission_now(admission);
    *decisions_p = (epdx_decisions_t){0};
    epi_nvtx_push("epdx drain");
    forget_ended(admission);
    admission->stats.drains++;
    epdx_receiver_poll(admission->receiver);
    epi_rebuild_poll(admission);
    status = step(admission, &admitted);
    admission->stats.admitted += status == EPDX_OK ? admitted : 0;
    admission->stats.drains_admitting += status == EPDX_OK && admitted > 0;
    epi_nvtx_pop();
    epi_admission_watch_drain(admission, begun,
                              status == EPDX_OK ? admitted : 0, status);
    if (status != EPDX_OK) {
        return status;
    }
    *decisions_p = (epdx_decisions_t){
        .admitted = admission->admitted,
        .admitted_count = admitted,
        .failed = admission->failed,
        .failed_count = admission->failed_count,
        .ready = admission->rebuild.ready,
        .revoked = admission->rebuild.revoked,
        .revoked_count = admission->rebuild.revoked_count,
    };
    return EPDX_OK;
}
