/* ping_ucx.c: round trips of bare UCX active messages. */
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "bench/ping.h"
#include "bench/raw_ucx.h"

#define AM_PING 3

typedef struct ucx_ping {
    epi_ping_t base;
    epi_raw_ucx_t raw;
    size_t received;
} ucx_ping_t;

void epi_ping_pause(void)
{
    const struct timespec time = {0, (long)EPI_PING_PAUSE_NS};

    (void)nanosleep(&time, NULL);
}

static void ping_close(epi_ping_t *base)
{
    ucx_ping_t *ping = (ucx_ping_t *)base;

    epi_raw_ucx_close(&ping->raw);
    free(ping);
}

static epdx_status_t ping_open(epi_bench_t *bench, epi_ping_t **ping_p)
{
    ucx_ping_t *ping = calloc(1, sizeof(*ping));
    epdx_status_t status;

    if (ping == NULL) {
        return epi_fail(EPDX_ERR_NO_MEMORY, "no memory for a ping");
    }
    ping->base = (epi_ping_t){&epi_ping_ucx, bench};
    status = epi_raw_ucx_open(&ping->raw, bench->team, UCP_FEATURE_AM);
    if (status == EPDX_OK) {
        status = epi_raw_ucx_count(&ping->raw, AM_PING, &ping->received);
    }
    status = epi_team_agree(bench->team, status);
    if (status != EPDX_OK) {
        ping_close(&ping->base);
        return status;
    }
    *ping_p = &ping->base;
    return EPDX_OK;
}

static epdx_status_t send_one(ucx_ping_t *ping, uint32_t to)
{
    static const uint8_t bytes[EPI_PING_BYTES];
    ucp_request_param_t none = {0};

    return epi_raw_ucx_wait(&ping->raw,
                            ucp_am_send_nbx(ping->raw.eps[to], AM_PING, NULL, 0,
                                            bytes, sizeof(bytes), &none));
}

static void await(ucx_ping_t *ping, size_t count, bool asleep)
{
    while (ping->received < count) {
        if (ucp_worker_progress(ping->raw.worker) > 0) {
            continue;
        }
        if (asleep) {
            epi_raw_ucx_sleep(&ping->raw);
        } else {
            (void)sched_yield();
        }
    }
}

static epdx_status_t ping_round(epi_ping_t *base, bool asleep, size_t count,
                                double *us)
{
    ucx_ping_t *ping = (ucx_ping_t *)base;
    uint32_t rank = base->bench->team->rank;
    epdx_status_t status = EPDX_OK;

    ping->received = 0;
    for (size_t i = 0; status == EPDX_OK && rank < 2 && i < count; i++) {
        uint64_t start;

        if (asleep && rank == 0) {
            epi_ping_pause();
        }
        start = epi_now_ns();
        if (rank == 1) {
            await(ping, i + 1, asleep);
        }
        status = send_one(ping, 1 - rank);
        if (rank == 0) {
            await(ping, i + 1, asleep);
            us[i] = (double)(epi_now_ns() - start) / 1e3;
        }
    }
    return status;
}

static void ping_transport(epi_ping_t *base, char *out, size_t size)
{
    epi_raw_ucx_transport(&((ucx_ping_t *)base)->raw, out, size);
}

const epi_ping_ops_t epi_ping_ucx = {
    .name = "ucx_am_rtt",
    .open = ping_open,
    .round = ping_round,
    .transport = ping_transport,
    .close = ping_close,
};
