/* encode_options.h: what epdx_encode is told on its command line. */
#ifndef EPI_TOOLS_ENCODE_OPTIONS_H
#define EPI_TOOLS_ENCODE_OPTIONS_H

#include "tools/source.h"

typedef struct epi_encode_options {
    epi_source_params_t source;
    const char *listen;    /* NULL: host, a free port */
    const char *bootstrap; /* NULL: the server inside rank 0 */
    const char *host;      /* NULL: EPDX_HOST */
    uint64_t tp;           /* 0: 1, or the ranks of mpirun */
    uint64_t rank;         /* EPI_ARG_UNSET: 0, or that of mpirun */
    uint64_t ring_mb;      /* 0: EPDX_ENCODE_RING_MB */
    uint64_t timeout_ns;   /* 0: EPDX_WAITING_TIMEOUT_S */
    uint64_t hold;         /* EPI_ARG_UNSET: do not hold */
    epi_arg_part_t node;
    epdx_memory_t memory; /* 0: EPDX_MEMORY */
    bool once;
    bool chunk_own;
    bool mpi; /* started by mpirun as one of several ranks */
} epi_encode_options_t;

#define EPI_ENCODE_OPTIONS_PRESET                                              \
    {                                                                          \
        .source = EPI_SOURCE_PRESET, .rank = EPI_ARG_UNSET,                    \
        .hold = EPI_ARG_UNSET, .node = {                                       \
            0,                                                                 \
            1                                                                  \
        }                                                                      \
    }

/** The table; its check also fills in tp, rank and mpi. */
extern const epi_args_t epi_encode_args;

#endif
