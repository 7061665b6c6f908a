/*
 * dlpack.h: landed rows as DLPack tensors, for frameworks to take in without a
 * copy. The only header that needs <dlpack/dlpack.h> (0.6 or later; Debian:
 * libdlpack-dev), so epdx.h does not include it. A library that was built
 * without that header does not have these calls.
 *
 * A tensor holds its request's rows:
 *
 *     admitted --> tensors are made --> release(id) --> every deleter has run
 *                                            \-> event, if any, is done -->
 * rows are free
 *
 * So a request may be released as soon as its tensors were handed over. What a
 * deleter gives back is taken in by the next poll or drain.
 *
 * A deleter may run on any thread, also while the receiver is polled, and once
 * only. It takes no lock and waits for nothing, but for one case: after the
 * receiver was closed, the last deleter frees the pool on its own thread, with
 * what munmap() or cudaFree() costs. Until then the library must stay loaded,
 * and a pool of the caller's must stay as it is.
 *
 * A tensor says nothing about streams. Whoever gives its memory back while work
 * on a CUDA stream still reads it must release the request after an event, or
 * delete the tensor once that work is done, as frameworks do for what they take
 * in. With rows that are rebuilt on a stream the reader waits for
 * epdx_decisions_t's ready event first.
 */
#ifndef EPDX_DLPACK_H
#define EPDX_DLPACK_H

#include <dlpack/dlpack.h>

#include "epdx/admission.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The two parts of an item. */
typedef enum epdx_part {
    EPDX_PART_MAIN = 0,
    EPDX_PART_DEEPSTACK = 1,
} epdx_part_t;

/**
 * A part of a landed job's item as a tensor. Its rows are all of the item's;
 * see epdx_landed_t for which of them hold data.
 *
 * Shapes:  [span, hidden], or [span, hidden * levels] of the deepstack part;
 *          compact, with strides given; dtype and device are the receiver's,
 *          byte_offset is 0.
 * Units:   elements.
 * Owns:    *tensor_p is the caller's, or whose it is handed to, and ends with
 *          its deleter. It outlives the job and the receiver.
 * Threads: the receiver's thread; the deleter: any. Never blocks.
 * Errors:  EPDX_ERR_INVALID    the job has not landed, was released, or has no
 *                              such item or part; or an argument is NULL;
 *          EPDX_ERR_NOT_FOUND  the item was skipped, or there are no deepstack
 *                              levels;
 *          EPDX_ERR_FULL       2 * EPDX_MAX_ITEMS tensors are out;
 *          EPDX_ERR_NO_MEMORY  the tensors, which are all allocated when the
 *                              first is made, could not be.
 *          On error *tensor_p is unchanged.
 */
EPDX_API EPDX_MUST_CHECK epdx_status_t
epdx_job_tensor(epdx_job_t *job, size_t item_index, epdx_part_t part,
                DLManagedTensor **tensor_p);

/**
 * A part of an admitted request's item as a tensor: every row of it holds data.
 *
 * Shapes:  as epdx_job_tensor().
 * Units:   elements.
 * Owns:    id is read during the call only; *tensor_p as epdx_job_tensor().
 * Threads: admission's thread; the deleter: any. Never blocks. Ranks need not
 *          do alike.
 * Errors:  EPDX_ERR_NOT_FOUND  no request of that id is admitted and not
 *                              released; and those of epdx_job_tensor().
 *          On error *tensor_p is unchanged.
 */
EPDX_API EPDX_MUST_CHECK epdx_status_t epdx_admission_tensor(
    epdx_admission_t *admission, const char *id, size_t item_index,
    epdx_part_t part, DLManagedTensor **tensor_p);

#if defined(DLPACK_MAJOR_VERSION) && DLPACK_MAJOR_VERSION >= 1
/**
 * epdx_job_tensor() in DLPack's versioned form. Only where the library was
 * built with DLPack 1.0 or later.
 *
 * Shapes:  as epdx_job_tensor().
 * Units:   elements.
 * Owns:    as epdx_job_tensor(); no flag is set: it may be written to.
 * Threads: as epdx_job_tensor().
 * Errors:  those of epdx_job_tensor().
 */
EPDX_API EPDX_MUST_CHECK epdx_status_t
epdx_job_tensor_versioned(epdx_job_t *job, size_t item_index, epdx_part_t part,
                          struct DLManagedTensorVersioned **tensor_p);

/**
 * epdx_admission_tensor() in DLPack's versioned form. Only where the library
 * was built with DLPack 1.0 or later.
 *
 * Shapes:  as epdx_job_tensor().
 * Units:   elements.
 * Owns:    as epdx_admission_tensor(); no flag is set: it may be written to.
 * Threads: as epdx_admission_tensor().
 * Errors:  those of epdx_admission_tensor().
 */
EPDX_API EPDX_MUST_CHECK epdx_status_t epdx_admission_tensor_versioned(
    epdx_admission_t *admission, const char *id, size_t item_index,
    epdx_part_t part, struct DLManagedTensorVersioned **tensor_p);
#endif

#ifdef __cplusplus
}
#endif
#endif
