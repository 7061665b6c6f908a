/* soak_encode.c: see soak.h. Everything here is rank 0's main thread. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/table.h"
#include "base/text.h"
#include "proxy.h"
#include "soak.h"
#include "tools/synthetic.h"

#define ROW_BYTES    ((size_t)SOAK_HIDDEN * 2)
#define RING_BYTES   ((size_t)4 << 20)
#define TIMEOUT_NS   (2 * EPI_S)
#define OPEN_MAX     8192 /* chunks at an encode rank */
#define LATE_MAX     1024
#define PER_MILLE    10 /* of control frames that suffer */
#define SESSION_SEEN 64

/** A chunk that was sent or failed, until its outcome. */
typedef struct sent {
    void *own; /* memory of ours that its rows are in; NULL: the ring */
    uint32_t next_free;
} sent_t;

typedef struct encode {
    epdx_sender_t *sender;
    proxy_t *proxy;
    epi_table_t open; /* room to sent */
    sent_t sent[OPEN_MAX];
    uint32_t first_free;
} encode_t;

typedef struct late {
    soak_item_t item;
    uint64_t due; /* step */
} late_t;

static struct {
    uint64_t seed;
    uint32_t encode_tp;
    uint64_t step;
    uint64_t room; /* of the item last staged */
    epdx_bootstrap_t *fronts[SOAK_NODES];
    epdx_bootstrap_t *hidden[SOAK_NODES];
    encode_t encodes[SOAK_NODES][SOAK_TP_MAX];
    late_t late[LATE_MAX];
    size_t late_count;
    soak_faults_t faults;
    test_seeded_t seeded;
} soak;

static void must(bool held, const char *what)
{
    if (!held) {
        (void)fprintf(stderr, "soak: %s: %s\n", what, epdx_last_error());
        abort();
    }
}

static bool one_in(uint64_t count)
{
    return test_seeded_below(&soak.seeded, count) == 0;
}

static void open_sender(uint32_t node, uint32_t rank)
{
    encode_t *encode = &soak.encodes[node][rank];
    epdx_sender_params_t params = {
        .struct_size = sizeof(params),
        .dtype = EPDX_BFLOAT16,
        .hidden = SOAK_HIDDEN,
        .levels = SOAK_LEVELS,
        .engine_rank = rank,
        .world_size = soak.encode_tp,
        .host = "127.0.0.1",
        .bootstrap = epdx_bootstrap_address(soak.hidden[node]),
        .ring_bytes = RING_BYTES,
        .waiting_timeout_ns = TIMEOUT_NS,
    };

    must(epdx_sender_open(&params, &encode->sender) == EPDX_OK, "sender");
    must(epi_table_init(&encode->open, OPEN_MAX, 1) == EPDX_OK, "table");
    encode->first_free = 0;
    for (uint32_t i = 0; i < OPEN_MAX; i++) {
        encode->sent[i] = (sent_t){.next_free = i + 1};
    }
}

static void open_proxy(uint32_t node, uint32_t rank)
{
    encode_t *encode = &soak.encodes[node][rank];

    encode->proxy = proxy_open(&(proxy_params_t){
        .bootstrap = epdx_bootstrap_address(soak.fronts[node]),
        .hidden = epdx_bootstrap_address(soak.hidden[node]),
        .engine_rank = rank,
        .world_size = soak.encode_tp});
    proxy_random(encode->proxy, test_seeded_below(&soak.seeded, 1U << 30),
                 PER_MILLE);
}

/* Its faults are added up, then it is gone. */
static void close_proxy(encode_t *encode)
{
    for (int act = 0; act < PROXY_ACTS; act++) {
        for (int kind = 0; kind < PROXY_KINDS; kind++) {
            soak.faults.frames[act] += proxy_struck(
                encode->proxy, (proxy_kind_t)kind, (proxy_act_t)act);
        }
    }
    proxy_close(encode->proxy);
    encode->proxy = NULL;
}

static void close_sender(encode_t *encode)
{
    epdx_sender_close(encode->sender);
    encode->sender = NULL;
    for (size_t i = 0; i <= encode->open.mask; i++) {
        if (encode->open.entries[i].used) {
            free(encode->sent[encode->open.entries[i].value].own);
        }
    }
    epi_table_fini(&encode->open);
}

static epdx_bootstrap_t *open_server(void)
{
    epdx_bootstrap_params_t params = {.struct_size = sizeof(params),
                                      .listen = "127.0.0.1:0"};
    epdx_bootstrap_t *server;

    must(epdx_bootstrap_open(&params, &server) == EPDX_OK, "bootstrap");
    return server;
}

