/*
 * job.c: one request's receive, from its lease to its release; stage.c takes it
 * in.
 *
 *     PENDING --> LANDED --> released    (its lease rests until nothing holds
 *        |                                it, see release.c)
 *        \------> FAILED --> released    (and until no receive can write to it)
 *
 * Only the caller's thread is here; what the I/O thread found out comes as
 * reports.
 */
#include <stdlib.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/log.h"
#include "base/random.h"
#include "receive/receiver_internal.h"
#include "receive/watch.h"

/* A tensor of each part of each item; or more of one and fewer of another. */
#define HOLDS_PER_ITEM 2

epdx_status_t epi_jobs_init(epdx_receiver_t *receiver)
{
    const epi_receive_config_t *config = &receiver->shared.config;
    size_t job_max = (size_t)config->max_requests;
    size_t slot_max = (size_t)config->max_items;
    epdx_status_t status;

    receiver->jobs = calloc(job_max, sizeof(*receiver->jobs));
    receiver->free_jobs = calloc(job_max, sizeof(*receiver->free_jobs));
    receiver->landed = calloc(slot_max, sizeof(*receiver->landed));
    receiver->after = calloc(job_max, sizeof(*receiver->after));
    receiver->changed = calloc(job_max, sizeof(*receiver->changed));
    if (receiver->jobs == NULL || receiver->free_jobs == NULL ||
        receiver->landed == NULL || receiver->after == NULL ||
        receiver->changed == NULL) {
        return epi_fail(EPDX_ERR_NO_MEMORY,
                        "no memory for %zu requests of %zu items; lower "
                        "EPDX_MAX_REQUESTS or EPDX_MAX_ITEMS",
                        job_max, slot_max);
    }
    while (receiver->free_job_count < job_max) {
        uint32_t index = receiver->free_job_count;

        receiver->jobs[index].receiver = receiver;
        receiver->free_jobs[receiver->free_job_count++] =
            (uint32_t)job_max - 1 - index;
    }
    status = epi_arena_open(config->pool_bytes, job_max, &receiver->arena);
    if (status == EPDX_OK) {
        status = epi_arena_open(slot_max * EPI_ARENA_ALIGN, job_max,
                                &receiver->slot_ranges);
    }
    if (status == EPDX_OK) {
        status = epi_tickets_init(&receiver->tickets, job_max);
    }
    if (status == EPDX_OK) {
        status = epi_timers_init(&receiver->deadlines, job_max);
    }
    if (status == EPDX_OK) {
        status = epi_table_init(&receiver->rooms, slot_max, epi_random_u64());
    }
    if (status == EPDX_OK) {
        status = epi_holds_open(HOLDS_PER_ITEM * slot_max, &receiver->holds);
    }
    return status;
}

void epi_jobs_fini(epdx_receiver_t *receiver)
{
    epi_table_fini(&receiver->rooms);
    epi_timers_fini(&receiver->deadlines);
    epi_tickets_fini(&receiver->tickets);
    epi_arena_close(receiver->slot_ranges);
    epi_arena_close(receiver->arena);
    free(receiver->changed);
    free(receiver->after);
    free(receiver->landed);
    free(receiver->free_jobs);
    free(receiver->jobs);
}

static uint32_t job_index(const epdx_job_t *job)
{
    return (uint32_t)(job - job->receiver->jobs);
}

void epi_job_order(const epdx_job_t *job, epi_order_kind_t kind)
{
    epi_order_t order = {kind, job->first_slot, job->slot_count};

    /* The mailbox is sized for all orders of all requests. */
    epi_expect(epi_mailbox_post(job->receiver->shared.orders, &order),
               "an order of the receiver");
    epi_loop_wake(job->receiver->io.loop);
}

static void job_unlease(epdx_job_t *job)
{
    if (job->leased) {
        epi_expect(epi_arena_release(job->receiver->arena, job->lease_offset),
                   "the lease of a request");
    }
    job->leased = false;
}

void epi_job_retire(epdx_job_t *job)
{
    epdx_receiver_t *receiver = job->receiver;

    if (job->unsettled > 0 || epi_job_held(job)) {
        return;
    }
    if (job->state != EPDX_LANDED || job->released) {
        job_unlease(job);
    }
    if (job->released) {
        epi_expect(epi_arena_release(receiver->slot_ranges,
                                     job->first_slot * EPI_ARENA_ALIGN),
                   "the slots of a request");
        receiver->free_jobs[receiver->free_job_count++] = job_index(job);
    }
}

static void job_changed(epdx_job_t *job)
{
    epdx_receiver_t *receiver = job->receiver;

    if (!job->changed) {
        job->changed = true;
        receiver->changed[receiver->changed_count++] = job_index(job);
    }
}

epdx_job_t *epi_receiver_changed(epdx_receiver_t *receiver)
{
    epdx_job_t *job;

    if (receiver->changed_count == 0) {
        return NULL;
    }
    job = &receiver->jobs[receiver->changed[--receiver->changed_count]];
    job->changed = false;
    return job;
}

static void job_fail(epdx_job_t *job, epdx_status_t status, const char *reason)
{
    job->state = EPDX_FAILED;
    job_changed(job);
    job->status = status;
    (void)epi_text_copy(job->reason, sizeof(job->reason), reason);
    job->receiver->requests_failed++;
    epi_job_watch_failed(job, status);
    (void)epi_tickets_remove(&job->receiver->tickets, job_index(job));
    epi_timers_clear(&job->receiver->deadlines, job_index(job));
    if (job->unsettled > 0) {
        epi_job_order(job, EPI_ORDER_CLOSE);
    }
    epi_job_retire(job);
}

