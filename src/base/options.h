/*
 * options.h: the table of settings: name, default, unit, help, and where it is
 * kept. Read from the environment as EPDX_*; parameters given to a call win.
 */
#ifndef EPI_BASE_OPTIONS_H
#define EPI_BASE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "epdx/status.h"
#include "epdx/types.h"

#define EPI_OPTION_PATH 512

/** Files that both ends are given; "": none. */
typedef struct epi_files {
    char curve_key[EPI_OPTION_PATH];     /* EPDX_CURVE_KEY_FILE */
    char curve_allowed[EPI_OPTION_PATH]; /* EPDX_CURVE_ALLOWED_FILE */
    char ca[EPI_OPTION_PATH];            /* EPDX_CA_FILE */
} epi_files_t;

typedef struct epi_options {
    uint64_t embedding_shard;      /* EPDX_EMBEDDING_SHARD       1, 0 or 1 */
    uint64_t recv_pool_bytes;      /* EPDX_RECV_POOL_MB          4096 */
    uint64_t waiting_timeout_ns;   /* EPDX_WAITING_TIMEOUT_S     300 */
    uint64_t bootstrap_timeout_ns; /* EPDX_BOOTSTRAP_TIMEOUT_S   120 */
    uint64_t lookup_timeout_ns;    /* EPDX_LOOKUP_TIMEOUT_S      5, one HTTP
                                      exchange */
    uint64_t encode_ring_bytes;    /* EPDX_ENCODE_RING_MB        1024 */
    uint64_t ask_interval_ns;      /* EPDX_ASK_INTERVAL_S        1 */
    uint64_t heartbeat_ns;    /* EPDX_HEARTBEAT_S           5, silence after
                                 which a peer is given up; 0: off */
    uint64_t spin_ns;         /* EPDX_SPIN_US               0, before the
                                 I/O thread sleeps */
    uint64_t ended_memory_ns; /* EPDX_ENDED_ROOMS_S         300 */
    uint64_t max_requests;    /* EPDX_MAX_REQUESTS          4096, 1...65536 */
    uint64_t max_items;       /* EPDX_MAX_ITEMS             16384,
                                 1...262144 */
    uint64_t max_rooms;       /* EPDX_MAX_ROOMS             16384,
                                 1...1048576 */
    uint64_t max_peers;       /* EPDX_MAX_PEERS             1024, 1...65536 */
    uint64_t memory;          /* EPDX_MEMORY                host: an
                                 epdx_memory_t, not the default */
    uint64_t cuda_staging_bytes; /* EPDX_CUDA_STAGING_MB       256 */
    uint64_t log_level;          /* EPDX_LOG_LEVEL             warn: error,
                                    warn, info, debug */
    char log_file[256];          /* EPDX_LOG_FILE              "": stderr */
    uint64_t log_form;           /* EPDX_LOG_FORMAT            text: an
                                    epi_log_form_t */
    uint64_t log_burst;          /* EPDX_LOG_BURST             100 */
    char metrics[EPDX_ADDRESS_MAX + 1]; /* EPDX_METRICS            "": off */
    char metrics_file[EPI_OPTION_PATH]; /* EPDX_METRICS_FILE       "": none */
    uint64_t metrics_interval_ns;       /* EPDX_METRICS_INTERVAL_S    10 */
    char trace_file[EPI_OPTION_PATH];   /* EPDX_TRACE_FILE           "": none */
    uint64_t trace_bytes;               /* EPDX_TRACE_MB              256 */
    uint64_t trace_events;              /* EPDX_TRACE_EVENTS          65536 */
    char host[EPDX_ADDRESS_MAX + 1];    /* EPDX_HOST                127.0.0.1 */
    char bootstrap_token[256]; /* EPDX_BOOTSTRAP_TOKEN       "": none */
    epi_files_t files;
    char tls_cert_file[EPI_OPTION_PATH]; /* EPDX_TLS_CERT_FILE         "" */
    char tls_key_file[EPI_OPTION_PATH];  /* EPDX_TLS_KEY_FILE          "" */
} epi_options_t;

/** How a setting is written and kept. */
typedef enum epi_option_kind {
    EPI_OPTION_COUNT,        /* a whole number */
    EPI_OPTION_MB,           /* MiB, kept in bytes */
    EPI_OPTION_SECONDS,      /* kept in nanoseconds */
    EPI_OPTION_MICROSECONDS, /* kept in nanoseconds */
    EPI_OPTION_NAME,         /* one of names */
    EPI_OPTION_TEXT,
} epi_option_kind_t;

typedef struct epi_option_info {
    const char *name;   /* "EPDX_RECV_POOL_MB" */
    const char *unit;   /* "MiB", "s", "us", "" */
    const char *preset; /* the default, as it would be written */
    const char *help;
    epi_option_kind_t kind;
    size_t offset;     /* in epi_options_t */
    size_t bytes;      /* of a text */
    uint64_t min, max; /* in the written unit, of a number */
    bool positive;     /* 0 is refused, fractions are not */
    /** By name: those of the values min ... max. */
    const char *const *names;
} epi_option_info_t;

/** Defaults, then the environment, where an empty variable counts as unset;
 *  configures the log. Errors:
 *  EPDX_ERR_INVALID a variable does not parse or is out of range: the text
 *  names it, its value and what is allowed; *options_p unchanged. */
EPDX_MUST_CHECK epdx_status_t epi_options_load(epi_options_t *options_p);

/** The table, for epdx_info. */
size_t epi_option_count(void);
const epi_option_info_t *epi_option_info(size_t index);

/** A setting's value as it would be written; the token is shown as "***". */
void epi_option_format(const epi_options_t *options, size_t index, char *out,
                       size_t size);

#endif
