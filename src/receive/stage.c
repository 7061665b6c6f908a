/*
 * stage.c: taking a request in. Everything that can fail is checked or
 * acquired first; then the request is handed over in steps that cannot fail.
 */
#include <inttypes.h>
#include <string.h>

#include "base/checked.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/params.h"
#include "discovery/route.h"
#include "epdx/shard.h"
#include "receive/receiver_internal.h"
#include "receive/watch.h"

/* The I/O thread ends what is late; a job it has not ended this long after its
 * deadline, the caller's thread does. */
#define DEADLINE_GRACE_NS EPI_S

/* An address that is none is shown as it was given: it may be anything. */
epdx_status_t epi_request_check_address(const epdx_request_t *request,
                                        size_t index)
{
    const char *encode = request->items[index].encode;
    char url[EPDX_ADDRESS_MAX + 128];
    char shown[72];

    if (encode[0] == '\0') {
        return epi_fail(EPDX_ERR_INVALID,
                        "request %s: item %zu: encode is empty; it takes the "
                        "address of a bootstrap server (host:port), or NULL",
                        request->id, index);
    }
    if (strlen(encode) > EPDX_ADDRESS_MAX ||
        epi_route_query_url(encode, -1, -1, url, sizeof(url)) != EPDX_OK) {
        epi_text_show(shown, sizeof(shown), encode);
        return epi_fail(EPDX_ERR_INVALID,
                        "request %s: item %zu: \"%s\" is not the address of a "
                        "bootstrap server (host:port, %d bytes at most)",
                        request->id, index, shown, EPDX_ADDRESS_MAX);
    }
    return EPDX_OK;
}

static epdx_status_t check_item(const epdx_request_t *request, size_t index)
{
    const epdx_item_t *item = &request->items[index];

    if (item->span == 0) {
        return epi_fail(EPDX_ERR_INVALID, "request %s: item %zu has no rows",
                        request->id, index);
    }
    if (item->span > INT32_MAX) {
        return epi_fail(EPDX_ERR_TOO_LARGE,
                        "request %s: item %zu has more rows than %d",
                        request->id, index, INT32_MAX);
    }
    return epi_item_live(item) ? epi_request_check_address(request, index)
                               : EPDX_OK;
}

epdx_status_t epi_request_check_id(const epdx_request_t *request)
{
    if (request->id == NULL || !epi_text_quotable(request->id, EPDX_ID_MAX)) {
        return epi_fail(
            EPDX_ERR_INVALID,
            "a request's id has 1 to %d bytes, none of them a control "
            "character",
            EPDX_ID_MAX);
    }
    return EPDX_OK;
}

epdx_status_t epi_request_check_items(const epdx_request_t *request)
{
    if (request->item_count == 0 || request->items == NULL) {
        return epi_fail(EPDX_ERR_INVALID, "request %s has no items",
                        request->id);
    }
    return EPDX_OK;
}

uint64_t epi_request_deadline(const epdx_receiver_t *receiver,
                              const epdx_request_t *request)
{
    return epi_after(epi_now_ns(),
                     request->timeout_ns != 0
                         ? request->timeout_ns
                         : receiver->shared.config.waiting_timeout_ns);
}

static epdx_status_t check_request(const epdx_receiver_t *receiver,
                                   const epdx_request_t *request)
{
    epdx_status_t status = epi_request_check_id(request);

    if (status == EPDX_OK) {
        status = epi_request_check_items(request);
    }
    if (status != EPDX_OK) {
        return status;
    }
    if (request->item_count > receiver->shared.config.max_items) {
        return epi_fail(EPDX_ERR_TOO_LARGE,
                        "request %s has %zu items, over EPDX_MAX_ITEMS = "
                        "%" PRIu64,
                        request->id, request->item_count,
                        receiver->shared.config.max_items);
    }
    for (size_t i = 0; i < request->item_count; i++) {
        status = check_item(request, i);

        if (status != EPDX_OK) {
            return status;
        }
    }
    return EPDX_OK;
}

