/* raw_ucx.c: see raw_ucx.h. */
#include "bench/raw_ucx.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "dataplane/ucx_internal.h"

#define ADDRESS_MAX  1024
#define CLOSE_NS     (2 * EPI_S)
#define SLEEP_MAX_MS 100

typedef struct address {
    uint64_t bytes;
    uint8_t at[ADDRESS_MAX];
} address_t;

epdx_status_t epi_raw_ucx_fail(const char *call, ucs_status_t status)
{
    return epi_fail(EPDX_ERR_IO, "%s: %s", call, ucs_status_string(status));
}

static epdx_status_t open_context(epi_raw_ucx_t *raw, uint64_t features)
{
    ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES,
                           .features = features | UCP_FEATURE_WAKEUP};
    ucp_worker_params_t worker = {
        .field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
        .thread_mode = UCS_THREAD_MODE_SINGLE,
    };
    ucp_config_t *config;
    ucs_status_t status = ucp_config_read(NULL, NULL, &config);

    if (status != UCS_OK) {
        return epi_raw_ucx_fail("ucp_config_read", status);
    }
    if (getenv("UCX_NET_DEVICES") == NULL) {
        (void)ucp_config_modify(config, "NET_DEVICES", "lo");
    }
    status = ucp_init(&params, config, &raw->context);
    ucp_config_release(config);
    if (status != UCS_OK) {
        return epi_raw_ucx_fail("ucp_init", status);
    }
    status = ucp_worker_create(raw->context, &worker, &raw->worker);
    if (status == UCS_OK) {
        status = ucp_worker_get_efd(raw->worker, &raw->event_fd);
    }
    return status == UCS_OK ? EPDX_OK
                            : epi_raw_ucx_fail("ucp_worker_create", status);
}

static epdx_status_t own_address(const epi_raw_ucx_t *raw, address_t *out)
{
    ucp_address_t *address;
    size_t bytes;
    ucs_status_t status = ucp_worker_get_address(raw->worker, &address, &bytes);

    if (status != UCS_OK) {
        return epi_raw_ucx_fail("ucp_worker_get_address", status);
    }
    if (bytes > ADDRESS_MAX) {
        ucp_worker_release_address(raw->worker, address);
        return epi_fail(EPDX_ERR_TOO_LARGE, "a UCX address of %zu bytes",
                        bytes);
    }
    memset(out, 0, sizeof(*out));
    out->bytes = bytes;
    memcpy(out->at, address, bytes);
    ucp_worker_release_address(raw->worker, address);
    return EPDX_OK;
}

static epdx_status_t connect_all(epi_raw_ucx_t *raw)
{
    static address_t all[EPI_TEAM_RANKS_MAX];
    address_t mine = {0};
    epdx_status_t result = epi_team_agree(raw->team, own_address(raw, &mine));

    if (result == EPDX_OK) {
        result = raw->team->ops->share(raw->team, &mine, sizeof(mine), all);
    }
    for (uint32_t i = 0; result == EPDX_OK && i < raw->team->size; i++) {
        ucp_ep_params_t params = {
            .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS,
            .address = (const ucp_address_t *)all[i].at,
        };
        ucs_status_t status = UCS_OK;

        if (i != raw->team->rank) {
            status = ucp_ep_create(raw->worker, &params, &raw->eps[i]);
        }
        if (status != UCS_OK) {
            result = epi_raw_ucx_fail("ucp_ep_create", status);
        }
    }
    return epi_team_agree(raw->team, result);
}

epdx_status_t epi_raw_ucx_open(epi_raw_ucx_t *raw, epi_team_t *team,
                               uint64_t features)
{
    epdx_status_t status;

    *raw = (epi_raw_ucx_t){.team = team};
    status = epi_team_agree(team, open_context(raw, features));
    return status == EPDX_OK ? connect_all(raw) : status;
}

epdx_status_t epi_raw_ucx_handle(epi_raw_ucx_t *raw, unsigned id,
                                 ucp_am_recv_callback_t handler, void *arg)
{
    ucp_am_handler_param_t param = {
        .field_mask =
            UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
            UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG,
        .id = id,
        .flags = UCP_AM_FLAG_WHOLE_MSG,
        .cb = handler,
        .arg = arg,
    };
    ucs_status_t status = ucp_worker_set_am_recv_handler(raw->worker, &param);

    return status == UCS_OK
               ? EPDX_OK
               : epi_raw_ucx_fail("ucp_worker_set_am_recv_handler", status);
}

