/* info_doctor.h: `epdx_info --doctor`. One thread. */
#ifndef EPI_TOOLS_INFO_DOCTOR_H
#define EPI_TOOLS_INFO_DOCTOR_H

#include "base/options.h"
#include "tools/args.h"

typedef struct epi_doctor {
    const epi_options_t *options;
    const epi_arg_list_t *encode; /* bootstrap servers */
    const char *ucx_built;        /* UCX's version */
    bool json;
} epi_doctor_t;

/** Look at this node, and print what was found; the exit status: 1 where
 *  something will not work. Of the processes that a launcher started on a node
 *  the first speaks; the others only take part in MPI. */
int epi_info_doctor(const epi_doctor_t *doctor);

#endif