/* Add an item's two parts, each aligned; false when a size overflows. */
static bool add_item_bytes(const epi_receive_config_t *config, uint64_t span,
                           uint64_t *total)
{
    uint64_t main_bytes;
    uint64_t deepstack_bytes;

    return epi_mul_u64(span, config->main_row_bytes, &main_bytes) &&
           epi_align_u64(main_bytes, EPI_ARENA_ALIGN, &main_bytes) &&
           epi_mul_u64(span, config->deepstack_row_bytes, &deepstack_bytes) &&
           epi_align_u64(deepstack_bytes, EPI_ARENA_ALIGN, &deepstack_bytes) &&
           epi_add_u64(*total, main_bytes, total) &&
           epi_add_u64(*total, deepstack_bytes, total);
}

static epdx_status_t request_bytes(const epdx_receiver_t *receiver,
                                   const epdx_request_t *request,
                                   uint64_t *bytes_p)
{
    uint64_t total = 0;
    uint64_t capacity = epi_arena_capacity(receiver->arena);

    for (size_t i = 0; i < request->item_count; i++) {
        if (epi_item_live(&request->items[i]) &&
            !add_item_bytes(&receiver->shared.config, request->items[i].span,
                            &total)) {
            return epi_fail(EPDX_ERR_TOO_LARGE,
                            "request %s: the bytes of its items overflow at "
                            "item %zu",
                            request->id, i);
        }
    }
    if (total > capacity) {
        return epi_fail(EPDX_ERR_TOO_LARGE,
                        "request %s needs %" PRIu64
                        " bytes of the receive pool, which has %" PRIu64
                        "; set EPDX_RECV_POOL_MB to %" PRIu64 " or more",
                        request->id, total, capacity, (total >> 20) + 1);
    }
    *bytes_p = total;
    return EPDX_OK;
}

/* Forget the rooms of the first count items again. */
static void leave_rooms(epdx_receiver_t *receiver,
                        const epdx_request_t *request, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (epi_item_live(&request->items[i])) {
            (void)epi_table_remove(&receiver->rooms, request->items[i].room);
        }
    }
}

static epdx_status_t enter_rooms(epdx_receiver_t *receiver,
                                 const epdx_request_t *request, uint32_t first)
{
    for (size_t i = 0; i < request->item_count; i++) {
        const epdx_item_t *item = &request->items[i];
        epdx_status_t status;

        if (!epi_item_live(item)) {
            continue;
        }
        status =
            epi_table_add(&receiver->rooms, item->room, first + (uint32_t)i);
        if (status != EPDX_OK) {
            leave_rooms(receiver, request, i);
            return epi_fail(status,
                            "request %s: room %" PRIu64 " of item %zu is in "
                            "use by a request that was not released",
                            request->id, item->room, i);
        }
    }
    return EPDX_OK;
}

static epdx_status_t take_slots(epdx_receiver_t *receiver,
                                const epdx_request_t *request,
                                uint32_t *first_p)
{
    uint64_t offset;

    if (receiver->free_job_count == 0 ||
        epi_arena_lease(receiver->slot_ranges,
                        request->item_count * EPI_ARENA_ALIGN,
                        &offset) != EPDX_OK) {
        return epi_fail(EPDX_ERR_FULL,
                        "request %s: EPDX_MAX_REQUESTS = %" PRIu64
                        " or EPDX_MAX_ITEMS = %" PRIu64 " is reached",
                        request->id, receiver->shared.config.max_requests,
                        receiver->shared.config.max_items);
    }
    *first_p = (uint32_t)(offset / EPI_ARENA_ALIGN);
    return EPDX_OK;
}

