/*
 * params.h: what a call was given. Parameter structs may be of callers that
 * were compiled against another version of the headers; their first member is
 * size_t struct_size.
 */
#ifndef EPI_BASE_PARAMS_H
#define EPI_BASE_PARAMS_H

#include <stddef.h>

#include "epdx/status.h"

/** Copy params to copy_p, which has known bytes, the rest zero. least bytes
 *  must be there: the members that every version has. who names the object.
 *  EPDX_ERR_INVALID with words: a size that this library cannot know;
 *  *copy_p is then unchanged. */
EPDX_MUST_CHECK epdx_status_t epi_params_copy(void *copy_p, size_t known,
                                              const void *params, size_t least,
                                              const char *who);

/** Whether no pointer is NULL that a public call needs: epi_given(sender,
 *  chunk_p), in that call. EPDX_ERR_INVALID with words that name the call and
 *  the argument. */
#define epi_given(...)                                                         \
    epi_given_all(__func__, #__VA_ARGS__, (const void *const[]){__VA_ARGS__},  \
                  sizeof((const void *const[]){__VA_ARGS__}) / sizeof(void *))

/** As above; names are parted by ", ". */
EPDX_MUST_CHECK epdx_status_t epi_given_all(const char *call, const char *names,
                                            const void *const *pointers,
                                            size_t count);

#endif
