/* chrome.c: see chrome.h. Times are written in microseconds, as the format
 * wants them, with all nanoseconds; rooms and ids as texts, since they may not
 * fit a double. */
#include "trace/chrome.h"

#include <inttypes.h>
#include <stdio.h>

#define US UINT64_C(1000)
#define HEAD                                                                   \
    "{\"name\":\"%s\",\"cat\":\"%s\",\"ph\":\"%s\",\"pid\":%" PRIu32           \
    ",\"tid\":%" PRIu32 ",\"ts\":%" PRIu64 ".%03u"

typedef struct name {
    const char *name;
    const char *category;
    const char *more; /* what epi_trace_event_t.more counts; NULL: nothing */
} name_t;

static const name_t names[EPI_NAMES] = {
    [EPI_NAME_ITEM] = {"item", "item", "bytes"},
    [EPI_NAME_LOOKUP] = {"look-up", "item", NULL},
    [EPI_NAME_LEASE] = {"lease wait", "item", NULL},
    [EPI_NAME_ASK] = {"ask", "item", NULL},
    [EPI_NAME_PULL] = {"pull", "item", "bytes"},
    [EPI_NAME_ENDING] = {"ending", "item", NULL},
    [EPI_NAME_AGREEMENT] = {"agreement", "item", NULL},
    [EPI_NAME_REASSEMBLY] = {"reassembly", "item", NULL},
    [EPI_NAME_DRAIN] = {"drain", "drain", "pending"},
    [EPI_NAME_IDLE] = {"undecided drains", "drain", "drains"},
    [EPI_NAME_VOTE] = {"vote", "collective", NULL},
    [EPI_NAME_REASONS] = {"reasons", "collective", NULL},
    [EPI_NAME_REBUILD] = {"reassembly", "collective", "bytes"},
    [EPI_NAME_ROOM] = {"room", "room", NULL},
    [EPI_NAME_CHUNK] = {"chunk", "room", NULL},
    [EPI_NAME_FANOUT] = {"fan-out wait", "room", NULL},
    [EPI_NAME_DELIVER] = {"deliver", "room", "bytes"},
    [EPI_NAME_ASKED] = {"ask", "flow", NULL},
    [EPI_NAME_ROWS] = {"rows", "flow", NULL},
};

static size_t length_of(int length)
{
    return length > 0 && length < EPI_CHROME_BYTES ? (size_t)length : 0;
}

static size_t write_span(const epi_trace_event_t *event, uint32_t track,
                         char out[EPI_CHROME_BYTES])
{
    const name_t *name = &names[event->name];
    uint64_t took =
        event->end_ns > event->begin_ns ? event->end_ns - event->begin_ns : 0;
    char more[48] = "";
    char room[48] = "";

    if (name->more != NULL) {
        (void)snprintf(more, sizeof(more), ",\"%s\":%" PRIu64, name->more,
                       event->more);
    }
    if (event->lane != EPI_LANE_DRAINS) {
        (void)snprintf(room, sizeof(room), ",\"room\":\"%" PRIu64 "\"",
                       event->room);
    }
    return length_of(snprintf(
        out, EPI_CHROME_BYTES,
        HEAD ",\"dur\":%" PRIu64 ".%03u,\"args\":{\"status\":\"%s\"%s%s}}",
        name->name, name->category, "X", track, event->lane,
        event->begin_ns / US, (unsigned)(event->begin_ns % US), took / US,
        (unsigned)(took % US), epdx_status_name((epdx_status_t)event->status),
        room, more));
}

static size_t write_flow(const epi_trace_event_t *event, uint32_t track,
                         char out[EPI_CHROME_BYTES])
{
    const name_t *name = &names[event->name];
    bool in = event->kind == EPI_TRACE_FLOW_IN;

    return length_of(snprintf(out, EPI_CHROME_BYTES,
                              HEAD ",\"id\":\"0x%016" PRIx64
                                   "\"%s,\"args\":{\"room\":\"%" PRIu64 "\"}}",
                              name->name, name->category, in ? "f" : "s", track,
                              event->lane, event->begin_ns / US,
                              (unsigned)(event->begin_ns % US), event->more,
                              in ? ",\"bp\":\"e\"" : "", event->room));
}

size_t epi_chrome_event(const epi_trace_event_t *event, uint32_t track,
                        char out[EPI_CHROME_BYTES])
{
    if (event->kind == EPI_TRACE_SPAN) {
        return write_span(event, track, out);
    }
    if (event->kind != EPI_TRACE_CLOCK) {
        return write_flow(event, track, out);
    }
    return length_of(snprintf(
        out, EPI_CHROME_BYTES,
        "{\"name\":\"epdx_clock\",\"ph\":\"M\",\"pid\":%" PRIu32
        ",\"tid\":0,\"args\":{\"group\":\"0x%016" PRIx64 "\",\"rank\":%" PRIu32
        ",\"offset_ns\":\"%" PRId64 "\",\"error_ns\":%" PRIu64 "}}",
        track, event->room, event->lane, (int64_t)event->begin_ns,
        event->end_ns));
}

static size_t write_name(const char *what, uint32_t track, uint32_t lane,
                         const char *name, char out[EPI_CHROME_BYTES])
{
    return length_of(snprintf(out, EPI_CHROME_BYTES,
                              "{\"name\":\"%s\",\"ph\":\"M\",\"pid\":%" PRIu32
                              ",\"tid\":%" PRIu32
                              ",\"args\":{\"name\":\"%s\"}}",
                              what, track, lane, name));
}

size_t epi_chrome_track(uint32_t track, bool encode, uint32_t rank,
                        char out[EPI_CHROME_BYTES])
{
    char name[48];

    (void)snprintf(name, sizeof(name), "%s rank %" PRIu32,
                   encode ? "encode" : "prefill", rank);
    return write_name("process_name", track, 0, name, out);
}

size_t epi_chrome_lane(uint32_t track, bool encode, uint32_t lane,
                       char out[EPI_CHROME_BYTES])
{
    char name[48];

    (void)snprintf(name, sizeof(name), "%s slot %" PRIu32,
                   encode ? "room" : "item", lane - EPI_LANE_SLOT(0));
    return write_name("thread_name", track, lane,
                      lane == EPI_LANE_DRAINS ? "drains" : name, out);
}

size_t epi_chrome_dropped(uint32_t track, uint64_t dropped,
                          char out[EPI_CHROME_BYTES])
{
    return length_of(snprintf(out, EPI_CHROME_BYTES,
                              "{\"name\":\"epdx_dropped\",\"ph\":\"M\","
                              "\"pid\":%" PRIu32
                              ",\"tid\":0,\"args\":{\"events\":%" PRIu64 "}}",
                              track, dropped));
}
