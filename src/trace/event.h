/*
 * event.h: what a trace is made of. Times are those of epi_now_ns().
 *
 * A track is one rank: a receiver with its admission, or a sender. It has a
 * lane for drains and one for each slot of items, or rooms, in which spans nest
 * and never overlap otherwise. A flow leads from where something was sent to
 * where it came in: asks from prefill to encode rank, rows back.
 */
#ifndef EPI_TRACE_EVENT_H
#define EPI_TRACE_EVENT_H

#include <stdint.h>

#include "epdx/status.h"

/** The lane of drains, and that of a slot. */
#define EPI_LANE_DRAINS     0U
#define EPI_LANE_SLOT(slot) ((slot) + 1U)

typedef enum epi_trace_kind {
    EPI_TRACE_SPAN,
    EPI_TRACE_FLOW_OUT, /* at begin_ns */
    EPI_TRACE_FLOW_IN,  /* at begin_ns */
    EPI_TRACE_CLOCK,    /* see epi_trace_clock() */
} epi_trace_kind_t;

typedef enum epi_trace_name {
    /* At a prefill rank, of an item. */
    EPI_NAME_ITEM,
    EPI_NAME_LOOKUP,
    EPI_NAME_LEASE,
    EPI_NAME_ASK,
    EPI_NAME_PULL,
    EPI_NAME_ENDING,
    EPI_NAME_AGREEMENT,
    EPI_NAME_REASSEMBLY,
    /* At a prefill rank, of a drain. */
    EPI_NAME_DRAIN,
    EPI_NAME_IDLE, /* drains in a row that decided nothing */
    EPI_NAME_VOTE,
    EPI_NAME_REASONS,
    EPI_NAME_REBUILD,
    /* At an encode rank, of a room. */
    EPI_NAME_ROOM,
    EPI_NAME_CHUNK,
    EPI_NAME_FANOUT,
    EPI_NAME_DELIVER,
    /* Flows. */
    EPI_NAME_ASKED,
    EPI_NAME_ROWS,
    EPI_NAMES,
} epi_trace_name_t;

typedef struct epi_trace_event {
    uint64_t begin_ns;
    uint64_t end_ns;
    uint64_t room; /* 0 of drains */
    uint64_t more; /* bytes or requests of a span; a flow's id */
    uint32_t lane;
    int16_t status; /* of a span: an epdx_status_t */
    uint8_t kind;
    uint8_t name;
} epi_trace_event_t;

/** The id of an item's flow of that name: alike at both ends, and telling
 *  nothing of the generation. */
uint64_t epi_trace_flow(epi_trace_name_t name, uint64_t room,
                        uint64_t generation);

/** That the clock of the group's rank 0 is this one's plus offset_ns, give or
 *  take error_ns. group tells one group from another. */
epi_trace_event_t epi_trace_clock(uint64_t group, uint32_t rank,
                                  int64_t offset_ns, uint64_t error_ns);

#endif
