/* workload.c: requests in order, and the file they come from. */
#include "tools/workload.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/text.h"

#define ALIGNMENT 256

static epdx_status_t no_memory(void)
{
    return epi_fail(EPDX_ERR_NO_MEMORY, "no memory for the workload");
}

/* Room for one more of at least wanted elements, by doubling. */
static bool grow(void **array, size_t *capacity, size_t wanted, size_t bytes)
{
    size_t larger = *capacity == 0 ? 64 : *capacity;
    void *moved;

    if (wanted <= *capacity) {
        return true;
    }
    while (larger < wanted) {
        larger *= 2;
    }
    moved = reallocarray(*array, larger, bytes);
    if (moved == NULL) {
        return false;
    }
    *array = moved;
    *capacity = larger;
    return true;
}

static epdx_status_t check_request(const epi_workload_t *workload,
                                   const char *id, uint64_t due_ns,
                                   size_t count)
{
    size_t length = strlen(id);

    if (length > EPDX_ID_MAX || !epi_text_printable(id, length)) {
        return epi_fail(EPDX_ERR_INVALID,
                        "the id is not 1 to %d printable characters without "
                        "space",
                        EPDX_ID_MAX);
    }
    if (count < 1 || count > EPI_WORKLOAD_ITEMS_MAX) {
        return epi_fail(EPDX_ERR_INVALID, "%zu images; 1 to %d are allowed",
                        count, EPI_WORKLOAD_ITEMS_MAX);
    }
    if (workload->count > 0 &&
        due_ns < workload->requests[workload->count - 1].due_ns) {
        return epi_fail(EPDX_ERR_INVALID,
                        "\"t\" is before that of the request above");
    }
    return EPDX_OK;
}

static epdx_status_t check_rows(const uint64_t *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (rows[i] < 1 || rows[i] > EPI_WORKLOAD_ROWS_MAX) {
            return epi_fail(EPDX_ERR_INVALID,
                            "image %zu has %llu rows; 1 to %llu are allowed", i,
                            (unsigned long long)rows[i],
                            (unsigned long long)EPI_WORKLOAD_ROWS_MAX);
        }
    }
    return EPDX_OK;
}

epdx_status_t epi_workload_add(epi_workload_t *workload, const char *id,
                               uint64_t due_ns, const uint64_t *rows,
                               size_t count)
{
    epdx_status_t status = check_request(workload, id, due_ns, count);
    epi_workload_request_t *request;

    if (status == EPDX_OK) {
        status = check_rows(rows, count);
    }
    if (status != EPDX_OK) {
        return status;
    }
    if (!grow((void **)&workload->requests, &workload->capacity,
              workload->count + 1, sizeof(*workload->requests)) ||
        !grow((void **)&workload->rows, &workload->rows_capacity,
              workload->rows_count + count, sizeof(*workload->rows))) {
        return no_memory();
    }
    request = &workload->requests[workload->count];
    request->id = strdup(id);
    if (request->id == NULL) {
        return no_memory();
    }
    request->due_ns = due_ns;
    request->first = workload->rows_count;
    request->count = count;
    memcpy(workload->rows + workload->rows_count, rows, count * sizeof(*rows));
    workload->rows_count += count;
    workload->count++;
    return EPDX_OK;
}

static int compare_ids(const void *a, const void *b, void *context)
{
    const epi_workload_request_t *requests = context;
    size_t left = *(const size_t *)a;
    size_t right = *(const size_t *)b;
    int order = strcmp(requests[left].id, requests[right].id);

    return order != 0 ? order : (left > right) - (left < right);
}

epdx_status_t epi_workload_seal(epi_workload_t *workload)
{
    const epi_workload_request_t *requests = workload->requests;
    size_t *order = calloc(workload->count + 1, sizeof(*order));

    if (order == NULL) {
        return no_memory();
    }
    for (size_t i = 0; i < workload->count; i++) {
        order[i] = i;
    }
    if (workload->count > 0) {
        qsort_r(order, workload->count, sizeof(*order), compare_ids,
                workload->requests);
    }
    free(workload->by_id);
    workload->by_id = order;
    for (size_t i = 1; i < workload->count; i++) {
        if (strcmp(requests[order[i - 1]].id, requests[order[i]].id) == 0) {
            return epi_fail(EPDX_ERR_DUPLICATE,
                            "the id \"%s\" of request %zu is that of request "
                            "%zu too",
                            requests[order[i]].id, order[i] + 1,
                            order[i - 1] + 1);
        }
    }
    return EPDX_OK;
}

