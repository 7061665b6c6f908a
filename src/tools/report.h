/*
 * report.h: what a program says: a progress line while it runs, a table for
 * people, one line of JSON for machines; and exact percentiles for both. One
 * thread.
 */
#ifndef EPI_TOOLS_REPORT_H
#define EPI_TOOLS_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "epdx/status.h"

/* Progress: one line on a terminal, rewritten in place. */

typedef struct epi_progress_line {
    const char *program;
    const char *what; /* "requests" */
    uint64_t total;
    uint64_t next_ns;
    bool on;
    bool shown;
} epi_progress_line_t;

/** On where out is a terminal, or always. */
void epi_progress_init(epi_progress_line_t *progress, const char *program,
                       const char *what, uint64_t total, bool always);

/** At most five times a second. */
void epi_progress_show(epi_progress_line_t *progress, uint64_t now_ns,
                       uint64_t done, uint64_t failed);

/** Clear the line, before other output. */
void epi_progress_clear(epi_progress_line_t *progress);

/* Latencies: kept one by one, so percentiles are exact. */

typedef struct epi_latencies {
    uint64_t *values_ns;
    size_t count;
    size_t capacity;
} epi_latencies_t;

/** EPDX_ERR_NO_MEMORY. */
EPDX_MUST_CHECK epdx_status_t epi_latencies_init(epi_latencies_t *latencies,
                                                 size_t capacity);

/** More than capacity are left out. */
void epi_latencies_add(epi_latencies_t *latencies, uint64_t value_ns);

/** The smallest value that at least percent of 100 of all values do not
 *  exceed, in milliseconds; 0 when there are none. Sorts the values. */
double epi_latencies_ms(epi_latencies_t *latencies, unsigned percent);

void epi_latencies_fini(epi_latencies_t *latencies);

/* JSON: one object on one line, without spaces, keys in the order given. */

typedef struct epi_json {
    FILE *out;
    bool comma;
} epi_json_t;

void epi_json_begin(epi_json_t *json, FILE *out);
void epi_json_u64(epi_json_t *json, const char *key, uint64_t value);
/** As short as it reads back within a millionth; 0 for what is not finite. */
void epi_json_double(epi_json_t *json, const char *key, double value);
void epi_json_bool(epi_json_t *json, const char *key, bool value);
void epi_json_text(epi_json_t *json, const char *key, const char *value);
void epi_json_array(epi_json_t *json, const char *key, const uint64_t *values,
                    size_t count);
/** An object or array as a value or, with key NULL, an array's element:
 *  bracket is '{' or '['. */
void epi_json_open(epi_json_t *json, const char *key, char bracket);
void epi_json_close(epi_json_t *json, char bracket);
/** Closes the object and the line, and flushes. */
void epi_json_end(epi_json_t *json);

/* Table: a name and its value a line. */

void epi_report_row(FILE *out, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
