/* proxy.c: see proxy.h; proxy_find.c has the bootstrap servers. */
#include "proxy.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "control/control.h"
#include "proxy_find.h"
#include "testing/seeded.h"

#define SESSION_MAX  32
#define HELD_MAX     256
#define FAULT_MAX    16
#define ASK_MEMORY   256
#define TURN_MS      1
#define HELD_FOR_MAX 400 /* ms, at random */
#define TO_ENCODE    UINT32_MAX

/** A prefill rank: its own control pair, so that a status tells by where it
 *  comes in whom it is for. */
typedef struct session {
    char name[EPDX_ADDRESS_MAX + 1];
    epi_control_t *control;
    uint32_t peer;
} session_t;

typedef struct held {
    epi_message_t message;
    uint32_t to; /* a session, or TO_ENCODE */
    bool swap;   /* goes after the next frame */
    uint64_t until_ns;
} held_t;

typedef struct fault {
    proxy_fault_t what;
    uint64_t from; /* the count of seen frames when it was set */
} fault_t;

typedef struct told {
    uint32_t session;
    epi_ask_t ask;
} told_t;

struct proxy {
    pthread_mutex_t lock;
    pthread_t thread;
    bool ended;
    epi_control_t *front; /* prefill ranks send to it; it sends to encode */
    uint32_t encode;
    uint16_t encode_port;
    session_t sessions[SESSION_MAX];
    size_t session_count;
    fault_t faults[FAULT_MAX];
    size_t fault_count;
    held_t held[HELD_MAX];
    size_t held_count;
    told_t told[ASK_MEMORY];
    uint64_t told_count;
    test_seeded_t seeded;
    uint32_t per_mille;
    uint64_t seen[PROXY_KINDS];
    uint64_t struck[PROXY_KINDS][PROXY_ACTS];
};

const char *proxy_kind_name(proxy_kind_t kind)
{
    static const char *const names[PROXY_KINDS] = {"register", "ask", "cancel",
                                                   "status"};

    return names[kind];
}

const char *proxy_act_name(proxy_act_t act)
{
    static const char *const names[PROXY_ACTS] = {"drop", "delay", "duplicate",
                                                  "reorder", "garble"};

    return names[act];
}

static void must(bool held, const char *what)
{
    if (!held) {
        (void)fprintf(stderr, "proxy: %s: %s\n", what, epdx_last_error());
        abort();
    }
}

static bool send_to(proxy_t *proxy, uint32_t to, const epi_message_t *message)
{
    return (to == TO_ENCODE
                ? epi_control_send(proxy->front, proxy->encode, message)
                : epi_control_send(proxy->sessions[to].control,
                                   proxy->sessions[to].peer, message)) ==
           EPDX_OK;
}

static void hold(proxy_t *proxy, uint32_t to, const epi_message_t *message,
                 uint64_t until_ns, bool swap)
{
    if (proxy->held_count == HELD_MAX) {
        return; /* lost, as frames may be */
    }
    proxy->held[proxy->held_count++] = (held_t){
        .message = *message, .to = to, .swap = swap, .until_ns = until_ns};
}

/* Send what is held and due, or waits for a frame to go before it. */
static void let_go(proxy_t *proxy, uint64_t now, bool swapped)
{
    size_t kept = 0;

    for (size_t i = 0; i < proxy->held_count; i++) {
        held_t *held = &proxy->held[i];

        if (held->swap ? swapped : held->until_ns <= now) {
            (void)send_to(proxy, held->to, &held->message);
        } else if (kept++ != i) {
            proxy->held[kept - 1] = *held;
        }
    }
    proxy->held_count = kept;
}

static void garble(proxy_t *proxy, epi_message_t *message)
{
    message->bytes[test_seeded_below(&proxy->seeded, message->used)] ^=
        (uint8_t)(1 + test_seeded_below(&proxy->seeded, 255));
}

