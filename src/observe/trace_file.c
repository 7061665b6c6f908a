/* trace_file.c: see trace_file.h. */
#include "observe/trace_file.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/expand.h"
#include "base/log.h"
#include "base/text.h"
#include "epdx/epdx.h"

#define BUFFER_BYTES ((size_t)256 * 1024)
#define BOOT_ID_FILE "/proc/sys/kernel/random/boot_id"

struct epi_trace_file {
    FILE *stream;
    uint64_t bytes;
    uint64_t bytes_max;
    bool first; /* no object yet */
    bool failed;
};

/* Where the end of the file that was closed last was written over. */
static char before_path[PATH_MAX];
static long before_end;
static uint64_t before_bytes;
static bool before_first;

static void put(epi_trace_file_t *file, const char *text, size_t bytes)
{
    file->bytes += bytes;
    if (!file->failed && fwrite(text, 1, bytes, file->stream) != bytes) {
        file->failed = true;
        epi_log_error("the trace cannot be written any more: %s",
                      strerrordesc_np(errno));
    }
}

/* Tells one boot of one machine from any other: clocks are alike within. */
static void boot_id(char *out, size_t size)
{
    FILE *stream = fopen(BOOT_ID_FILE, "re");
    size_t length = stream == NULL ? 0 : fread(out, 1, size - 1, stream);

    if (stream != NULL) {
        (void)fclose(stream);
    }
    out[length] = '\0';
    out[strspn(out, "0123456789abcdef-")] = '\0';
}

/* Both clocks at one moment: the wall's, between two readings of ours. */
static void write_head(epi_trace_file_t *file)
{
    char host[EPI_HOST_BYTES];
    char boot[64];
    char head[1024];
    uint64_t before = epi_now_ns();
    uint64_t wall = epi_wall_ns();
    uint64_t after = epi_now_ns();

    epi_host_name(host);
    boot_id(boot, sizeof(boot));
    for (char *byte = host; *byte != '\0'; byte++) {
        if (*byte < 0x20 || *byte == '"' || *byte == '\\') {
            *byte = '?';
        }
    }
    epi_text_format(
        head, sizeof(head),
        "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"epdx\":\"%s\","
        "\"host\":\"%s\",\"pid\":\"%ld\",\"boot_id\":\"%s\","
        "\"monotonic_ns\":\"%" PRIu64 "\",\"realtime_ns\":\"%" PRIu64
        "\",\"pair_error_ns\":\"%" PRIu64 "\"},\n\"traceEvents\":[",
        epdx_version(), host, (long)getpid(), boot,
        before + (after - before) / 2, wall, (after - before + 1) / 2);
    put(file, head, strlen(head));
    file->first = true;
}

static bool go_on(epi_trace_file_t *file, const char *path)
{
    if (strcmp(path, before_path) != 0) {
        return false;
    }
    file->stream = fopen(path, "r+e");
    if (file->stream == NULL) {
        return false;
    }
    if (fseek(file->stream, before_end, SEEK_SET) != 0) {
        (void)fclose(file->stream);
        return false;
    }
    file->bytes = before_bytes;
    file->first = before_first;
    return true;
}

epdx_status_t epi_trace_file_open(const char *path, uint64_t bytes_max,
                                  epi_trace_file_t **file_p)
{
    char name[PATH_MAX];
    epi_trace_file_t *file = calloc(1, sizeof(*file));
    epdx_status_t status;

    if (file == NULL) {
        return epi_fail(EPDX_ERR_NO_MEMORY, "no memory for a trace");
    }
    status = epi_expand("EPDX_TRACE_FILE", path, name, sizeof(name));
    if (status != EPDX_OK) {
        free(file);
        return status;
    }
    file->bytes_max = bytes_max;
    if (!go_on(file, name)) {
        file->stream = fopen(name, "we");
        if (file->stream == NULL) {
            status =
                epi_fail(EPDX_ERR_IO, "EPDX_TRACE_FILE %s cannot be opened: %s",
                         name, strerrordesc_np(errno));
            free(file);
            return status;
        }
        write_head(file);
    }
    (void)setvbuf(file->stream, NULL, _IOFBF, BUFFER_BYTES);
    (void)epi_text_copy(before_path, sizeof(before_path), name);
    *file_p = file;
    return EPDX_OK;
}

void epi_trace_file_note(epi_trace_file_t *file, const char *object,
                         size_t bytes)
{
    put(file, file->first ? "\n" : ",\n", file->first ? 1 : 2);
    put(file, object, bytes);
    file->first = false;
}

bool epi_trace_file_add(epi_trace_file_t *file, const char *object,
                        size_t bytes)
{
    if (file->failed || file->bytes + bytes > file->bytes_max) {
        return false;
    }
    epi_trace_file_note(file, object, bytes);
    return true;
}

void epi_trace_file_flush(epi_trace_file_t *file)
{
    (void)fflush(file->stream);
}

void epi_trace_file_close(epi_trace_file_t *file)
{
    if (file == NULL) {
        return;
    }
    before_bytes = file->bytes;
    before_first = file->first;
    before_end = ftell(file->stream);
    put(file, "\n]}\n", 4);
    if (before_end < 0 || file->failed) {
        before_path[0] = '\0';
    }
    if (fclose(file->stream) != 0) {
        before_path[0] = '\0';
        epi_log_error("the trace was not written whole: %s",
                      strerrordesc_np(errno));
    }
    free(file);
}