void soak_encode_open(uint64_t seed, uint32_t encode_tp,
                      char addresses[SOAK_NODES][EPDX_ADDRESS_MAX + 1])
{
    memset(&soak, 0, sizeof(soak));
    soak.seed = seed;
    soak.encode_tp = encode_tp;
    soak.seeded = soak_seeded(seed, 0, 2);
    for (uint32_t node = 0; node < SOAK_NODES; node++) {
        soak.fronts[node] = open_server();
        soak.hidden[node] = open_server();
        (void)epi_text_copy(addresses[node], EPDX_ADDRESS_MAX + 1,
                            epdx_bootstrap_address(soak.fronts[node]));
        for (uint32_t rank = 0; rank < encode_tp; rank++) {
            open_sender(node, rank);
        }
        for (uint32_t rank = 0; rank < encode_tp; rank++) {
            open_proxy(node, rank);
        }
    }
}

static sent_t *note_sent(encode_t *encode, uint64_t room)
{
    uint32_t index = encode->first_free;

    must(index < OPEN_MAX, "too many open chunks");
    must(epi_table_add(&encode->open, room, index) == EPDX_OK, "open chunk");
    encode->first_free = encode->sent[index].next_free;
    encode->sent[index].own = NULL;
    return &encode->sent[index];
}

static void poll_outcomes(encode_t *encode)
{
    epdx_outcome_t outcomes[32];
    size_t count;

    do {
        count = epdx_sender_poll(encode->sender, outcomes, 32);
        for (size_t i = 0; i < count; i++) {
            uint32_t index = 0;

            must(epi_table_find(&encode->open, outcomes[i].room, &index),
                 "an outcome of a room that was not sent");
            (void)epi_table_remove(&encode->open, outcomes[i].room);
            free(encode->sent[index].own);
            encode->sent[index].next_free = encode->first_free;
            encode->first_free = index;
        }
    } while (count == 32);
}

static void fill(uint64_t room, const epdx_chunk_t *chunk)
{
    epi_synthetic_t pattern = {.room = room,
                               .part = EPI_PART_MAIN,
                               .columns = SOAK_HIDDEN,
                               .element_bytes = 2};
    epdx_rows_t all = {0, chunk->rows};

    epi_synthetic_fill(&pattern, all, chunk->main);
    pattern.part = EPI_PART_DEEPSTACK;
    pattern.columns = (uint64_t)SOAK_HIDDEN * SOAK_LEVELS;
    epi_synthetic_fill(&pattern, all, chunk->deepstack);
}

static void send_chunk(encode_t *encode, uint64_t room, uint64_t rows)
{
    sent_t *sent = note_sent(encode, room);
    epdx_chunk_t chunk = {.rows = rows};

    if (epdx_sender_lease(encode->sender, rows, &chunk) != EPDX_OK) {
        sent->own = malloc(rows * ROW_BYTES * (1 + SOAK_LEVELS));
        must(sent->own != NULL, "memory");
        chunk.main = sent->own;
        chunk.deepstack = (uint8_t *)sent->own + rows * ROW_BYTES;
    }
    fill(room, &chunk);
    must(epdx_sender_send(encode->sender, room, &chunk) == EPDX_OK, "send");
}

static void serve(const soak_item_t *item)
{
    for (uint32_t rank = 0; rank < soak.encode_tp; rank++) {
        encode_t *encode = &soak.encodes[item->node][rank];

        switch (item->act) {
        case SOAK_FAIL:
            (void)note_sent(encode, item->room);
            must(epdx_sender_fail(encode->sender, item->room, "no picture") ==
                     EPDX_OK,
                 "fail");
            break;
        case SOAK_WRONG_SPAN:
            send_chunk(encode, item->room, item->span + 1);
            break;
        case SOAK_SEND:
        case SOAK_SEND_LATE:
            send_chunk(encode, item->room, item->span);
            break;
        case SOAK_NEVER:
            break;
        }
    }
}

void soak_encode_request(const soak_request_t *request)
{
    for (size_t i = 0; i < request->item_count; i++) {
        const soak_item_t *item = &request->items[i];

        soak.room = item->room;
        soak.faults.failed_items += item->act == SOAK_FAIL;
        soak.faults.wrong_spans += item->act == SOAK_WRONG_SPAN;
        soak.faults.missing_chunks += item->act == SOAK_NEVER;
        if (item->act == SOAK_SEND_LATE && soak.late_count < LATE_MAX) {
            soak.late[soak.late_count++] =
                (late_t){*item, soak.step + item->delay};
            soak.faults.late_chunks++;
        } else {
            serve(item);
        }
    }
}

static void send_late(bool all)
{
    size_t kept = 0;

    for (size_t i = 0; i < soak.late_count; i++) {
        if (all || soak.late[i].due <= soak.step) {
            serve(&soak.late[i].item);
        } else {
            soak.late[kept++] = soak.late[i];
        }
    }
    soak.late_count = kept;
}

/* A room of late, or one that never was. */
static uint64_t some_room(void)
{
    return one_in(4) ? test_seeded_below(&soak.seeded, UINT64_C(1) << 60)
                     : soak.room - test_seeded_below(&soak.seeded, 2048);
}

