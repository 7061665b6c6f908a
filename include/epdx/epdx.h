/*
 * epdx.h: the whole library but the MPI group (group_mpi.h needs mpi.h).
 *
 * An encode rank opens a bootstrap server (bootstrap.h) and a sender
 * (sender.h). A prefill rank makes a group of its engine's ranks (group_mpi.h)
 * and opens admission over it (admission.h):
 *
 *     stage(request)  ....  drain() --> admitted: use the rows --> release(id)
 *                                  \--> failed: answer with the reason
 *
 * Errors: every call that can fail says what it answers, and
 * epdx_last_error() says it in words. NULL for what a call needs gives
 * EPDX_ERR_INVALID and words that name it; a call without a status does
 * nothing then, or answers 0, false, NULL or "". Threads: an object belongs to
 * one thread; no call of the scheduling loop blocks but drain in its
 * collectives. Waiting: no object has a descriptor to wait on; drain and poll
 * are called at the caller's own pace. Ending: a sender before its bootstrap
 * server, admission before its group, the group before MPI_Finalize().
 */
#ifndef EPDX_EPDX_H
#define EPDX_EPDX_H

#include "epdx/admission.h"
#include "epdx/bootstrap.h"
#include "epdx/cuda.h"
#include "epdx/group.h"
#include "epdx/log.h"
#include "epdx/metrics.h"
#include "epdx/receiver.h"
#include "epdx/sender.h"
#include "epdx/shard.h"
#include "epdx/status.h"
#include "epdx/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The library's version, such as "0.1.0".
 *
 * Shapes:  none.
 * Units:   none.
 * Owns:    the text is static.
 * Threads: any.
 * Errors:  none.
 */
EPDX_API const char *epdx_version(void);

#ifdef __cplusplus
}
#endif
#endif