static void strike(proxy_t *proxy, proxy_act_t act, uint32_t to,
                   epi_message_t *message, uint64_t until_ns)
{
    switch (act) {
    case PROXY_DROP:
        break;
    case PROXY_HOLD:
        hold(proxy, to, message, until_ns, false);
        break;
    case PROXY_SWAP:
        hold(proxy, to, message, EPI_NEVER, true);
        break;
    case PROXY_GARBLE:
        garble(proxy, message);
        (void)send_to(proxy, to, message);
        break;
    case PROXY_TWICE:
    case PROXY_ACTS:
        (void)send_to(proxy, to, message);
        (void)send_to(proxy, to, message);
        break;
    }
}

/* The act that the next frame of a kind is to suffer, PROXY_ACTS for none. */
static proxy_act_t act_for(proxy_t *proxy, proxy_kind_t kind,
                           uint64_t *until_ns_p)
{
    uint64_t number = proxy->seen[kind];

    *until_ns_p = EPI_NEVER;
    for (size_t i = 0; i < proxy->fault_count; i++) {
        proxy_fault_t what = proxy->faults[i].what;
        uint64_t first = proxy->faults[i].from + what.nth;
        uint64_t count = what.count == 0 ? 1 : what.count;

        if (what.kind == kind && number >= first && number < first + count) {
            if (number == first + count - 1) {
                proxy->faults[i] = proxy->faults[--proxy->fault_count];
            }
            return what.act;
        }
    }
    if (test_seeded_below(&proxy->seeded, 1000) < proxy->per_mille) {
        *until_ns_p = epi_after(
            epi_now_ns(),
            (1 + test_seeded_below(&proxy->seeded, HELD_FOR_MAX)) * EPI_MS);
        return (proxy_act_t)test_seeded_below(&proxy->seeded, PROXY_ACTS);
    }
    return PROXY_ACTS;
}

/* A frame on its way: as it is, or with what a fault does to it. */
static void pass(proxy_t *proxy, proxy_kind_t kind, uint32_t to,
                 epi_message_t *message)
{
    uint64_t until_ns;
    proxy_act_t act = act_for(proxy, kind, &until_ns);
    bool swapped = false;

    for (size_t i = 0; i < proxy->held_count; i++) {
        swapped |= proxy->held[i].swap;
    }
    proxy->seen[kind]++;
    if (act == PROXY_ACTS) {
        (void)send_to(proxy, to, message);
    } else {
        proxy->struck[kind][act]++;
        strike(proxy, act, to, message, until_ns);
    }
    if (swapped && act != PROXY_SWAP) {
        let_go(proxy, 0, true);
    }
}

static uint32_t session_open(proxy_t *proxy, const char *name,
                             const char *endpoint, uint16_t port)
{
    epi_control_params_t params = {.host = "127.0.0.1", .peer_max = 1};
    session_t *session = &proxy->sessions[proxy->session_count];

    for (size_t i = 0; i < proxy->session_count; i++) {
        if (strcmp(proxy->sessions[i].name, name) == 0) {
            return (uint32_t)i;
        }
    }
    must(proxy->session_count < SESSION_MAX, "sessions");
    (void)epi_text_copy(session->name, sizeof(session->name), name);
    must(epi_control_open(&params, &session->control) == EPDX_OK, "session");
    must(epi_control_connect(session->control, endpoint, port,
                             &session->peer) == EPDX_OK,
         "prefill rank");
    return (uint32_t)proxy->session_count++;
}

static void take_register(proxy_t *proxy, epi_message_t *message)
{
    epi_register_t in;
    uint32_t session;

    must(epi_register_parse(message, &in) == EPDX_OK, "register");
    session = session_open(proxy, in.session, in.endpoint, in.status_port);
    in.status_port = epi_control_port(proxy->sessions[session].control);
    must(epi_register_format(&in, message) == EPDX_OK, "register");
    pass(proxy, PROXY_REGISTER, TO_ENCODE, message);
}

