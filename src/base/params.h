/*
 * params.h: parameter structs of callers that were compiled against another
 * version of the headers. Their first member is size_t struct_size.
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

#endif
