/* engine.c: see engine.h. */
#include "bench/engine.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "admission/admission_internal.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/options.h"
#include "base/text.h"
#include "bench/raw_mpi.h"
#include "bench/tap.h"
#include "sender/sender_internal.h"

#define OUTCOMES_MAX 64

static void nap(void)
{
    const struct timespec time = {0, (long)EPI_MS};

    (void)nanosleep(&time, NULL);
}

/* The plane that the product would open, with a tap. */
static epdx_status_t tapped(epi_dataplane_t **dp_p)
{
    epi_options_t options;
    epdx_status_t status = epi_options_load(&options);

    if (status == EPDX_OK) {
        status = epi_dataplane_ucx(options.host, dp_p);
    }
    if (status == EPDX_OK) {
        epi_tap_open(*dp_p);
    }
    return status;
}

static epdx_status_t open_sender(epi_engine_t *engine,
                                 const epdx_sender_params_t *params)
{
    epi_dataplane_t *dp;
    epdx_status_t status;

    if (!engine->params.tap) {
        return epdx_sender_open(params, &engine->sender);
    }
    status = tapped(&dp);
    return status == EPDX_OK ? epi_sender_open_with(params, dp, &engine->sender)
                             : status;
}

static epdx_status_t open_encode(epi_engine_t *engine)
{
    epdx_bootstrap_params_t server = {.struct_size = sizeof(server),
                                      .listen = "127.0.0.1:0"};
    epdx_sender_params_t params = {
        .struct_size = sizeof(params),
        .dtype = EPDX_BFLOAT16,
        .hidden = engine->params.hidden,
        .progress = engine->params.progress,
        .ring_bytes = engine->params.ring_bytes,
    };
    epdx_status_t status = epdx_bootstrap_open(&server, &engine->bootstrap);

    if (engine->bench->options->own) {
        engine->own_bytes = engine->params.ring_bytes;
        engine->own = epi_bench_memory(engine->own_bytes);
        if (engine->own == NULL) {
            return epi_fail(EPDX_ERR_NO_MEMORY, "no memory for rows");
        }
    }
    if (status != EPDX_OK) {
        return status;
    }
    params.bootstrap = epdx_bootstrap_address(engine->bootstrap);
    (void)epi_text_copy(engine->encode, sizeof(engine->encode),
                        params.bootstrap);
    status = open_sender(engine, &params);
    while (status == EPDX_OK && !epdx_sender_registered(engine->sender)) {
        (void)epdx_sender_poll(engine->sender, NULL, 0);
        nap();
    }
    return status;
}

static epdx_status_t open_prefill(epi_engine_t *engine)
{
    epdx_admission_params_t params = {
        .struct_size = sizeof(params),
        .receiver =
            {
                .struct_size = sizeof(params.receiver),
                .dtype = EPDX_BFLOAT16,
                .hidden = engine->params.hidden,
                .shard = engine->params.shard ? EPDX_ON : EPDX_OFF,
                .progress = engine->params.progress,
                .pool_bytes = engine->params.pool_bytes,
            },
    };
    epi_dataplane_t *dp = NULL;
    epdx_status_t status = EPDX_OK;

    if (engine->group == NULL) {
        return EPDX_OK;
    }
    if (engine->params.tap) {
        status = tapped(&dp);
    }
    return status != EPDX_OK ? status
                             : epi_admission_open_with(engine->group, &params,
                                                       dp, &engine->admission);
}

static void close_all(epi_engine_t *engine)
{
    epdx_admission_close(engine->admission);
    if (epi_team_meet(engine->bench->team) != EPDX_OK) {
        epi_log_warn("%s", epdx_last_error());
    }
    epdx_sender_close(engine->sender);
    epdx_bootstrap_close(engine->bootstrap);
    free(engine->own);
    epdx_group_close(engine->group);
}

epdx_status_t epi_engine_open(epi_engine_t *engine, epi_bench_t *bench,
                              const epi_engine_params_t *params)
{
    static char all[EPI_TEAM_RANKS_MAX][EPDX_ADDRESS_MAX + 1];
    epi_team_t *team = bench->team;
    epdx_status_t status = EPDX_OK;

    *engine = (epi_engine_t){.bench = bench, .params = *params};
    if (team->rank == 0) {
        status = open_encode(engine);
    }
    status = epi_team_agree(team, status);
    if (status == EPDX_OK) {
        status =
            team->ops->share(team, engine->encode, sizeof(engine->encode), all);
        memcpy(engine->encode, all[0], sizeof(engine->encode));
    }
    if (status == EPDX_OK) {
        status = epi_team_agree(
            team, epi_bench_group(bench, params->first, &engine->group));
    }
    if (status == EPDX_OK) {
        status = epi_team_agree(team, open_prefill(engine));
    }
    if (status != EPDX_OK) {
        close_all(engine);
    }
    return status;
}

epdx_status_t epi_engine_stage(epi_engine_t *engine, uint64_t room,
                               uint64_t rows)
{
    char id[24];
    epdx_item_t item = {.room = room, .span = rows, .encode = engine->encode};
    epdx_request_t request = {.id = id, .items = &item, .item_count = 1};

    (void)snprintf(id, sizeof(id), "%" PRIu64, room);
    return epdx_admission_stage(engine->admission, &request);
}

/* The same bytes for all rooms: nobody here looks at them. */
static epdx_status_t own_chunk(epi_engine_t *engine, epdx_chunk_t *chunk)
{
    size_t bytes = (size_t)(chunk->rows * engine->params.hidden * 2);

    if (bytes > engine->own_bytes) {
        return epi_fail(EPDX_ERR_TOO_LARGE, "own memory of %zu bytes",
                        engine->own_bytes);
    }
    chunk->main = engine->own;
    return EPDX_OK;
}

epdx_status_t epi_engine_send(epi_engine_t *engine, uint64_t room,
                              uint64_t rows)
{
    epdx_chunk_t chunk = {.rows = rows};
    epdx_status_t status =
        engine->own != NULL ? own_chunk(engine, &chunk)
                            : epdx_sender_lease(engine->sender, rows, &chunk);

    return status == EPDX_OK ? epdx_sender_send(engine->sender, room, &chunk)
                             : status;
}

void epi_engine_release(epi_engine_t *engine, const char *id)
{
    if (epdx_admission_release(engine->admission, id) != EPDX_OK) {
        epi_log_error("release of %s: %s", id, epdx_last_error());
    }
}

epdx_status_t epi_engine_outcomes(epi_engine_t *engine, size_t *count_p)
{
    epdx_outcome_t outcomes[OUTCOMES_MAX];
    size_t count = epdx_sender_poll(engine->sender, outcomes, OUTCOMES_MAX);

    *count_p = count;
    for (size_t i = 0; i < count; i++) {
        if (outcomes[i].status != EPDX_OK) {
            return epi_fail(outcomes[i].status, "%s", outcomes[i].reason);
        }
    }
    return EPDX_OK;
}

uint64_t epi_engine_asks(const epi_engine_t *engine)
{
    epdx_sender_stats_t stats;

    epdx_sender_stats(engine->sender, &stats);
    return stats.asks;
}

void epi_engine_close(epi_engine_t *engine)
{
    close_all(engine);
    *engine = (epi_engine_t){0};
}
