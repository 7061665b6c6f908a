/*
 * drain.c: one step of all ranks: poll, vote, decide alike, share reasons,
 * reassemble. Decide first, then act: what the vote decided is split into
 * lists before any request is touched.
 */
#include <inttypes.h>

#include "admission/admission_internal.h"
#include "base/error.h"
#include "base/log.h"
#include "base/text.h"

/* Entries that failed in the drain before, or were released since: what the
 * caller had of them was valid until now. */
static void forget_ended(epdx_admission_t *admission)
{
    for (size_t i = 0; i < admission->ended_count; i++) {
        epi_entry_free(admission, admission->ended[i]);
    }
    admission->ended_count = 0;
    while (admission->released_count > 0) {
        epi_entry_free(admission,
                       admission->released[--admission->released_count]);
    }
}

/* This rank's word on a request. */
static epdx_state_t entry_vote(epi_entry_t *entry)
{
    const char *reason;

    if (entry->status != EPDX_OK) {
        return EPDX_FAILED; /* cancelled here, or not staged here */
    }
    entry->status = epdx_job_failure(entry->job, &reason);
    if (entry->status != EPDX_OK) {
        (void)epi_text_copy(entry->reason, sizeof(entry->reason), reason);
    }
    return epdx_job_state(entry->job);
}

static epdx_status_t vote(epdx_admission_t *admission)
{
    epdx_group_t *group = admission->group;
    size_t bytes;
    epdx_status_t status;

    epi_ballot_begin(&admission->ballot);
    for (size_t i = 0; i < admission->pending_count; i++) {
        epi_entry_t *entry = &admission->entries[admission->pending[i]];

        entry->vote = entry_vote(entry);
        epi_ballot_add(&admission->ballot, entry->vote_hash, entry->vote);
    }
    bytes = epi_ballot_seal(&admission->ballot);
    admission->stats.collectives.ballot++;
    status = group->ops->min_u8(group, admission->ballot.bytes, bytes);
    if (status != EPDX_OK) {
        return status;
    }
    return epi_ballot_open_result(&admission->ballot);
}

/* Split the pending list by the vote. Returns how many were admitted. */
static size_t split(epdx_admission_t *admission)
{
    size_t kept = 0;
    size_t admitted = 0;

    for (size_t i = 0; i < admission->pending_count; i++) {
        uint32_t index = admission->pending[i];
        epi_entry_t *entry = &admission->entries[index];

        switch (epi_ballot_result(&admission->ballot, i)) {
        case EPDX_FAILED:
            /* Its id may be staged again at once; its words stay. */
            (void)epi_table_remove(&admission->by_id, entry->id_hash);
            admission->ended[admission->ended_count++] = index;
            break;
        case EPDX_LANDED:
            entry->admitted = true;
            admission->admitted[admitted].id = entry->id;
            admission->admitted[admitted].items = epdx_job_items(
                entry->job, &admission->admitted[admitted].item_count);
            admitted++;
            break;
        case EPDX_PENDING:
            admission->pending[kept++] = index;
            break;
        }
    }
    admission->pending_count = kept;
    return admitted;
}

/* End on this rank what failed on some rank. */
static epdx_status_t end_failed(epdx_admission_t *admission)
{
    epdx_status_t status;

    if (admission->ended_count == 0) {
        return EPDX_OK;
    }
    status = epi_share_reasons(admission);
    for (size_t i = 0; i < admission->ended_count; i++) {
        epi_entry_t *entry = &admission->entries[admission->ended[i]];

        epdx_job_release(entry->job);
        entry->job = NULL;
        admission->failed[i] =
            (epdx_rejected_t){entry->id, entry->status, entry->reason,
                              (uint32_t)admission->first_failed[i]};
        admission->stats.failed++;
        admission->stats.cancelled += entry->status == EPDX_ERR_CANCELLED;
        epi_log_info("request %s failed on rank %" PRIu32 ": %s", entry->id,
                     (uint32_t)admission->first_failed[i], entry->reason);
    }
    return status;
}

static epdx_status_t reassemble(epdx_admission_t *admission, size_t admitted)
{
    const epi_receive_config_t *config =
        epi_receiver_config(admission->receiver);
    epi_plan_t *plan = &admission->plan;
    epdx_status_t status;

    if (!admission->sharded || admitted == 0) {
        return EPDX_OK;
    }
    epi_plan_clear(plan);
    for (size_t i = 0; i < admitted; i++) {
        for (size_t j = 0; j < admission->admitted[i].item_count; j++) {
            status = epi_plan_add(plan, &admission->admitted[i].items[j],
                                  admission->group->rank,
                                  (size_t)config->main_row_bytes,
                                  (size_t)config->deepstack_row_bytes);
            if (status != EPDX_OK) {
                return status;
            }
        }
    }
    admission->stats.collectives.reassembly += plan->gather_count;
    admission->stats.reassembled_bytes += plan->foreign_bytes;
    return epi_reassembly_for(EPI_MEMORY_HOST)->run(admission->group, plan);
}

epdx_status_t epdx_admission_drain(epdx_admission_t *admission,
                                   epdx_decisions_t *decisions_p)
{
    size_t admitted;
    epdx_status_t status;

    *decisions_p = (epdx_decisions_t){0};
    forget_ended(admission);
    admission->stats.drains++;
    epdx_receiver_poll(admission->receiver);
    if (admission->pending_count == 0 && !admission->strict) {
        return EPDX_OK; /* alike on all ranks, so all skip the vote */
    }
    admission->stats.drains_pending += admission->pending_count > 0;
    status = vote(admission);
    if (status != EPDX_OK) {
        return status;
    }
    admitted = split(admission);
    status = end_failed(admission);
    if (status != EPDX_OK) {
        return status;
    }
    status = reassemble(admission, admitted);
    if (status != EPDX_OK) {
        return status;
    }
    admission->stats.admitted += admitted;
    *decisions_p = (epdx_decisions_t){
        .admitted = admission->admitted,
        .admitted_count = admitted,
        .failed = admission->failed,
        .failed_count = admission->ended_count,
    };
    return EPDX_OK;
}
