/* ping_zmq.c: round trips over a pair of bare ZeroMQ PUSH and PULL sockets. */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zmq.h>

#include "base/clock.h"
#include "base/error.h"
#include "bench/ping.h"

#define ENDPOINT_MAX 64

typedef struct zmq_ping {
    epi_ping_t base;
    void *context;
    void *pull;
    void *push;
} zmq_ping_t;

static epdx_status_t broke(const char *call)
{
    return epi_fail(EPDX_ERR_IO, "%s: %s", call, zmq_strerror(errno));
}

static void ping_close(epi_ping_t *base)
{
    zmq_ping_t *ping = (zmq_ping_t *)base;

    if (ping->push != NULL) {
        (void)zmq_close(ping->push);
    }
    if (ping->pull != NULL) {
        (void)zmq_close(ping->pull);
    }
    if (ping->context != NULL) {
        (void)zmq_ctx_term(ping->context);
    }
    free(ping);
}

static epdx_status_t open_sockets(zmq_ping_t *ping, char *endpoint)
{
    size_t bytes = ENDPOINT_MAX;
    int none = 0;

    ping->context = zmq_ctx_new();
    ping->pull =
        ping->context == NULL ? NULL : zmq_socket(ping->context, ZMQ_PULL);
    ping->push =
        ping->context == NULL ? NULL : zmq_socket(ping->context, ZMQ_PUSH);
    if (ping->pull == NULL || ping->push == NULL ||
        zmq_setsockopt(ping->push, ZMQ_LINGER, &none, sizeof(none)) != 0 ||
        zmq_bind(ping->pull, "tcp://127.0.0.1:*") != 0 ||
        zmq_getsockopt(ping->pull, ZMQ_LAST_ENDPOINT, endpoint, &bytes) != 0) {
        return broke("ZeroMQ");
    }
    return EPDX_OK;
}

static epdx_status_t join(zmq_ping_t *ping)
{
    static char all[EPI_TEAM_RANKS_MAX][ENDPOINT_MAX];
    epi_team_t *team = ping->base.bench->team;
    char mine[ENDPOINT_MAX] = "";
    epdx_status_t status = epi_team_agree(team, open_sockets(ping, mine));

    if (status == EPDX_OK) {
        status = team->ops->share(team, mine, sizeof(mine), all);
    }
    if (status == EPDX_OK && team->rank < 2 &&
        zmq_connect(ping->push, all[1 - team->rank]) != 0) {
        status = broke("zmq_connect");
    }
    return epi_team_agree(team, status);
}

static epdx_status_t ping_open(epi_bench_t *bench, epi_ping_t **ping_p)
{
    zmq_ping_t *ping = calloc(1, sizeof(*ping));
    epdx_status_t status;

    if (ping == NULL) {
        return epi_fail(EPDX_ERR_NO_MEMORY, "no memory for a ping");
    }
    ping->base = (epi_ping_t){&epi_ping_zmq, bench};
    status = join(ping);
    if (status != EPDX_OK) {
        ping_close(&ping->base);
        return status;
    }
    *ping_p = &ping->base;
    return EPDX_OK;
}

static epdx_status_t take(zmq_ping_t *ping, bool asleep)
{
    uint8_t bytes[EPI_PING_BYTES];

    while (zmq_recv(ping->pull, bytes, sizeof(bytes),
                    asleep ? 0 : ZMQ_DONTWAIT) < 0) {
        if (errno != EAGAIN) {
            return broke("zmq_recv");
        }
        (void)sched_yield();
    }
    return EPDX_OK;
}

static epdx_status_t give(zmq_ping_t *ping)
{
    static const uint8_t bytes[EPI_PING_BYTES];

    return zmq_send(ping->push, bytes, sizeof(bytes), 0) < 0 ? broke("zmq_send")
                                                             : EPDX_OK;
}

static epdx_status_t ping_round(epi_ping_t *base, bool asleep, size_t count,
                                double *us)
{
    zmq_ping_t *ping = (zmq_ping_t *)base;
    uint32_t rank = base->bench->team->rank;
    epdx_status_t status = EPDX_OK;

    for (size_t i = 0; status == EPDX_OK && rank < 2 && i < count; i++) {
        uint64_t start;

        if (asleep && rank == 0) {
            epi_ping_pause();
        }
        start = epi_now_ns();
        status = rank == 0 ? give(ping) : take(ping, asleep);
        if (status == EPDX_OK) {
            status = rank == 0 ? take(ping, asleep) : give(ping);
        }
        if (rank == 0) {
            us[i] = (double)(epi_now_ns() - start) / 1e3;
        }
    }
    return status;
}

static void ping_transport(epi_ping_t *base, char *out, size_t size)
{
    (void)base;
    if (size > 0) {
        out[0] = '\0';
    }
}

const epi_ping_ops_t epi_ping_zmq = {
    .name = "zmq_rtt",
    .open = ping_open,
    .round = ping_round,
    .transport = ping_transport,
    .close = ping_close,
};
