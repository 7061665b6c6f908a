/*
 * ucx_probe.h: what UCX makes of this node, found out by trying: two planes of
 * one process move bytes from the one to the other. For epdx_info, in a process
 * of its own: UCX may end it.
 */
#ifndef EPI_DATAPLANE_UCX_PROBE_H
#define EPI_DATAPLANE_UCX_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dataplane/dataplane.h"

#define EPI_UCX_RESOURCES_MAX 1024

typedef struct epi_ucx_facts {
    char version[32];                      /* of the library that is loaded */
    bool cuda;                             /* it reaches CUDA memory */
    char resources[EPI_UCX_RESOURCES_MAX]; /* "tcp/lo,sysv/memory" */
    /** What carried bytes between two planes of this host: out of ordinary
     *  memory, and out of memory that processes share. "": nothing did. */
    char transport[EPI_DP_TRANSPORT_MAX];
    char shared_transport[EPI_DP_TRANSPORT_MAX];
    char error[256]; /* why nothing did; "": all went well */
} epi_ucx_facts_t;

/** Planes on host, a numeric address of this machine. Gives up, in words, once
 *  timeout_ns have passed; opening a plane is not counted. */
void epi_ucx_probe(const char *host, uint64_t timeout_ns,
                   epi_ucx_facts_t *facts_p);

/** The resources in the text of ucp_context_print_info(), comma separated, but
 *  for "self", which carries nothing between planes. One that does not fit is
 *  left out whole. */
void epi_ucx_resources_parse(const char *info, char *out, size_t size);

#endif
