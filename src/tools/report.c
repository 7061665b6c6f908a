/* report.c: progress, percentiles, JSON and tables. */
#include "tools/report.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"

#define PROGRESS_EVERY_NS (200 * EPI_MS)
#define VALUE_MAX         256

void epi_progress_init(epi_progress_line_t *progress, const char *program,
                       const char *what, uint64_t total, bool always)
{
    memset(progress, 0, sizeof(*progress));
    progress->program = program;
    progress->what = what;
    progress->total = total;
    progress->on = always || isatty(STDERR_FILENO) == 1;
}

void epi_progress_show(epi_progress_line_t *progress, uint64_t now_ns,
                       uint64_t done, uint64_t failed)
{
    if (!progress->on || now_ns < progress->next_ns) {
        return;
    }
    progress->next_ns = now_ns + PROGRESS_EVERY_NS;
    progress->shown = true;
    fprintf(stderr, "\r\033[K%s: %llu of %llu %s, %llu failed",
            progress->program, (unsigned long long)done,
            (unsigned long long)progress->total, progress->what,
            (unsigned long long)failed);
}

void epi_progress_clear(epi_progress_line_t *progress)
{
    if (progress->shown) {
        fputs("\r\033[K", stderr);
        progress->shown = false;
    }
}

epdx_status_t epi_latencies_init(epi_latencies_t *latencies, size_t capacity)
{
    memset(latencies, 0, sizeof(*latencies));
    latencies->values_ns = calloc(capacity + 1, sizeof(uint64_t));
    if (latencies->values_ns == NULL) {
        return epi_fail(EPDX_ERR_NO_MEMORY, "no memory for the latencies");
    }
    latencies->capacity = capacity;
    return EPDX_OK;
}

void epi_latencies_add(epi_latencies_t *latencies, uint64_t value_ns)
{
    if (latencies->count < latencies->capacity) {
        latencies->values_ns[latencies->count++] = value_ns;
    }
}

static int compare_u64(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a;
    uint64_t right = *(const uint64_t *)b;

    return (left > right) - (left < right);
}

double epi_latencies_ms(epi_latencies_t *latencies, unsigned percent)
{
    size_t rank = (latencies->count * percent + 99) / 100;

    if (latencies->count == 0) {
        return 0;
    }
    qsort(latencies->values_ns, latencies->count, sizeof(uint64_t),
          compare_u64);
    return (double)latencies->values_ns[rank == 0 ? 0 : rank - 1] / 1e6;
}

void epi_latencies_fini(epi_latencies_t *latencies)
{
    free(latencies->values_ns);
    memset(latencies, 0, sizeof(*latencies));
}

static void put_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text != '\0'; text++) {
        unsigned char byte = (unsigned char)*text;

        if (byte == '"' || byte == '\\') {
            fprintf(out, "\\%c", byte);
        } else if (byte < 0x20) {
            fprintf(out, "\\u%04x", byte);
        } else {
            fputc(byte, out);
        }
    }
    fputc('"', out);
}

static void put_key(epi_json_t *json, const char *key)
{
    if (json->comma) {
        fputc(',', json->out);
    }
    json->comma = true;
    if (key != NULL) {
        put_text(json->out, key);
        fputc(':', json->out);
    }
}

void epi_json_begin(epi_json_t *json, FILE *out)
{
    json->out = out;
    json->comma = false;
    fputc('{', out);
}

void epi_json_u64(epi_json_t *json, const char *key, uint64_t value)
{
    put_key(json, key);
    fprintf(json->out, "%llu", (unsigned long long)value);
}

void epi_json_double(epi_json_t *json, const char *key, double value)
{
    put_key(json, key);
    fprintf(json->out, "%.7g", isfinite(value) ? value : 0);
}

void epi_json_bool(epi_json_t *json, const char *key, bool value)
{
    put_key(json, key);
    fputs(value ? "true" : "false", json->out);
}

void epi_json_text(epi_json_t *json, const char *key, const char *value)
{
    put_key(json, key);
    put_text(json->out, value);
}

void epi_json_array(epi_json_t *json, const char *key, const uint64_t *values,
                    size_t count)
{
    put_key(json, key);
    fputc('[', json->out);
    for (size_t i = 0; i < count; i++) {
        fprintf(json->out, "%s%llu", i > 0 ? "," : "",
                (unsigned long long)values[i]);
    }
    fputc(']', json->out);
}

void epi_json_open(epi_json_t *json, const char *key, char bracket)
{
    put_key(json, key);
    fputc(bracket, json->out);
    json->comma = false;
}

void epi_json_close(epi_json_t *json, char bracket)
{
    fputc(bracket == '{' ? '}' : ']', json->out);
    json->comma = true;
}

void epi_json_end(epi_json_t *json)
{
    fputs("}\n", json->out);
    (void)fflush(json->out);
}

void epi_report_row(FILE *out, const char *name, const char *format, ...)
{
    char value[VALUE_MAX];
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(value, sizeof(value), format, arguments);
    va_end(arguments);
    fprintf(out, "  %-22s%s\n", name, length < 0 ? "?" : value);
}
