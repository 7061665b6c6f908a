/*
 * encode_serve.c: the loop of an encode rank.
 *
 *     WAITING --a prefill rank is known--> SENDING --all sent--> SERVING
 *
 * Rows wait in the sender against a deadline. It must not run out while nobody
 * is there, so nothing is sent before the first prefill rank is known.
 *
 * An item goes through the ring, in order: while the ring is full nothing else
 * can be done. One that the ring can never hold goes from own memory, as all do
 * with --chunk-own; own memory in use is held to the ring's size, or one item:
 * encode_chunks.h.
 *
 * With --hold nothing is sent after so many items until SIGUSR1: a test can
 * then do to peers what it likes while their asks wait.
 */
#include "tools/encode_serve.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "tools/encode_chunks.h"
#include "tools/report.h"
#include "tools/rooms.h"
#include "tools/world.h"

#define OUTCOMES     64
#define BUSY_WAIT_NS (100 * EPI_US) /* something waits for room */
#define IDLE_WAIT_NS (5 * EPI_MS)

typedef struct serve {
    const epi_encode_options_t *options;
    const epi_source_t *source;
    epdx_sender_t *sender;
    epi_encode_totals_t totals;
    epi_source_item_t next; /* request == workload.count: no more */
    epdx_chunk_t chunk;     /* of next, filled, where rows > 0 */
    epi_encode_chunks_t chunks;
    bool peers;
    bool full;          /* the ring was, when it was last tried */
    uint64_t hold;      /* items until the hold; EPI_ARG_UNSET: none */
    uint64_t held_asks; /* asks that the hold last told of */
    epi_progress_line_t progress;
} serve_t;

static void stop_signals(sigset_t *set)
{
    (void)sigemptyset(set);
    (void)sigaddset(set, SIGINT);
    (void)sigaddset(set, SIGTERM);
}

void epi_encode_block_signals(void)
{
    sigset_t set;

    stop_signals(&set);
    (void)sigaddset(&set, SIGUSR1); /* ends a hold */
    (void)pthread_sigmask(SIG_BLOCK, &set, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
}

/* Wait for at most wait_ns; true when the process was told to stop. */
static bool told_to_stop(uint64_t wait_ns)
{
    struct timespec time = {(time_t)(wait_ns / EPI_S), (long)(wait_ns % EPI_S)};
    sigset_t set;

    stop_signals(&set);
    return sigtimedwait(&set, NULL, &time) > 0;
}

static bool told_to_go_on(void)
{
    const struct timespec now = {0, 0};
    sigset_t set;

    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGUSR1);
    return sigtimedwait(&set, NULL, &now) > 0;
}

/* Whether to send nothing now; says how many asks have come by then. */
static bool on_hold(serve_t *serve)
{
    epdx_sender_stats_t stats;

    if (serve->hold == EPI_ARG_UNSET || serve->totals.sent < serve->hold) {
        return false;
    }
    if (told_to_go_on()) {
        epi_log_info("hold: over");
        serve->hold = EPI_ARG_UNSET;
        return false;
    }
    epdx_sender_stats(serve->sender, &stats);
    if (stats.asks != serve->held_asks) {
        serve->held_asks = stats.asks;
        epi_log_info("hold: %llu items sent, %llu asks came",
                     (unsigned long long)serve->totals.sent,
                     (unsigned long long)stats.asks);
    }
    return true;
}

static bool more_items(const serve_t *serve)
{
    return serve->next.request < serve->source->workload.count;
}

/* The first item at or after next that is this node's. */
static void seek(serve_t *serve)
{
    const epi_arg_part_t *node = &serve->options->node;

    while (more_items(serve)) {
        if (serve->next.item >=
            serve->source->workload.requests[serve->next.request].count) {
            serve->next.request++;
            serve->next.item = 0;
        } else if (epi_room_node(serve->next.request, serve->next.item,
                                 node->count) == node->index) {
            return;
        } else {
            serve->next.item++;
        }
    }
}

static uint64_t count_items(serve_t *serve)
{
    epi_source_item_t start = serve->next;
    uint64_t count = 0;

    for (seek(serve); more_items(serve); seek(serve)) {
        count++;
        serve->next.item++;
    }
    serve->next = start;
    return count;
}

/* An item that cannot be made: whoever asks for it is told. */
static epdx_status_t give_up(serve_t *serve, uint64_t room)
{
    char reason[EPDX_REASON_MAX];
    epdx_status_t status;

    (void)epi_text_copy(reason, sizeof(reason), epdx_last_error());
    status = epdx_sender_fail(serve->sender, room, reason);
    if (status == EPDX_OK) {
        epi_log_warn("room %llu: %s", (unsigned long long)room, reason);
        serve->next.item++;
    }
    return status;
}

