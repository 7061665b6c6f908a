/* crowd.c: see crowd.h. */
#include "bench/crowd.h"

#include <dirent.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "receive/receiver_internal.h"
#include "sender/sender_internal.h"

#define HIDDEN     64
#define ROWS       64
#define MEMORY     ((size_t)4 << 20)
#define LIMIT_NS   (60 * EPI_S)
#define THREADS_AT "/proc/self/task"
#define FILES_AT   "/proc/self/fd"

static double count_entries(const char *path, const char *target)
{
    DIR *dir = opendir(path);
    double count = 0;
    struct dirent *entry;

    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        char link[300];
        char to[64] = "";

        if (entry->d_name[0] == '.') {
            continue;
        }
        (void)snprintf(link, sizeof(link), "%s/%s", path, entry->d_name);
        if (target != NULL && readlink(link, to, sizeof(to) - 1) < 0) {
            continue;
        }
        count += target == NULL || strncmp(to, target, strlen(target)) == 0;
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    return count;
}

epi_holds_t epi_crowd_holds(void)
{
    struct mallinfo2 info = mallinfo2();

    return (epi_holds_t){
        .sockets = count_entries(FILES_AT, "socket:"),
        .threads = count_entries(THREADS_AT, NULL),
        .heap = (double)(info.uordblks + info.hblkhd),
    };
}

static epdx_status_t open_node(epi_crowd_t *crowd, size_t index)
{
    epdx_bootstrap_params_t server = {.struct_size = sizeof(server),
                                      .listen = "127.0.0.1:0"};
    epdx_sender_params_t params = {
        .struct_size = sizeof(params),
        .dtype = EPDX_BFLOAT16,
        .hidden = HIDDEN,
        .host = "127.0.0.1",
        .progress = EPDX_PROGRESS_CALLER,
        .ring_bytes = MEMORY,
    };
    uint64_t limit = epi_now_ns() + LIMIT_NS;
    epi_dataplane_t *dp;
    epdx_status_t status =
        epdx_bootstrap_open(&server, &crowd->bootstraps[index]);

    if (status == EPDX_OK) {
        params.bootstrap = epdx_bootstrap_address(crowd->bootstraps[index]);
        status = epi_dataplane_loopback(crowd->hub, &dp);
    }
    if (status == EPDX_OK) {
        status = epi_sender_open_with(&params, dp, &crowd->senders[index]);
    }
    while (status == EPDX_OK &&
           !epdx_sender_registered(crowd->senders[index])) {
        (void)epdx_sender_poll(crowd->senders[index], NULL, 0);
        if (epi_now_ns() > limit) {
            return epi_fail(EPDX_ERR_TIMEOUT, "sender %zu did not register",
                            index);
        }
    }
    return status;
}

static epdx_status_t open_receiver(epi_crowd_t *crowd, size_t index)
{
    uint32_t tp_size = crowd->params.tp_size;
    epdx_receiver_params_t params = {
        .struct_size = sizeof(params),
        .dtype = EPDX_BFLOAT16,
        .hidden = HIDDEN,
        .tp_rank = (uint32_t)(index % tp_size),
        .tp_size = tp_size,
        .shard = EPDX_OFF,
        .host = "127.0.0.1",
        .progress = EPDX_PROGRESS_CALLER,
        .pool_bytes = MEMORY,
    };
    epi_dataplane_t *dp;
    epdx_status_t status = epi_dataplane_loopback(crowd->hub, &dp);

    return status == EPDX_OK
               ? epi_receiver_open_with(&params, dp, &crowd->receivers[index])
               : status;
}

epdx_status_t epi_crowd_open(epi_crowd_t *crowd,
                             const epi_crowd_params_t *params)
{
    epdx_status_t status;

    memset(crowd, 0, sizeof(*crowd));
    crowd->params = *params;
    status = epi_loopback_hub_open(&crowd->hub);
    for (size_t i = 0; status == EPDX_OK && i < params->senders; i++) {
        status = open_node(crowd, i);
    }
    for (size_t i = 0; status == EPDX_OK && i < params->receivers; i++) {
        status = open_receiver(crowd, i);
    }
    if (status != EPDX_OK) {
        epi_crowd_close(crowd);
    }
    return status;
}

/* Adds the outcomes that came, and their failures as a huge number. */
static size_t step_senders(epi_crowd_t *crowd)
{
    epdx_outcome_t outcomes[16];
    uint64_t start = epi_now_ns();
    size_t ended = 0;

    for (size_t i = 0; i < crowd->params.senders; i++) {
        ended += epdx_sender_poll(crowd->senders[i], outcomes, 16);
    }
    crowd->sender_ns += epi_now_ns() - start;
    return ended;
}

static void step_receivers(epi_crowd_t *crowd)
{
    uint64_t start = epi_now_ns();

    for (size_t i = 0; i < crowd->params.receivers; i++) {
        epdx_receiver_poll(crowd->receivers[i]);
    }
    crowd->receiver_ns += epi_now_ns() - start;
    crowd->rounds++;
}

