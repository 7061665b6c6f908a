/* event.c: see event.h. */
#include "trace/event.h"

/* The finisher of MurmurHash3: every bit of x reaches every bit of it. */
static uint64_t mixed(uint64_t x)
{
    x ^= x >> 33;
    x *= UINT64_C(0xff51afd7ed558ccd);
    x ^= x >> 33;
    x *= UINT64_C(0xc4ceb9fe1a85ec53);
    x ^= x >> 33;
    return x;
}

uint64_t epi_trace_flow(epi_trace_name_t name, uint64_t room,
                        uint64_t generation)
{
    return mixed(mixed(mixed(generation) ^ room) + (uint64_t)name);
}

epi_trace_event_t epi_trace_clock(uint64_t group, uint32_t rank,
                                  int64_t offset_ns, uint64_t error_ns)
{
    return (epi_trace_event_t){.kind = EPI_TRACE_CLOCK,
                               .room = group,
                               .lane = rank,
                               .begin_ns = (uint64_t)offset_ns,
                               .end_ns = error_ns};
}
