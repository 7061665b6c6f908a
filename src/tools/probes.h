/*
 * probes.h: what is tried in a process of its own, since it may end the process
 * or never come back: epdx_info runs itself again, as
 *
 *     epdx_info probe NAME ARGUMENT
 *
 * which writes the facts to descriptor 3. One thread.
 */
#ifndef EPI_TOOLS_PROBES_H
#define EPI_TOOLS_PROBES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dataplane/ucx_probe.h"
#include "memory/cuda_facts.h"

/** What a probe needs, and what it fills. */
typedef enum epi_probe {
    EPI_PROBE_UCX,   /* an address: epi_ucx_facts_t */
    EPI_PROBE_SHARE, /* an announcement in hexadecimals: epi_share_facts_t */
    EPI_PROBE_GPU,   /* "": epi_device_facts_t */
} epi_probe_t;

typedef struct epi_share_facts {
    bool shared; /* the memory that was announced can be mapped */
    char error[256];
} epi_share_facts_t;

typedef struct epi_device_facts {
    epi_cuda_facts_t cuda;
    int nccl_built, nccl; /* 22809: 2.28.9; 0: left out of this build */
} epi_device_facts_t;

/** Run one, as a process; facts is of its type. EPDX_ERR_TIMEOUT; EPDX_ERR_IO:
 *  the process ended before it wrote all of it. With words. */
EPDX_MUST_CHECK epdx_status_t epi_probe_run(epi_probe_t probe,
                                            const char *argument,
                                            uint64_t timeout_ns, void *facts);

/** That process's main(), where argv is such a call; true: it was, and
 *  *exit_p is what to end with. */
bool epi_probe_main(char **argv, int *exit_p);

/** In facts_nccl.c, or facts_no_nccl.c where the build has none. */
void epi_facts_nccl(epi_device_facts_t *facts);

#endif
