/* engine.c: see engine.h. */
#include "engine.h"

#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "epdx/group_mpi.h"
#include "harness.h"
#include "tools/synthetic.h"

#define DRAIN_LIMIT_NS (60 * EPI_S)

uint64_t engine_room(size_t request, size_t item)
{
    return ((uint64_t)(request + 1) << 16) | item;
}

static epdx_status_t open_server(epdx_bootstrap_t **server_p,
                                 char address[EPDX_ADDRESS_MAX + 1])
{
    epdx_bootstrap_params_t params = {.struct_size = sizeof(params),
                                      .listen = "127.0.0.1:0"};
    epdx_status_t status = epdx_bootstrap_open(&params, server_p);

    if (status == EPDX_OK) {
        (void)snprintf(address, EPDX_ADDRESS_MAX + 1, "%s",
                       epdx_bootstrap_address(*server_p));
    }
    return status;
}

static void open_node(engine_t *engine, uint32_t node)
{
    const engine_params_t *params = &engine->params;
    char *address =
        params->fronted ? engine->hidden[node] : engine->addresses[node];
    epdx_status_t status = open_server(&engine->bootstraps[node], address);

    if (status == EPDX_OK && params->fronted) {
        status = open_server(&engine->fronts[node], engine->addresses[node]);
    }
    for (uint32_t rank = 0; status == EPDX_OK && rank < params->encode_tp;
         rank++) {
        epdx_sender_params_t sender = {
            .struct_size = sizeof(sender),
            .dtype = params->dtype,
            .hidden = params->hidden,
            .levels = params->levels,
            .engine_rank = rank,
            .world_size = params->encode_tp,
            .host = "127.0.0.1",
            .bootstrap = address,
            .ring_bytes = params->ring_bytes,
            .waiting_timeout_ns = params->sender_timeout_ns != 0
                                      ? params->sender_timeout_ns
                                      : params->timeout_ns,
            .memory = epi_device_kind(&engine->device),
            .cuda = epi_device_cuda(&engine->device),
        };

        status = epdx_sender_open(&sender, &engine->senders[node][rank]);
    }
    if (status != EPDX_OK) {
        (void)fprintf(stderr, "encode node: %s\n", epdx_last_error());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

void engine_open(engine_t *engine, const engine_params_t *params)
{
    epdx_admission_params_t admission = {
        .struct_size = sizeof(admission),
        .receiver = {.struct_size = sizeof(epdx_receiver_params_t),
                     .dtype = params->dtype,
                     .hidden = params->hidden,
                     .levels = params->levels,
                     .shard = params->shard ? EPDX_ON : EPDX_OFF,
                     .host = "127.0.0.1",
                     .pool_bytes = params->pool_bytes,
                     .waiting_timeout_ns = params->timeout_ns,
                     .bootstrap_timeout_ns = params->timeout_ns}};

    memset(engine, 0, sizeof(*engine));
    engine->params = *params;
    CHECK_ALL_STATUS(epi_device_open(params->memory == EPDX_MEMORY_CUDA
                                         ? EPDX_MEMORY_CUDA
                                         : EPDX_MEMORY_HOST,
                                     (uint32_t)harness_rank(), &engine->device),
                     EPDX_OK);
    admission.receiver.memory = epi_device_kind(&engine->device);
    admission.receiver.cuda = epi_device_cuda(&engine->device);
    if (harness_rank() == 0) {
        for (uint32_t node = 0; node < params->nodes; node++) {
            open_node(engine, node);
        }
    }
    HARNESS_AT("broadcast of the encode nodes' addresses");
    MPI_Bcast(engine->addresses, sizeof(engine->addresses), MPI_CHAR, 0,
              harness_comm());
    CHECK_ALL_STATUS(epdx_group_mpi(harness_comm(), 0, &engine->group),
                     EPDX_OK);
    CHECK_ALL_STATUS(
        epdx_admission_open(engine->group, &admission, &engine->admission),
        EPDX_OK);
}

epdx_status_t engine_stage(engine_t *engine, size_t number,
                           const engine_request_t *request)
{
    epdx_item_t items[ENGINE_ITEM_MAX];
    char id[32];
    epdx_request_t out = {
        .id = id,
        .items = items,
        .item_count = request->item_count,
        .timeout_ns = request->timeout_ns,
    };

    (void)snprintf(id, sizeof(id), "%zu", number);
    for (size_t j = 0; j < request->item_count; j++) {
        items[j] = (epdx_item_t){
            .room = engine_room(number, j),
            .span = request->spans[j],
            .encode = engine->addresses[j % engine->params.nodes],
        };
    }
    return epdx_admission_stage(engine->admission, &out);
}

static epi_synthetic_t pattern(const engine_t *engine, uint64_t room,
                               uint32_t part)
{
    const engine_params_t *params = &engine->params;

    return (epi_synthetic_t){
        .room = room,
        .part = part,
        .columns = part == EPI_PART_MAIN ? params->hidden
                                         : params->hidden * params->levels,
        .element_bytes = epdx_dtype_bytes(params->dtype),
    };
}

static void must(epdx_status_t status)
{
    if (status != EPDX_OK) {
        (void)fprintf(stderr, "encode node: %s\n", epdx_last_error());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void fill_rows(const engine_t *engine, uint64_t room, uint64_t rows,
                      void *main, void *deepstack)
{
    epi_synthetic_t main_rows = pattern(engine, room, EPI_PART_MAIN);
    epi_synthetic_t deep_rows = pattern(engine, room, EPI_PART_DEEPSTACK);
    epdx_rows_t all = {0, rows};

    epi_synthetic_fill(&main_rows, all, main);
    if (engine->params.levels > 0) {
        epi_synthetic_fill(&deep_rows, all, deepstack);
    }
}

static size_t row_bytes(const engine_t *engine)
{
    return (size_t)engine->params.hidden *
           epdx_dtype_bytes(engine->params.dtype);
}

/* In device memory the rows are on their way when the chunk is sent. */
static void fill_device(engine_t *engine, uint64_t room, epdx_chunk_t *chunk)
{
    epi_device_t *device = &engine->device;
    size_t main_bytes = chunk->rows * row_bytes(engine);
    size_t bytes = main_bytes * (1 + engine->params.levels);
    void *draft = NULL;
    epdx_status_t status;

    while ((status = epi_device_draft(device, bytes, &draft)) ==
           EPDX_ERR_FULL) {
        sched_yield();
    }
    must(status);
    fill_rows(engine, room, chunk->rows, draft, (char *)draft + main_bytes);
    must(device->memory.ops->copies->event_open(device->memory.device,
                                                &chunk->ready));
    if (engine->ready_count == 1024) {
        abort();
    }
    engine->ready[engine->ready_count++] = chunk->ready;
    must(
        epi_device_write(device, chunk->main, draft, main_bytes, chunk->ready));
    if (chunk->deepstack != NULL) {
        must(epi_device_write(device, chunk->deepstack,
                              (char *)draft + main_bytes, bytes - main_bytes,
                              chunk->ready));
    }
}

static void fill(engine_t *engine, uint64_t room, epdx_chunk_t *chunk)
{
    if (epi_device_away(&engine->device)) {
        fill_device(engine, room, chunk);
    } else {
        fill_rows(engine, room, chunk->rows, chunk->main, chunk->deepstack);
    }
}

/* Own memory for an item, which its sender may read until it is closed. */
static epdx_chunk_t own_chunk(engine_t *engine, uint64_t rows)
{
    const epi_memory_t *memory = &engine->device.memory;
    size_t main_bytes = rows * row_bytes(engine);
    size_t bytes = main_bytes * (1 + engine->params.levels);
    void *base = NULL;

    must(memory->ops->alloc(memory->device, bytes, &base));
    if (engine->own_count == 1024) {
        abort();
    }
    engine->own_bytes[engine->own_count] = bytes;
    engine->own[engine->own_count++] = base;
    return (epdx_chunk_t){
        .rows = rows,
        .main = base,
        .deepstack =
            engine->params.levels > 0 ? (char *)base + main_bytes : NULL,
    };
}

void engine_send_item(engine_t *engine, size_t number, size_t item,
                      uint64_t rows)
{
    uint64_t room = engine_room(number, item);

    if (harness_rank() != 0) {
        return;
    }
    for (uint32_t rank = 0; rank < engine->params.encode_tp; rank++) {
        epdx_sender_t *sender =
            engine->senders[item % engine->params.nodes][rank];
        epdx_chunk_t chunk;

        if (epdx_sender_lease(sender, rows, &chunk) != EPDX_OK) {
            chunk = own_chunk(engine, rows);
        }
        fill(engine, room, &chunk);
        if (epdx_sender_send(sender, room, &chunk) != EPDX_OK) {
            (void)fprintf(stderr, "send: %s\n", epdx_last_error());
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
}

void engine_fail_item(engine_t *engine, size_t number, size_t item,
                      const char *reason)
{
    for (uint32_t rank = 0;
         harness_rank() == 0 && rank < engine->params.encode_tp; rank++) {
        if (epdx_sender_fail(engine->senders[item % engine->params.nodes][rank],
                             engine_room(number, item), reason) != EPDX_OK) {
            (void)fprintf(stderr, "fail: %s\n", epdx_last_error());
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
}

void engine_send(engine_t *engine, size_t number,
                 const engine_request_t *request)
{
    for (size_t j = 0; j < request->item_count; j++) {
        engine_send_item(engine, number, j, request->spans[j]);
    }
}

static void poll_outcomes(engine_t *engine)
{
    epdx_outcome_t outcomes[16];

    for (uint32_t n = 0; harness_rank() == 0 && n < engine->params.nodes; n++) {
        for (uint32_t r = 0; r < engine->params.encode_tp; r++) {
            size_t count =
                epdx_sender_poll(engine->senders[n][r], outcomes, 16);

            engine->outcomes += count;
            for (size_t i = 0; i < count; i++) {
                if (outcomes[i].status != EPDX_OK) {
                    engine->outcomes_failed++;
                    engine->last_status = outcomes[i].status;
                    (void)snprintf(engine->last_reason,
                                   sizeof(engine->last_reason), "%s",
                                   outcomes[i].reason);
                }
            }
        }
    }
}

void engine_await_outcomes(engine_t *engine, size_t count)
{
    uint64_t limit = epi_now_ns() + DRAIN_LIMIT_NS;

    HARNESS_AT("the senders' outcomes");
    while (harness_rank() == 0 && engine->outcomes < count &&
           epi_now_ns() < limit) {
        poll_outcomes(engine);
        sched_yield();
    }
    CHECK_ALL(harness_rank() != 0 || engine->outcomes == count);
}

/* The wrong bytes of one part; all of it where it cannot be read. */
static uint64_t part_wrong(engine_t *engine, const epdx_landed_t *item,
                           uint32_t part)
{
    bool main = part == EPI_PART_MAIN;
    epi_synthetic_t rows = pattern(engine, item->room, part);
    epdx_rows_t all = {0, item->span};
    epi_wrong_t wrong = {0};
    size_t bytes = main ? item->main_bytes : item->deepstack_bytes;
    const void *at = NULL;

    if (epi_device_read(&engine->device, main ? item->main : item->deepstack,
                        bytes, &at) != EPDX_OK) {
        (void)fprintf(stderr, "rank %d: %s\n", harness_rank(),
                      epdx_last_error());
        return bytes;
    }
    (void)epi_synthetic_verify(&rows, all, at, &wrong);
    if (wrong.bytes > 0) {
        (void)fprintf(stderr,
                      "rank %d: room %llx: %llu wrong bytes, first at row %llu "
                      "column %llu\n",
                      harness_rank(), (unsigned long long)item->room,
                      (unsigned long long)wrong.bytes,
                      (unsigned long long)wrong.first_row,
                      (unsigned long long)wrong.first_column);
    }
    return wrong.bytes;
}

/* Whether every byte of every row of an item is what it should be. */
static bool item_right(engine_t *engine, const epdx_landed_t *item)
{
    uint64_t wrong = part_wrong(engine, item, EPI_PART_MAIN);

    if (item->deepstack != NULL) {
        wrong += part_wrong(engine, item, EPI_PART_DEEPSTACK);
    }
    return wrong == 0 &&
           (item->deepstack != NULL) == (engine->params.levels > 0);
}

void engine_release_one(engine_t *engine, size_t index)
{
    char id[32];

    (void)snprintf(id, sizeof(id), "%zu", engine->unreleased[index]);
    if (epdx_admission_release(engine->admission, id) != EPDX_OK) {
        engine->landed_right[engine->unreleased[index]] = false;
    }
    engine->unreleased[index] = engine->unreleased[--engine->unreleased_count];
}

static void note(engine_t *engine, const epdx_decisions_t *decisions)
{
    must(epi_device_after(&engine->device, decisions->ready));
    for (size_t i = 0; i < decisions->admitted_count; i++) {
        const epdx_admitted_t *admitted = &decisions->admitted[i];
        size_t number = strtoul(admitted->id, NULL, 10);

        engine->landed_right[number] = true;
        for (size_t j = 0; j < admitted->item_count; j++) {
            if (!item_right(engine, &admitted->items[j])) {
                engine->landed_right[number] = false;
            }
        }
        engine->unreleased[engine->unreleased_count++] = number;
        if (!engine->params.release_late) {
            engine_release_one(engine, engine->unreleased_count - 1);
        }
        engine->order[engine->admitted++] = number;
    }
    for (size_t i = 0; i < decisions->failed_count; i++) {
        const epdx_rejected_t *failed = &decisions->failed[i];
        size_t number = strtoul(failed->id, NULL, 10);

        engine->failed_status[number] = failed->status;
        engine->failed_rank[number] = failed->rank;
        (void)snprintf(engine->failed_reason[number], EPDX_REASON_MAX, "%s",
                       failed->reason);
        engine->failed++;
    }
}

void engine_drain(engine_t *engine, size_t ended)
{
    uint64_t limit = epi_now_ns() + DRAIN_LIMIT_NS;
    epdx_decisions_t decisions;
    epdx_status_t status = EPDX_OK;

    HARNESS_AT("drains");
    /* Decisions are the same on every rank, and so is the loop's end; the
     * limit is the watchdog's where a drain itself hangs. */
    while (status == EPDX_OK && engine->admitted + engine->failed < ended) {
        status = epdx_admission_drain(engine->admission, &decisions);
        if (status == EPDX_OK) {
            note(engine, &decisions);
        }
        poll_outcomes(engine);
        if (epi_now_ns() > limit) {
            harness_at("drains: nothing more was decided", __FILE__, __LINE__);
        }
        sched_yield();
    }
    CHECK_ALL_STATUS(status, EPDX_OK);
    CHECK_ALL(engine->admitted + engine->failed == ended);
}

void engine_drain_times(engine_t *engine, size_t drains)
{
    epdx_decisions_t decisions;
    epdx_status_t status = EPDX_OK;

    HARNESS_AT("some drains");
    while (status == EPDX_OK && drains-- > 0) {
        status = epdx_admission_drain(engine->admission, &decisions);
        if (status == EPDX_OK) {
            note(engine, &decisions);
        }
        poll_outcomes(engine);
    }
    CHECK_ALL_STATUS(status, EPDX_OK);
}

epdx_receiver_stats_t engine_receiver(const engine_t *engine)
{
    epdx_receiver_stats_t stats;

    epdx_admission_stats(engine->admission, NULL, &stats);
    return stats;
}

epdx_admission_stats_t engine_admission(const engine_t *engine)
{
    epdx_admission_stats_t stats;

    epdx_admission_stats(engine->admission, &stats, NULL);
    return stats;
}

/* Pools go back once encode ranks were told and pulls have ended. */
static bool pool_empties(engine_t *engine)
{
    uint64_t limit = epi_now_ns() + 20 * EPI_S;
    epdx_decisions_t decisions;

    while (engine_receiver(engine).pool_leased_bytes > 0 &&
           epi_now_ns() < limit) {
        if (epdx_admission_drain(engine->admission, &decisions) != EPDX_OK) {
            return false;
        }
        sched_yield();
    }
    return engine_receiver(engine).pool_leased_bytes == 0;
}

static bool sender_quiet(epdx_sender_t *sender)
{
    epdx_sender_stats_t stats;

    epdx_sender_stats(sender, &stats);
    return stats.rooms_open == 0 && stats.ring_leased_bytes == 0;
}

bool engine_encode_quiet(engine_t *engine)
{
    uint64_t limit = epi_now_ns() + 20 * EPI_S;
    bool quiet = false;

    HARNESS_AT("rooms and rings to become empty");
    while (!quiet && epi_now_ns() < limit) {
        quiet = true;
        poll_outcomes(engine);
        for (uint32_t n = 0; harness_rank() == 0 && n < engine->params.nodes;
             n++) {
            for (uint32_t r = 0; r < engine->params.encode_tp; r++) {
                quiet = quiet && sender_quiet(engine->senders[n][r]);
            }
        }
        sched_yield();
    }
    return quiet;
}

static void free_chunks(engine_t *engine)
{
    const epi_memory_t *memory = &engine->device.memory;

    while (engine->own_count > 0) {
        engine->own_count--;
        memory->ops->release(memory->device, engine->own[engine->own_count],
                             engine->own_bytes[engine->own_count]);
    }
    while (engine->ready_count > 0) {
        memory->ops->copies->event_close(memory->device,
                                         engine->ready[--engine->ready_count]);
    }
}

void engine_close(engine_t *engine)
{
    CHECK_ALL(epdx_admission_pending(engine->admission) == 0);
    CHECK_ALL(pool_empties(engine));
    for (uint32_t n = 0; harness_rank() == 0 && n < engine->params.nodes; n++) {
        for (uint32_t r = 0; r < engine->params.encode_tp; r++) {
            epdx_sender_close(engine->senders[n][r]);
        }
        epdx_bootstrap_close(engine->bootstraps[n]);
        epdx_bootstrap_close(engine->fronts[n]);
    }
    free_chunks(engine);
    epi_device_close(&engine->device);
    epdx_admission_close(engine->admission);
    epdx_group_close(engine->group);
}