void epi_crowd_step(epi_crowd_t *crowd)
{
    (void)step_senders(crowd);
    step_receivers(crowd);
}

/* A room is of one engine: its receivers share it. */
static uint64_t room_of(const epi_crowd_t *crowd, size_t sender, size_t engine)
{
    size_t engines = crowd->params.receivers / crowd->params.tp_size;

    return crowd->room + sender * engines + engine + 1;
}

static epdx_status_t send_all(epi_crowd_t *crowd)
{
    size_t engines = crowd->params.receivers / crowd->params.tp_size;
    epdx_status_t status = EPDX_OK;

    for (size_t s = 0; s < crowd->params.senders; s++) {
        for (size_t e = 0; status == EPDX_OK && e < engines; e++) {
            epdx_chunk_t chunk;

            status = epdx_sender_lease(crowd->senders[s], ROWS, &chunk);
            if (status == EPDX_OK) {
                status = epdx_sender_send(crowd->senders[s],
                                          room_of(crowd, s, e), &chunk);
            }
        }
    }
    return status;
}

static epdx_status_t stage_all(epi_crowd_t *crowd)
{
    static epdx_item_t items[EPI_CROWD_MAX];
    epdx_status_t status = EPDX_OK;
    char id[24];
    epdx_request_t request = {
        .id = id, .items = items, .item_count = crowd->params.senders};

    (void)snprintf(id, sizeof(id), "%" PRIu64, crowd->room);
    for (size_t i = 0; status == EPDX_OK && i < crowd->params.receivers; i++) {
        for (size_t s = 0; s < crowd->params.senders; s++) {
            items[s] = (epdx_item_t){
                .room = room_of(crowd, s, i / crowd->params.tp_size),
                .span = ROWS,
                .encode = epdx_bootstrap_address(crowd->bootstraps[s])};
        }
        status =
            epdx_receiver_stage(crowd->receivers[i], &request, &crowd->jobs[i]);
    }
    return status;
}

static size_t landed(epi_crowd_t *crowd)
{
    size_t count = 0;

    for (size_t i = 0; i < crowd->params.receivers; i++) {
        count += epdx_job_state(crowd->jobs[i]) == EPDX_LANDED;
    }
    return count;
}

epdx_status_t epi_crowd_carry(epi_crowd_t *crowd)
{
    size_t rooms =
        crowd->params.senders * crowd->params.receivers / crowd->params.tp_size;
    uint64_t limit = epi_now_ns() + LIMIT_NS;
    size_t ended = 0;
    epdx_status_t status = send_all(crowd);

    if (status == EPDX_OK) {
        status = stage_all(crowd);
    }
    while (status == EPDX_OK &&
           (ended < rooms || landed(crowd) < crowd->params.receivers)) {
        ended += step_senders(crowd);
        step_receivers(crowd);
        if (epi_now_ns() > limit) {
            return epi_fail(EPDX_ERR_TIMEOUT,
                            "%zu of %zu rooms ended, %zu receivers have theirs",
                            ended, rooms, landed(crowd));
        }
    }
    for (size_t i = 0; status == EPDX_OK && i < crowd->params.receivers; i++) {
        epdx_job_release(crowd->jobs[i]);
    }
    crowd->room += rooms;
    return status;
}

uint64_t epi_crowd_asks(const epi_crowd_t *crowd)
{
    uint64_t asks = 0;

    for (size_t i = 0; i < crowd->params.senders; i++) {
        epdx_sender_stats_t stats;

        epdx_sender_stats(crowd->senders[i], &stats);
        asks += stats.asks;
    }
    return asks;
}

epdx_status_t epi_crowd_ask(epi_crowd_t *crowd, size_t rooms)
{
    uint64_t limit = epi_now_ns() + LIMIT_NS;
    uint64_t wanted = epi_crowd_asks(crowd) + rooms * crowd->params.receivers;
    epdx_status_t status = EPDX_OK;

    for (size_t r = 0; r < rooms; r++) {
        status = status == EPDX_OK ? stage_all(crowd) : status;
        crowd->room++;
    }
    while (status == EPDX_OK && epi_crowd_asks(crowd) < wanted) {
        epi_crowd_step(crowd);
        if (epi_now_ns() > limit) {
            return epi_fail(EPDX_ERR_TIMEOUT, "the asks did not come in");
        }
    }
    return status;
}

void epi_crowd_close(epi_crowd_t *crowd)
{
    for (size_t i = 0; i < EPI_CROWD_MAX; i++) {
        epdx_receiver_close(crowd->receivers[i]);
    }
    for (size_t i = 0; i < EPI_CROWD_MAX; i++) {
        epdx_sender_close(crowd->senders[i]);
        epdx_bootstrap_close(crowd->bootstraps[i]);
    }
    if (crowd->hub != NULL) {
        epi_loopback_hub_close(crowd->hub);
    }
    memset(crowd, 0, sizeof(*crowd));
}
