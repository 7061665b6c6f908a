/*
 * prefill_run.h: the loop of a prefill rank: stages requests, drains, checks
 * what was admitted and gives it back. The same on every rank, in lockstep.
 */
#ifndef EPI_TOOLS_PREFILL_RUN_H
#define EPI_TOOLS_PREFILL_RUN_H

#include "epdx/admission.h"
#include "tools/device.h"
#include "tools/prefill_options.h"
#include "tools/report.h"
#include "tools/world.h"

#define EPI_PREFILL_FAILURES_KEPT 10

typedef struct epi_prefill_failure {
    const char *id; /* the workload's */
    char reason[EPDX_REASON_MAX + 64];
} epi_prefill_failure_t;

typedef struct epi_prefill_totals {
    uint64_t admitted;
    uint64_t failed;
    uint64_t revoked; /* of those admitted: counted in both */
    uint64_t items;   /* of admitted requests */
    uint64_t rows;
    uint64_t mismatched_bytes; /* on this rank */
    uint64_t write_errors;     /* of --out, on this rank */
    uint64_t elapsed_ns;       /* from the first stage to the last release */
    uint64_t verify_ns;
    epi_latencies_t latencies; /* from stage to admitted */
    epi_prefill_failure_t failures[EPI_PREFILL_FAILURES_KEPT];
    size_t failures_kept;
} epi_prefill_totals_t;

typedef struct epi_prefill {
    const epi_prefill_options_t *options;
    const epi_source_t *source;
    const epi_world_t *world;
    epdx_admission_t *admission;
    epi_device_t *device; /* where rows land */
} epi_prefill_t;

/** Run the whole workload. Zero-filled totals come back filled, in any case;
 *  epi_prefill_totals_fini() ends them. Errors: EPDX_ERR_NO_MEMORY; what
 *  epdx_admission_drain() and epi_world_broadcast() answer: the group is then
 *  of no more use. */
EPDX_MUST_CHECK epdx_status_t epi_prefill_run(const epi_prefill_t *prefill,
                                              epi_prefill_totals_t *totals);

void epi_prefill_totals_fini(epi_prefill_totals_t *totals);

#endif
