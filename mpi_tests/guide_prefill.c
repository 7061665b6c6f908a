/*
 * guide_prefill.c: the scheduling loop of docs/integrate.md, which shows it
 * piece by piece: scripts/docs_test.py runs it, and holds text and file equal.
 *
 *     mpirun -n 2 guide_prefill HOST:PORT <lines
 *
 * A line is an event of a serving engine: `request ID ROOM ROWS` or `cancel
 * ID`. Rank 0 reads one each step and tells the others.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "epdx/epdx.h"
#include "epdx/group_mpi.h"

#define HIDDEN 64

typedef struct engine {
    const char *encode; /* its bootstrap server */
    epdx_group_t *group;
    epdx_admission_t *admission;
    int rank;
} engine_t;

/* What the front end hands to the engine, alike on all ranks. */
typedef struct event {
    char what[16]; /* "request", "cancel", or "" at the end */
    char id[32];
    unsigned long long room, rows;
} event_t;

/* Where the engine itself is lost there is nothing to answer: all ranks end. */
static void check(epdx_status_t status)
{
    if (status != EPDX_OK) {
        fprintf(stderr, "%s: %s\n", epdx_status_name(status),
                epdx_last_error());
        _exit(1);
    }
}

static void open_engine(engine_t *engine)
{
    epdx_admission_params_t params = {.struct_size = sizeof(params)};
    uint64_t collective_ns = UINT64_C(30) * 1000 * 1000 * 1000;

    check(epdx_group_mpi(MPI_COMM_WORLD, collective_ns, &engine->group));
    params.receiver.struct_size = sizeof(params.receiver);
    params.receiver.dtype = EPDX_BFLOAT16;
    params.receiver.hidden = HIDDEN;
    check(epdx_admission_open(engine->group, &params, &engine->admission));
}

/* Your engine does this already: every rank sees the same events in the same
 * order. */
static event_t next_event(const engine_t *engine)
{
    event_t event = {.what = ""};
    char line[128];

    if (engine->rank == 0 && fgets(line, sizeof(line), stdin) != NULL) {
        (void)sscanf(line, "%15s %31s %llu %llu", event.what, event.id,
                     &event.room, &event.rows);
    }
    MPI_Bcast(&event, sizeof(event), MPI_BYTE, 0, MPI_COMM_WORLD);
    return event;
}

static void answer(const engine_t *engine, const char *id, const char *words)
{
    if (engine->rank == 0) {
        printf("%s: %s\n", id, words);
    }
}

static void stage(engine_t *engine, const event_t *event)
{
    epdx_item_t image = {
        .room = event->room, .span = event->rows, .encode = engine->encode};
    epdx_request_t request = {
        .id = event->id,
        .items = &image,
        .item_count = 1,
        .timeout_ns = UINT64_C(20) * 1000 * 1000 * 1000,
    };
    epdx_status_t status = epdx_admission_stage(engine->admission, &request);

    if (status != EPDX_OK) {
        answer(engine, event->id, epdx_last_error());
        status = epdx_admission_withdraw(engine->admission, &request, NULL);
    }
    if (status != EPDX_OK) {
        answer(engine, event->id, epdx_last_error());
    }
}

static void cancel(engine_t *engine, const event_t *event)
{
    if (epdx_admission_cancel(engine->admission, event->id) != EPDX_OK) {
        answer(engine, event->id, "is not pending");
    }
}

static void prefill(engine_t *engine, const epdx_admitted_t *ready)
{
    char words[64];

    for (size_t i = 0; i < ready->item_count; i++) {
        const epdx_landed_t *image = &ready->items[i];

        /* image->main is [span, hidden], whole, on every rank. */
        (void)snprintf(words, sizeof(words), "%zu bytes", image->main_bytes);
        answer(engine, ready->id, words);
    }
    check(epdx_admission_release(engine->admission, ready->id));
}

static void step(engine_t *engine)
{
    epdx_decisions_t now;

    check(epdx_admission_drain(engine->admission, &now));
    for (size_t i = 0; i < now.admitted_count; i++) {
        prefill(engine, &now.admitted[i]);
    }
    for (size_t i = 0; i < now.failed_count; i++) {
        answer(engine, now.failed[i].id, now.failed[i].reason);
    }
}

static void serve(engine_t *engine)
{
    bool more = true;

    while (more || epdx_admission_pending(engine->admission) > 0) {
        event_t event = {.what = ""};

        if (more) {
            event = next_event(engine);
            more = event.what[0] != '\0';
        }
        if (strcmp(event.what, "request") == 0) {
            stage(engine, &event);
        } else if (strcmp(event.what, "cancel") == 0) {
            cancel(engine, &event);
        }
        step(engine);
        usleep(1000); /* a decode step of those that run already */
    }
}

static void close_engine(engine_t *engine)
{
    epdx_admission_close(engine->admission);
    epdx_group_close(engine->group);
    MPI_Finalize();
}

int main(int argc, char **argv)
{
    engine_t engine = {.encode = argv[argc - 1]};
    int provided;

    if (argc != 2) {
        fprintf(stderr, "usage: %s HOST:PORT <lines\n", argv[0]);
        return 2;
    }
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &engine.rank);
    open_engine(&engine);
    serve(&engine);
    close_engine(&engine);
    return 0;
}
