/* host_pages.h: what host.c and shared.c share. Any thread. */
#ifndef EPI_MEMORY_HOST_PAGES_H
#define EPI_MEMORY_HOST_PAGES_H

#include "memory/memory.h"

/** The length of a mapping for bytes: whole pages, so that a release finds it
 *  again; false: none, or too many. */
bool epi_host_mapped(size_t bytes, size_t *mapped_p);

/** Large pages where the kernel has them, and every page touched. So much is
 *  available (memory/available.h). EPDX_ERR_NO_MEMORY with the size in words.
 */
EPDX_MUST_CHECK epdx_status_t epi_host_populate(void *base, size_t mapped);

#endif
