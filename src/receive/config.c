/* config.c: a receiver's parameters and the settings, made into one whole. */
#include <inttypes.h>

#include "base/error.h"
#include "base/params.h"
#include "base/resolve.h"
#include "receive/receiver_internal.h"
#include "shard/row_bytes.h"

static uint64_t or_default(uint64_t given, uint64_t preset)
{
    return given != 0 ? given : preset;
}

static bool switches_known(const epdx_receiver_params_t *params)
{
    return (params->shard == EPDX_DEFAULT || params->shard == EPDX_ON ||
            params->shard == EPDX_OFF) &&
           (params->progress == EPDX_PROGRESS_THREAD ||
            params->progress == EPDX_PROGRESS_CALLER);
}

epdx_status_t epi_receive_params_copy(const epdx_receiver_params_t *params,
                                      epdx_receiver_params_t *copy_p)
{
    epdx_status_t status =
        epi_params_copy(copy_p, sizeof(*copy_p), params,
                        offsetof(epdx_receiver_params_t, levels), "receiver");

    if (status == EPDX_OK && !switches_known(copy_p)) {
        return epi_fail(EPDX_ERR_INVALID,
                        "receiver: shard %d or progress %d is none that this "
                        "library knows",
                        (int)copy_p->shard, (int)copy_p->progress);
    }
    return status;
}

static epdx_status_t row_bytes(const epdx_receiver_params_t *params,
                               epi_receive_config_t *config)
{
    epi_row_bytes_t bytes;
    epdx_status_t status = epi_row_bytes(
        "receiver", params->dtype, params->hidden, params->levels, &bytes);

    if (status != EPDX_OK) {
        return status;
    }
    config->dtype = params->dtype;
    config->hidden = params->hidden;
    config->levels = params->levels;
    config->main_row_bytes = bytes.main;
    config->deepstack_row_bytes = bytes.deepstack;
    return EPDX_OK;
}

static epdx_status_t rank_and_shard(const epdx_receiver_params_t *params,
                                    const epi_options_t *options,
                                    epi_receive_config_t *config)
{
    config->tp_rank = params->tp_rank;
    config->tp_size = params->tp_size == 0 ? 1 : params->tp_size;
    if (config->tp_rank >= config->tp_size) {
        return epi_fail(EPDX_ERR_INVALID,
                        "receiver: tp_rank %" PRIu32
                        " is not under tp_size %" PRIu32,
                        config->tp_rank, config->tp_size);
    }
    config->shard_flag = params->shard == EPDX_DEFAULT
                             ? options->embedding_shard != 0
                             : params->shard == EPDX_ON;
    config->sharded = config->shard_flag && config->tp_size > 1;
    return EPDX_OK;
}

static epdx_status_t pool_size(const epdx_receiver_params_t *params,
                               const epi_options_t *options,
                               epi_receive_config_t *config)
{
    config->pool_bytes =
        or_default(params->pool_bytes, options->recv_pool_bytes);
    if (config->pool_bytes < EPI_ARENA_ALIGN ||
        (params->pool != NULL &&
         (params->pool_bytes == 0 ||
          (uintptr_t)params->pool % EPI_ARENA_ALIGN != 0))) {
        return epi_fail(EPDX_ERR_INVALID,
                        "receiver: a pool needs at least %" PRIu64
                        " bytes, and one given by the caller its size and that "
                        "alignment",
                        EPI_ARENA_ALIGN);
    }
    return EPDX_OK;
}

/* The kind of memory, and whether a pool that was given is of it. */
static epdx_status_t pool_memory(const epdx_receiver_params_t *params,
                                 const epi_options_t *options,
                                 epi_receive_config_t *config)
{
    epi_memory_wish_t wish = {.who = "receiver",
                              .memory = params->memory,
                              .preset = options->memory,
                              .cuda = params->cuda};
    epdx_status_t status = epi_memory_choose(&wish, &config->memory);

    if (status == EPDX_OK && params->pool != NULL) {
        status = config->memory.ops->check(config->memory.device, params->pool,
                                           params->pool_bytes);
        if (status != EPDX_OK) {
            return epi_fail(status, "receiver: the pool given: %s",
                            epdx_last_error());
        }
    }
    return status;
}

epdx_status_t epi_receive_config_make(const epdx_receiver_params_t *params,
                                      const epi_options_t *options,
                                      epi_receive_config_t *config_p)
{
    epi_receive_config_t config = {
        .lookup_timeout_ns = options->lookup_timeout_ns,
        .ask_interval_ns = options->ask_interval_ns,
        .heartbeat_ns = options->heartbeat_ns,
        .max_requests = options->max_requests,
        .max_items = options->max_items,
        .max_peers = options->max_peers,
    };
    epdx_status_t status = row_bytes(params, &config);

    if (status == EPDX_OK) {
        status = rank_and_shard(params, options, &config);
    }
    if (status == EPDX_OK) {
        status = pool_size(params, options, &config);
    }
    if (status == EPDX_OK) {
        status = pool_memory(params, options, &config);
    }
    if (status == EPDX_OK) {
        status =
            epi_resolve(params->host != NULL ? params->host : options->host,
                        config.host, sizeof(config.host));
    }
    if (status != EPDX_OK) {
        return status;
    }
    config.waiting_timeout_ns =
        or_default(params->waiting_timeout_ns, options->waiting_timeout_ns);
    config.bootstrap_timeout_ns =
        or_default(params->bootstrap_timeout_ns, options->bootstrap_timeout_ns);
    config.staging_bytes = options->cuda_staging_bytes;
    config.files = options->files;
    *config_p = config;
    return EPDX_OK;
}
