/*
 * chrome.h: events as Chrome's trace format has them, one JSON object each, to
 * be read by Perfetto and chrome://tracing. docs/tracing.md has the names.
 * Pure.
 */
#ifndef EPI_TRACE_CHROME_H
#define EPI_TRACE_CHROME_H

#include <stdbool.h>
#include <stddef.h>

#include "trace/event.h"

/** Room for any one object, with a closing zero. */
#define EPI_CHROME_BYTES 512

/** An event of a track. The bytes written. */
size_t epi_chrome_event(const epi_trace_event_t *event, uint32_t track,
                        char out[EPI_CHROME_BYTES]);

/** Names of a track, such as "prefill rank 3", and of a lane of it. */
size_t epi_chrome_track(uint32_t track, bool encode, uint32_t rank,
                        char out[EPI_CHROME_BYTES]);
size_t epi_chrome_lane(uint32_t track, bool encode, uint32_t lane,
                       char out[EPI_CHROME_BYTES]);

/** How many events of a track were dropped. */
size_t epi_chrome_dropped(uint32_t track, uint64_t dropped,
                          char out[EPI_CHROME_BYTES]);

#endif
