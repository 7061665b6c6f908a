/* prefill_report.h: what epdx_prefill found, on rank 0's standard output. */
#ifndef EPI_TOOLS_PREFILL_REPORT_H
#define EPI_TOOLS_PREFILL_REPORT_H

#include "tools/prefill_run.h"

/** Gather from all ranks and print on rank 0: the first failures, a table, and
 *  the JSON object as the last line. Collective; *good_p on every rank: nothing
 *  failed, nothing was wrong, everything was written. Errors: those of
 *  epi_world_sum(). */
EPDX_MUST_CHECK epdx_status_t epi_prefill_report(const epi_prefill_t *prefill,
                                                 epi_prefill_totals_t *totals,
                                                 bool *good_p);

/** The line of --sizes. EPDX_ERR_TOO_LARGE. */
EPDX_MUST_CHECK epdx_status_t
epi_prefill_print_sizes(const epi_source_t *source);

#endif
