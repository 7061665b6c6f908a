/* config.c: a receiver's parameters and the settings, made into one whole. */
#include <inttypes.h>
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/resolve.h"
#include "receive/receiver_internal.h"

/* MPI counts a row's bytes in an int, and a row of more is a mistake. */
#define ROW_BYTES_MAX ((uint64_t)INT32_MAX)

static uint64_t or_default(uint64_t given, uint64_t preset)
{
    return given != 0 ? given : preset;
}

/* A caller compiled against an older header gives a shorter struct. */
epdx_status_t epi_receive_params_copy(const epdx_receiver_params_t *params,
                                      epdx_receiver_params_t *copy_p)
{
    size_t size = params->struct_size;

    if (size < offsetof(epdx_receiver_params_t, levels) ||
        size > sizeof(*copy_p)) {
        return epi_fail(EPDX_ERR_INVALID,
                        "receiver: struct_size is %zu, this library knows up "
                        "to %zu; set it to sizeof(epdx_receiver_params_t)",
                        size, sizeof(*copy_p));
    }
    *copy_p = (epdx_receiver_params_t){0};
    memcpy(copy_p, params, size);
    return EPDX_OK;
}

static epdx_status_t row_bytes(const epdx_receiver_params_t *params,
                               epi_receive_config_t *config)
{
    uint64_t main_bytes;
    uint64_t deepstack_bytes;

    if (epdx_dtype_bytes(params->dtype) == 0) {
        return epi_fail(EPDX_ERR_INVALID, "receiver: dtype %d is none",
                        (int)params->dtype);
    }
    if (params->hidden == 0 ||
        !epi_mul_u64(params->hidden, epdx_dtype_bytes(params->dtype),
                     &main_bytes) ||
        !epi_mul_u64(main_bytes, params->levels, &deepstack_bytes) ||
        main_bytes > ROW_BYTES_MAX || deepstack_bytes > ROW_BYTES_MAX) {
        return epi_fail(EPDX_ERR_INVALID,
                        "receiver: hidden %" PRIu64 " with %" PRIu32
                        " levels gives no row of 1 ... %" PRIu64 " bytes",
                        params->hidden, params->levels, ROW_BYTES_MAX);
    }
    config->dtype = params->dtype;
    config->hidden = params->hidden;
    config->levels = params->levels;
    config->main_row_bytes = main_bytes;
    config->deepstack_row_bytes = deepstack_bytes;
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

/* Of one size, so none is cut. */
static void take_files(const epi_options_t *options,
                       epi_receive_config_t *config)
{
    (void)epi_text_copy(config->curve_key_file, EPI_OPTION_PATH,
                        options->curve_key_file);
    (void)epi_text_copy(config->curve_allowed_file, EPI_OPTION_PATH,
                        options->curve_allowed_file);
    (void)epi_text_copy(config->ca_file, EPI_OPTION_PATH, options->ca_file);
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
    take_files(options, &config);
    *config_p = config;
    return EPDX_OK;
}
