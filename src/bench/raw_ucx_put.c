/*
 * raw_ucx_put.c: a bare loop of ucp_put with one flush at its end: rank 0
 * writes each item to its place at each receiver, in memory that UCX allocated
 * so that shared memory can be written without the receiver.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "bench/raw_ucx.h"

#define AM_END   2
#define RKEY_MAX 512

typedef struct target {
    uint64_t at;
    uint64_t rkey_bytes;
    uint8_t rkey[RKEY_MAX];
} target_t;

typedef struct put_way {
    epi_way_t base;
    epi_raw_ucx_t raw;
    uint8_t *memory;
    ucp_mem_h memh;
    uint64_t remote[EPI_TEAM_RANKS_MAX];
    ucp_rkey_h rkeys[EPI_TEAM_RANKS_MAX];
    size_t under_way;
    size_t ends; /* rounds that rank 0 has ended */
    size_t rounds;
    ucs_status_t cause;
} put_way_t;

static void on_put(void *request, ucs_status_t status, void *user_data)
{
    put_way_t *way = user_data;

    way->under_way--;
    way->cause = status == UCS_OK ? way->cause : status;
    ucp_request_free(request);
}

static epdx_status_t map(put_way_t *way, target_t *target)
{
    ucp_mem_map_params_t params = {
        .field_mask =
            UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_FLAGS,
        .length = way->base.bytes,
        .flags = UCP_MEM_MAP_ALLOCATE,
    };
    ucp_mem_attr_t attr = {.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS};
    void *rkey;
    size_t bytes;
    ucs_status_t status = ucp_mem_map(way->raw.context, &params, &way->memh);

    if (status == UCS_OK) {
        status = ucp_mem_query(way->memh, &attr);
    }
    if (status == UCS_OK) {
        way->memory = attr.address;
        memset(way->memory, 1, way->base.bytes);
        status = ucp_rkey_pack(way->raw.context, way->memh, &rkey, &bytes);
    }
    if (status != UCS_OK) {
        return epi_raw_ucx_fail("ucp_mem_map", status);
    }
    if (bytes <= RKEY_MAX) {
        *target =
            (target_t){.at = (uintptr_t)attr.address, .rkey_bytes = bytes};
        memcpy(target->rkey, rkey, bytes);
    }
    ucp_rkey_buffer_release(rkey);
    return bytes <= RKEY_MAX
               ? EPDX_OK
               : epi_fail(EPDX_ERR_TOO_LARGE, "a key of %zu bytes", bytes);
}

static epdx_status_t exchange(put_way_t *way)
{
    static target_t all[EPI_TEAM_RANKS_MAX];
    epi_team_t *team = way->raw.team;
    target_t mine;
    epdx_status_t result;

    memset(&mine, 0, sizeof(mine));
    result = epi_team_agree(team, map(way, &mine));
    if (result == EPDX_OK) {
        result = team->ops->share(team, &mine, sizeof(mine), all);
    }
    for (uint32_t i = 1; result == EPDX_OK && team->rank == 0 && i < team->size;
         i++) {
        ucs_status_t status =
            ucp_ep_rkey_unpack(way->raw.eps[i], all[i].rkey, &way->rkeys[i]);

        way->remote[i] = all[i].at;
        if (status != UCS_OK) {
            result = epi_raw_ucx_fail("ucp_ep_rkey_unpack", status);
        }
    }
    return result;
}

static void way_close(epi_way_t *base)
{
    put_way_t *way = (put_way_t *)base;

    for (size_t i = 0; i < EPI_TEAM_RANKS_MAX; i++) {
        if (way->rkeys[i] != NULL) {
            ucp_rkey_destroy(way->rkeys[i]);
        }
    }
    if (way->memh != NULL) {
        (void)ucp_mem_unmap(way->raw.context, way->memh);
    }
    epi_raw_ucx_close(&way->raw);
    free(way);
}

static epdx_status_t way_open(epi_bench_t *bench, epi_way_t **way_p)
{
    put_way_t *way = calloc(1, sizeof(*way));
    epdx_status_t status;

    if (way == NULL) {
        return epi_fail(EPDX_ERR_NO_MEMORY, "no memory for a way");
    }
    way->base = (epi_way_t){.ops = &epi_way_ucx_put,
                            .bench = bench,
                            .bytes = (size_t)bench->options->memory_mb << 20};
    status = epi_raw_ucx_open(&way->raw, bench->team,
                              UCP_FEATURE_RMA | UCP_FEATURE_AM);
    if (status == EPDX_OK) {
        status = epi_raw_ucx_count(&way->raw, AM_END, &way->ends);
    }
    status = epi_team_agree(bench->team, status);
    if (status == EPDX_OK) {
        status = epi_team_agree(bench->team, exchange(way));
    }
    return epi_way_opened(&way->base, status, way_p);
}

static epdx_status_t put_item(put_way_t *way, const epi_round_t *round,
                              uint32_t rank, size_t index)
{
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                        UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_MEMH,
        .cb.send = on_put,
        .user_data = way,
        .memh = way->memh,
    };
    size_t place = epi_round_place(&way->base, round, index);
    ucs_status_ptr_t request =
        ucp_put_nbx(way->raw.eps[rank], way->memory + place, round->size,
                    way->remote[rank] + place, way->rkeys[rank], &param);

    if (UCS_PTR_IS_ERR(request)) {
        return epi_raw_ucx_fail("ucp_put_nbx", UCS_PTR_STATUS(request));
    }
    way->under_way += UCS_PTR_IS_PTR(request);
    return EPDX_OK;
}

static epdx_status_t serve(put_way_t *way, const epi_round_t *round)
{
    uint32_t ranks = way->raw.team->size;
    size_t window = epi_round_window(&way->base, round) * (ranks - 1);
    epdx_status_t status = EPDX_OK;

    for (size_t i = 0; status == EPDX_OK && i < round->count; i++) {
        for (uint32_t rank = 1; status == EPDX_OK && rank < ranks; rank++) {
            status = put_item(way, round, rank, i);
        }
        do {
            (void)ucp_worker_progress(way->raw.worker);
        } while (way->under_way >= window && way->cause == UCS_OK);
    }
    return status == EPDX_OK ? epi_raw_ucx_end(&way->raw, AM_END) : status;
}

static epdx_status_t way_round(epi_way_t *base, const epi_round_t *round,
                               double *seconds_p)
{
    put_way_t *way = (put_way_t *)base;
    uint64_t start = epi_now_ns();
    epdx_status_t status = EPDX_OK;

    *seconds_p = 0;
    way->rounds++;
    if (epi_bench_encode(base->bench)) {
        status = serve(way, round);
    } else {
        while (way->ends < way->rounds && way->cause == UCS_OK) {
            (void)ucp_worker_progress(way->raw.worker);
        }
        *seconds_p = (double)(epi_now_ns() - start) / 1e9;
    }
    if (status == EPDX_OK && way->cause != UCS_OK) {
        status = epi_raw_ucx_fail("a put", way->cause);
    }
    return status;
}

static void way_transport(epi_way_t *base, char *out, size_t size)
{
    epi_raw_ucx_transport(&((put_way_t *)base)->raw, out, size);
}

const epi_way_ops_t epi_way_ucx_put = {
    .name = "ucx_put",
    .open = way_open,
    .round = way_round,
    .transport = way_transport,
    .close = way_close,
};