static ucs_status_t on_counted(void *arg, const void *header,
                               size_t header_bytes, void *data, size_t bytes,
                               const ucp_am_recv_param_t *param)
{
    (void)header;
    (void)header_bytes;
    (void)data;
    (void)bytes;
    (void)param;
    (*(size_t *)arg)++;
    return UCS_OK;
}

epdx_status_t epi_raw_ucx_count(epi_raw_ucx_t *raw, unsigned id,
                                size_t *count_p)
{
    return epi_raw_ucx_handle(raw, id, on_counted, count_p);
}

epdx_status_t epi_raw_ucx_wait(epi_raw_ucx_t *raw, ucs_status_ptr_t request)
{
    ucs_status_t status;

    if (!UCS_PTR_IS_PTR(request)) {
        status = UCS_PTR_STATUS(request);
    } else {
        do {
            (void)ucp_worker_progress(raw->worker);
            status = ucp_request_check_status(request);
        } while (status == UCS_INPROGRESS);
        ucp_request_free(request);
    }
    return status == UCS_OK ? EPDX_OK : epi_raw_ucx_fail("UCX", status);
}

epdx_status_t epi_raw_ucx_end(epi_raw_ucx_t *raw, unsigned id)
{
    ucp_request_param_t none = {0};
    epdx_status_t status = EPDX_OK;

    for (uint32_t rank = 0; status == EPDX_OK && rank < raw->team->size;
         rank++) {
        if (rank == raw->team->rank) {
            continue;
        }
        status = epi_raw_ucx_wait(raw, ucp_ep_flush_nbx(raw->eps[rank], &none));
        if (status == EPDX_OK) {
            status =
                epi_raw_ucx_wait(raw, ucp_am_send_nbx(raw->eps[rank], id, NULL,
                                                      0, NULL, 0, &none));
        }
    }
    return status;
}

void epi_raw_ucx_sleep(epi_raw_ucx_t *raw)
{
    struct pollfd wait = {.fd = raw->event_fd, .events = POLLIN};

    if (ucp_worker_arm(raw->worker) == UCS_OK) {
        (void)poll(&wait, 1, SLEEP_MAX_MS);
    }
}

void epi_raw_ucx_transport(const epi_raw_ucx_t *raw, char *out, size_t size)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);

    out[0] = '\0';
    if (stream == NULL) {
        return;
    }
    ucp_ep_print_info(raw->eps[raw->team->rank == 0 ? 1 : 0], stream);
    if (fclose(stream) == 0) {
        epi_ucx_transport_parse(text, out, size);
    }
    free(text);
}

static void close_ep(epi_raw_ucx_t *raw, ucp_ep_h ep)
{
    ucp_request_param_t param = {0};
    uint64_t limit = epi_now_ns() + CLOSE_NS;
    ucs_status_ptr_t request = ucp_ep_close_nbx(ep, &param);

    while (UCS_PTR_IS_PTR(request) && epi_now_ns() < limit &&
           ucp_request_check_status(request) == UCS_INPROGRESS) {
        (void)ucp_worker_progress(raw->worker);
    }
    if (UCS_PTR_IS_PTR(request)) {
        ucp_request_free(request);
    }
}

void epi_raw_ucx_close(epi_raw_ucx_t *raw)
{
    for (uint32_t i = 0; raw->team != NULL && i < raw->team->size; i++) {
        if (raw->eps[i] != NULL) {
            close_ep(raw, raw->eps[i]);
        }
    }
    if (raw->team != NULL && epi_team_meet(raw->team) != EPDX_OK) {
        epi_log_warn("UCX ends here while others may still use it");
    }
    if (raw->worker != NULL) {
        ucp_worker_destroy(raw->worker);
    }
    if (raw->context != NULL) {
        ucp_cleanup(raw->context);
    }
    *raw = (epi_raw_ucx_t){0};
}
