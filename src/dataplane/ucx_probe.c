/* ucx_probe.c: see ucx_probe.h. */
#include "dataplane/ucx_probe.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "dataplane/ucx_internal.h"

/** Enough to be a rendezvous with any transport. */
#define PAYLOAD_BYTES ((size_t)1 << 20)
/** What was under way ends within this. */
#define CUT_LIMIT_NS EPI_S

/** Two planes, the first of which offers to the second. */
typedef struct pair {
    const char *host;
    uint64_t limit_ns;
    epi_dataplane_t *sender, *receiver;
    epi_dp_peer_t *peer;
} pair_t;

/** A payload and where it goes. */
typedef struct rows {
    const epi_memory_ops_t *memory; /* of from */
    void *from, *to;
    epi_dp_region_t *from_region, *to_region;
} rows_t;

void epi_ucx_resources_parse(const char *info, char *out, size_t size)
{
    char line[256];
    size_t used = 0;

    out[0] = '\0';
    while (*info != '\0') {
        size_t span = strcspn(info, "\n");
        char *word;

        (void)snprintf(line, sizeof(line), "%.*s", (int)span, info);
        info += span + (info[span] == '\n');
        word = strstr(line, "-- ");
        if (strstr(line, " resource ") == NULL || word == NULL) {
            continue;
        }
        word += 3;
        word[strcspn(word, " ")] = '\0';
        if (strncmp(word, "self/", 5) != 0 && used + strlen(word) + 2 <= size) {
            used += (size_t)snprintf(out + used, size - used, "%s%s",
                                     used == 0 ? "" : ",", word);
        }
    }
}

static void describe(epi_dataplane_t *dp, epi_ucx_facts_t *facts)
{
    ucp_context_h context = epi_ucx_plane(dp)->context;
    ucp_context_attr_t attr = {.field_mask = UCP_ATTR_FIELD_MEMORY_TYPES};
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);

    facts->cuda = ucp_context_query(context, &attr) == UCS_OK &&
                  (attr.memory_types & UCS_BIT(UCS_MEMORY_TYPE_CUDA)) != 0;
    if (stream == NULL) {
        return;
    }
    ucp_context_print_info(context, stream);
    if (fclose(stream) == 0) {
        epi_ucx_resources_parse(text, facts->resources,
                                sizeof(facts->resources));
    }
    free(text);
}

static epdx_status_t pair_open(pair_t *pair)
{
    epdx_status_t status = epi_dataplane_ucx(pair->host, &pair->sender);

    return status == EPDX_OK ? epi_dataplane_ucx(pair->host, &pair->receiver)
                             : status;
}

/** Once the sender's memory is mapped: a new peer is told where it is. */
static epdx_status_t pair_connect(pair_t *pair)
{
    const epi_dp_ops_t *ops = pair->sender->ops;

    ops->admit(pair->receiver, pair->host);
    return ops->connect(pair->sender, ops->address(pair->receiver), 1,
                        &pair->peer);
}

/** Cut the connection, and let what was under way on it end. */
static void pair_cut(pair_t *pair)
{
    uint64_t limit = epi_after(epi_now_ns(), CUT_LIMIT_NS);

    pair->sender->ops->disconnect(pair->sender, pair->peer);
    pair->peer = NULL;
    while ((epi_ucx_plane(pair->sender)->under_way > 0 ||
            epi_ucx_plane(pair->receiver)->under_way > 0) &&
           epi_now_ns() < limit) {
        (void)pair->sender->ops->progress(pair->sender);
        (void)pair->receiver->ops->progress(pair->receiver);
    }
}

static void pair_close(pair_t *pair)
{
    pair->sender->ops->close(pair->sender);
    if (pair->receiver != NULL) {
        pair->receiver->ops->close(pair->receiver);
    }
}

/** Memory, mapped, and then the connection. */
static epdx_status_t rows_open(pair_t *pair, rows_t *rows)
{
    const epi_dp_ops_t *ops = pair->sender->ops;
    epdx_status_t status = rows->memory->alloc(0, PAYLOAD_BYTES, &rows->from);

    if (status == EPDX_OK) {
        status = epi_memory_host()->alloc(0, PAYLOAD_BYTES, &rows->to);
    }
    if (status == EPDX_OK) {
        memset(rows->from, 'r', PAYLOAD_BYTES);
        status = ops->map(pair->sender, rows->memory, rows->from, PAYLOAD_BYTES,
                          &rows->from_region);
    }
    if (status == EPDX_OK) {
        status = ops->map(pair->receiver, epi_memory_host(), rows->to,
                          PAYLOAD_BYTES, &rows->to_region);
    }
    if (status == EPDX_OK) {
        status = pair_connect(pair);
    }
    return status;
}