/* Send the next item. EPDX_ERR_FULL: not now. */
static epdx_status_t send_next(serve_t *serve)
{
    uint64_t room = epi_room(serve->next.request, serve->next.item);
    epdx_status_t status = EPDX_OK;

    if (serve->chunk.rows == 0) {
        status =
            epi_encode_chunk_make(&serve->chunks, serve->next, &serve->chunk);
    }
    if (status == EPDX_ERR_NO_MEMORY) {
        return give_up(serve, room);
    }
    if (status == EPDX_OK) {
        status = epdx_sender_send(serve->sender, room, &serve->chunk);
    }
    if (status == EPDX_OK) {
        memset(&serve->chunk, 0, sizeof(serve->chunk));
        serve->totals.sent++;
        serve->next.item++;
    }
    return status;
}

static void take_outcome(serve_t *serve, const epdx_outcome_t *outcome)
{
    epi_source_item_t at = {epi_room_request(outcome->room),
                            epi_room_item(outcome->room)};

    if (at.request >= serve->source->workload.count ||
        at.item >= serve->source->workload.requests[at.request].count) {
        return;
    }
    epi_encode_chunk_end(&serve->chunks, at);
    if (outcome->status == EPDX_OK) {
        serve->totals.delivered++;
    } else {
        /* The sender has logged why. */
        serve->totals.failed++;
    }
}

static bool take_outcomes(serve_t *serve)
{
    epdx_outcome_t outcomes[OUTCOMES];
    size_t count = epdx_sender_poll(serve->sender, outcomes, OUTCOMES);

    for (size_t i = 0; i < count; i++) {
        take_outcome(serve, &outcomes[i]);
    }
    return count > 0;
}

static bool peer_known(serve_t *serve)
{
    epdx_sender_stats_t stats;

    if (!serve->peers) {
        epdx_sender_stats(serve->sender, &stats);
        serve->peers = stats.peers > 0 || stats.asks > 0;
    }
    return serve->peers;
}

static bool all_ended(const serve_t *serve)
{
    return serve->totals.delivered + serve->totals.failed ==
           serve->totals.items;
}

/* One step; *wait_ns_p is how long there is nothing to do. */
static epdx_status_t step(serve_t *serve, uint64_t *wait_ns_p)
{
    bool busy = take_outcomes(serve);
    epdx_status_t status;

    *wait_ns_p = busy ? 0 : IDLE_WAIT_NS;
    seek(serve);
    if (!more_items(serve) || !peer_known(serve) || on_hold(serve)) {
        return EPDX_OK;
    }
    status = send_next(serve);
    if (status == EPDX_ERR_FULL && !serve->full) {
        epi_log_debug("the ring is full, %llu items sent",
                      (unsigned long long)serve->totals.sent);
    }
    serve->full = status == EPDX_ERR_FULL;
    if (status == EPDX_OK || busy) {
        *wait_ns_p = 0;
    } else if (status == EPDX_ERR_FULL) {
        *wait_ns_p = BUSY_WAIT_NS;
    }
    return status == EPDX_ERR_FULL ? EPDX_OK : status;
}

static epdx_status_t run(serve_t *serve)
{
    epdx_status_t status = EPDX_OK;
    uint64_t start_ns = epi_now_ns();
    uint64_t wait_ns = 0;
    bool started = false;

    while (status == EPDX_OK && !told_to_stop(wait_ns) &&
           !(serve->options->once && all_ended(serve))) {
        status = step(serve, &wait_ns);
        if (!started && serve->peers) {
            started = true;
            start_ns = epi_now_ns();
        }
        epi_progress_show(&serve->progress, epi_now_ns(),
                          serve->totals.delivered, serve->totals.failed);
    }
    (void)take_outcomes(serve);
    epi_progress_clear(&serve->progress);
    serve->totals.seconds = (double)(epi_now_ns() - start_ns) / 1e9;
    if (status == EPDX_OK && serve->options->once && serve->options->mpi) {
        status = epi_world_meet(told_to_stop);
    }
    return status;
}

epdx_status_t epi_encode_serve(const epi_encode_serve_t *what,
                               epdx_sender_t *sender,
                               epi_encode_totals_t *totals_p)
{
    serve_t serve = {
        .options = what->options,
        .source = what->source,
        .sender = sender,
        .chunks = {.options = what->options,
                   .source = what->source,
                   .sender = sender,
                   .device = what->device},
        .hold = what->options->hold,
    };
    epdx_status_t status;

    epdx_sender_stats(sender, &serve.totals.sender);
    serve.chunks.own_max = serve.totals.sender.ring_bytes;
    serve.totals.items = count_items(&serve);
    epi_progress_init(&serve.progress, epi_encode_args.program, "items",
                      serve.totals.items, false);
    status = epi_encode_chunks_init(&serve.chunks);
    if (status == EPDX_OK) {
        status = run(&serve);
    }
    epdx_sender_stats(sender, &serve.totals.sender);
    epdx_sender_close(sender);
    epi_encode_chunks_fini(&serve.chunks);
    *totals_p = serve.totals;
    return status;
}
