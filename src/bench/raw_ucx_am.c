/*
 * raw_ucx_am.c: a bare loop of active messages by rendezvous: rank 0 keeps a
 * window of them under way, each receiver pulls each to its place.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "bench/raw_ucx.h"

#define AM_ITEM 1
#define AM_END  2

typedef struct am_way {
    epi_way_t base;
    epi_raw_ucx_t raw;
    uint8_t *memory;
    ucp_mem_h memh;
    const epi_round_t *round; /* under way here */
    size_t sent;              /* completed sends or pulls */
    size_t pulls;             /* begun */
    bool asleep; /* who has nothing to do sleeps, as epdx's I/O threads do */
    size_t ends; /* rounds that rank 0 has ended */
    size_t rounds;
    ucs_status_t cause; /* of the last that failed */
} am_way_t;

static void on_sent(void *request, ucs_status_t status, void *user_data)
{
    am_way_t *way = user_data;

    way->sent++;
    way->cause = status == UCS_OK ? way->cause : status;
    ucp_request_free(request);
}

static void on_pulled(void *request, ucs_status_t status, size_t length,
                      void *user_data)
{
    (void)length;
    on_sent(request, status, user_data);
}

/* A round's first items may come before this rank has begun it. */
static void pull(am_way_t *way, void *descriptor, size_t bytes)
{
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                        UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_MEMH,
        .cb.recv_am = on_pulled,
        .user_data = way,
        .memh = way->memh,
    };
    size_t place = epi_round_place(&way->base, way->round, way->pulls++);
    ucs_status_ptr_t request = ucp_am_recv_data_nbx(
        way->raw.worker, descriptor, way->memory + place, bytes, &param);

    if (!UCS_PTR_IS_PTR(request)) {
        way->sent++;
        way->cause = UCS_PTR_STATUS(request) == UCS_OK
                         ? way->cause
                         : UCS_PTR_STATUS(request);
    }
}

static ucs_status_t on_item(void *arg, const void *header, size_t header_bytes,
                            void *data, size_t bytes,
                            const ucp_am_recv_param_t *param)
{
    (void)header;
    (void)header_bytes;
    (void)param;
    pull(arg, data, bytes);
    return UCS_INPROGRESS;
}

static void progress(am_way_t *way)
{
    if (ucp_worker_progress(way->raw.worker) == 0 && way->asleep) {
        epi_raw_ucx_sleep(&way->raw);
    }
}

static epdx_status_t map(am_way_t *way)
{
    ucp_mem_map_params_t params = {
        .field_mask =
            UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH,
        .length = way->base.bytes,
    };
    ucs_status_t status;

    way->memory = epi_bench_memory(way->base.bytes);
    if (way->memory == NULL) {
        return epi_fail(EPDX_ERR_NO_MEMORY, "no memory for active messages");
    }
    params.address = way->memory;
    status = ucp_mem_map(way->raw.context, &params, &way->memh);
    return status == UCS_OK ? EPDX_OK : epi_raw_ucx_fail("ucp_mem_map", status);
}

static void way_close(epi_way_t *base)
{
    am_way_t *way = (am_way_t *)base;

    if (way->memh != NULL) {
        (void)ucp_mem_unmap(way->raw.context, way->memh);
    }
    epi_raw_ucx_close(&way->raw);
    free(way->memory);
    free(way);
}

static epdx_status_t open_as(epi_bench_t *bench, const epi_way_ops_t *ops,
                             epi_way_t **way_p)
{
    am_way_t *way = calloc(1, sizeof(*way));
    epdx_status_t status;

    if (way == NULL) {
        return epi_fail(EPDX_ERR_NO_MEMORY, "no memory for a way");
    }
    way->base = (epi_way_t){.ops = ops,
                            .bench = bench,
                            .bytes = (size_t)bench->options->memory_mb << 20};
    way->asleep = ops == &epi_way_ucx_am_event;
    status = epi_raw_ucx_open(&way->raw, bench->team, UCP_FEATURE_AM);
    if (status == EPDX_OK) {
        status = epi_raw_ucx_handle(&way->raw, AM_ITEM, on_item, way);
    }
    if (status == EPDX_OK) {
        status = epi_raw_ucx_count(&way->raw, AM_END, &way->ends);
    }
    if (status == EPDX_OK) {
        status = map(way);
    }
    status = epi_team_agree(bench->team, status);
    return epi_way_opened(&way->base, status, way_p);
}

