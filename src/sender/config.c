/* config.c: a sender's parameters and the settings, made into one whole. */
#include <inttypes.h>
#include <stdio.h>

#include "base/error.h"
#include "base/params.h"
#include "base/random.h"
#include "base/resolve.h"
#include "base/text.h"
#include "sender/shared.h"
#include "shard/row_bytes.h"

static epdx_status_t copy_params(const epdx_sender_params_t *params,
                                 epdx_sender_params_t *copy_p)
{
    epdx_status_t status =
        epi_params_copy(copy_p, sizeof(*copy_p), params,
                        offsetof(epdx_sender_params_t, levels), "sender");

    if (status == EPDX_OK && copy_p->progress != EPDX_PROGRESS_THREAD &&
        copy_p->progress != EPDX_PROGRESS_CALLER) {
        return epi_fail(EPDX_ERR_INVALID,
                        "sender: progress %d is none that this library knows",
                        (int)copy_p->progress);
    }
    return status;
}

static epdx_status_t take_rows(const epdx_sender_params_t *params,
                               epi_send_config_t *config)
{
    epi_row_bytes_t bytes;
    epdx_status_t status = epi_row_bytes(
        "sender", params->dtype, params->hidden, params->levels, &bytes);

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

static epdx_status_t take_rank(const epdx_sender_params_t *params,
                               epi_send_config_t *config)
{
    config->engine_rank = params->engine_rank;
    config->world_size = params->world_size != 0 ? params->world_size : 1;
    config->dp_size = params->dp_size != 0 ? params->dp_size : 1;
    if (config->world_size % config->dp_size != 0 ||
        config->engine_rank >= config->world_size) {
        return epi_fail(EPDX_ERR_INVALID,
                        "sender: engine_rank %" PRIu32 " of world_size %" PRIu32
                        " in dp_size %" PRIu32 " groups: the rank must be "
                        "under the size, and the groups must divide it",
                        config->engine_rank, config->world_size,
                        config->dp_size);
    }
    config->blocks = config->world_size / config->dp_size;
    config->block = config->engine_rank % config->blocks;
    return EPDX_OK;
}

static epdx_status_t take_addresses(const epdx_sender_params_t *params,
                                    const epi_options_t *options,
                                    epi_send_config_t *config)
{
    const char *bootstrap = params->bootstrap != NULL ? params->bootstrap : "";

    if (!epi_text_copy(config->bootstrap, sizeof(config->bootstrap),
                       bootstrap)) {
        return epi_fail(EPDX_ERR_INVALID,
                        "sender: bootstrap is longer than %d characters",
                        EPDX_ADDRESS_MAX);
    }
    (void)epi_text_copy(config->token, sizeof(config->token),
                        options->bootstrap_token);
    config->files = options->files;
    (void)snprintf(config->instance, sizeof(config->instance), "%016" PRIx64,
                   epi_random_u64());
    return epi_resolve(params->host != NULL ? params->host : options->host,
                       config->host, sizeof(config->host));
}

static epdx_status_t take_memory(const epdx_sender_params_t *params,
                                 const epi_options_t *options,
                                 epi_send_config_t *config)
{
    epi_memory_wish_t wish = {.who = "sender",
                              .memory = params->memory,
                              .preset = options->memory,
                              .cuda = params->cuda};

    config->staging_bytes = options->cuda_staging_bytes;
    return epi_memory_choose(&wish, &config->memory);
}

static uint64_t or_default(uint64_t given, uint64_t preset)
{
    return given != 0 ? given : preset;
}

epdx_status_t epi_send_config_make(const epdx_sender_params_t *params,
                                   const epi_options_t *options,
                                   epi_send_config_t *config_p)
{
    epdx_sender_params_t given;
    epi_send_config_t config = {
        .ended_memory_ns = options->ended_memory_ns,
        .lookup_timeout_ns = options->lookup_timeout_ns,
        .heartbeat_ns = options->heartbeat_ns,
        .spin_ns = options->spin_ns,
        .max_rooms = (size_t)options->max_rooms,
        .max_peers = (size_t)options->max_peers,
    };
    epdx_status_t status = copy_params(params, &given);

    if (status == EPDX_OK) {
        status = take_rows(&given, &config);
    }
    if (status == EPDX_OK) {
        status = take_rank(&given, &config);
    }
    if (status == EPDX_OK) {
        status = take_addresses(&given, options, &config);
    }
    if (status == EPDX_OK) {
        status = take_memory(&given, options, &config);
    }
    if (status != EPDX_OK) {
        return status;
    }
    config.ring_bytes =
        or_default(given.ring_bytes, options->encode_ring_bytes);
    config.threaded = given.progress == EPDX_PROGRESS_THREAD;
    config.waiting_timeout_ns =
        or_default(given.waiting_timeout_ns, options->waiting_timeout_ns);
    *config_p = config;
    return EPDX_OK;
}
