/*
 * fuzz_workload.c: arbitrary files as traces, as a whole and as one line. What
 * is read must be what workload.h promises; what is refused must have said why
 * and left its output alone.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "tools/fuzz_file.h"
#include "tools/workload.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require_request(const epi_workload_t *workload, size_t index)
{
    const epi_workload_request_t *request = &workload->requests[index];
    size_t length = strlen(request->id);

    fuzz_require(length >= 1 && length <= EPDX_ID_MAX &&
                 epi_text_printable(request->id, length));
    fuzz_require(request->count >= 1 &&
                 request->count <= EPI_WORKLOAD_ITEMS_MAX);
    fuzz_require(request->first + request->count <= workload->rows_count);
    fuzz_require(index == 0 ||
                 request->first == request[-1].first + request[-1].count);
    fuzz_require(index == 0 || request->due_ns >= request[-1].due_ns);
    for (size_t i = 0; i < request->count; i++) {
        uint64_t rows = workload->rows[request->first + i];

        fuzz_require(rows >= 1 && rows <= EPI_WORKLOAD_ROWS_MAX);
    }
}

static void require_empty(const epi_workload_t *workload)
{
    const epi_workload_t empty = {0};

    fuzz_require(memcmp(workload, &empty, sizeof(empty)) == 0);
}

static void require_refused(epdx_status_t status)
{
    fuzz_require(status == EPDX_ERR_MALFORMED);
    fuzz_require(epdx_last_error()[0] != '\0');
}

static void fuzz_line(const char *line)
{
    epi_workload_t workload = {0};
    epdx_status_t status;

    (void)epi_fail(EPDX_OK, "%s", "");
    status = epi_workload_add_line(&workload, line);
    if (status == EPDX_OK) {
        fuzz_require(workload.count == 1);
        require_request(&workload, 0);
    } else {
        require_refused(status);
        require_empty(&workload);
    }
    epi_workload_fini(&workload);
}

static void fuzz_first(const char *path, const epi_workload_t *all)
{
    epi_workload_t first = {0};

    fuzz_require(epi_workload_load(path, 1, &first) == EPDX_OK);
    fuzz_require(first.count == 1);
    fuzz_require(strcmp(first.requests[0].id, all->requests[0].id) == 0);
    epi_workload_fini(&first);
}

static void fuzz_load(const char *path)
{
    epi_workload_t workload = {0};
    epi_workload_sizes_t sizes;
    epdx_status_t status = epi_workload_load(path, 0, &workload);

    if (status != EPDX_OK) {
        require_refused(status);
        fuzz_require(strncmp(epdx_last_error(), path, strlen(path)) == 0);
        require_empty(&workload);
        return;
    }
    fuzz_require(workload.count > 0);
    for (size_t i = 0; i < workload.count; i++) {
        size_t found;

        require_request(&workload, i);
        fuzz_require(
            epi_workload_find(&workload, workload.requests[i].id, &found) &&
            found == i);
    }
    if (epi_workload_sizes(&workload, 7168, 21504, &sizes) == EPDX_OK) {
        fuzz_require(sizes.item_bytes > 0 &&
                     sizes.item_bytes <= sizes.request_bytes);
    }
    fuzz_first(path, &workload);
    epi_workload_fini(&workload);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* In a block of its own size: a read beyond it is seen. */
    char *line = malloc(size + 1);

    fuzz_require(line != NULL);
    if (size > 0) {
        memcpy(line, data, size);
    }
    line[size] = '\0';
    fuzz_line(line);
    fuzz_load(fuzz_file(data, size));
    free(line);
    return 0;
}
