/* prefill_options.h: what epdx_prefill is told on its command line. */
#ifndef EPI_TOOLS_PREFILL_OPTIONS_H
#define EPI_TOOLS_PREFILL_OPTIONS_H

#include "tools/source.h"

typedef struct epi_prefill_options {
    epi_source_params_t source;
    epi_arg_list_t encode;
    const char *out;
    const char *host;               /* NULL: EPDX_HOST */
    uint64_t skip;                  /* requests left out at the start */
    uint64_t concurrency;           /* 0: 32 */
    uint64_t pool_mb;               /* 0: EPDX_RECV_POOL_MB */
    uint64_t timeout_ns;            /* 0: EPDX_WAITING_TIMEOUT_S */
    uint64_t collective_timeout_ns; /* 0: 300 s */
    epdx_memory_t memory;           /* 0: EPDX_MEMORY */
    bool realtime;
    bool verify;
    bool no_shard;
    bool progress;
    bool sizes;
} epi_prefill_options_t;

#define EPI_PREFILL_OPTIONS_PRESET                                             \
    {                                                                          \
        .source = EPI_SOURCE_PRESET                                            \
    }

/** The table; its check also fills in the defaults of concurrency and
 *  collective_timeout_ns. */
extern const epi_args_t epi_prefill_args;

#endif
