/*
 * cudaplane.h: a data plane over device memory. It wraps another one, which
 * need not know devices, and keeps the contract of dataplane.h for regions of
 * a CUDA device. For receiver and sender.
 *
 *   direct: the inner plane mapped the region, and moves its rows itself
 *     offer --ready event done--> inner offer --> SENT
 *     pull  --------------------> inner pull --flush, if needed--> PULLED
 *
 *   staged: it could not; pinned host memory of this plane stands between
 *     offer --ready event done--> room --copy--> inner offer --> SENT
 *     pull  --> room --> inner pull --copy--> PULLED
 *
 * Which of the two is found when a region is mapped, and is said in the log.
 * Payloads without a region are staged. Staging memory is one arena a
 * direction, made when that direction first needs it. What finds no room waits,
 * in order, and nothing waits for the device: events are asked for at each
 * progress(), and arm() gives EPDX_IN_PROGRESS while there are some.
 *
 * PULLED of a staged pull comes only once the event of its copy is done, also
 * where it failed meanwhile: the device no longer writes then. A payload's
 * bytes are read only once its ready event is done.
 */
#ifndef EPI_CUDAPLANE_CUDAPLANE_H
#define EPI_CUDAPLANE_CUDAPLANE_H

#include "dataplane/dataplane.h"

typedef struct epi_cudaplane_params {
    epi_memory_t memory;
    size_t staging_bytes; /* EPDX_CUDA_STAGING_MB, of each direction in use */
    bool sends;           /* what it is mainly for: make that direction ready
                             when a region is mapped */
} epi_cudaplane_params_t;

/** What went which way, of payloads that came to a good end. */
typedef struct epi_cudaplane_moved {
    uint64_t direct_bytes;
    uint64_t staged_bytes;
} epi_cudaplane_moved_t;

/** Make *dp one for rows in params->memory: a plane that wraps it, or itself
 *  where that is host memory. Besides the errors of dataplane.h, offer() and
 *  pull() of the new plane give EPDX_ERR_TOO_LARGE where the payload can never
 *  fit the staging memory. EPDX_ERR_NO_MEMORY: *dp is unchanged. */
EPDX_MUST_CHECK epdx_status_t
epi_cudaplane_wrap(const epi_cudaplane_params_t *params, epi_dataplane_t **dp);

/** Any thread. dp may be any plane: zeros for one of another kind. */
void epi_cudaplane_moved(const epi_dataplane_t *dp,
                         epi_cudaplane_moved_t *moved_p);

#endif
