/*
 * tap.h: when a data plane was told to offer, and when its events were taken.
 * The plane's own table of operations is replaced by one that notes the time
 * and goes on to it. One plane a process.
 */
#ifndef EPI_BENCH_TAP_H
#define EPI_BENCH_TAP_H

#include "dataplane/dataplane.h"
#include "group/group.h"

/** The last time of each; 0: not yet. Any thread reads. */
typedef struct epi_tap_times {
    uint64_t offer_ns;   /* offer() was called */
    uint64_t offered_ns; /* EPI_DP_OFFER was taken */
    uint64_t pulled_ns;  /* EPI_DP_PULLED was taken */
    uint64_t offers, events;
} epi_tap_times_t;

/** From now on note. The plane must not have begun. */
void epi_tap_open(epi_dataplane_t *dp);

epi_tap_times_t epi_tap_read(void);

/** From now on note what a group reduces. */
void epi_tap_group(epdx_group_t *group);

/** Bytes of the last minimum; 0: none yet. */
size_t epi_tap_reduced(void);

#endif