static epdx_status_t way_open(epi_bench_t *bench, epi_way_t **way_p)
{
    return open_as(bench, &epi_way_ucx_am, way_p);
}

static epdx_status_t way_open_event(epi_bench_t *bench, epi_way_t **way_p)
{
    return open_as(bench, &epi_way_ucx_am_event, way_p);
}

static epdx_status_t send_item(am_way_t *way, uint32_t rank, size_t index)
{
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                        UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_MEMH |
                        UCP_OP_ATTR_FIELD_FLAGS,
        .cb.send = on_sent,
        .user_data = way,
        .memh = way->memh,
        .flags = UCP_AM_SEND_FLAG_RNDV,
    };
    size_t place = epi_round_place(&way->base, way->round, index);
    ucs_status_ptr_t request =
        ucp_am_send_nbx(way->raw.eps[rank], AM_ITEM, NULL, 0,
                        way->memory + place, way->round->size, &param);

    if (UCS_PTR_IS_ERR(request)) {
        return epi_raw_ucx_fail("ucp_am_send_nbx", UCS_PTR_STATUS(request));
    }
    way->sent += !UCS_PTR_IS_PTR(request);
    return EPDX_OK;
}

static epdx_status_t serve(am_way_t *way, const epi_round_t *round)
{
    size_t peers = way->base.bench->team->size - 1;
    size_t window = epi_round_window(&way->base, round);
    size_t begun = 0;

    while (way->sent < round->count * peers && way->cause == UCS_OK) {
        while (begun < round->count &&
               begun * peers < way->sent + window * peers) {
            for (uint32_t rank = 1; rank <= peers; rank++) {
                epdx_status_t status = send_item(way, rank, begun);

                if (status != EPDX_OK) {
                    return status;
                }
            }
            begun++;
        }
        progress(way);
    }
    return way->cause == UCS_OK ? epi_raw_ucx_end(&way->raw, AM_END) : EPDX_OK;
}

static epdx_status_t receive(am_way_t *way, const epi_round_t *round,
                             double *seconds_p)
{
    uint64_t start = epi_now_ns();

    while (way->sent < round->count && way->cause == UCS_OK) {
        progress(way);
    }
    *seconds_p = (double)(epi_now_ns() - start) / 1e9;
    /* Until the end comes: answers of UCX's own go out meanwhile. */
    while (way->ends < way->rounds && way->cause == UCS_OK) {
        progress(way);
    }
    return EPDX_OK;
}

static epdx_status_t way_round(epi_way_t *base, const epi_round_t *round,
                               double *seconds_p)
{
    am_way_t *way = (am_way_t *)base;
    epdx_status_t status;

    *seconds_p = 0;
    way->round = round;
    way->sent = 0;
    way->pulls = 0;
    way->rounds++;
    status = epi_bench_encode(base->bench) ? serve(way, round)
                                           : receive(way, round, seconds_p);
    if (status == EPDX_OK && way->cause != UCS_OK) {
        status = epi_raw_ucx_fail("an active message", way->cause);
    }
    return status;
}

static void way_transport(epi_way_t *base, char *out, size_t size)
{
    epi_raw_ucx_transport(&((am_way_t *)base)->raw, out, size);
}

const epi_way_ops_t epi_way_ucx_am = {
    .name = "ucx_am",
    .open = way_open,
    .round = way_round,
    .transport = way_transport,
    .close = way_close,
};

const epi_way_ops_t epi_way_ucx_am_event = {
    .name = "ucx_am_event",
    .open = way_open_event,
    .round = way_round,
    .transport = way_transport,
    .close = way_close,
};
