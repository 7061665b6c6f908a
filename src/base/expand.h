/* expand.h: names of files that many processes are given alike. */
#ifndef EPI_BASE_EXPAND_H
#define EPI_BASE_EXPAND_H

#include <stddef.h>

#include "epdx/status.h"

/** Room for a host's name, with its closing zero. */
#define EPI_HOST_BYTES 65

/** This host's name, cut where it is longer; "unknown" where it has none. */
void epi_host_name(char host[EPI_HOST_BYTES]);

/** This process's rank as its launcher tells it (OMPI_COMM_WORLD_RANK,
 *  PMIX_RANK or SLURM_PROCID), else "0". */
const char *epi_rank_text(void);

/** Its rank among those of this host (OMPI_COMM_WORLD_LOCAL_RANK,
 *  MPI_LOCALRANKID or SLURM_LOCALID), else 0. */
unsigned epi_local_rank(void);

/** file, as a setting says it, with %h (host), %p (process id), %r (rank) and
 *  %% (a %) filled in. Words name the setting. EPDX_ERR_INVALID: any other %;
 *  EPDX_ERR_TOO_LARGE: it does not fit in size. */
EPDX_MUST_CHECK epdx_status_t epi_expand(const char *setting, const char *file,
                                         char *out, size_t size);

#endif
