/* info_mpi.h: the MPI that a program runs with. */
#ifndef EPI_TOOLS_INFO_MPI_H
#define EPI_TOOLS_INFO_MPI_H

#include <stddef.h>

/** Name and version, such as "Open MPI v4.1.4". Needs no MPI_Init(). */
void epi_info_mpi(char *out, size_t size);

#endif
