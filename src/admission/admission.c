/* admission.c: opening and closing, and what happens between drains. */
#include "epdx/admission.h"

#include <stdlib.h>
#include <string.h>

#include "admission/admission_internal.h"
#include "admission/watch.h"
#include "base/error.h"
#include "base/log.h"
#include "base/params.h"
#include "base/random.h"
#include "base/text.h"

static void free_admission(epdx_admission_t *admission)
{
    epi_admission_watch_close(admission);
    if (!epi_rebuild_fini(&admission->rebuild) && admission->receiver != NULL) {
        /* As with an event that is never done: the pool is left allocated. */
        admission->receiver->events_lost++;
    }
    epdx_receiver_close(admission->receiver);
    epi_plan_fini(&admission->plan);
    epi_ballot_fini(&admission->ballot);
    epi_votes_fini(&admission->votes);
    epi_table_fini(&admission->by_id);
    free(admission->failed);
    free(admission->admitted);
    free(admission->verdicts);
    free(admission->landed);
    free(admission->first_failed);
    free(admission->released);
    free(admission->ended);
    free(admission->pending);
    free(admission->free_entries);
    free(admission->entries);
    free(admission);
}

static bool allocate_lists(epdx_admission_t *admission, size_t max)
{
    size_t entries = EPI_ENTRIES * max;

    admission->entries = calloc(entries, sizeof(*admission->entries));
    admission->free_entries = calloc(entries, sizeof(*admission->free_entries));
    admission->pending = calloc(max, sizeof(*admission->pending));
    admission->ended = calloc(max, sizeof(*admission->ended));
    admission->released = calloc(entries, sizeof(*admission->released));
    admission->landed = calloc(max, sizeof(*admission->landed));
    admission->first_failed = calloc(max, sizeof(*admission->first_failed));
    admission->verdicts = calloc(max, sizeof(*admission->verdicts));
    admission->admitted = calloc(max, sizeof(*admission->admitted));
    admission->failed = calloc(max, sizeof(*admission->failed));
    return admission->entries != NULL && admission->free_entries != NULL &&
           admission->pending != NULL && admission->ended != NULL &&
           admission->released != NULL && admission->landed != NULL &&
           admission->first_failed != NULL && admission->verdicts != NULL &&
           admission->admitted != NULL && admission->failed != NULL &&
           epi_rebuild_init(&admission->rebuild, entries, max);
}

static epdx_status_t open_tables(epdx_admission_t *admission)
{
    const epi_receive_config_t *config =
        epi_receiver_config(admission->receiver);
    size_t max = (size_t)config->max_requests;
    epdx_status_t status;

    admission->pending_max = max;
    if (!allocate_lists(admission, max)) {
        return epi_fail(EPDX_ERR_NO_MEMORY,
                        "no memory for %zu pending requests; lower "
                        "EPDX_MAX_REQUESTS",
                        max);
    }
    admission->free_count = EPI_ENTRIES * max;
    for (size_t i = 0; i < admission->free_count; i++) {
        admission->free_entries[i] = (uint32_t)(admission->free_count - 1 - i);
    }
    status =
        epi_table_init(&admission->by_id, EPI_ENTRIES * max, epi_random_u64());
    if (status == EPDX_OK) {
        status = epi_ballot_init(&admission->ballot, max);
    }
    if (status == EPDX_OK) {
        status = epi_votes_init(&admission->votes, max);
    }
    if (status == EPDX_OK) {
        status = epi_plan_init(&admission->plan, (size_t)config->max_items,
                               admission->group->size);
    }
    admission->sharded = config->sharded;
    return status;
}

/* NCCL stands between ranks, so its start comes once they know that all of them
 * are there. Reassembly on host memory makes no collective. */
static bool by_nccl(const epdx_admission_t *admission)
{
    return admission->sharded &&
           epi_receiver_config(admission->receiver)->memory.ops->kind ==
               EPI_MEMORY_CUDA;
}