static void job_land(epdx_job_t *job)
{
    job->state = EPDX_LANDED;
    job_changed(job);
    job->receiver->requests_landed++;
    epi_job_watch_landed(job);
    epi_timers_clear(&job->receiver->deadlines, job_index(job));
}

void epi_jobs_report(epdx_receiver_t *receiver, const epi_report_t *report)
{
    epi_item_slot_t *item = &receiver->shared.slots[report->slot];
    epdx_job_t *job = &receiver->jobs[item->job];

    if (report->kind == EPI_REPORT_FAILED) {
        if (job->state == EPDX_PENDING) {
            job_fail(job, item->status, item->reason);
        }
        return;
    }
    job->unsettled--;
    if (report->kind == EPI_REPORT_LANDED) {
        receiver->items_landed++;
        job->landed++;
        if (job->state == EPDX_PENDING && job->landed == job->live) {
            job_land(job);
        }
    }
    epi_job_retire(job);
}

static uint64_t aligned(uint64_t bytes)
{
    uint64_t up = bytes;

    (void)epi_align_u64(bytes, EPI_ARENA_ALIGN, &up); /* checked in stage.c */
    return up;
}

/* Tell items where they land, and give them to the I/O thread. */
static void job_place(epdx_job_t *job)
{
    epdx_receiver_t *receiver = job->receiver;
    uint8_t *at = receiver->pool + job->lease_offset;

    for (uint32_t i = 0; i < job->slot_count; i++) {
        epi_item_slot_t *item = &receiver->shared.slots[job->first_slot + i];
        epdx_landed_t *landed = &receiver->landed[job->first_slot + i];

        if (item->encode[0] == '\0') {
            continue;
        }
        item->main = at;
        at += aligned(landed->main_bytes);
        item->deepstack = landed->deepstack_bytes == 0 ? NULL : at;
        at += aligned(landed->deepstack_bytes);
        landed->main = item->main;
        landed->deepstack = item->deepstack;
    }
    epi_job_order(job, EPI_ORDER_LEASED);
}

void epi_jobs_lease(epdx_receiver_t *receiver)
{
    uint32_t index;

    while (epi_tickets_front(&receiver->tickets, &index)) {
        epdx_job_t *job = &receiver->jobs[index];

        if (epi_arena_lease(receiver->arena, job->lease_bytes,
                            &job->lease_offset) != EPDX_OK) {
            return; /* nobody overtakes */
        }
        job->leased = true;
        epi_job_watch_leased(job);
        (void)epi_tickets_remove(&receiver->tickets, index);
        job_place(job);
    }
}

void epi_jobs_expire(epdx_receiver_t *receiver, uint64_t now)
{
    uint32_t index;

    while (epi_timers_expired(&receiver->deadlines, now, &index)) {
        job_fail(&receiver->jobs[index], EPDX_ERR_TIMEOUT,
                 "deadline passed, and the i/o side has not answered");
    }
}

uint64_t epi_jobs_stranded(const epdx_receiver_t *receiver)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < receiver->shared.config.max_requests; i++) {
        const epdx_job_t *job = &receiver->jobs[i];

        if (job->leased && (job->event_lost || (job->unsettled > 0 &&
                                                job->state == EPDX_FAILED))) {
            bytes += job->lease_bytes;
        }
    }
    return bytes;
}

epdx_state_t epdx_job_state(const epdx_job_t *job)
{
    return job == NULL ? EPDX_FAILED : job->state;
}

epdx_status_t epdx_job_failure(const epdx_job_t *job, const char **reason_p)
{
    const char *reason = "";
    epdx_status_t status = EPDX_OK;

    if (job == NULL) {
        reason = "the job is NULL";
        status = EPDX_ERR_INVALID;
    } else if (job->state == EPDX_FAILED) {
        reason = job->reason;
        status = job->status;
    }
    if (reason_p != NULL) {
        *reason_p = reason;
    }
    return status;
}

const epdx_landed_t *epdx_job_items(const epdx_job_t *job, size_t *count_p)
{
    bool landed = epdx_job_state(job) == EPDX_LANDED;

    if (count_p != NULL) {
        *count_p = landed ? job->slot_count : 0;
    }
    return landed ? &job->receiver->landed[job->first_slot] : NULL;
}

const char *epdx_job_id(const epdx_job_t *job)
{
    return job == NULL ? "" : job->id;
}

void epdx_job_release(epdx_job_t *job)
{
    if (job == NULL) {
        return;
    }
    if (job->released) {
        epi_log_error("request %s was released before and cannot be released",
                      job->id);
        return;
    }
    epdx_receiver_t *receiver = job->receiver;

    for (uint32_t i = 0; i < job->slot_count; i++) {
        const epi_item_slot_t *item =
            &receiver->shared.slots[job->first_slot + i];

        if (item->encode[0] != '\0') {
            (void)epi_table_remove(&receiver->rooms, item->room);
        }
    }
    job->released = true;
    if (job->state == EPDX_PENDING) {
        job_fail(job, EPDX_ERR_CANCELLED, "released while it was pending");
    } else {
        epi_job_retire(job);
    }
    epi_jobs_lease(receiver);
}