static void fill_slot(epdx_receiver_t *receiver, const epdx_item_t *item,
                      uint32_t slot, uint64_t deadline_ns)
{
    const epi_receive_config_t *config = &receiver->shared.config;
    epi_item_slot_t *out = &receiver->shared.slots[slot];
    bool live = epi_item_live(item);

    out->room = item->room;
    out->span = item->span;
    out->share = config->sharded ? epdx_shard_rows(item->span, config->tp_rank,
                                                   config->tp_size)
                                 : (epdx_rows_t){0, item->span};
    out->opened_ns = epi_now_ns();
    out->landed_ns = 0;
    out->deadline_ns = deadline_ns;
    (void)epi_text_copy(out->encode, sizeof(out->encode),
                        live ? item->encode : "");
    receiver->landed[slot] = (epdx_landed_t){
        .room = item->room,
        .span = item->span,
        .share = out->share,
        .main_bytes = live ? (size_t)(item->span * config->main_row_bytes) : 0,
        .deepstack_bytes =
            live ? (size_t)(item->span * config->deepstack_row_bytes) : 0,
    };
}

/* The job and its slots, filled in; cannot fail. */
static epdx_job_t *make_job(epdx_receiver_t *receiver,
                            const epdx_request_t *request, uint32_t first,
                            uint64_t bytes)
{
    uint32_t index = receiver->free_jobs[--receiver->free_job_count];
    epdx_job_t *job = &receiver->jobs[index];
    uint64_t deadline = epi_request_deadline(receiver, request);

    *job = (epdx_job_t){.receiver = receiver,
                        .state = EPDX_PENDING,
                        .changed = job->changed,
                        .first_slot = first,
                        .slot_count = (uint32_t)request->item_count,
                        .lease_bytes = bytes};
    (void)epi_text_copy(job->id, sizeof(job->id), request->id);
    for (uint32_t i = 0; i < job->slot_count; i++) {
        fill_slot(receiver, &request->items[i], first + i, deadline);
        receiver->shared.slots[first + i].job = index;
        job->live += epi_item_live(&request->items[i]) ? 1 : 0;
    }
    job->unsettled = job->live;
    epi_timers_set(&receiver->deadlines, index,
                   epi_after(deadline, DEADLINE_GRACE_NS));
    receiver->requests_staged++;
    epi_job_watch_staged(job);
    return job;
}

/* Hand a job over: its look-ups begin, and it waits for its lease. */
static void begin_job(epdx_receiver_t *receiver, epdx_job_t *job)
{
    uint32_t index = (uint32_t)(job - receiver->jobs);
    if (job->live == 0) {
        job->state = EPDX_LANDED;
        receiver->requests_landed++;
        epi_job_watch_landed(job);
        epi_timers_clear(&receiver->deadlines, index);
        return;
    }
    epi_job_order(job, EPI_ORDER_OPEN);
    epi_expect(epi_tickets_push(&receiver->tickets, index),
               "the ticket of a request");
    epi_jobs_lease(receiver);
}

epdx_status_t epdx_receiver_stage(epdx_receiver_t *receiver,
                                  const epdx_request_t *request,
                                  epdx_job_t **job_p)
{
    uint64_t bytes = 0;
    uint32_t first = 0;
    epdx_status_t status = epi_given(receiver, request, job_p);

    if (status == EPDX_OK) {
        status = check_request(receiver, request);
    }
    if (status != EPDX_OK) {
        return status;
    }
    status = request_bytes(receiver, request, &bytes);
    if (status != EPDX_OK) {
        return status;
    }
    status = take_slots(receiver, request, &first);
    if (status != EPDX_OK) {
        return status;
    }
    status = enter_rooms(receiver, request, first);
    if (status != EPDX_OK) {
        goto err_return_slots;
    }
    *job_p = make_job(receiver, request, first, bytes);
    begin_job(receiver, *job_p);
    return EPDX_OK;

err_return_slots:
    epi_expect(
        epi_arena_release(receiver->slot_ranges, first * EPI_ARENA_ALIGN),
        "the slots of a request");
    return status;
}