static epdx_status_t open_reassembly(epdx_admission_t *admission,
                                     const epdx_admission_params_t *params)
{
    const epi_receive_config_t *config =
        epi_receiver_config(admission->receiver);
    epi_reassembly_params_t reassembly = {
        .memory = config->memory,
        .cuda = params->receiver.cuda,
        .timeout_ns = config->waiting_timeout_ns,
    };
    epi_reassembly_t *with;
    epdx_status_t status;

    if (!by_nccl(admission)) {
        reassembly.memory = (epi_memory_t){.ops = epi_memory_host()};
    }
    status = epi_reassembly_open(admission->group, &reassembly, &with);
    if (status == EPDX_OK) {
        admission->rebuild.with = with;
        admission->stats.collectives.creation += with->counters.creation;
    }
    if (status == EPDX_OK && with->ops->deferred) {
        epi_ballot_watch(&admission->ballot);
    }
    return status;
}

/* This rank's part of opening, whose failure the other ranks must learn. */
static epdx_status_t open_local(epdx_admission_t *admission,
                                const epdx_admission_params_t *params,
                                epi_dataplane_t *dp)
{
    epdx_receiver_params_t receiver;
    epdx_status_t status =
        epi_params_copy(&receiver, sizeof(receiver), &params->receiver,
                        sizeof(receiver), "admission's receiver");

    if (status != EPDX_OK) {
        return status;
    }
    receiver.tp_rank = admission->group->rank;
    receiver.tp_size = admission->group->size;
    status = dp == NULL
                 ? epdx_receiver_open(&receiver, &admission->receiver)
                 : epi_receiver_open_with(&receiver, dp, &admission->receiver);
    if (status == EPDX_OK) {
        status = open_tables(admission);
    }
    if (status == EPDX_OK) {
        status = epi_admission_watch(admission);
    }
    if (status == EPDX_OK && !by_nccl(admission)) {
        status = open_reassembly(admission, params);
    }
    return status;
}

epdx_status_t epi_admission_open_with(epdx_group_t *group,
                                      const epdx_admission_params_t *params,
                                      epi_dataplane_t *dp,
                                      epdx_admission_t **admission_p)
{
    epdx_admission_t *admission = calloc(1, sizeof(*admission));
    epdx_admission_params_t copy;
    epdx_status_t status;

    if (admission == NULL) {
        epdx_admission_t none = {.group = group};

        /* The others must learn of it all the same. */
        return epi_agree_settings(
            &none, epi_fail(EPDX_ERR_NO_MEMORY, "no memory for admission"));
    }
    admission->group = group;
    status = epi_given_all("epdx_admission_open", "admission_p",
                           (const void *const[]){admission_p}, 1);
    if (status == EPDX_OK) {
        /* The receiver's parameters lie inside: of one size only. */
        status = epi_params_copy(&copy, sizeof(copy), params, sizeof(copy),
                                 "admission");
    }
    if (status == EPDX_OK) {
        admission->strict = copy.strict;
        status = open_local(admission, &copy, dp);
    }
    status = epi_agree_settings(admission, status);
    if (status == EPDX_OK && by_nccl(admission)) {
        status = open_reassembly(admission, &copy);
    }
    if (status != EPDX_OK) {
        free_admission(admission);
        return status;
    }
    *admission_p = admission;
    return EPDX_OK;
}

epdx_status_t epdx_admission_open(epdx_group_t *group,
                                  const epdx_admission_params_t *params,
                                  epdx_admission_t **admission_p)
{
    epdx_status_t status = epi_given(group);

    return status == EPDX_OK
               ? epi_admission_open_with(group, params, NULL, admission_p)
               : status;
}

void epi_entry_free(epdx_admission_t *admission, uint32_t index)
{
    admission->free_entries[admission->free_count++] = index;
}

epi_entry_t *epi_entry_find(epdx_admission_t *admission, const char *id,
                            uint32_t *index_p)
{
    uint32_t index;

    if (!epi_table_find(&admission->by_id, epi_hash(id, strlen(id)), &index) ||
        strcmp(admission->entries[index].id, id) != 0) {
        return NULL;
    }
    *index_p = index;
    return &admission->entries[index];
}

/* Errors that are the same on every rank, so that nothing is recorded. */
static epdx_status_t check_stage(epdx_admission_t *admission,
                                 const epdx_request_t *request)
{
    epdx_status_t status = epi_request_check_id(request);

    if (status != EPDX_OK) {
        return status;
    }
    if (admission->pending_count == admission->pending_max) {
        return epi_fail(EPDX_ERR_FULL,
                        "request %s: EPDX_MAX_REQUESTS = %zu requests are "
                        "pending",
                        request->id, admission->pending_max);
    }
    return EPDX_OK;
}

/* Ranks that stage one id with other rooms, spans or skips would admit rows of
 * different items as one. How each reaches the encode node is its own. */
