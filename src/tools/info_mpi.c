/* info_mpi.c: the only MPI call that epdx_info makes. */
#include "tools/info_mpi.h"

#include <mpi.h>
#include <string.h>

#include "base/text.h"

void epi_info_mpi(char *out, size_t size)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;

    (void)MPI_Get_library_version(text, &length);
    /* Open MPI goes on with the package and the day of its build. */
    text[strcspn(text, ",\n")] = '\0';
    (void)epi_text_copy(out, size, text);
}