static void take_ask(proxy_t *proxy, epi_message_t *message)
{
    epi_ask_t in;
    uint32_t session;

    must(epi_ask_parse(message, &in) == EPDX_OK, "ask");
    session = session_open(proxy, in.session, in.endpoint, in.status_port);
    proxy->told[proxy->told_count++ % ASK_MEMORY] = (told_t){session, in};
    in.status_port = epi_control_port(proxy->sessions[session].control);
    must(epi_ask_format(&in, message) == EPDX_OK, "ask");
    pass(proxy, PROXY_ASK, TO_ENCODE, message);
}

static void take_front(proxy_t *proxy, epi_message_t *message)
{
    epi_control_kind_t kind;

    must(epi_control_peek(message, &kind) == EPDX_OK, "frame");
    switch (kind) {
    case EPI_CONTROL_REGISTER:
        take_register(proxy, message);
        break;
    case EPI_CONTROL_ASK:
        take_ask(proxy, message);
        break;
    case EPI_CONTROL_CANCEL:
        pass(proxy, PROXY_CANCEL, TO_ENCODE, message);
        break;
    }
}

static void turn(proxy_t *proxy)
{
    epi_control_event_t event;

    while (epi_control_next(proxy->front, &event)) {
        if (event.kind == EPI_CONTROL_MESSAGE) {
            take_front(proxy, &event.message);
        }
    }
    for (uint32_t i = 0; i < proxy->session_count; i++) {
        while (epi_control_next(proxy->sessions[i].control, &event)) {
            if (event.kind == EPI_CONTROL_MESSAGE) {
                pass(proxy, PROXY_STATUS, i, &event.message);
            }
        }
    }
    let_go(proxy, epi_now_ns(), false);
}

static struct pollfd wait_fd(epi_control_t *control, bool *ready_p)
{
    return (struct pollfd){.fd = epi_control_wait_fd(control, ready_p),
                           .events = POLLIN};
}

/* At most SESSION_MAX + 1. */
static size_t wait_fds(proxy_t *proxy, struct pollfd *fds, bool *ready_p)
{
    size_t count = 0;

    fds[count++] = wait_fd(proxy->front, ready_p);
    for (size_t i = 0; i < proxy->session_count; i++) {
        fds[count++] = wait_fd(proxy->sessions[i].control, ready_p);
    }
    return count;
}

static void *run(void *self)
{
    proxy_t *proxy = self;
    struct pollfd fds[SESSION_MAX + 1];
    bool ended = false;

    while (!ended) {
        bool ready = false;
        size_t count;

        (void)pthread_mutex_lock(&proxy->lock);
        turn(proxy);
        count = wait_fds(proxy, fds, &ready);
        ended = proxy->ended;
        (void)pthread_mutex_unlock(&proxy->lock);
        /* What others send from their threads moves ZeroMQ's marks, so the
         * descriptors alone are not to be relied on. */
        (void)poll(fds, (nfds_t)count, ready ? 0 : TURN_MS);
    }
    return NULL;
}

proxy_t *proxy_open(const proxy_params_t *params)
{
    epi_control_params_t front = {.host = "127.0.0.1", .peer_max = 1};
    proxy_t *proxy = calloc(1, sizeof(*proxy));

    must(proxy != NULL, "memory");
    proxy->seeded.state = 1;
    proxy->encode_port = proxy_find_encode(params);
    must(epi_control_open(&front, &proxy->front) == EPDX_OK, "control");
    must(epi_control_connect(proxy->front, "127.0.0.1", proxy->encode_port,
                             &proxy->encode) == EPDX_OK,
         "encode rank");
    must(pthread_mutex_init(&proxy->lock, NULL) == 0, "lock");
    must(pthread_create(&proxy->thread, NULL, run, proxy) == 0, "thread");
    proxy_publish(params, epi_control_port(proxy->front));
    return proxy;
}

