/*
 * workload.h: the requests that a program sends or receives, in order. From a
 * trace of JSON lines, or added one by one. One thread.
 */
#ifndef EPI_TOOLS_WORKLOAD_H
#define EPI_TOOLS_WORKLOAD_H

#include <stddef.h>
#include <stdint.h>

#include "epdx/types.h"

#define EPI_WORKLOAD_ITEMS_MAX 4096                /* of one request */
#define EPI_WORKLOAD_ROWS_MAX  (UINT64_C(1) << 32) /* of one item */
#define EPI_WORKLOAD_LINE_MAX  (1 << 20)           /* bytes of a line */

typedef struct epi_workload_request {
    char *id;        /* the workload's */
    uint64_t due_ns; /* arrival, since the trace's start */
    size_t first;    /* its items are rows[first] ... */
    size_t count;
} epi_workload_request_t;

/** Zero-filled is empty. */
typedef struct epi_workload {
    epi_workload_request_t *requests;
    size_t count;
    size_t capacity;
    uint64_t *rows; /* of all items, request after request */
    size_t rows_count;
    size_t rows_capacity;
    size_t *by_id; /* requests in the order of their ids */
} epi_workload_t;

/** Bytes that a request or an item takes where it lies in a pool or ring. */
typedef struct epi_workload_sizes {
    uint64_t item_bytes;    /* the largest item */
    uint64_t request_bytes; /* the largest request */
    uint64_t total_rows;
} epi_workload_sizes_t;

/** Add a request; id and rows are copied. EPDX_ERR_INVALID with words: the id
 *  (1 to EPDX_ID_MAX printable characters), count, a row count, or a due_ns
 *  before the last one; EPDX_ERR_NO_MEMORY. The workload is then unchanged. */
EPDX_MUST_CHECK epdx_status_t epi_workload_add(epi_workload_t *workload,
                                               const char *id, uint64_t due_ns,
                                               const uint64_t *rows,
                                               size_t count);

/** After the last add: EPDX_ERR_DUPLICATE with words when two requests have one
 *  id, naming both by their number from 1; EPDX_ERR_NO_MEMORY. */
EPDX_MUST_CHECK epdx_status_t epi_workload_seal(epi_workload_t *workload);

/** Read and seal at most limit requests (0: all) of a trace. *workload_p is set
 *  on success only. Errors: EPDX_ERR_IO (the file), EPDX_ERR_MALFORMED (file,
 *  line and cause in words), EPDX_ERR_NO_MEMORY. */
EPDX_MUST_CHECK epdx_status_t epi_workload_load(const char *path, size_t limit,
                                                epi_workload_t *workload_p);

/** The request of an id, after sealing; false when there is none. */
bool epi_workload_find(const epi_workload_t *workload, const char *id,
                       size_t *index_p);

/** Sizes under the item layout: each part 256-byte aligned. EPDX_ERR_TOO_LARGE
 *  when they do not fit 64 bits. */
EPDX_MUST_CHECK epdx_status_t epi_workload_sizes(const epi_workload_t *workload,
                                                 uint64_t main_row_bytes,
                                                 uint64_t deepstack_row_bytes,
                                                 epi_workload_sizes_t *sizes_p);

void epi_workload_fini(epi_workload_t *workload);

/** One line of a trace, closed and without its line end, to the end of
 *  workload. As epi_workload_add(); EPDX_ERR_MALFORMED for all that the line
 *  itself has wrong. */
EPDX_MUST_CHECK epdx_status_t epi_workload_add_line(epi_workload_t *workload,
                                                    const char *line);

#endif