/** What memory still comes from or goes to stays; the process ends soon. */
static void rows_close(const pair_t *pair, rows_t *rows)
{
    if (epi_ucx_plane(pair->sender)->under_way > 0 ||
        epi_ucx_plane(pair->receiver)->under_way > 0) {
        return;
    }
    if (rows->from_region != NULL) {
        pair->sender->ops->unmap(pair->sender, rows->from_region);
    }
    if (rows->to_region != NULL) {
        pair->receiver->ops->unmap(pair->receiver, rows->to_region);
    }
    if (rows->from != NULL) {
        rows->memory->release(0, rows->from, PAYLOAD_BYTES);
    }
    if (rows->to != NULL) {
        epi_memory_host()->release(0, rows->to, PAYLOAD_BYTES);
    }
}

static void pump(epi_dataplane_t *dp, bool *idle_p)
{
    if (dp->ops->progress(dp)) {
        *idle_p = false;
    }
}

/** Take one event of either plane; true once there is one. */
static epdx_status_t next_event(const pair_t *pair, epi_dp_event_t *event_p)
{
    for (;;) {
        bool idle = true;

        pump(pair->sender, &idle);
        pump(pair->receiver, &idle);
        if (pair->receiver->ops->next(pair->receiver, event_p) ||
            pair->sender->ops->next(pair->sender, event_p)) {
            return EPDX_OK;
        }
        if (epi_now_ns() >= pair->limit_ns) {
            return epi_fail(EPDX_ERR_TIMEOUT,
                            "ucx: bytes did not come over within the time "
                            "limit");
        }
        if (idle) {
            (void)sched_yield();
        }
    }
}

static epdx_status_t act(const pair_t *pair, const rows_t *rows,
                         const epi_dp_event_t *event)
{
    switch (event->kind) {
    case EPI_DP_OFFER:
        return pair->receiver->ops->pull(
            pair->receiver, event->offer,
            &(epi_dp_target_t){.region = rows->to_region,
                               .at = rows->to,
                               .bytes = PAYLOAD_BYTES,
                               .cookie = 1});
    case EPI_DP_PEER_DOWN:
        return epi_fail(EPDX_ERR_UNREACHABLE,
                        "ucx: the connection to the own address broke");
    case EPI_DP_PULLED:
    case EPI_DP_SENT:
        break;
    }
    return event->status == EPDX_OK
               ? EPDX_OK
               : epi_fail(event->status, "ucx: a transfer to the own address "
                                         "failed");
}

/** Move the rows, until both ends say that it is done. */
static epdx_status_t move(const pair_t *pair, const rows_t *rows)
{
    epdx_status_t status = pair->sender->ops->offer(
        pair->sender, pair->peer,
        &(epi_dp_send_t){.header = "probe",
                         .header_bytes = 5,
                         .region = rows->from_region,
                         .payload = rows->from,
                         .payload_bytes = PAYLOAD_BYTES,
                         .cookie = 1});

    for (int ends = 0; status == EPDX_OK && ends < 2;) {
        epi_dp_event_t event;

        status = next_event(pair, &event);
        if (status == EPDX_OK) {
            ends += event.kind == EPI_DP_PULLED || event.kind == EPI_DP_SENT;
            status = act(pair, rows, &event);
        }
    }
    if (status == EPDX_OK && memcmp(rows->from, rows->to, PAYLOAD_BYTES) != 0) {
        status = epi_fail(EPDX_ERR_IO, "ucx: other bytes came than were sent");
    }
    return status;
}

/** One pair of planes for each kind of memory: a plane tells of the transport
 *  that moved its first payload only. */
static epdx_status_t probe(pair_t *pair, const epi_memory_ops_t *memory,
                           epi_ucx_facts_t *facts, char *transport)
{
    rows_t rows = {.memory = memory};
    epdx_status_t status = pair_open(pair);

    if (pair->sender == NULL) {
        return status;
    }
    describe(pair->sender, facts);
    if (status == EPDX_OK) {
        status = rows_open(pair, &rows);
        if (status == EPDX_OK) {
            status = move(pair, &rows);
        }
        if (status == EPDX_OK) {
            pair->receiver->ops->transport(pair->receiver, transport,
                                           EPI_DP_TRANSPORT_MAX);
        }
        pair_cut(pair);
        rows_close(pair, &rows);
    }
    pair_close(pair);
    return status;
}

void epi_ucx_probe(const char *host, uint64_t timeout_ns,
                   epi_ucx_facts_t *facts_p)
{
    uint64_t limit = epi_after(epi_now_ns(), timeout_ns);
    pair_t plain = {.host = host, .limit_ns = limit};
    pair_t shared = plain;
    epi_ucx_facts_t facts = {.cuda = false};
    unsigned major, minor, release;
    epdx_status_t status;

    ucp_get_version(&major, &minor, &release);
    (void)snprintf(facts.version, sizeof(facts.version), "%u.%u.%u", major,
                   minor, release);
    status = probe(&plain, epi_memory_host(), &facts, facts.transport);
    if (status == EPDX_OK) {
        status =
            probe(&shared, epi_memory_shared(), &facts, facts.shared_transport);
    }
    if (status != EPDX_OK) {
        (void)epi_text_copy(facts.error, sizeof(facts.error),
                            epdx_last_error());
    }
    *facts_p = facts;
}
