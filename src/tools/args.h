/*
 * args.h: the option parsing that all programs share. Long options only, as
 * `--name VALUE` or `--name=VALUE`. An option is a row of a table that says
 * where in the program's options structure its value goes.
 */
#ifndef EPI_TOOLS_ARGS_H
#define EPI_TOOLS_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "epdx/types.h"

#define EPI_ARG_LIST_MAX 64

/** Of a count that was not given, where 0 is a value. */
#define EPI_ARG_UNSET UINT64_MAX

/** Exit status of a wrong argument. */
#define EPI_EXIT_USAGE 2

/** `I/K`: part index of count. */
typedef struct epi_arg_part {
    uint32_t index;
    uint32_t count;
} epi_arg_part_t;

/** Values of an option that may be repeated, in order. */
typedef struct epi_arg_list {
    const char *values[EPI_ARG_LIST_MAX];
    size_t count;
} epi_arg_list_t;

typedef enum epi_arg_kind {
    EPI_ARG_FLAG,      /* bool; takes no value */
    EPI_ARG_COUNT,     /* uint64_t, min ... max */
    EPI_ARG_SECONDS,   /* uint64_t of nanoseconds, more than 0 */
    EPI_ARG_TEXT,      /* const char *, not empty */
    EPI_ARG_HOST,      /* const char *, a host without a port */
    EPI_ARG_ADDRESS,   /* const char *, HOST:PORT; min is the least port */
    EPI_ARG_ADDRESSES, /* epi_arg_list_t of the same; repeatable */
    EPI_ARG_DTYPE,     /* epdx_dtype_t */
    EPI_ARG_MEMORY,    /* epdx_memory_t */
    EPI_ARG_PART,      /* epi_arg_part_t, I < K <= max */
} epi_arg_kind_t;

typedef struct epi_arg {
    const char *name;  /* without the dashes */
    const char *value; /* as --help names it; NULL of a flag */
    const char *help;
    epi_arg_kind_t kind;
    size_t offset; /* in the options structure */
    uint64_t min, max;
} epi_arg_t;

typedef struct epi_args {
    const char *program;
    const char *usage; /* after the program's name */
    const char *about;
    const epi_arg_t *args;
    size_t count; /* at most 64 */
    /** What one option alone cannot tell, and defaults. May be NULL. */
    epdx_status_t (*check)(void *options);
} epi_args_t;

/** Fill options, which hold their defaults. EPDX_OK; EPDX_IN_PROGRESS: --help
 *  or --version came, *show_p is what to print; EPDX_ERR_INVALID with words
 *  that begin with the option. Values point into argv. */
EPDX_MUST_CHECK epdx_status_t epi_args_parse(const epi_args_t *args,
                                             char **argv, void *options,
                                             const char **show_p);

/** The text of --help. */
void epi_args_help(const epi_args_t *args, FILE *out);

/** Parse for main(): true to go on. False: --help or --version was printed, or
 *  one line on standard error said what is wrong, and *exit_p is the exit
 *  status. Of several processes of one mpirun only rank 0 prints. */
bool epi_args_main(const epi_args_t *args, char **argv, void *options,
                   int *exit_p);

#endif
