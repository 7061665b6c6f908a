/*
 * source.h: where the items of a program come from: a trace with synthetic
 * rows, or a directory of arrays. Both ends open the same source, so either can
 * make an item's rows and the other can check them. One thread.
 */
#ifndef EPI_TOOLS_SOURCE_H
#define EPI_TOOLS_SOURCE_H

#include "tools/args.h"
#include "tools/npy_dir.h"
#include "tools/synthetic.h"
#include "tools/workload.h"

#define EPI_HIDDEN_MAX    1048576
#define EPI_HIDDEN_PRESET 3584
#define EPI_REQUESTS_MAX  100000000

typedef struct epi_source_params {
    const char *workload;
    const char *npy;
    uint64_t requests;  /* 0: all */
    uint64_t hidden;    /* 0: EPI_HIDDEN_PRESET, or the arrays' */
    uint64_t levels;    /* EPI_ARG_UNSET: 0, or the arrays' */
    epdx_dtype_t dtype; /* EPDX_DTYPE_NONE: bfloat16, or the arrays' */
} epi_source_params_t;

#define EPI_SOURCE_PRESET                                                      \
    {                                                                          \
        NULL, NULL, 0, 0, EPI_ARG_UNSET, EPDX_DTYPE_NONE                       \
    }

/** The rows of a program's table of options that fill a member `source`. */
#define EPI_SOURCE_ARG(type, member)                                           \
    offsetof(type, source) + offsetof(epi_source_params_t, member)
#define EPI_SOURCE_ARGS(type)                                                  \
    {"workload",                                                               \
     "FILE",                                                                   \
     "requests of a trace of JSON lines; rows are made up",                    \
     EPI_ARG_TEXT,                                                             \
     EPI_SOURCE_ARG(type, workload),                                           \
     0,                                                                        \
     0},                                                                       \
        {"npy",                                                                \
         "DIR",                                                                \
         "a request for each NAME.npy in DIR, with its\n"                      \
         "NAME.deepstack.npy where there is one",                              \
         EPI_ARG_TEXT,                                                         \
         EPI_SOURCE_ARG(type, npy),                                            \
         0,                                                                    \
         0},                                                                   \
        {"requests",                                                           \
         "R",                                                                  \
         "only the first R requests",                                          \
         EPI_ARG_COUNT,                                                        \
         EPI_SOURCE_ARG(type, requests),                                       \
         1,                                                                    \
         EPI_REQUESTS_MAX},                                                    \
        {"hidden",                                                             \
         "H",                                                                  \
         "elements of a row, with --workload (3584)",                          \
         EPI_ARG_COUNT,                                                        \
         EPI_SOURCE_ARG(type, hidden),                                         \
         1,                                                                    \
         EPI_HIDDEN_MAX},                                                      \
        {"dtype",                                                              \
         "NAME",                                                               \
         "bfloat16, float16 or float32, with --workload\n"                     \
         "(bfloat16)",                                                         \
         EPI_ARG_DTYPE,                                                        \
         EPI_SOURCE_ARG(type, dtype),                                          \
         0,                                                                    \
         0},                                                                   \
    {                                                                          \
        "levels", "L", "deepstack levels, with --workload (0)", EPI_ARG_COUNT, \
            EPI_SOURCE_ARG(type, levels), 0, EPI_NPY_LEVELS_MAX                \
    }

typedef struct epi_source {
    epi_workload_t workload;
    epi_npy_dir_t npy; /* count 0: rows are synthetic */
    epdx_dtype_t dtype;
    uint64_t hidden;
    uint32_t levels;
    uint64_t main_row_bytes;
    uint64_t deepstack_row_bytes;
} epi_source_t;

/** An item by its place. */
typedef struct epi_source_item {
    size_t request;
    size_t item;
} epi_source_item_t;

/** What the options of a source say together: for a program's check. */
EPDX_MUST_CHECK epdx_status_t
epi_source_check(const epi_source_params_t *params);

/** Errors: those of epi_workload_load() and epi_npy_dir_open(). */
EPDX_MUST_CHECK epdx_status_t epi_source_open(const epi_source_params_t *params,
                                              epi_source_t *source_p);

uint64_t epi_source_rows(const epi_source_t *source, epi_source_item_t at);

/** Write an item's rows to where a chunk or a lease has them; deepstack is not
 *  used without levels. */
void epi_source_fill(const epi_source_t *source, epi_source_item_t at,
                     void *main, void *deepstack);

/** An item's rows in the file's own memory; false when they are synthetic. */
bool epi_source_mapped(const epi_source_t *source, epi_source_item_t at,
                       const void **main_p, const void **deepstack_p);

/** Check all rows of one part, EPI_PART_MAIN or EPI_PART_DEEPSTACK: the number
 *  of wrong bytes, added to *wrong_p too. */
uint64_t epi_source_verify_part(const epi_source_t *source,
                                epi_source_item_t at, uint32_t part,
                                const void *in, epi_wrong_t *wrong_p);

void epi_source_close(epi_source_t *source);

#endif