bool epi_workload_find(const epi_workload_t *workload, const char *id,
                       size_t *index_p)
{
    size_t low = 0;
    size_t high = workload->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        size_t index = workload->by_id[middle];
        int order = strcmp(workload->requests[index].id, id);

        if (order == 0) {
            *index_p = index;
            return true;
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return false;
}

static bool add_part(uint64_t rows, uint64_t row_bytes, uint64_t *sum)
{
    uint64_t bytes;

    return epi_mul_u64(rows, row_bytes, &bytes) &&
           epi_align_u64(bytes, ALIGNMENT, &bytes) &&
           epi_add_u64(*sum, bytes, sum);
}

static bool add_item(uint64_t rows, uint64_t main_row_bytes,
                     uint64_t deepstack_row_bytes, uint64_t *bytes)
{
    return add_part(rows, main_row_bytes, bytes) &&
           add_part(rows, deepstack_row_bytes, bytes);
}

epdx_status_t epi_workload_sizes(const epi_workload_t *workload,
                                 uint64_t main_row_bytes,
                                 uint64_t deepstack_row_bytes,
                                 epi_workload_sizes_t *sizes_p)
{
    epi_workload_sizes_t sizes = {0, 0, 0};

    for (size_t i = 0; i < workload->count; i++) {
        const epi_workload_request_t *request = &workload->requests[i];
        uint64_t request_bytes = 0;

        for (size_t j = 0; j < request->count; j++) {
            uint64_t rows = workload->rows[request->first + j];
            uint64_t item_bytes = 0;

            if (!add_item(rows, main_row_bytes, deepstack_row_bytes,
                          &item_bytes) ||
                !epi_add_u64(request_bytes, item_bytes, &request_bytes)) {
                return epi_fail(EPDX_ERR_TOO_LARGE,
                                "request \"%s\" has more than 2^64 bytes",
                                request->id);
            }
            sizes.item_bytes =
                item_bytes > sizes.item_bytes ? item_bytes : sizes.item_bytes;
            sizes.total_rows += rows;
        }
        if (request_bytes > sizes.request_bytes) {
            sizes.request_bytes = request_bytes;
        }
    }
    *sizes_p = sizes;
    return EPDX_OK;
}

void epi_workload_fini(epi_workload_t *workload)
{
    for (size_t i = 0; i < workload->count; i++) {
        free(workload->requests[i].id);
    }
    free(workload->requests);
    free(workload->rows);
    free(workload->by_id);
    memset(workload, 0, sizeof(*workload));
}

typedef enum line_end { LINE_READ, LINE_NONE, LINE_LONG, LINE_ZERO } line_end_t;

/* One line without its end. A last line may lack the line end. */
static line_end_t read_line(FILE *file, char *line)
{
    size_t length = 0;
    bool zero = false;
    int c;

    while ((c = getc_unlocked(file)) != EOF && c != '\n') {
        if (length == EPI_WORKLOAD_LINE_MAX) {
            return LINE_LONG;
        }
        zero = zero || c == '\0';
        line[length++] = (char)c;
    }
    line[length] = '\0';
    if (c == EOF && length == 0) {
        return LINE_NONE;
    }
    return zero ? LINE_ZERO : LINE_READ;
}

static epdx_status_t add_next(epi_workload_t *workload, FILE *file, char *line,
                              bool *done_p)
{
    switch (read_line(file, line)) {
    case LINE_NONE:
        *done_p = true;
        return EPDX_OK;
    case LINE_LONG:
        return epi_fail(EPDX_ERR_MALFORMED, "longer than %d bytes",
                        EPI_WORKLOAD_LINE_MAX);
    case LINE_ZERO:
        return epi_fail(EPDX_ERR_MALFORMED, "holds a zero byte");
    case LINE_READ:
        break;
    }
    return epi_workload_add_line(workload, line);
}

/* Every line is a request: line n is request n. */
static epdx_status_t read_requests(const char *path, FILE *file, char *line,
                                   size_t limit, epi_workload_t *workload)
{
    bool done = false;

    while (!done && (limit == 0 || workload->count < limit)) {
        epdx_status_t status = add_next(workload, file, line, &done);

        if (status != EPDX_OK) {
            return epi_fail(status, "%s, line %zu: %s", path,
                            workload->count + 1, epdx_last_error());
        }
    }
    if (ferror(file)) {
        return epi_fail(EPDX_ERR_IO, "%s: %s", path, strerror(errno));
    }
    if (workload->count == 0) {
        return epi_fail(EPDX_ERR_MALFORMED, "%s: has no requests", path);
    }
    return EPDX_OK;
}

static epdx_status_t seal_lines(const char *path, epi_workload_t *workload)
{
    epdx_status_t status = epi_workload_seal(workload);

    return status == EPDX_OK
               ? EPDX_OK
               : epi_fail(
                     status == EPDX_ERR_DUPLICATE ? EPDX_ERR_MALFORMED : status,
                     "%s: %s (a request is a line)", path, epdx_last_error());
}

epdx_status_t epi_workload_load(const char *path, size_t limit,
                                epi_workload_t *workload_p)
{
    epi_workload_t workload = {0};
    epdx_status_t status;
    char *line;
    FILE *file = fopen(path, "re");

    if (file == NULL) {
        return epi_fail(EPDX_ERR_IO, "%s: %s", path, strerror(errno));
    }
    line = malloc(EPI_WORKLOAD_LINE_MAX + 1);
    status = line == NULL ? no_memory()
                          : read_requests(path, file, line, limit, &workload);
    free(line);
    (void)fclose(file);
    if (status == EPDX_OK) {
        status = seal_lines(path, &workload);
    }
    if (status != EPDX_OK) {
        epi_workload_fini(&workload);
        return status;
    }
    *workload_p = workload;
    return EPDX_OK;
}