static void forge_status(encode_t *encode, size_t session)
{
    epi_status_t out = {.room = some_room(),
                        .status =
                            one_in(2) ? EPI_ROOM_FAILED : EPI_ROOM_SUCCESS,
                        .extended = !one_in(4),
                        .reason = "forged"};
    epi_message_t message;

    out.generation = out.extended ? test_seeded_below(&soak.seeded, 1000) : 0;
    must(epi_status_format(&out, &message) == EPDX_OK, "forged status");
    soak.faults.forged_statuses +=
        proxy_to_prefill(encode->proxy, session, &message);
}

static void forge_cancel(encode_t *encode, const epi_ask_t *ask)
{
    epi_cancel_t out = {.room = ask->room,
                        .generation = ask->generation + 1,
                        .reason = "forged"};
    epi_message_t message;

    (void)epi_text_copy(out.session, sizeof(out.session), ask->session);
    must(epi_cancel_format(&out, &message) == EPDX_OK, "forged cancel");
    soak.faults.forged_cancels += proxy_to_encode(encode->proxy, &message);
}

static void forge_ask(encode_t *encode, size_t session, epi_ask_t ask)
{
    epi_message_t message;

    ask.status_port = proxy_status_port(encode->proxy, session);
    ask.room = (UINT64_C(1) << 62) + test_seeded_below(&soak.seeded, 1U << 30);
    ask.generation++;
    must(epi_ask_format(&ask, &message) == EPDX_OK, "forged ask");
    soak.faults.forged_asks += proxy_to_encode(encode->proxy, &message);
}

static encode_t *some_encode(uint32_t *node_p, uint32_t *rank_p)
{
    *node_p = (uint32_t)test_seeded_below(&soak.seeded, SOAK_NODES);
    *rank_p = (uint32_t)test_seeded_below(&soak.seeded, soak.encode_tp);
    return &soak.encodes[*node_p][*rank_p];
}

static void forge(void)
{
    uint32_t node;
    uint32_t rank;
    encode_t *encode = some_encode(&node, &rank);
    size_t sessions = proxy_sessions(encode->proxy);
    epi_ask_t ask = {0};
    size_t session;

    if (sessions == 0) {
        return;
    }
    session = (size_t)test_seeded_below(&soak.seeded, sessions);
    forge_status(encode, session);
    for (uint64_t back = 0; back < SESSION_SEEN; back++) {
        if (proxy_ask_of(encode->proxy, session, soak.room - back, &ask)) {
            forge_cancel(encode, &ask);
            forge_ask(encode, session, ask);
            break;
        }
    }
}

/* An encode rank that restarts, or a connection that breaks. */
static void restart(void)
{
    uint32_t node;
    uint32_t rank;
    encode_t *encode = some_encode(&node, &rank);

    close_proxy(encode);
    if (one_in(2)) {
        close_sender(encode);
        open_sender(node, rank);
        soak.faults.encode_restarts++;
    } else {
        soak.faults.cut_connections++;
    }
    open_proxy(node, rank);
}

static void each_encode(void (*act)(encode_t *encode))
{
    for (uint32_t node = 0; node < SOAK_NODES; node++) {
        for (uint32_t rank = 0; rank < soak.encode_tp; rank++) {
            act(&soak.encodes[node][rank]);
        }
    }
}

void soak_encode_step(void)
{
    soak.step++;
    each_encode(poll_outcomes);
    send_late(false);
    if (one_in(20)) {
        forge();
    }
    if (one_in(200)) {
        restart();
    }
}

static soak_left_t left_now(void)
{
    soak_left_t left = {0};

    for (uint32_t node = 0; node < SOAK_NODES; node++) {
        for (uint32_t rank = 0; rank < soak.encode_tp; rank++) {
            encode_t *encode = &soak.encodes[node][rank];
            epdx_sender_stats_t stats;

            poll_outcomes(encode);
            epdx_sender_stats(encode->sender, &stats);
            left.rooms += stats.rooms_open;
            left.ring_slots +=
                encode->open.count + (stats.ring_leased_bytes > 0 ? 1 : 0);
        }
    }
    return left;
}

static void calm(encode_t *encode)
{
    proxy_random(encode->proxy, 1, 0);
    proxy_let_go(encode->proxy);
}

void soak_encode_finish(soak_faults_t *faults_p, soak_left_t *left_p)
{
    uint64_t limit = epi_now_ns() + 30 * EPI_S;
    soak_left_t left;

    send_late(true);
    each_encode(calm);
    do {
        (void)sched_yield();
        left = left_now();
    } while (left.rooms + left.ring_slots > 0 && epi_now_ns() < limit);
    each_encode(close_proxy);
    *faults_p = soak.faults;
    *left_p = left;
}

void soak_encode_close(void)
{
    each_encode(close_sender);
    for (uint32_t node = 0; node < SOAK_NODES; node++) {
        epdx_bootstrap_close(soak.hidden[node]);
        epdx_bootstrap_close(soak.fronts[node]);
    }
}