static uint64_t hash_items(uint64_t hash, const epdx_request_t *request)
{
    for (size_t i = 0; request->items != NULL && i < request->item_count; i++) {
        const epdx_item_t *item = &request->items[i];
        uint64_t words[] = {hash, item->room, item->span,
                            item->encode == NULL || item->received};

        hash = epi_hash(words, sizeof(words));
    }
    return hash;
}

/* It ends FAILED on every rank. Those that could stage it tell their encode
 * ranks then; nobody else tells this one's. */
static void withdraw_refused(epdx_admission_t *admission,
                             const epdx_request_t *request, const char *reason)
{
    if (epdx_receiver_withdraw(admission->receiver, request, reason) ==
        EPDX_ERR_FULL) {
        epi_log_warn("%s", epdx_last_error());
    }
}

epdx_status_t epdx_admission_stage(epdx_admission_t *admission,
                                   const epdx_request_t *request)
{
    epdx_status_t status = epi_given(admission, request);
    uint32_t index;
    uint64_t id_hash;
    epi_entry_t *entry;

    if (status == EPDX_OK) {
        status = check_stage(admission, request);
    }
    if (status != EPDX_OK) {
        return status;
    }
    index = admission->free_entries[admission->free_count - 1];
    entry = &admission->entries[index];
    id_hash = epi_hash(request->id, strlen(request->id));
    if (epi_table_add(&admission->by_id, id_hash, index) != EPDX_OK) {
        return epi_fail(EPDX_ERR_DUPLICATE,
                        "request %s is pending, or was not released",
                        request->id);
    }
    admission->free_count--;
    *entry = (epi_entry_t){.id_hash = id_hash,
                           .vote_hash = hash_items(id_hash, request)};
    (void)epi_text_copy(entry->id, sizeof(entry->id), request->id);
    entry->status =
        epdx_receiver_stage(admission->receiver, request, &entry->job);
    if (entry->status != EPDX_OK) {
        (void)epi_text_copy(entry->reason, sizeof(entry->reason),
                            epdx_last_error());
        withdraw_refused(admission, request, entry->reason);
    }
    if (entry->job != NULL) {
        entry->job->owner = index;
    }
    entry->staged_ns = epi_admission_now(admission);
    entry->place = (uint32_t)admission->pending_count;
    admission->pending[admission->pending_count++] = index;
    epi_votes_add(&admission->votes, entry->vote_hash, EPDX_PENDING);
    epi_entry_vote(admission, entry);
    return EPDX_OK;
}

epdx_status_t epdx_admission_withdraw(epdx_admission_t *admission,
                                      const epdx_request_t *request,
                                      const char *reason)
{
    epdx_status_t status = epi_given(admission, request);

    return status == EPDX_OK
               ? epdx_receiver_withdraw(admission->receiver, request, reason)
               : status;
}

epdx_status_t epdx_admission_cancel(epdx_admission_t *admission, const char *id)
{
    epdx_status_t status = epi_given(admission, id);
    uint32_t index;
    epi_entry_t *entry;

    if (status != EPDX_OK) {
        return status;
    }
    entry = epi_entry_find(admission, id, &index);
    if (entry == NULL || entry->admitted) {
        return epi_fail(EPDX_ERR_NOT_FOUND, "no request %.64s is pending", id);
    }
    if (entry->status == EPDX_OK) {
        entry->status = EPDX_ERR_CANCELLED;
        (void)epi_text_copy(entry->reason, sizeof(entry->reason),
                            "cancelled by the caller");
        epi_entry_vote(admission, entry);
    }
    return EPDX_OK;
}

size_t epdx_admission_pending(const epdx_admission_t *admission)
{
    return admission == NULL ? 0 : admission->pending_count;
}

bool epdx_admission_sharded(const epdx_admission_t *admission)
{
    return admission != NULL && admission->sharded;
}

void epdx_admission_stats(const epdx_admission_t *admission,
                          epdx_admission_stats_t *stats_p,
                          epdx_receiver_stats_t *receiver_p)
{
    if (admission != NULL && stats_p != NULL) {
        *stats_p = admission->stats;
    }
    if (admission != NULL) {
        epdx_receiver_stats(admission->receiver, receiver_p);
    }
}

void epdx_admission_close(epdx_admission_t *admission)
{
    if (admission != NULL) {
        free_admission(admission);
    }
}
