/*
 * watch.h: what is counted, timed and traced of admission. Each call is a look
 * at whether it is watched, where it is not. The caller's thread.
 *
 *     drain [ vote [reasons] [reassembly] ]
 *     item    landed -- agreement --> admitted -- reassembly --> whole
 *
 * Drains that decide nothing come by the thousand: a run of them is one span.
 */
#ifndef EPI_ADMISSION_WATCH_H
#define EPI_ADMISSION_WATCH_H

#include "admission/admission_internal.h"

/** Now, or 0 where admission is not watched. */
uint64_t epi_admission_now(const epdx_admission_t *admission);

/** What a drain did since begun_ns: a vote, reasons, reassembly. */
void epi_admission_watch_step(epdx_admission_t *admission,
                              epi_trace_name_t step, uint64_t begun_ns,
                              epdx_status_t status);

/** A drain that voted has ended; admitted of its requests are admitted. */
void epi_admission_watch_drain(epdx_admission_t *admission, uint64_t begun_ns,
                               size_t admitted, epdx_status_t status);

/** Nothing comes after it: what is kept is told, and the watch is closed. */
void epi_admission_watch_close(epdx_admission_t *admission);

/** A request has failed on all ranks. */
void epi_admission_watch_failed(epdx_admission_t *admission,
                                epdx_status_t status);

/** Begin to watch, once the receiver is there; errors of epi_watch_open(). */
EPDX_MUST_CHECK epdx_status_t epi_admission_watch(epdx_admission_t *admission);

/** Agree with the group how far its clocks are apart. Collective; made only
 *  where every rank writes a trace. In clocks.c. */
EPDX_MUST_CHECK epdx_status_t epi_admission_clocks(epdx_admission_t *admission);

#endif
