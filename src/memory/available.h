/*
 * available.h: how much memory may still be populated, and the refusal of more.
 *
 * The kernel promises pages without counting them, and ends processes once it
 * has none left. So whoever populates memory asks here first. What it says
 * holds for this moment only: of processes that begin together each may be let
 * through, and not all of them fit. Blocks as files of /proc do.
 */
#ifndef EPI_MEMORY_AVAILABLE_H
#define EPI_MEMORY_AVAILABLE_H

#include <stddef.h>
#include <stdint.h>

#include "epdx/status.h"

/** Where the kernel tells it. */
typedef struct epi_available_files {
    const char *meminfo; /* /proc/meminfo */
    const char *groups;  /* /proc/self/cgroup: the process's control groups */
    const char *tree;    /* /sys/fs/cgroup: the folder of all of them */
} epi_available_files_t;

/** The bytes where no file tells. */
#define EPI_AVAILABLE_UNKNOWN UINT64_MAX

/** The least of MemAvailable and of what the limits of the control groups
 *  (version 2 or 1) leave, this process's and those above it. Memory that holds
 *  no more than what files have counts as left, as it does in MemAvailable. A
 *  file that is missing, or not as expected, bounds nothing. */
typedef struct epi_available {
    uint64_t bytes;
    char bound[256]; /* what leaves so little: "... of /proc/meminfo" */
} epi_available_t;

/** Any thread. */
void epi_available(epi_available_t *available_p);

/** Of what: "host memory"; settings: the names of those that ask for so much.
 *  EPDX_ERR_NO_MEMORY: fewer bytes are available, in words. Any thread. */
EPDX_MUST_CHECK epdx_status_t epi_available_check(const char *what,
                                                  const char *settings,
                                                  size_t bytes);

/** Other files from now on, for tests; NULL: the kernel's. Before any other
 *  thread looks. */
void epi_available_files(const epi_available_files_t *files);

#endif
