/*
 * watch.h: what is counted, timed and traced of a receiver. Each call is a look
 * at whether it is watched, where it is not.
 *
 *     look-up -> lease wait -> ask -> pull -> landed
 *         \----------\---------\-------\----> ending -> quiet
 */
#ifndef EPI_RECEIVE_WATCH_H
#define EPI_RECEIVE_WATCH_H

#include "receive/intake.h"
#include "receive/receiver_internal.h"

/** What an item is at, of those in epi_trace_name_t. The I/O thread's. */
void epi_item_watch(epi_intake_t *intake, uint32_t slot, epi_trace_name_t step);

/** Its first ask goes out, its first offer is taken: at its new step. */
void epi_item_watch_flow(epi_intake_t *intake, uint32_t slot,
                         epi_trace_kind_t kind);

/** It failed, or its last word was said. */
void epi_item_watch_failed(epi_intake_t *intake, uint32_t slot,
                           epdx_status_t status);
void epi_item_watch_end(epi_intake_t *intake, uint32_t slot, bool landed);

/** The caller's thread. */
void epi_job_watch_staged(epdx_job_t *job);
void epi_job_watch_leased(epdx_job_t *job);
void epi_job_watch_landed(epdx_job_t *job);
void epi_job_watch_failed(epdx_job_t *job, epdx_status_t status);

/** Show what only the caller's thread knows, every now and then. */
void epi_receiver_watch_poll(epdx_receiver_t *receiver, uint64_t now);

/** The same for the last time, while the I/O side is still there. */
void epi_receiver_watch_last(epdx_receiver_t *receiver);

/** Begin to watch a receiver, before its I/O side is there; errors of
 *  epi_watch_open(). */
EPDX_MUST_CHECK epdx_status_t epi_receiver_watch(epdx_receiver_t *receiver,
                                                 const epi_options_t *options);

#endif
