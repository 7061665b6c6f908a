/* resolve.h: a host name to a numeric address. Blocks: open calls only. */
#ifndef EPI_BASE_RESOLVE_H
#define EPI_BASE_RESOLVE_H

#include <stdbool.h>
#include <stddef.h>

#include "epdx/status.h"

/** host (a name or a numeric address, with or without IPv6 brackets) to its
 *  first numeric address, no brackets. EPDX_ERR_INVALID: a wildcard, or it
 *  does not resolve; EPDX_ERR_TOO_LARGE: size. With words. */
EPDX_MUST_CHECK epdx_status_t epi_resolve(const char *host, char *out,
                                          size_t size);

/** Whether a numeric host is this machine's own, which nobody else reaches. */
bool epi_host_loopback(const char *host);

#endif
