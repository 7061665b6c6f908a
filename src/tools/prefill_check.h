/* prefill_check.h: what is done with an admitted request: every byte checked,
 * arrays written. */
#ifndef EPI_TOOLS_PREFILL_CHECK_H
#define EPI_TOOLS_PREFILL_CHECK_H

#include "tools/prefill_run.h"

/** Check that the items of request index are those that were staged and, with
 *  --verify, every byte of them; with --out rank 0 writes them. What is wrong
 *  is logged, the first few times, and counted in totals. */
void epi_prefill_check(const epi_prefill_t *prefill, size_t index,
                       const epdx_admitted_t *admitted,
                       epi_prefill_totals_t *totals);

#endif