void proxy_close(proxy_t *proxy)
{
    if (proxy == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&proxy->lock);
    proxy->ended = true;
    (void)pthread_mutex_unlock(&proxy->lock);
    (void)pthread_join(proxy->thread, NULL);
    for (size_t i = 0; i < proxy->session_count; i++) {
        epi_control_close(proxy->sessions[i].control);
    }
    epi_control_close(proxy->front);
    (void)pthread_mutex_destroy(&proxy->lock);
    free(proxy);
}

void proxy_fault(proxy_t *proxy, const proxy_fault_t *fault)
{
    (void)pthread_mutex_lock(&proxy->lock);
    must(proxy->fault_count < FAULT_MAX, "faults");
    proxy->faults[proxy->fault_count++] =
        (fault_t){*fault, proxy->seen[fault->kind]};
    (void)pthread_mutex_unlock(&proxy->lock);
}

void proxy_random(proxy_t *proxy, uint64_t seed, uint32_t per_mille)
{
    (void)pthread_mutex_lock(&proxy->lock);
    proxy->seeded.state = seed | 1;
    proxy->per_mille = per_mille;
    (void)pthread_mutex_unlock(&proxy->lock);
}

void proxy_let_go(proxy_t *proxy)
{
    (void)pthread_mutex_lock(&proxy->lock);
    let_go(proxy, EPI_NEVER, true);
    (void)pthread_mutex_unlock(&proxy->lock);
}

uint64_t proxy_struck(proxy_t *proxy, proxy_kind_t kind, proxy_act_t act)
{
    uint64_t count;

    (void)pthread_mutex_lock(&proxy->lock);
    count = proxy->struck[kind][act];
    (void)pthread_mutex_unlock(&proxy->lock);
    return count;
}

uint64_t proxy_seen(proxy_t *proxy, proxy_kind_t kind)
{
    uint64_t count;

    (void)pthread_mutex_lock(&proxy->lock);
    count = proxy->seen[kind];
    (void)pthread_mutex_unlock(&proxy->lock);
    return count;
}

size_t proxy_sessions(proxy_t *proxy)
{
    size_t count;

    (void)pthread_mutex_lock(&proxy->lock);
    count = proxy->session_count;
    (void)pthread_mutex_unlock(&proxy->lock);
    return count;
}

bool proxy_ask_of(proxy_t *proxy, size_t index, uint64_t room, epi_ask_t *ask_p)
{
    bool found = false;

    (void)pthread_mutex_lock(&proxy->lock);
    for (uint64_t i = 0; i < ASK_MEMORY && i < proxy->told_count; i++) {
        const told_t *told = &proxy->told[i];

        if (told->session == index && told->ask.room == room) {
            *ask_p = told->ask;
            found = true;
        }
    }
    (void)pthread_mutex_unlock(&proxy->lock);
    return found;
}

bool proxy_to_encode(proxy_t *proxy, const epi_message_t *message)
{
    bool sent;

    (void)pthread_mutex_lock(&proxy->lock);
    sent = send_to(proxy, TO_ENCODE, message);
    (void)pthread_mutex_unlock(&proxy->lock);
    return sent;
}

bool proxy_to_prefill(proxy_t *proxy, size_t index,
                      const epi_message_t *message)
{
    bool sent;

    (void)pthread_mutex_lock(&proxy->lock);
    must(index < proxy->session_count, "no such session");
    sent = send_to(proxy, (uint32_t)index, message);
    (void)pthread_mutex_unlock(&proxy->lock);
    return sent;
}

uint16_t proxy_encode_port(proxy_t *proxy)
{
    return proxy->encode_port; /* never changes */
}

uint16_t proxy_status_port(proxy_t *proxy, size_t index)
{
    uint16_t port;

    (void)pthread_mutex_lock(&proxy->lock);
    must(index < proxy->session_count, "no such session");
    port = epi_control_port(proxy->sessions[index].control);
    (void)pthread_mutex_unlock(&proxy->lock);
    return port;
}
