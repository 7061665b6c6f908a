/* expand.h: names of files that many processes are given alike. */
#ifndef EPI_BASE_EXPAND_H
#define EPI_BASE_EXPAND_H

#include <stdbool.h>
#include <stddef.h>

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

/** file with %h (host), %p (process id) and %r (rank) filled in; false when it
 *  does not fit in size. */
bool epi_expand(const char *file, char *out, size_t size);

#endif
