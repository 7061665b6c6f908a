/*
 * raw_tcp.c: a plain TCP socket from rank 0 to each other rank. The receiver
 * answers each item with a byte; at most a window of them is unanswered.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "bench/bench.h"

typedef struct tcp_way {
    epi_way_t base;
    uint8_t *memory;
    int fds[EPI_TEAM_RANKS_MAX]; /* by rank; on a receiver [0] only */
    size_t fd_count;
} tcp_way_t;

static epdx_status_t broke(const char *call)
{
    return epi_fail(EPDX_ERR_IO, "%s: %s", call, strerror(errno));
}

static epdx_status_t listen_here(int *fd_p, uint16_t *port_p)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) != 0 ||
        listen(fd, EPI_TEAM_RANKS_MAX) != 0 ||
        getsockname(fd, (struct sockaddr *)&at, &bytes) != 0) {
        epdx_status_t status = broke("a TCP listener");

        if (fd >= 0) {
            (void)close(fd);
        }
        return status;
    }
    *fd_p = fd;
    *port_p = ntohs(at.sin_port);
    return EPDX_OK;
}

static epdx_status_t keep(tcp_way_t *way, int fd, const char *call)
{
    int one = 1;

    if (fd < 0) {
        return broke(call);
    }
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    way->fds[way->fd_count++] = fd;
    return EPDX_OK;
}

static epdx_status_t connect_there(tcp_way_t *way, uint16_t port)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons(port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    epdx_status_t status = keep(way, fd, "a TCP socket");

    if (status == EPDX_OK &&
        connect(fd, (struct sockaddr *)&at, sizeof(at)) != 0) {
        return broke("connect");
    }
    return status;
}

static epdx_status_t join(tcp_way_t *way)
{
    epi_team_t *team = way->base.bench->team;
    uint16_t ports[EPI_TEAM_RANKS_MAX];
    uint16_t port = 0;
    int listener = -1;
    epdx_status_t status = EPDX_OK;

    if (team->rank == 0) {
        status = listen_here(&listener, &port);
    }
    status = epi_team_agree(team, status);
    if (status == EPDX_OK) {
        status = team->ops->share(team, &port, sizeof(port), ports);
    }
    if (status == EPDX_OK && team->rank > 0) {
        status = connect_there(way, ports[0]);
    }
    for (uint32_t i = 1; status == EPDX_OK && team->rank == 0 && i < team->size;
         i++) {
        status = keep(way, accept(listener, NULL, NULL), "accept");
    }
    if (listener >= 0) {
        (void)close(listener);
    }
    return epi_team_agree(team, status);
}

static void way_close(epi_way_t *base)
{
    tcp_way_t *way = (tcp_way_t *)base;

    for (size_t i = 0; i < way->fd_count; i++) {
        (void)close(way->fds[i]);
    }
    free(way->memory);
    free(way);
}

static epdx_status_t way_open(epi_bench_t *bench, epi_way_t **way_p)
{
    tcp_way_t *way = calloc(1, sizeof(*way));
    epdx_status_t status = EPDX_OK;

    if (way == NULL) {
        return epi_fail(EPDX_ERR_NO_MEMORY, "no memory for a way");
    }
    way->base = (epi_way_t){.ops = &epi_way_tcp,
                            .bench = bench,
                            .bytes = (size_t)bench->options->memory_mb << 20};
    way->memory = epi_bench_memory(way->base.bytes);
    if (way->memory == NULL) {
        status = epi_fail(EPDX_ERR_NO_MEMORY, "no memory for a TCP socket");
    }
    status = epi_team_agree(bench->team, status);
    if (status == EPDX_OK) {
        status = join(way);
    }
    return epi_way_opened(&way->base, status, way_p);
}

static epdx_status_t put_all(int fd, const uint8_t *bytes, size_t count)
{
    while (count > 0) {
        ssize_t sent = send(fd, bytes, count, MSG_NOSIGNAL);

        if (sent <= 0) {
            return broke("send");
        }
        bytes += sent;
        count -= (size_t)sent;
    }
    return EPDX_OK;
}

static epdx_status_t get_all(int fd, uint8_t *bytes, size_t count)
{
    while (count > 0) {
        ssize_t got = recv(fd, bytes, count, 0);

        if (got <= 0) {
            return broke("recv");
        }
        bytes += got;
        count -= (size_t)got;
    }
    return EPDX_OK;
}

static epdx_status_t serve(tcp_way_t *way, const epi_round_t *round)
{
    size_t window = epi_round_window(&way->base, round);
    uint8_t answer;

    for (size_t i = 0; i < round->count + window; i++) {
        for (size_t peer = 0; peer < way->fd_count; peer++) {
            int fd = way->fds[peer];
            epdx_status_t status = EPDX_OK;

            if (i >= window) {
                status = get_all(fd, &answer, 1);
            }
            if (status == EPDX_OK && i < round->count) {
                size_t place = epi_round_place(&way->base, round, i);

                status = put_all(fd, way->memory + place, round->size);
            }
            if (status != EPDX_OK) {
                return status;
            }
        }
    }
    return EPDX_OK;
}

static epdx_status_t receive(tcp_way_t *way, const epi_round_t *round)
{
    const uint8_t answer = 1;
    epdx_status_t status = EPDX_OK;

    for (size_t i = 0; status == EPDX_OK && i < round->count; i++) {
        size_t place = epi_round_place(&way->base, round, i);

        status = get_all(way->fds[0], way->memory + place, round->size);
        if (status == EPDX_OK) {
            status = put_all(way->fds[0], &answer, 1);
        }
    }
    return status;
}

static epdx_status_t way_round(epi_way_t *base, const epi_round_t *round,
                               double *seconds_p)
{
    tcp_way_t *way = (tcp_way_t *)base;
    uint64_t start = epi_now_ns();
    bool encode = epi_bench_encode(base->bench);
    epdx_status_t status = encode ? serve(way, round) : receive(way, round);

    *seconds_p = encode ? 0 : (double)(epi_now_ns() - start) / 1e9;
    return status;
}

static void way_transport(epi_way_t *base, char *out, size_t size)
{
    (void)base;
    if (size > 0) {
        out[0] = '\0';
    }
}

const epi_way_ops_t epi_way_tcp = {
    .name = "tcp",
    .open = way_open,
    .round = way_round,
    .transport = way_transport,
    .close = way_close,
};
